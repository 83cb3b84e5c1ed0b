// RUN: tenon-opt %s --simplify-merge-duplicates --split-input-file | FileCheck %s

// A recomputation behind a barrier is not merged with what it copies.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>)
// CHECK: %[[T:.*]] = stablehlo.tanh %[[X]]
// CHECK-NOT: stablehlo.tanh %[[X]]
// CHECK: %[[B:.*]] = stablehlo.optimization_barrier %[[X]]
// CHECK: %[[C:.*]] = stablehlo.optimization_barrier %[[X]]
// CHECK: %[[TB:.*]] = stablehlo.tanh %[[B]]
// CHECK: %[[TC:.*]] = stablehlo.tanh %[[C]]
// CHECK: return %[[T]], %[[T]], %[[TB]], %[[TC]]
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.tanh %x : tensor<8xf32>
  %1 = stablehlo.tanh %x : tensor<8xf32>
  %b = stablehlo.optimization_barrier %x : tensor<8xf32>
  %c = stablehlo.optimization_barrier %x : tensor<8xf32>
  %2 = stablehlo.tanh %b : tensor<8xf32>
  %3 = stablehlo.tanh %c : tensor<8xf32>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Constants are shared everywhere but in the regions of reducers, which refer to
// nothing outside.

// CHECK-LABEL: func.func @reducer
// CHECK: %[[TWO:.*]] = stablehlo.constant dense<2.000000e+00>
// CHECK: reducer
// CHECK: %[[INNER:.*]] = stablehlo.constant dense<2.000000e+00>
// CHECK: stablehlo.multiply %{{.*}}, %[[INNER]]
// CHECK: return %{{.*}}, %[[TWO]]
func.func @reducer(%x: tensor<8xf32>, %init: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %k = stablehlo.constant dense<2.0> : tensor<f32>
    %p = stablehlo.multiply %b, %k : tensor<f32>
    %s = stablehlo.add %a, %p : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0, %two : tensor<f32>, tensor<f32>
}
