// RUN: tenon-opt %s --split-input-file --simplify-raise-attention | FileCheck %s
// RUN: tenon-opt %s --split-input-file --simplify-raise-attention --remarks-filter="simplify-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A softmax that has no rule of its own, causal, heads behind the positions, as
// automatic differentiation leaves it.
// CHECK-LABEL: func.func @causal
// CHECK: %output, %maximum, %sum = step.attention %arg0 [0, q, 1, d], %arg1 [0, k, 1, d], %arg2 [0, k, 1, v] -> [0, q, 1, v] {causal, scale = 5.000000e-01 : f32}
// CHECK: step.attention_gradient %arg0 [0, q, 1, d], %arg1 [0, k, 1, d], %arg2 [0, k, 1, v] of %maximum, %sum, %arg3 [0, q, 1, v]
// CHECK-SAME: -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v] {causal, scale = 5.000000e-01 : f32}
// CHECK-NOT: exponential
// That zeros are added to gradients, alone, takes no kernel behind the one of attention.
// CHECK: %[[KEY:.*]] = stablehlo.reshape %key_gradient
// CHECK: %[[OUTPUT:.*]] = stablehlo.add %output, %{{.*}} : tensor<2x8x3x4xf32>
// CHECK: return %[[OUTPUT]], %query_gradient, %[[KEY]], %value_gradient
// REMARK: remark: [Passed] Attention {{.*}}attention of 2 batch dimensions with its gradient
func.func @causal(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>, %g: tensor<2x8x3x4xf32>)
    -> (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x12xf32>, tensor<2x8x3x4xf32>) {
  %more = stablehlo.constant dense<0.0> : tensor<2x8x3x4xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x3x8x8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2x3x8xf32>
  %two = stablehlo.constant dense<2.0> : tensor<2x3x8x8xf32>
  %far = stablehlo.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %1 = stablehlo.divide %0, %two : tensor<2x3x8x8xf32>
  %2 = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %5 = stablehlo.broadcast_in_dim %4, dims = [2, 3] : (tensor<8x8xi1>) -> tensor<2x3x8x8xi1>
  %6 = stablehlo.select %5, %1, %far : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %7 = stablehlo.reduce(%6 init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
  %9 = stablehlo.subtract %6, %8 : tensor<2x3x8x8xf32>
  %10 = stablehlo.exponential %9 : tensor<2x3x8x8xf32>
  %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
  %13 = stablehlo.divide %10, %12 : tensor<2x3x8x8xf32>
  %14 = stablehlo.multiply %11, %11 : tensor<2x3x8xf32>
  %15 = stablehlo.divide %one, %14 : tensor<2x3x8xf32>
  %16 = stablehlo.dot_general %v, %13, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x4x8xf32>
  %17 = stablehlo.transpose %16, dims = [0, 3, 1, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x8x3x4xf32>
  %18 = stablehlo.transpose %g, dims = [0, 2, 3, 1] : (tensor<2x8x3x4xf32>) -> tensor<2x3x4x8xf32>
  %19 = stablehlo.dot_general %18, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3] : (tensor<2x3x4x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %20 = stablehlo.dot_general %18, %13, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x4x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x4x8xf32>
  %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x3x4x8xf32>) -> tensor<2x8x3x4xf32>
  %22 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
  %23 = stablehlo.multiply %19, %22 : tensor<2x3x8x8xf32>
  %24 = stablehlo.multiply %23, %10 : tensor<2x3x8x8xf32>
  %25 = stablehlo.reduce(%24 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %26 = stablehlo.negate %25 : tensor<2x3x8xf32>
  %27 = stablehlo.divide %19, %12 : tensor<2x3x8x8xf32>
  %28 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
  %29 = stablehlo.add %27, %28 : tensor<2x3x8x8xf32>
  %30 = stablehlo.multiply %29, %10 : tensor<2x3x8x8xf32>
  %31 = stablehlo.select %5, %30, %zeros : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %32 = stablehlo.divide %31, %two : tensor<2x3x8x8xf32>
  %33 = stablehlo.dot_general %32, %q, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x4xf32>
  %34 = stablehlo.transpose %33, dims = [0, 2, 1, 3] : (tensor<2x3x8x4xf32>) -> tensor<2x8x3x4xf32>
  %35 = stablehlo.dot_general %32, %k, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x4xf32>
  %36 = stablehlo.transpose %35, dims = [0, 2, 1, 3] : (tensor<2x3x8x4xf32>) -> tensor<2x8x3x4xf32>
  // Gradients that are laid out behind each other and added to zeros.
  %flat = stablehlo.constant dense<0.0> : tensor<2x8x12xf32>
  %37 = stablehlo.reshape %34 : (tensor<2x8x3x4xf32>) -> tensor<2x8x12xf32>
  %38 = stablehlo.add %37, %flat : tensor<2x8x12xf32>
  %39 = stablehlo.add %17, %more : tensor<2x8x3x4xf32>
  %40 = stablehlo.add %21, %more : tensor<2x8x3x4xf32>
  return %39, %36, %38, %40 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x12xf32>, tensor<2x8x3x4xf32>
}

// -----

// A softmax with a rule of its own; keys shared by groups of queries; a bias
// that is repeated, a mask that is not causal; features that are not last.
// CHECK-LABEL: func.func @shared
// CHECK: %output, %maximum, %sum = step.attention %arg0 [0, 1, q, d], %arg1 [0, k, d], %arg2 [0, v, k] bias %arg3 [1, k] mask %arg4 [0, k] -> [0, 1, q, v] {fill = -1.000000e+09 : f32, scale = 1.000000e+00 : f32}
// CHECK: step.attention_gradient {{.*}} -> [0, 1, q, d], [0, k, d], [0, k, v]
// CHECK: stablehlo.transpose %{{.*}}, dims = [0, 2, 1] : (tensor<2x8x4xf32>) -> tensor<2x4x8xf32>
// REMARK: remark: [Passed] Attention {{.*}}attention of 2 batch dimensions with its gradient
func.func @shared(%q: tensor<2x3x5x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x8xf32>, %b: tensor<3x8xf32>, %m: tensor<2x8xi1>,
                  %g: tensor<2x3x5x4xf32>)
    -> (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x8x4xf32>, tensor<2x4x8xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x3x5x8xf32>
  %far = stablehlo.constant dense<-1.0e9> : tensor<2x3x5x8xf32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<2x3x5x4xf32>, tensor<2x8x4xf32>) -> tensor<2x3x5x8xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 3] : (tensor<3x8xf32>) -> tensor<2x3x5x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x3x5x8xf32>
  %3 = stablehlo.broadcast_in_dim %m, dims = [0, 3] : (tensor<2x8xi1>) -> tensor<2x3x5x8xi1>
  %4 = stablehlo.select %3, %2, %far : tensor<2x3x5x8xi1>, tensor<2x3x5x8xf32>
  %5 = stablehlo.reduce(%4 init: %least) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<2x3x5x8xf32>
  %7 = stablehlo.subtract %4, %6 : tensor<2x3x5x8xf32>
  %8 = stablehlo.exponential %7 : tensor<2x3x5x8xf32>
  %9 = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<2x3x5x8xf32>
  %11 = stablehlo.divide %8, %10 : tensor<2x3x5x8xf32>
  %12 = stablehlo.dot_general %11, %v, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<2x3x5x8xf32>, tensor<2x4x8xf32>) -> tensor<2x3x5x4xf32>
  %13 = stablehlo.dot_general %g, %v, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<2x3x5x4xf32>, tensor<2x4x8xf32>) -> tensor<2x3x5x8xf32>
  %14 = stablehlo.dot_general %g, %11, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2] : (tensor<2x3x5x4xf32>, tensor<2x3x5x8xf32>) -> tensor<2x4x8xf32>
  %15 = stablehlo.multiply %11, %13 : tensor<2x3x5x8xf32>
  %16 = stablehlo.reduce(%15 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<2x3x5x8xf32>
  %18 = stablehlo.subtract %13, %17 : tensor<2x3x5x8xf32>
  %19 = stablehlo.multiply %11, %18 : tensor<2x3x5x8xf32>
  %20 = stablehlo.select %3, %19, %zeros : tensor<2x3x5x8xi1>, tensor<2x3x5x8xf32>
  %21 = stablehlo.dot_general %20, %k, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<2x3x5x8xf32>, tensor<2x8x4xf32>) -> tensor<2x3x5x4xf32>
  %22 = stablehlo.dot_general %20, %q, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2] : (tensor<2x3x5x8xf32>, tensor<2x3x5x4xf32>) -> tensor<2x8x4xf32>
  return %12, %21, %22, %14 : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x8x4xf32>, tensor<2x4x8xf32>
}

