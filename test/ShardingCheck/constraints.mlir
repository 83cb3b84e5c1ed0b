// RUN: not tenon-opt %s --split-input-file --check-partition=whole=%S/Inputs/constrained.mlir -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=error
// RUN: tenon-opt %S/Inputs/constrained.mlir --partition='mesh=data=2,model=2' -o %t
// RUN: tenon-opt %t --check-partition=whole=%S/Inputs/constrained.mlir -o /dev/null

// Rows are cut along `data` where the step says so, and columns may be cut.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x2xf32> {step.layout = "[data, model]", step.whole = tensor<8x4xf32>}, %y: tensor<4xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<4x2xf32> {step.layout = "[data, model]", step.whole = tensor<8x4xf32>}, tensor<4xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) {
    %0 = stablehlo.tanh %x : tensor<4x2xf32>
    %1 = stablehlo.negate %0 : tensor<4x2xf32>
    %2 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %3 = stablehlo.exponential %2 : tensor<4x3xf32>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x3xf32>) -> tensor<4x6xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    return %1, %5 : tensor<4x2xf32>, tensor<4xf32>
  }
}

// -----

// Rows that are cut along the other axis: right numbers, another place.
// CHECK: constrained.mlir:3:8: error: nothing in the partitioned step lies as this constraint says: [data, -]
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x4xf32> {step.layout = "[model, -]", step.whole = tensor<8x4xf32>}, %y: tensor<4xf32> {step.layout = "[model]", step.whole = tensor<8xf32>}) -> (tensor<4x4xf32> {step.layout = "[model, -]", step.whole = tensor<8x4xf32>}, tensor<4xf32> {step.layout = "[model]", step.whole = tensor<8xf32>}) {
    %0 = stablehlo.tanh %x : tensor<4x4xf32>
    %1 = stablehlo.negate %0 : tensor<4x4xf32>
    %2 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.exponential %2 : tensor<4x6xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    return %1, %4 : tensor<4x4xf32>, tensor<4xf32>
  }
}

// -----

// The members of a group lie along different axes.
// CHECK: constrained.mlir:8:8: error: the values of this sharding group do not lie alike in the partitioned step
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x4xf32> {step.layout = "[data, -]", step.whole = tensor<8x4xf32>}, %y: tensor<4xf32> {step.layout = "[model]", step.whole = tensor<8xf32>}) -> (tensor<4x4xf32> {step.layout = "[data, -]", step.whole = tensor<8x4xf32>}, tensor<4xf32> {step.layout = "[model]", step.whole = tensor<8xf32>}) {
    %0 = stablehlo.tanh %x : tensor<4x4xf32>
    %1 = stablehlo.negate %0 : tensor<4x4xf32>
    %2 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.exponential %2 : tensor<4x6xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    return %1, %4 : tensor<4x4xf32>, tensor<4xf32>
  }
}
