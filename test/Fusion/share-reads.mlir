// RUN: tenon-opt %s --split-input-file --fusion-share-reads --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-share-reads --remarks-filter="fusion-share.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tenon-opt %s --split-input-file --fusion-share-reads=farthest=1 | FileCheck %s --check-prefix=NEAR

// An element-wise kernel joins one of rows, and what reads it runs behind both.
// Kernels that are farther apart than allowed stay two.

// NEAR-LABEL: func.func @rows
// NEAR-COUNT-3: step.group
// NEAR: return

// CHECK-LABEL: func.func @rows
// CHECK: %[[B:.*]]:2 = step.group row(%arg0, %arg1)
// CHECK: %[[T:.*]] = stablehlo.tanh
// CHECK-NOT: stablehlo.tanh
// CHECK: step.yield %[[T]], %{{.*}} : tensor<64x256xf32>, tensor<64xf32>
// CHECK: %[[N:.*]] = step.group elementwise(%[[B]]#0)
// CHECK: return %[[N]], %[[B]]#1
// REMARK: two kernels read the same: predicted to take {{.*}} us in one, {{.*}} us in two
// REMARK-NOT: two kernels read the same
func.func @rows(%x: tensor<64x256xf32>, %s: tensor<64xf32>) -> (tensor<64x256xf32>, tensor<64xf32>) {
  %t = step.group elementwise(%x) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %n = step.group elementwise(%t) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.negate %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %r = step.group row(%x, %s) : (tensor<64x256xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64x256xf32>, %b: tensor<64xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
    %1 = stablehlo.tanh %a : tensor<64x256xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<64x256xf32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
    step.yield %3 : tensor<64xf32>
  }
  return %n, %r : tensor<64x256xf32>, tensor<64xf32>
}

// -----

// What something between them needs and is needed by stays apart; so do sums of
// columns, and kernels that share nothing but a row or a scalar.

// CHECK-LABEL: func.func @between
// CHECK-COUNT-5: step.group
// CHECK-NOT: step.group
func.func @between(%x: tensor<64x256xf32>, %y: tensor<64x256xf32>, %b: tensor<256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>, tensor<256xf32>, tensor<64x256xf32>) {
  %t = step.group elementwise(%x) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %i = step.group generic(%t) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<64x256xf32>) -> tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %m = step.group elementwise(%x, %i) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %c: tensor<64x256xf32>):
    %0 = stablehlo.multiply %a, %c : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %s = step.group column(%x) : (tensor<64x256xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
    step.yield %0 : tensor<256xf32>
  }
  %o = step.group elementwise(%y, %b) : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %c: tensor<256xf32>):
    %0 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
    %1 = stablehlo.multiply %a, %0 : tensor<64x256xf32>
    step.yield %1 : tensor<64x256xf32>
  }
  return %t, %m, %s, %o : tensor<64x256xf32>, tensor<64x256xf32>, tensor<256xf32>, tensor<64x256xf32>
}