// -----

// Scores that somebody else reads have to be there anyway.
// CHECK-LABEL: func.func @read
// CHECK-NOT: step.attention
// REMARK: remark: [Missed] Attention {{.*}}Reason="the result of stablehlo.divide in it is also read by func.return", Remark="attention stays many operations"
func.func @read(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x8xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x8xf32>
  %8 = stablehlo.dot_general %7, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %8, %7 : tensor<2x8x4xf32>, tensor<2x8x8xf32>
}

// -----

// Weights that are weighed by numbers that dropout does not give.
// CHECK-LABEL: func.func @weighed
// CHECK-NOT: step.attention
// REMARK: remark: [Missed] Attention {{.*}}Reason="its weights are changed by stablehlo.multiply before they are multiplied", Remark="attention stays many operations"
func.func @weighed(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>, %keep: tensor<2x8x8xf32>) -> tensor<2x8x4xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x8xf32>
  %8 = stablehlo.multiply %7, %keep : tensor<2x8x8xf32>
  %9 = stablehlo.dot_general %8, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %9 : tensor<2x8x4xf32>
}

// -----

// Dropout on the weights, in an evaluation and written as a choice: its factor
// is made of the booleans.
// CHECK-LABEL: func.func @dropout
// CHECK: %[[FACTOR:.*]] = stablehlo.select %arg3, %{{.*}}, %{{.*}} : tensor<8x8xi1>, tensor<8x8xf32>
// CHECK: step.attention %arg0 [0, q, d], %arg1 [0, k, d], %arg2 [0, k, v] factor %[[FACTOR]] [q, k] -> [0, q, v]
// CHECK-NOT: stablehlo.exponential
// REMARK: remark: [Passed] Attention {{.*}}Remark="attention of 1 batch dimensions, with dropout"
func.func @dropout(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>, %keep: tensor<8x8xi1>) -> tensor<2x8x4xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x8x8xf32>
  %share = stablehlo.constant dense<0.9> : tensor<2x8x8xf32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x8xf32>
  %8 = stablehlo.divide %7, %share : tensor<2x8x8xf32>
  %9 = stablehlo.broadcast_in_dim %keep, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %10 = stablehlo.select %9, %8, %zeros : tensor<2x8x8xi1>, tensor<2x8x8xf32>
  %11 = stablehlo.dot_general %10, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %11 : tensor<2x8x4xf32>
}

