// RUN: tenon-opt %s --split-input-file --verify-diagnostics --sharding-fold-devices='axis=data ranks=2'

// What ranks cannot run several devices of.

// expected-error@below {{the step is not partitioned}}
module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}

// -----

// expected-error@below {{the mesh model=4 has no axis 'data'}}
module attributes {step.mesh = "model=4"} {
  func.func @main(%x: tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) -> (tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) {
    return %x : tensor<2xf32>
  }
}

// -----

// expected-error@below {{6 logical shards are no power of two}}
module attributes {step.mesh = "data=6"} {
  func.func @main(%x: tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) -> (tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) {
    return %x : tensor<2xf32>
  }
}

// -----

// expected-error@below {{2 ranks do not divide 1 logical shards along 'data'}}
module attributes {step.mesh = "data=1"} {
  func.func @main(%x: tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) -> (tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) {
    return %x : tensor<2xf32>
  }
}

// -----

module attributes {step.mesh = "data=4"} {
  // expected-error@below {{argument 0 has the layout [data]: its dimension 0 of 7 elements is not divisible by 4 logical shards}}
  func.func @main(%x: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<7xf32>}) -> (tensor<2xf32> {step.layout = "[data]", step.whole = tensor<7xf32>}) {
    return %x : tensor<2xf32>
  }
}

// -----

module attributes {step.mesh = "data=4,model=2"} {
  // expected-error@below {{argument 0 has the layout [data model]: logical shards need the whole axis 'data', behind all others, to cut dimension 0}}
  func.func @main(%x: tensor<2xf32> {step.layout = "[data model]", step.whole = tensor<16xf32>}) -> (tensor<2xf32> {step.layout = "[data model]", step.whole = tensor<16xf32>}) {
    return %x : tensor<2xf32>
  }
}

// -----

module attributes {step.mesh = "data=4"} {
  // expected-error@below {{result 0 is not known to be equal on all logical shards of the axis 'data', and its layout does not cut it there}}
  func.func @main(%x: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) {
    return %x : tensor<2xf32>
  }
}

// -----

module attributes {step.mesh = "data=4"} {
  func.func @main(%x: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) {
    // expected-error@below {{'stablehlo.collective_permute' sends along the axis, which logical shards of the axis 'data' have no form for}}
    %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

module attributes {step.mesh = "data=4"} {
  func.func @main(%x: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<4xf32> {step.layout = "[-]", step.whole = tensor<4xf32>}) {
    // expected-error@below {{'stablehlo.all_gather' exchanges along a part of the axis, or along another axis as well, which logical shards of the axis 'data' have no form for}}
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {step.mesh = "data=4"} {
  func.func @main(%x: tensor<i1> {step.layout = "[]", step.whole = tensor<i1>}, %y: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) {
    %id = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<0> : tensor<ui32>
    %0 = stablehlo.compare EQ, %id, %c, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    // expected-error@below {{'stablehlo.if' decides by a value that differs between the logical shards of the axis 'data'}}
    %1 = "stablehlo.if"(%0) ({
      stablehlo.return %y : tensor<2xf32>
    }, {
      stablehlo.return %y : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
