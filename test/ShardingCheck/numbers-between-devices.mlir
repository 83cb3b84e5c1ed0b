// Numbers of elements that devices send to each other, and not only what the
// step was given: 0, 2, 1 and 3 are brought into the order of the devices.
// RUN: tenon-opt %s --split-input-file --check-partition=whole=%S/Inputs/numbered.mlir --verify-diagnostics -o /dev/null

// One device sends to one.
module attributes {step.mesh = "x=2,y=2"} {
  func.func @main(%x: tensor<1xi32> {step.layout = "[x y]", step.whole = tensor<4xi32>}) -> (tensor<1xi1> {step.layout = "[x y]", step.whole = tensor<4xi1>}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    %2 = stablehlo.remainder %1, %c : tensor<i32>
    %3 = stablehlo.multiply %2, %c : tensor<i32>
    %4 = stablehlo.divide %1, %c : tensor<i32>
    %5 = stablehlo.add %3, %4 : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %7 = "stablehlo.collective_permute"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0], [2, 1], [1, 2], [3, 3]]> : tensor<4x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    %9 = stablehlo.compare EQ, %x, %7 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    return %9 : tensor<1xi1>
  }
}

// -----

// To the wrong ones.
module attributes {step.mesh = "x=2,y=2"} {
  func.func @main(%x: tensor<1xi32> {step.layout = "[x y]", step.whole = tensor<4xi32>}) -> (tensor<1xi1> {step.layout = "[x y]", step.whole = tensor<4xi1>}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    %2 = stablehlo.remainder %1, %c : tensor<i32>
    %3 = stablehlo.multiply %2, %c : tensor<i32>
    %4 = stablehlo.divide %1, %c : tensor<i32>
    %5 = stablehlo.add %3, %4 : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %7 = "stablehlo.collective_permute"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0], [3, 1], [1, 2], [2, 3]]> : tensor<4x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    // expected-error@below {{'stablehlo.compare' computes nothing that the whole step does}}
    %9 = stablehlo.compare EQ, %x, %7 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    return %9 : tensor<1xi1>
  }
}

// -----

// To all, who take their own.
module attributes {step.mesh = "x=2,y=2"} {
  func.func @main(%x: tensor<1xi32> {step.layout = "[x y]", step.whole = tensor<4xi32>}) -> (tensor<1xi1> {step.layout = "[x y]", step.whole = tensor<4xi1>}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    %2 = stablehlo.remainder %1, %c : tensor<i32>
    %3 = stablehlo.multiply %2, %c : tensor<i32>
    %4 = stablehlo.divide %1, %c : tensor<i32>
    %5 = stablehlo.add %3, %4 : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %7 = "stablehlo.all_gather"(%6) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xi32>) -> tensor<4xi32>
    %8 = stablehlo.dynamic_slice %7, %1, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %9 = stablehlo.compare EQ, %x, %8 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    return %9 : tensor<1xi1>
  }
}

// -----

// In the order of the devices that send, who have others.
module attributes {step.mesh = "x=2,y=2"} {
  func.func @main(%x: tensor<1xi32> {step.layout = "[x y]", step.whole = tensor<4xi32>}) -> (tensor<1xi1> {step.layout = "[x y]", step.whole = tensor<4xi1>}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    %2 = stablehlo.remainder %1, %c : tensor<i32>
    %3 = stablehlo.multiply %2, %c : tensor<i32>
    %4 = stablehlo.divide %1, %c : tensor<i32>
    %5 = stablehlo.add %3, %4 : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %7 = "stablehlo.all_gather"(%6) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xi32>) -> tensor<4xi32>
    %8 = stablehlo.dynamic_slice %7, %1, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    // expected-error@below {{'stablehlo.compare' computes nothing that the whole step does}}
    %9 = stablehlo.compare EQ, %x, %8 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    return %9 : tensor<1xi1>
  }
}
