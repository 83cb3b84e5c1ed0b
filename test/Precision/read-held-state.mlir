// RUN: tenon-opt %s --precision-read-held-state --split-input-file | FileCheck %s

// In two parts: the product reads the bf16 that stands in the argument's place,
// the sum the f32 that both make, and what is turned is turned twice. What is
// not marked stays as it is.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[HIGH:[a-z0-9]+]]: tensor<256x128xbf16> {step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "params.w"}, step.name = "w", step.role = #step.role<parameter>}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x256xbf16>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<128xf32> {step.name = "b"
// CHECK-SAME: %[[LOW:[a-z0-9]+]]: tensor<256x128xi16> {step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "params.w"}, step.name = "w.low_", step.role = #step.role<parameter>}
// CHECK-SAME: -> (tensor<64x128xf32>
// CHECK-DAG: stablehlo.dot_general %[[X]], %[[HIGH]]
// CHECK-DAG: %[[TURNED:.*]] = stablehlo.transpose %[[HIGH]]
// CHECK-DAG: %[[TURNED_LOW:.*]] = stablehlo.transpose %[[LOW]]
// CHECK-DAG: stablehlo.bitcast_convert %[[TURNED]] : (tensor<128x256xbf16>) -> tensor<128x256xui16>
// CHECK-DAG: stablehlo.convert %[[TURNED_LOW]] : (tensor<128x256xi16>) -> tensor<128x256xi32>
// CHECK: stablehlo.negate %{{.*}} : tensor<128x256xf32>
func.func @main(
    %w: tensor<256x128xf32> {step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "params.w"}, step.name = "w", step.role = #step.role<parameter>},
    %x: tensor<64x256xbf16> {step.name = "x", step.role = #step.role<batch>},
    %b: tensor<128xf32> {step.name = "b", step.role = #step.role<parameter>})
    -> (tensor<64x128xf32> {step.name = "w.low"}, tensor<128x256xf32> {step.name = "t"}, tensor<128xf32> {step.name = "c"}) {
  %0 = stablehlo.convert %w {step.cast} : (tensor<256x128xf32>) -> tensor<256x128xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xf32>
  %2 = stablehlo.transpose %w, dims = [1, 0] : (tensor<256x128xf32>) -> tensor<128x256xf32>
  %3 = stablehlo.negate %2 : tensor<128x256xf32>
  return %1, %3, %b : tensor<64x128xf32>, tensor<128x256xf32>, tensor<128xf32>
}

// -----

// As bf16: what the entry point gives back is widened.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x4xbf16> {step.holds = {part = 0 : i64, rule = "converted", tensor = "params.w"}
// CHECK-SAME: -> (tensor<8x4xf32>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[W]] {step.cast} : (tensor<8x4xbf16>) -> tensor<8x4xf32>
// CHECK: return %[[WIDE]]
func.func @main(
    %w: tensor<8x4xf32> {step.holds = {part = 0 : i64, rule = "converted", tensor = "params.w"}, step.name = "w", step.role = #step.role<parameter>})
    -> (tensor<8x4xf32> {step.name = "w"}) {
  return %w : tensor<8x4xf32>
}
