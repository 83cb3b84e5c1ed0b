// RUN: tenon-opt %s --import-decompose-batch-norm | FileCheck %s

// CHECK-LABEL: func.func @training
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0, 2]
// CHECK: %[[COUNT:.*]] = stablehlo.constant dense<2.400000e+01> : tensor<4xf32>
// CHECK: %[[MEAN:.*]] = stablehlo.divide %[[SUM]], %[[COUNT]]
// CHECK: %[[SQUARES:.*]] = stablehlo.reduce
// CHECK: %[[VARIANCE:.*]] = stablehlo.divide %[[SQUARES]]
// CHECK: stablehlo.constant dense<9.99999974E-6>
// CHECK: stablehlo.sqrt
// CHECK: return %{{.*}}, %[[MEAN]], %[[VARIANCE]]
func.func @training(%x: tensor<8x4x3xf32>, %scale: tensor<4xf32>, %offset: tensor<4xf32>) -> (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @inference
// CHECK: stablehlo.subtract
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.divide
// CHECK: stablehlo.multiply
// CHECK: stablehlo.add
func.func @inference(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %offset: tensor<4xf32>, %mean: tensor<4xf32>, %variance: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Three sums: of the gradient, of its product with what is centered, and of its
// product with what is normalised.

// CHECK-LABEL: func.func @gradient
// CHECK: %[[OFFSET:.*]] = stablehlo.reduce(%arg4 init
// CHECK: stablehlo.reduce
// CHECK: %[[SCALE:.*]] = stablehlo.reduce
// CHECK: return %{{.*}}, %[[SCALE]], %[[OFFSET]]
func.func @gradient(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %mean: tensor<4xf32>, %variance: tensor<4xf32>, %g: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %g) <{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What is written out already stays as it is.

// CHECK-LABEL: func.func @others
// CHECK-NEXT: %[[C:.*]] = stablehlo.subtract %arg0, %arg1 : tensor<8x4xf32>
// CHECK-NEXT: %[[N:.*]] = stablehlo.divide %[[C]], %arg1 : tensor<8x4xf32>
// CHECK-NEXT: return %[[N]]
func.func @others(%x: tensor<8x4xf32>, %m: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.subtract %x, %m : tensor<8x4xf32>
  %1 = stablehlo.divide %0, %m : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
