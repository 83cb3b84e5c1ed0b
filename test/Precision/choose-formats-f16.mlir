// RUN: tenon-opt %s --precision-scale-loss --precision-choose-formats="cpu=x86-64-v4+amxbf16 format=f16 holding=none" | FileCheck %s
// RUN: tenon-opt %s --precision-scale-loss --precision-choose-formats="cpu=x86-64-v4+amxbf16 format=f16 holding=none" --remarks-filter="precision-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A gradient that has the scale is stored in f16. What the scale has left, and
// what it has not entered, are f32; so are products, which no processor
// multiplies in f16 as the tables say. A tangent is no risk, an exponential is.

// REMARK-DAG: remark: [Analysis] MayOverflow {{.*}}is infinite in f16 where it exceeds 65504
// REMARK-DAG: the loss's scale is not in it yet
// REMARK-DAG: it belongs to the optimizer's arithmetic

// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = stablehlo.divide %{{.*}}, %[[S:arg[0-9]+]] : tensor<f32>
// CHECK: stablehlo.tanh
// CHECK: stablehlo.convert %{{.*}} {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xf16>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<512x512xf32>
// CHECK: %[[A:.*]] = stablehlo.abs %{{.*}} : tensor<512x512xf32>
// CHECK: stablehlo.reduce(%[[A]]
// CHECK-NOT: bf16
func.func @main(%w: tensor<512x512xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<512x512xf32> {step.name = "x", step.role = #step.role<batch>},
                %t: tensor<512x512xf32> {step.name = "t", step.role = #step.role<batch>})
    -> (tensor<512x512xf32> {step.name = "w"}, tensor<512xf32> {step.name = "s"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.tanh %x : tensor<512x512xf32>
  %e = stablehlo.exponential %t : tensor<512x512xf32>
  %s0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %s1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %e0 = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %e1 = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %s2 = stablehlo.add %s0, %s1 : tensor<512xf32>
  %s3 = stablehlo.add %e0, %e1 : tensor<512xf32>
  %s = stablehlo.add %s2, %s3 : tensor<512xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.subtract %0, %t : tensor<512x512xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = stablehlo.subtract %w, %2 : tensor<512x512xf32>
  return %3, %s : tensor<512x512xf32>, tensor<512xf32>
}
