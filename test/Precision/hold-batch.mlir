// RUN: tenon-opt %s --precision-hold-batch --split-input-file | FileCheck %s
// RUN: tenon-opt %s --precision-hold-batch="policy={{\"arguments\":{\"x\":\"f32\"}}}" --split-input-file | FileCheck %s --check-prefix=KEPT

// Products read it, one of them behind a transpose and a slice.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<64x256xbf16> {step.holds = {part = 0 : i64, rule = "converted", tensor = "x"}, step.name = "x"
// CHECK-NOT: convert %[[X]]
// CHECK: %[[T:.*]] = stablehlo.transpose %[[X]], dims = [1, 0] : (tensor<64x256xbf16>) -> tensor<256x64xbf16>
// CHECK: %[[S:.*]] = stablehlo.slice %[[T]] {{.*}} -> tensor<64x64xbf16>
// CHECK: stablehlo.dot_general %[[S]], %[[X]]
// KEPT-LABEL: func.func @main
// KEPT-SAME: %{{.*}}: tensor<64x256xf32> {step.name = "x"
func.func @main(%x: tensor<64x256xf32> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<64x256xf32> {step.name = "y"}) {
  %0 = stablehlo.convert %x {step.cast} : (tensor<64x256xf32>) -> tensor<64x256xbf16>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %2 = stablehlo.slice %1 [0:64, 0:64] : (tensor<256x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.convert %2 {step.cast} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %4 = stablehlo.dot_general %3, %0, contracting_dims = [1] x [0] : (tensor<64x64xbf16>, tensor<64x256xbf16>) -> tensor<64x256xf32>
  return %4 : tensor<64x256xf32>
}

// -----

// Something computes with its digits; the user rounded another; and state is
// no batch.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %{{.*}}: tensor<64x64xf32> {step.name = "x"
// CHECK-SAME: %{{.*}}: tensor<64x64xf32> {step.name = "y"
// CHECK-SAME: %{{.*}}: tensor<64x64xf32> {step.name = "w"
// KEPT-LABEL: func.func @main
func.func @main(%x: tensor<64x64xf32> {step.name = "x", step.role = #step.role<batch>},
                %y: tensor<64x64xf32> {step.name = "y", step.role = #step.role<batch>},
                %w: tensor<64x64xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 1 : i64})
    -> (tensor<64x64xf32> {step.name = "z"}, tensor<64x64xf32> {step.name = "w"}) {
  %0 = stablehlo.convert %x {step.cast} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %1 = stablehlo.convert %y : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %2 = stablehlo.convert %w {step.cast} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %4 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %5 = stablehlo.add %3, %x : tensor<64x64xf32>
  return %5, %4 : tensor<64x64xf32>, tensor<64x64xf32>
}