// -----

// Scores that are rounded to bf16, and a softmax in it.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: step.attention
// REMARK: remark: [Missed] Attention {{.*}}Reason="its scores are rounded to bf16", Remark="attention stays many operations"
func.func @narrow(%q: tensor<2x8x4xbf16>, %k: tensor<2x8x4xbf16>, %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x8xbf16>
  %0 = stablehlo.convert %r : (tensor<2x8x8xbf16>) -> tensor<2x8x8xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x8xf32>
  %8 = stablehlo.dot_general %7, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %8 : tensor<2x8x4xf32>
}

// -----

// Slopes that are rounded before they are scaled, which the operation does in
// the other order.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: step.attention
// REMARK: remark: [Missed] Attention {{.*}}Reason="the gradient of its scores is rounded before it is scaled", Remark="attention stays many operations"
func.func @rounded(%q: tensor<2x8x4xbf16>, %k: tensor<2x8x4xbf16>, %v: tensor<2x8x4xf32>, %g: tensor<2x8x4xf32>)
    -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %third = stablehlo.constant dense<0.3> : tensor<2x8x8xf32>
  %narrow = stablehlo.constant dense<0.3> : tensor<2x8x8xbf16>
  %r = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x8xf32>
  %0 = stablehlo.multiply %r, %third : tensor<2x8x8xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x8xf32>
  %8 = stablehlo.dot_general %7, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %9 = stablehlo.dot_general %g, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %10 = stablehlo.dot_general %7, %g, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %11 = stablehlo.multiply %7, %9 : tensor<2x8x8xf32>
  %12 = stablehlo.reduce(%11 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %14 = stablehlo.subtract %9, %13 : tensor<2x8x8xf32>
  %15 = stablehlo.multiply %7, %14 : tensor<2x8x8xf32>
  %16 = stablehlo.convert %15 : (tensor<2x8x8xf32>) -> tensor<2x8x8xbf16>
  %17 = stablehlo.multiply %16, %narrow : tensor<2x8x8xbf16>
  %18 = stablehlo.dot_general %17, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x4xf32>
  %19 = stablehlo.dot_general %17, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x8x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x4xf32>
  return %8, %18, %19, %10 : tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>
}

// -----

// The largest of the scores and zero is not their maximum.
// CHECK-LABEL: func.func @largest_above_zero
// CHECK-NOT: step.attention
func.func @largest_above_zero(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x8xf32>
  %8 = stablehlo.dot_general %7, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %8 : tensor<2x8x4xf32>
}
