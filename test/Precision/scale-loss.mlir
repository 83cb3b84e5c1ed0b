// RUN: tenon-opt %s --precision-scale-loss --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not tenon-opt %s --precision-scale-loss --split-input-file --remarks-filter="precision-scale-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] Entered {{.*}}the scale of the loss enters here
// REMARK: remark: [Missed] NoGradients {{.*}}no parameter learns from a batch

// Two losses: the scale enters at both, and leaves where the decay is added.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[S:arg[0-9]+]]: tensor<f32> {step.aliases = [], step.initial = dense<6.553600e+04> : tensor<f32>, step.name = "__tenon__.loss_scale"
// CHECK-SAME: step.initial = dense<0> : tensor<i32>, step.name = "__tenon__.loss_scale_growth"
// CHECK: %[[R:.*]] = stablehlo.divide %{{.*}}, %[[S]]
// CHECK: %[[D:.*]] = stablehlo.subtract %{{.*}}, %{{.*}} : tensor<16x4xf32>
// CHECK: %[[BS:.*]] = stablehlo.broadcast_in_dim %[[S]]
// CHECK: stablehlo.multiply %[[D]], %[[BS]]
// CHECK: %[[AUX:.*]] = stablehlo.tanh
// CHECK: stablehlo.multiply %[[AUX]], %{{.*}} : tensor<16x8xf32>
// CHECK: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<8x8xf32>
// CHECK: %[[BR:.*]] = stablehlo.broadcast_in_dim %[[R]]
// CHECK: %[[PLAIN:.*]] = stablehlo.multiply %[[G]], %[[BR]]
// CHECK: stablehlo.add %[[PLAIN]], %{{.*}} : tensor<8x8xf32>
// CHECK: stablehlo.is_finite
// CHECK: stablehlo.select %{{.*}}, %{{.*}}, %arg0
func.func @main(%u: tensor<8x8xf32> {step.name = "u", step.role = #step.role<parameter>, step.successor = 0 : i64},
                %w: tensor<8x4xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 1 : i64},
                %x: tensor<16x8xf32> {step.name = "x", step.role = #step.role<batch>},
                %t: tensor<16x4xf32> {step.name = "t", step.role = #step.role<batch>})
    -> (tensor<8x8xf32> {step.name = "u"}, tensor<8x4xf32> {step.name = "w"}) {
  %0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %2 = stablehlo.subtract %1, %t : tensor<16x4xf32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [1] : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
  %5 = stablehlo.tanh %0 : tensor<16x8xf32>
  %6 = stablehlo.add %4, %5 : tensor<16x8xf32>
  %7 = stablehlo.dot_general %x, %6, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %decay = stablehlo.constant dense<1.0e-4> : tensor<8x8xf32>
  %8 = stablehlo.multiply %u, %decay : tensor<8x8xf32>
  %9 = stablehlo.add %7, %8 : tensor<8x8xf32>
  %10 = stablehlo.subtract %u, %9 : tensor<8x8xf32>
  %11 = stablehlo.subtract %w, %3 : tensor<8x4xf32>
  return %10, %11 : tensor<8x8xf32>, tensor<8x4xf32>
}

// -----

// A gradient that is bounded on its way through the layers: not linear.
func.func @main(%u: tensor<8x8xf32> {step.name = "u", step.role = #step.role<parameter>, step.successor = 0 : i64},
                %w: tensor<8x4xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 1 : i64},
                %x: tensor<16x8xf32> {step.name = "x", step.role = #step.role<batch>},
                %t: tensor<16x4xf32> {step.name = "t", step.role = #step.role<batch>})
    -> (tensor<8x8xf32> {step.name = "u"}, tensor<8x4xf32> {step.name = "w"}) {
  %0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %2 = stablehlo.subtract %1, %t : tensor<16x4xf32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [1] : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
  // expected-error @below {{'stablehlo.tanh' is not linear in the loss's gradient}}
  %5 = stablehlo.tanh %4 : tensor<16x8xf32>
  %6 = stablehlo.dot_general %x, %5, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %7 = stablehlo.subtract %u, %6 : tensor<8x8xf32>
  %8 = stablehlo.subtract %w, %3 : tensor<8x4xf32>
  return %7, %8 : tensor<8x8xf32>, tensor<8x4xf32>
}

// -----

// Nothing learns.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: __tenon__
func.func @main(%w: tensor<8x4xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<16x8xf32> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<8x4xf32> {step.name = "w"}, tensor<16x4xf32> {step.name = "y"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %w, %0 : tensor<8x4xf32>, tensor<16x4xf32>
}

// -----

// Nothing that parameters learn is computed with the scale, so nothing is divided by it; only whether it is finite is asked.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: stablehlo.divide
// CHECK: stablehlo.is_finite
// CHECK-NOT: stablehlo.divide
func.func @main(%w: tensor<16x4xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<16x8xf32> {step.name = "x", step.role = #step.role<batch>}, %y: tensor<8x4xf32> {step.name = "y", step.role = #step.role<batch>}) -> (tensor<16x4xf32> {step.name = "w"}) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = stablehlo.subtract %w, %0 : tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}
