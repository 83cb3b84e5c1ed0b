// RUN: tenon-opt %s --import-expand-element-loops | FileCheck %s
// RUN: tenon-opt %s --import-expand-element-loops --import-expand-branches -o /dev/null

// A map in a map's loop: what the outer region held is one more owner.

// CHECK-LABEL: func.func @nested
// CHECK-NOT: stablehlo.map
// CHECK: %[[ROW:.*]] = stablehlo.reshape %{{.*}} : (tensor<2x2xf32>) -> tensor<4xf32>
// CHECK: stablehlo.while(%[[AT:.*]] = %{{.*}}, %[[RESULT:.*]] = %{{.*}}) : tensor<i32>, tensor<4xf32>
// CHECK: %[[END:.*]] = stablehlo.constant dense<4>
// CHECK: stablehlo.compare LT, %[[AT]], %[[END]], SIGNED
// CHECK: stablehlo.dynamic_slice %[[ROW]], %[[AT]], sizes = [1]
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<1xf32>
// CHECK: stablehlo.while(%[[K:.*]] = %{{.*}}) : tensor<f32>
// CHECK: stablehlo.add %[[K]], %[[K]]
// CHECK: stablehlo.dynamic_update_slice %[[RESULT]], %{{.*}}, %[[AT]]
func.func @nested(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>):
    %1 = "stablehlo.map"(%a) <{dimensions = array<i64>}> ({
    ^bb0(%b: tensor<f32>):
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %2 = stablehlo.while(%k = %b) : tensor<f32>
      cond {
        %p = stablehlo.compare LT, %k, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %d = stablehlo.add %k, %k : tensor<f32>
        stablehlo.return %d : tensor<f32>
      }
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// An update outside of the input is not combined with anything.

// CHECK-LABEL: func.func @scatter
// CHECK-NOT: stablehlo.scatter
// CHECK: %[[BELOW:.*]] = stablehlo.compare LT, %[[AT:.*]], %{{.*}}, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT: %[[NOT:.*]] = stablehlo.not %[[BELOW]]
// CHECK: %[[END:.*]] = stablehlo.constant dense<4> : tensor<i64>
// CHECK-NEXT: %[[LESS:.*]] = stablehlo.compare LT, %[[AT]], %[[END]], SIGNED
// CHECK-NEXT: %[[WITHIN:.*]] = stablehlo.and %[[NOT]], %[[LESS]]
// CHECK-NEXT: %[[INSIDE:.*]] = stablehlo.and %{{.*}}, %[[WITHIN]]
// CHECK: "stablehlo.if"(%[[INSIDE]])
// CHECK: stablehlo.while
func.func @scatter(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.while(%k = %l) : tensor<f32>
    cond {
      %p = stablehlo.compare GT, %k, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %d = stablehlo.subtract %k, %r : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A straight line with a branch needs no loop.

// CHECK-LABEL: func.func @branches
// CHECK: stablehlo.reduce
// CHECK: stablehlo.if
func.func @branches(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
