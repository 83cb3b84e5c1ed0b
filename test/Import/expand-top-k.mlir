// RUN: tenon-opt %s --import-expand-top-k | FileCheck %s

// The selection is a sort by the given comparator, and a slice.

// CHECK-NOT: @largest_first
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]]:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}>
// CHECK: stablehlo.compare GT
// CHECK: stablehlo.return
// CHECK: %[[V:.*]] = stablehlo.slice %[[S]]#0 [0:4]
// CHECK: %[[I:.*]] = stablehlo.slice %[[S]]#1 [0:4]
// CHECK: return %[[V]], %[[I]]
func.func private @largest_first(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<9xf32>, %n: tensor<9xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %n, %low, %none) {called_computations = [@largest_first], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 0 : i64, top_k = 4 : i64}} : (tensor<9xf32>, tensor<9xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}
