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

// -----

func.func @all_gather_c1(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op 'all_gather_dim' is 2, expected a dimension of 'operands' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_gather_c2(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' holds 1 twice, at positions 1 and 2, expected distinct values}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_gather_c4(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' holds 7, expected at least 0 and less than 4, the number of devices in the groups}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 7]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_gather_c5(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op has 'use_global_device_ids' with channel 0, expected a positive channel}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_gather_c6(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op dimension 0 of 'results' #0 has size 4, expected 8: found shape [4, 3], expected [8, 3], that of 'operands' with 'all_gather_dim' times the devices of a group}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @all_gather_c6_b(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op expected 'operands' #0 and 'results' #0 to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<8x3xf64>
  return
}

// -----

func.func @all_gather_c6_c(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op dimension 1 of 'results' #0 has size 4, expected 3: found shape [7, 4], expected [7, 3], that of 'operands' with 'all_gather_dim' times the devices of a group}}
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x3xf32>) -> tensor<7x4xf32>
  return
}

// -----

func.func @all_gather_c6_d(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op 'results' has 2 entries, expected 1, one for each of 'operands'}}
  %r:2 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>)
  return
}

// -----

func.func @reduce_scatter_c1(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op dimension 1 of 'operand' has size 3, expected a multiple of the 2 devices of a group}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op 'scatter_dimension' is -1, expected a dimension of 'operand' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = -1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_scatter_c3(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op 'replica_groups' holds 1 twice, at positions 1 and 2, expected distinct values}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_scatter_c5(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op 'replica_groups' holds 4, expected at least 0 and less than 4, the number of devices in the groups}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 4]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_scatter_c6(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op has 'use_global_device_ids' with channel 0, expected a positive channel}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_scatter_c7(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op argument #0 of region 'computation' has element type 'i32', expected a type that 'f32' can be promoted to}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_scatter_c8(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op dimension 0 of 'result' has size 4, expected 2: found shape [4, 3], expected [2, 3], that of 'operand' with 'scatter_dimension' divided among a group}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_c8_b(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op dimension 1 of 'result' has size 4, expected 3: found shape [1, 4], expected [1, 3], that of 'operand' with 'scatter_dimension' divided among a group}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @reduce_scatter_c9(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op 'result' has element type 'f64', expected 'f32', which 'computation' returns}}
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x3xf32>) -> tensor<2x3xf64>
  return
}

// -----

func.func @all_to_all_c1(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'split_dimension' is 2, expected a dimension of 'operands' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 2 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c2(%a: tensor<5x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op dimension 0 of 'operands' #0 has size 5, expected a multiple of 'split_count' = 2}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<5x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c3(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'concat_dimension' is -1, expected a dimension of 'operands' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = -1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c4(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'split_count' is 0, expected at least 1}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c5(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'replica_groups' holds 1 twice, at positions 1 and 2, expected distinct values}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c7(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'replica_groups' holds 4, expected at least 0 and less than 4, the number of devices in the groups}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 4]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c8(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op groups have 4 devices, expected 'split_count' = 2}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c9(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op dimension 1 of 'results' #0 has size 3, expected 6: found shape [2, 3], expected [2, 6], that of 'operands' split and joined}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @all_to_all_c9_b(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op expected 'operands' #0 and 'results' #0 to have the same element type, found 'f32' and 'i32'}}
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xi32>
  return
}

// -----

func.func @all_to_all_c9_c(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'results' has 0 entries, expected 1, one for each of 'operands'}}
  "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> ()
  return
}

// -----

func.func @collective_broadcast_c1(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op 'replica_groups' holds 1 twice, at positions 1 and 2, expected distinct values}}
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_c2(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op 'replica_groups' holds -5 at position 1, expected at least 0}}
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, -5]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_c3(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op expected 'operands' #0 and 'results' #0 to have the same type, found 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @collective_broadcast_c3_b() {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op has 0 operands, expected at least 1}}
  "stablehlo.collective_broadcast"() <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : () -> ()
  return
}

// -----

func.func @collective_broadcast_c4(%a: tensor<4xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op the root has type 'tensor<i32>', expected 'tensor<1xi32>'}}
  %r = "stablehlo.collective_broadcast"(%a, %b) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, has_dynamic_root = true}> : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_c4_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op has 1 operand, expected at least 2}}
  "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, has_dynamic_root = true}> : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @collective_broadcast_c5(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op 'results' has 2 entries, expected 1, one for each tensor to send}}
  %r:2 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @collective_permute_c1(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs' has type 'tensor<1x3xi64>', expected two columns}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c1_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs' has type 'tensor<2xi64>', expected two columns}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[0, 1]> : tensor<2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c2(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs[:, 0]' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c2_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs' holds 0 throughout, expected distinct devices}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<100000000000x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c3(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs[:, 1]' holds 1 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c4(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs[:, 1]' holds -1 at position 0, expected at least 0}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c4_b(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs[:, 0]' holds -2 at position 0, expected at least 0}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[-2, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c5(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op expected 'operand' and 'result' to have the same type, found 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 3 : i32} {
  func.func @all_reduce_c2(%a: tensor<4xf32>) {
    // expected-error@+1 {{'stablehlo.all_reduce' op 'replica_groups' holds 4 devices, expected 3: the module has 3 replicas of 8 partitions}}
    %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 3 : i32} {
  func.func @all_reduce_c2_b(%a: tensor<4xf32>) {
    // expected-error@+1 {{'stablehlo.all_reduce' op 'replica_groups' holds 4 devices, expected 24: the module has 3 replicas of 8 partitions}}
    %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 3 : i32} {
  func.func @reduce_scatter_c4(%a: tensor<4x3xf32>) {
    // expected-error@+1 {{'stablehlo.reduce_scatter' op 'replica_groups' holds 4 devices, expected 3: the module has 3 replicas of 8 partitions}}
    %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
    return
  }
}

// -----

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 3 : i32} {
  func.func @all_gather_c3(%a: tensor<4x3xf32>) {
    // expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' holds 4 devices, expected 24: the module has 3 replicas of 8 partitions}}
    %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
    return
  }
}

// -----

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 3 : i32} {
  func.func @all_to_all_c6(%a: tensor<4x3xf32>) {
    // expected-error@+1 {{'stablehlo.all_to_all' op 'replica_groups' holds 4 devices, expected 3: the module has 3 replicas of 8 partitions}}
    %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
    return
  }
}

// -----

func.func @collective_broadcast_c6(%a: tensor<4xf32>) {
  %root = stablehlo.constant dense<2> : tensor<1xi32>
  // expected-error@+1 {{'stablehlo.collective_broadcast' op the root is member 2 of its group, expected at least 0 and less than 2}}
  %r = "stablehlo.collective_broadcast"(%a, %root) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root = true}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return
}
