// RUN: tenon-opt %s --precision-hold-state --split-input-file | FileCheck %s
// RUN: tenon-opt %s --precision-hold-state=seed=1 --split-input-file | FileCheck %s --check-prefix=SEED

// The product reads the bf16 as it is, the update widens it, and what replaces it is rounded by chance. The count of
// steps stands behind all others and grows.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<256x256xbf16> {step.aliases = ["arg0"], step.holds = {part = 0 : i64, rule = "converted", tensor = "w"}, step.name = "w"
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<256x256xbf16> {step.aliases = [], step.holds = {part = 0 : i64, rule = "converted", tensor = "m"}, step.name = "m"
// CHECK-SAME: %[[MEAN:[a-z0-9]+]]: tensor<256xbf16>
// CHECK-SAME: %[[SCALAR:[a-z0-9]+]]: tensor<f32>
// CHECK-SAME: %[[TOTAL:[a-z0-9]+]]: tensor<256xf32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x256xbf16> {
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<ui32> {step.aliases = [], step.initial = dense<0> : tensor<ui32>, step.name = "__tenon__.rounding_step"
// CHECK: %[[D:.*]] = stablehlo.dot_general %[[X]], %[[W]]
// CHECK: %[[T:.*]] = stablehlo.transpose %[[W]], dims = [1, 0] : (tensor<256x256xbf16>) -> tensor<256x256xbf16>
// CHECK: stablehlo.convert %[[T]] {step.cast} : (tensor<256x256xbf16>) -> tensor<256x256xf32>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[W]] {step.cast} : (tensor<256x256xbf16>) -> tensor<256x256xf32>
// CHECK: %[[NEXT:.*]] = stablehlo.subtract %[[WIDE]], %{{.*}}
// CHECK: stablehlo.add %[[STEP]], %{{.*}} : tensor<ui32>
// CHECK: %[[KEY:.*]] = stablehlo.constant dense<[2849889213, 1388560977]> : tensor<2xui32>
// CHECK: step.stochastic_round %[[NEXT]], %[[STEP]], %[[KEY]]
// CHECK: step.stochastic_round
// CHECK: step.stochastic_round
// CHECK-NOT: step.stochastic_round
// CHECK: return

// SEED: dense<[2384754029, 1629999128]> : tensor<2xui32>
// SEED-COUNT-3: step.stochastic_round
func.func @main(
    %w: tensor<256x256xf32> {step.aliases = ["arg0"], step.name = "w", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 0 : i64},
    %m: tensor<256x256xf32> {step.aliases = [], step.name = "m", step.role = #step.role<optimizer_state>, step.role_reason = "", step.successor = 1 : i64},
    %mean: tensor<256xf32> {step.aliases = [], step.name = "mean", step.role = #step.role<buffer>, step.role_reason = "", step.successor = 2 : i64},
    %scalar: tensor<f32> {step.aliases = [], step.name = "scalar", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 3 : i64},
    %total: tensor<256xf32> {step.aliases = [], step.name = "total", step.role = #step.role<metric>, step.role_reason = "", step.successor = 4 : i64},
    %x: tensor<256x256xbf16> {step.aliases = ["arg1"], step.name = "x", step.role = #step.role<batch>, step.role_reason = ""})
    -> (tensor<256x256xf32> {step.aliases = [], step.name = "w"}, tensor<256x256xf32> {step.aliases = [], step.name = "m"},
        tensor<256xf32> {step.aliases = [], step.name = "mean"}, tensor<f32> {step.aliases = [], step.name = "scalar"},
        tensor<256xf32> {step.aliases = [], step.name = "total"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convert %w {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.add %1, %t : tensor<256x256xf32>
  %3 = stablehlo.add %m, %2 : tensor<256x256xf32>
  %4 = stablehlo.subtract %w, %3 : tensor<256x256xf32>
  %5 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %6 = stablehlo.add %mean, %5 : tensor<256xf32>
  %7 = stablehlo.add %total, %5 : tensor<256xf32>
  return %4, %3, %6, %scalar, %7 : tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<f32>, tensor<256xf32>
}

// -----

// What was held before is handed on as it is, and nothing is held where nothing may be.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8xbf16> {
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8xbf16> {
// CHECK: %[[NEXT:.*]] = step.stochastic_round
// CHECK-NOT: step.stochastic_round
// CHECK: return %[[NEXT]], %[[A]], %{{.*}} : tensor<8xbf16>, tensor<8xbf16>, tensor<ui32>
func.func @main(
    %a: tensor<8xf32> {step.aliases = [], step.name = "a", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 0 : i64},
    %b: tensor<8xf32> {step.aliases = [], step.name = "b", step.role = #step.role<optimizer_state>, step.role_reason = "", step.successor = 1 : i64})
    -> (tensor<8xf32> {step.aliases = [], step.name = "a"}, tensor<8xf32> {step.aliases = [], step.name = "b"}) {
  %0 = stablehlo.tanh %b : tensor<8xf32>
  return %0, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: __tenon__
// CHECK: return %{{.*}} : tensor<8xi32>
func.func @main(
    %a: tensor<8xi32> {step.aliases = [], step.name = "a", step.role = #step.role<parameter>, step.role_reason = "", step.successor = 0 : i64})
    -> (tensor<8xi32> {step.aliases = [], step.name = "a"}) {
  return %a : tensor<8xi32>
}
