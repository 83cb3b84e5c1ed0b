// RUN: tenon-opt %s --split-input-file --check-partition=whole=%S/Inputs/two-products.mlir --verify-diagnostics -o /dev/null
// RUN: tenon-opt %S/Inputs/two-products.mlir --partition='mesh=data=2,model=2' -o %t
// RUN: tenon-opt %t --check-partition=whole=%S/Inputs/two-products.mlir -o /dev/null

// The first product by columns, the second by rows, and a sum over the devices
// along `model`.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// No sum: each device has terms alone.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{result 0 of the partitioned step is not what the layout [data, -] of result 0 of the whole step says}}
    return %2 : tensor<4x6xf32>
  }
}

// -----

// A sum over other parts of the batch.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{result 0 of the partitioned step is not what the layout [data, -] of result 0 of the whole step says; 'stablehlo.all_reduce' computes nothing that the whole step does}}
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// The largest term.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{result 0 of the partitioned step is not what the layout [data, -] of result 0 of the whole step says; 'stablehlo.all_reduce' computes nothing that the whole step does}}
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// Twice.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %once = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{result 0 of the partitioned step is not what the layout [data, -] of result 0 of the whole step says; 'stablehlo.all_reduce' computes nothing that the whole step does}}
    %3 = "stablehlo.all_reduce"(%once) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// A mean.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %sum = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %half = stablehlo.constant dense<0.5> : tensor<4x6xf32>
    // expected-error@below {{result 0 of the partitioned step is not what the layout [data, -] of result 0 of the whole step says; 'stablehlo.multiply' computes nothing that the whole step does}}
    %3 = stablehlo.multiply %sum, %half : tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// The same sum, but each device could take another way.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %id = stablehlo.partition_id : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %first = stablehlo.compare EQ, %id, %zero, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    // expected-error@below {{'stablehlo.if' is no loop or branch of the whole step, or devices could go different ways}}
    %3 = "stablehlo.if"(%first) ({
      %4 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      stablehlo.return %4 : tensor<4x6xf32>
    }, {
      %5 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      stablehlo.return %5 : tensor<4x6xf32>
    }) : (tensor<i1>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// A collective that nobody reads, but all devices come to.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %unread = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// Nobody reads this collective, and two devices are in none of its groups.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{'stablehlo.all_gather' has to have each of the 4 devices in one of its groups, with a channel above 0 and global device ids, or some devices wait for ever}}
    %unread = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// The groups are those of replicas, of which there is one.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{'stablehlo.all_gather' has to have each of the 4 devices in one of its groups, with a channel above 0 and global device ids, or some devices wait for ever}}
    %unread = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// Two devices receive nothing.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error@below {{'stablehlo.collective_permute' has to name each of the 4 devices once as a source and once as a target, with a channel above 0}}
    %unread = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// The branch is on the number of the device, and nobody reads its result.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %id = stablehlo.partition_id : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %first = stablehlo.compare EQ, %id, %zero, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    // expected-error@below {{'stablehlo.if' is no loop or branch of the whole step, or devices could go different ways}}
    %unread = "stablehlo.if"(%first) ({
      %4 = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
      stablehlo.return %4 : tensor<4x4xf32>
    }, {
      %5 = stablehlo.constant dense<0.0> : tensor<4x4xf32>
      stablehlo.return %5 : tensor<4x4xf32>
    }) : (tensor<i1>) -> tensor<4x4xf32>
    return %3 : tensor<4x6xf32>
  }
}

// -----

// Nobody calls the function that the collective stands in.
module attributes {step.mesh = "data=2,model=2"} {
  func.func @main(%x: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}, %v: tensor<6x2xf32> {step.layout = "[-, model]", step.whole = tensor<6x4xf32>}, %w: tensor<2x6xf32> {step.layout = "[model, -]", step.whole = tensor<4x6xf32>}) -> (tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}) {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  
  }
  func.func private @other(%x: tensor<4x2xf32>) -> tensor<4x4xf32> {
    // expected-error@below {{'stablehlo.all_gather' stands outside of @main and its loops and branches, where the check does not see which devices come to it}}
    %unread = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
    return %unread : tensor<4x4xf32>
  }
}

// -----

// expected-error@below {{the step is not partitioned: it has no 'step.mesh'}}
module {
  func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
    return %x : tensor<8x6xf32>
  }
}
