// RUN: tenon-opt %s --memory-order-operations --memory-separate-results --memory-gather-launches | FileCheck %s
// RUN: tenon-opt %s --memory-order-operations --memory-separate-results --memory-gather-launches --memory-plan-offsets | FileCheck %s --check-prefix=BYTES
// RUN: tenon-opt %s --memory-order-operations --memory-separate-results --memory-plan-offsets | FileCheck %s --check-prefix=BYTES

// The update of the first parameter runs later, up to the next element-wise
// group. That one stays: the large value that it reads would be live beside two
// others while it waits for the last one.

// CHECK-LABEL: func.func @main
// CHECK: %[[SMALL:.*]] = step.group generic(%arg2)
// CHECK: %[[LARGE:.*]] = step.group generic(%arg3)
// CHECK: %[[MEAN:.*]] = step.group row(%[[LARGE]])
// CHECK: step.group elementwise(%arg0, %[[SMALL]])
// CHECK: step.group elementwise(%[[LARGE]], %[[MEAN]])
// CHECK: %[[FIRST:.*]] = step.group generic(%arg4)
// CHECK: %[[SECOND:.*]] = step.group generic(%[[FIRST]])
// CHECK: step.group elementwise(%arg1, %[[SECOND]])
// BYTES: temporaries = 8192 : i64
module {
  func.func @main(%p: tensor<16xf32> {step.role = #step.role<batch>}, %q: tensor<16xf32> {step.role = #step.role<batch>}, %s: tensor<f32> {step.role = #step.role<batch>}, %l: tensor<f32> {step.role = #step.role<batch>}, %b: tensor<2048xf32> {step.role = #step.role<batch>}) -> (tensor<16xf32>, tensor<16xf32>, tensor<f32>) {
    %small = step.group generic(%s) : (tensor<f32>) -> tensor<16xf32> {
    ^bb0(%x: tensor<f32>):
      %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<16xf32>
      step.yield %0 : tensor<16xf32>
    }
    %np = step.group elementwise(%p, %small) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>):
      %0 = stablehlo.add %x, %y : tensor<16xf32>
      step.yield %0 : tensor<16xf32>
    }
    %large = step.group generic(%l) : (tensor<f32>) -> tensor<2048xf32> {
    ^bb0(%x: tensor<f32>):
      %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2048xf32>
      step.yield %0 : tensor<2048xf32>
    }
    %mean = step.group row(%large) : (tensor<2048xf32>) -> tensor<f32> {
    ^bb0(%x: tensor<2048xf32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2048xf32>, tensor<f32>) -> tensor<f32>
      step.yield %0 : tensor<f32>
    }
    %part = step.group elementwise(%large, %mean) : (tensor<2048xf32>, tensor<f32>) -> tensor<f32> {
    ^bb0(%x: tensor<2048xf32>, %y: tensor<f32>):
      %0 = stablehlo.slice %x [0:1] : (tensor<2048xf32>) -> tensor<1xf32>
      %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
      %2 = stablehlo.add %1, %y : tensor<f32>
      step.yield %2 : tensor<f32>
    }
    %first = step.group generic(%b) : (tensor<2048xf32>) -> tensor<2048xf32> {
    ^bb0(%x: tensor<2048xf32>):
      %0 = stablehlo.reverse %x, dims = [0] : tensor<2048xf32>
      step.yield %0 : tensor<2048xf32>
    }
    %second = step.group generic(%first) : (tensor<2048xf32>) -> tensor<16xf32> {
    ^bb0(%x: tensor<2048xf32>):
      %0 = stablehlo.slice %x [0:16] : (tensor<2048xf32>) -> tensor<16xf32>
      step.yield %0 : tensor<16xf32>
    }
    %nq = step.group elementwise(%q, %second) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>):
      %0 = stablehlo.subtract %x, %y : tensor<16xf32>
      step.yield %0 : tensor<16xf32>
    }
    return %np, %nq, %part : tensor<16xf32>, tensor<16xf32>, tensor<f32>
  }
}
