// RUN: tenon-opt %s --import-expand-branches --split-input-file --verify-diagnostics | FileCheck %s

// The innermost first; an index beyond the branches means the last one.

// CHECK-LABEL: func.func @nested
// CHECK-NOT: stablehlo.if
// CHECK-NOT: stablehlo.case
// CHECK: %[[SUM:.*]] = stablehlo.add
// CHECK: %[[INNER:.*]] = stablehlo.select %{{.*}}, %[[SUM]], %{{.*}} : tensor<i1>, tensor<i32>
// CHECK: %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[IS1:.*]] = stablehlo.compare EQ, %{{.*}}, %[[ONE]], SIGNED
// CHECK: %[[S1:.*]] = stablehlo.select %[[IS1]], %[[INNER]], %{{.*}} : tensor<i1>, tensor<i32>
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[IS0:.*]] = stablehlo.compare EQ, %{{.*}}, %[[ZERO]], SIGNED
// CHECK: %[[S0:.*]] = stablehlo.select %[[IS0]], %{{.*}}, %[[S1]] : tensor<i1>, tensor<i32>
// CHECK: stablehlo.return %[[S0]]
func.func @nested(%x: tensor<4xi32>, %z: tensor<i32>) -> tensor<i32> {
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.case"(%a) ({
      stablehlo.return %a : tensor<i32>
    }, {
      %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %d = "stablehlo.if"(%less) ({
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }, {
        stablehlo.return %a : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      stablehlo.return %d : tensor<i32>
    }, {
      stablehlo.return %b : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// Branches of the step itself stay.
// CHECK-LABEL: func.func @outside
// CHECK: stablehlo.if
func.func @outside(%p: tensor<i1>, %x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xi32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<4xi32>
    stablehlo.return %1 : tensor<4xi32>
  }) : (tensor<i1>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// Everything that has no code is named, a loop with its body once.

func.func @refused(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    // expected-error @below {{'stablehlo.broadcast_in_dim' in a region of 'stablehlo.map' has no code; there, operations work on single elements}}
    %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3xf32>
    // expected-error @below {{'stablehlo.reduce' in a region of 'stablehlo.map' has no code}}
    %c = stablehlo.reduce(%b init: %a) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @below {{'stablehlo.while' in a region of 'stablehlo.sort' has no code}}
    %c = stablehlo.while(%k = %a) : tensor<f32>
    cond {
      %p = stablehlo.compare LT, %k, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %k, %k : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }
    %p = stablehlo.compare LT, %c, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
