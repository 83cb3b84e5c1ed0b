// RUN: tenon-opt %s --precision-hold-parameters --split-input-file | FileCheck %s
// RUN: tenon-opt %s --precision-hold-parameters=inside=true --split-input-file | FileCheck %s --check-prefix=INSIDE

// The bf16 stands in the parameter's place, the rest of its bits behind all
// others. The product reads the first as it is; the update puts both together,
// and takes apart what it computed.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[HIGH:[a-z0-9]+]]: tensor<256x256xbf16> {step.aliases = ["arg0"], step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}, step.name = "w"
// CHECK-SAME: step.successor = 0 : i64}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x256xbf16>
// CHECK-SAME: %[[LOW:[a-z0-9]+]]: tensor<256x256xi16> {step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}, step.name = "w.low"
// CHECK-SAME: step.successor = 2 : i64}
// CHECK-SAME: -> (tensor<256x256xbf16> {step.aliases = [], step.holds = {part = 0
// CHECK-SAME: tensor<f32>
// CHECK-SAME: tensor<256x256xi16> {step.aliases = [], step.holds = {part = 1
// CHECK: %[[D:.*]] = stablehlo.dot_general %[[X]], %[[HIGH]]
// CHECK: stablehlo.bitcast_convert %[[HIGH]] : (tensor<256x256xbf16>) -> tensor<256x256xui16>
// CHECK: stablehlo.shift_left
// CHECK: stablehlo.convert %[[LOW]] : (tensor<256x256xi16>) -> tensor<256x256xi32>
// CHECK: %[[WHOLE:.*]] = stablehlo.bitcast_convert {{.*}} -> tensor<256x256xf32>
// CHECK: %[[NEXT:.*]] = stablehlo.subtract %[[WHOLE]], %[[D]]
// CHECK: stablehlo.bitcast_convert %[[NEXT]] : (tensor<256x256xf32>) -> tensor<256x256xui32>
// CHECK: %[[THEN_HIGH:.*]] = stablehlo.bitcast_convert {{.*}} -> tensor<256x256xbf16>
// CHECK: %[[THEN_LOW:.*]] = stablehlo.bitcast_convert {{.*}} -> tensor<256x256xi16>
// CHECK: return %[[THEN_HIGH]], %{{.*}}, %[[THEN_LOW]]

// INSIDE-LABEL: func.func @main
// INSIDE-SAME: %[[W:[a-z0-9]+]]: tensor<256x256xf32> {
// INSIDE-NOT: step.holds
// INSIDE: stablehlo.bitcast_convert %[[W]]
// INSIDE: %[[SPLIT:.*]] = stablehlo.bitcast_convert {{.*}} -> tensor<256x256xbf16>
// INSIDE: stablehlo.dot_general %{{.*}}, %[[SPLIT]]
func.func @main(
    %w: tensor<256x256xf32> {step.aliases = ["arg0"], step.name = "w", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 0 : i64},
    %x: tensor<256x256xbf16> {step.aliases = ["arg1"], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<256x256xf32> {step.aliases = [], step.name = "w"}, tensor<f32> {step.aliases = [], step.name = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convert %w {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
  %2 = stablehlo.subtract %w, %1 : tensor<256x256xf32>
  %3 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3 : tensor<256x256xf32>, tensor<f32>
}

// -----

// A parameter that the step hands on is handed on in parts; what a gather reads
// in f32 it gathers twice, and the product reads the bf16 transposed.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[HIGH:[a-z0-9]+]]: tensor<512x64xbf16>
// CHECK-SAME: %[[LOW:[a-z0-9]+]]: tensor<512x64xi16>
// CHECK-DAG: %[[T:.*]] = stablehlo.transpose %[[HIGH]]
// CHECK-DAG: stablehlo.dot_general %{{.*}}, %[[T]]
// CHECK-DAG: "stablehlo.gather"(%[[HIGH]],
// CHECK-DAG: "stablehlo.gather"(%[[LOW]],
// CHECK-NOT: tensor<512x64xf32>
// CHECK: return %[[HIGH]], {{.*}}, %[[LOW]]
// INSIDE-LABEL: func.func @main
func.func @main(
    %w: tensor<512x64xf32> {step.aliases = [], step.name = "w", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 0 : i64},
    %x: tensor<8x64xbf16> {step.aliases = [], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""},
    %i: tensor<8x1xi32> {step.aliases = [], step.name = "i", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<512x64xf32> {step.aliases = [], step.name = "w"}, tensor<8x512xf32> {step.aliases = [], step.name = "y"}, tensor<8x64xf32> {step.aliases = [], step.name = "z"}) {
  %0 = stablehlo.convert %w {step.cast} : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<512x64xbf16>) -> tensor<64x512xbf16>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<8x64xbf16>, tensor<64x512xbf16>) -> tensor<8x512xf32>
  %3 = "stablehlo.gather"(%w, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<512x64xf32>, tensor<8x1xi32>) -> tensor<8x64xf32>
  %4 = stablehlo.tanh %3 : tensor<8x64xf32>
  return %w, %2, %4 : tensor<512x64xf32>, tensor<8x512xf32>, tensor<8x64xf32>
}

// -----

// Not in parts: what is no parameter, read by no product in 16 bits, or read in
// f32 by something that cannot put it together itself.

// CHECK-LABEL: func.func @main
// CHECK-NOT: step.holds
// INSIDE-LABEL: func.func @main
// INSIDE-NOT: bitcast_convert
func.func @main(
    %buffer: tensor<256x256xf32> {step.aliases = [], step.name = "buffer", step.role = #step.role<buffer>, step.role_reason = "", step.successor = 0 : i64},
    %wide: tensor<256x256xf32> {step.aliases = [], step.name = "wide", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 1 : i64},
    %sorted: tensor<256x256xf32> {step.aliases = [], step.name = "sorted", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 2 : i64},
    %x: tensor<256x256xf32> {step.aliases = [], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<256x256xf32> {step.aliases = [], step.name = "buffer"}, tensor<256x256xf32> {step.aliases = [], step.name = "wide"}, tensor<256x256xf32> {step.aliases = [], step.name = "sorted"}) {
  %2 = stablehlo.convert %buffer {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
  %4 = stablehlo.dot_general %x, %wide, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %5 = stablehlo.convert %sorted {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
  %6 = stablehlo.dot_general %5, %5, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
  %7 = stablehlo.dot_general %x, %sorted, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %8 = stablehlo.add %6, %7 : tensor<256x256xf32>
  return %3, %4, %8 : tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
}
