// Constraints of collectives, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @all_reduce_c1(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op 'replica_groups' holds 1 twice, at positions 1 and 2, expected distinct values}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c1_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op 'replica_groups' holds 0 more than once, expected distinct values}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<2x100000000000xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c3(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op 'replica_groups' holds 4, expected at least 0 and less than 4, the number of devices in the groups}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 4]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c3_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op 'replica_groups' holds -2, expected at least 0 and less than 2, the number of devices in the groups}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c4(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op has 'use_global_device_ids' with channel 0, expected a positive channel}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c4_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op has 'use_global_device_ids' with channel 0, expected a positive channel}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c5(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op argument #0 of region 'computation' has element type 'f16', expected a type that 'f32' can be promoted to}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %s = stablehlo.add %x, %y : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c6(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op expected 'operands' #0 and 'results' #0 to have the same shape, found [4] and [5], which differ in dimension 0}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @all_reduce_c7(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op 'results' #0 has element type 'f64', expected 'f32', which 'computation' returns}}
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf64>
  return
}
