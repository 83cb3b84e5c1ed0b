// RUN: tenon-opt %s --simplify-hoist-invariants | FileCheck %s
// RUN: tenon-opt %s --simplify-hoist-invariants --remarks-filter="simplify-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// What does not depend on the round leaves both loops. The transpose leaves as
// operand of the exponential; the broadcast, which only repeats, stays.

// REMARK: remark: [Passed] hoisted {{.*}}2 operations that no round changes moved in front of the loop
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[W:.*]]: tensor<4x8xf32>, %[[S:.*]]: tensor<f32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[W]]
// CHECK: %[[E:.*]] = stablehlo.exponential %[[T]]
// CHECK: %[[N:.*]] = stablehlo.negate %[[E]]
// CHECK: stablehlo.while
// CHECK: do {
// CHECK-NOT: stablehlo.negate
// CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %[[S]]
// CHECK: stablehlo.add %{{.*}}, %[[B]]
// CHECK: stablehlo.multiply %{{.*}}, %[[N]]
func.func @main(%w: tensor<4x8xf32>, %s: tensor<f32>, %x: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %1:2 = stablehlo.while(%j = %zero, %u = %v) : tensor<i32>, tensor<8x4xf32>
    cond {
      %c = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
      %e = stablehlo.exponential %t : tensor<8x4xf32>
      %k = stablehlo.negate %e : tensor<8x4xf32>
      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
      %a = stablehlo.add %u, %b : tensor<8x4xf32>
      %m = stablehlo.multiply %a, %k : tensor<8x4xf32>
      %nj = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %nj, %m : tensor<i32>, tensor<8x4xf32>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %1#1 : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}
