// RUN: tenon-opt %s --import-ignore-shardings --split-input-file --verify-diagnostics

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
    // expected-error@+1 {{'sdy.manual_computation' computes per device over mesh @mesh #sdy.mesh<["data"=4, "model"=2]>, which cannot run on one device: it runs once on each of 8 devices}}
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data", "model"} (%local: tensor<2x4xf32>) {
      // expected-error@+1 {{'stablehlo.all_reduce' computes per device over mesh @mesh #sdy.mesh<["data"=4, "model"=2]>, which cannot run on one device: 'replica_groups' is for at least 8 devices; found 2}}
      %1 = "stablehlo.all_reduce"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      sdy.return %2 : tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// Whoever says nothing of devices, or says 1, may still mean several: what
// groups, pairs and meshes say counts.

func.func @groups(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.all_reduce' computes per device, which cannot run on one device: 'replica_groups' is for at least 2 devices; export the step for one device}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-error@+1 {{'sdy.manual_computation' computes per device over mesh @mesh #sdy.mesh<["data"=2]>, which cannot run on one device: it runs once on each of 2 devices}}
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"data"} (%local: tensor<8xf32>) {
      // expected-error@+1 {{'stablehlo.all_reduce' computes per device over mesh @mesh #sdy.mesh<["data"=2]>, which cannot run on one device: 'replica_groups' is for at least 2 devices}}
      %1 = "stablehlo.all_reduce"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %1 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Every kind of collective, each with what it says itself.

func.func @kinds(%x: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' computes per device, which cannot run on one device: 'replica_groups' is for at least 4 devices}}
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'stablehlo.collective_broadcast' computes per device, which cannot run on one device: 'replica_groups' is for at least 6 devices}}
  %1 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0], [5]]> : tensor<2x1xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'stablehlo.collective_permute' computes per device, which cannot run on one device: 'source_target_pairs' is for at least 2 devices}}
  %2 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'stablehlo.collective_reduce' computes per device, which cannot run on one device: 'replica_groups' is for at least 2 devices}}
  %3 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'stablehlo.cross-replica-sum' computes per device, which cannot run on one device: 'replica_groups' is for at least 2 devices}}
  %4 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'stablehlo.all_gather' computes per device, which cannot run on one device: a mesh has 3 devices}}
  %5 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 1>, #stablehlo.mesh_axis<name = "y", size = 3>]>, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'stablehlo.reduce_scatter' computes per device, which cannot run on one device: 'replica_groups' is for at least 2 devices}}
  %6 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A device's own number, where only a mesh says how many there are.

// expected-note@+1 {{which is said here}}
sdy.mesh @mesh = <["data"=8]>
func.func @number(%x: tensor<8xf32>) -> tensor<ui32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"data"}]> : tensor<8xf32>
  // expected-error@+1 {{'stablehlo.partition_id' computes per device over mesh @mesh #sdy.mesh<["data"=8]>, which cannot run on one device: mesh @mesh has 8 devices}}
  %1 = stablehlo.partition_id : tensor<ui32>
  return %1 : tensor<ui32>
}

// -----

// A group of all partitions names replica 0 alone.

module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{'stablehlo.all_reduce' computes per device, which cannot run on one device: 'mhlo.num_partitions' is 4}}
    %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

func.func @nobody(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.all_reduce' computes per device, which cannot run on one device: device 0 is in none of its groups}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<-1> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{'mhlo.num_partitions' is "8", expected a positive integer}}
module attributes {mhlo.num_partitions = "8"} {
}
