//===- Passes.td - Passes of the stage Sharding ---------------------------===//
//
// A step for one device becomes a step that every device of a mesh runs on its
// own parts of the tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_PASSES_TD
#define TENON_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"partition", "::mlir::ModuleOp"> {
  let summary = "cut a step into one program that each device of a mesh runs";
  let description = [{
    Gives every value of the step a layout on the mesh, from those that
    arguments and results have been given, and replaces every operation by one on
    the parts that a device holds. Tensors that are read in another layout than
    they have move by the cheapest sequence of collectives
    (docs/Rationale/Sharding.md). Operations that cannot be cut run on whole
    tensors on every device, and a remark says which tensors were gathered for
    them.

    Layouts are the step's own (`sdy.sharding` on arguments and results, or the
    older `mhlo.sharding`, which needs the mesh), or lines of a file, such as
    `params.w = [data, -]`, by name, `arg<i>` or `result<i>`. What has none takes one that suits its neighbours. Each argument
    and result says in `step.layout` and `step.whole` what it is a part of.

    ```mlir
    // options: mesh=data=2
    // before
    func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["data"=2]>, [{"data"}, {} ]>}) -> (tensor<4xf32>) {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // after
    module attributes {mhlo.num_partitions = 2 : i32, step.mesh = "data=2"} {
      func.func @main(%arg0: tensor<4x4xf32> {step.layout = "[data, -]", step.whole = tensor<8x4xf32>}) -> (tensor<4xf32> {step.layout = "[-]", step.whole = tensor<4xf32>}) {
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
        %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
          %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
          stablehlo.return %2 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "the devices, as axes with sizes: data=2,model=4; the step's own mesh "
           "if there is none">,
    Option<"layouts", "layouts", "std::string", "\"\"",
           "a file with a line NAME = LAYOUT for each tensor that is given one">,
  ];
}

def PlaceRoundingsPass : Pass<"sharding-place-roundings", "::mlir::func::FuncOp"> {
  let summary = "give every rounding by chance the indices of its elements";
  let description = [{
    Which way `step.stochastic_round` rounds an element depends on the index of
    the element in the whole tensor. This pass writes the indices out as an
    operand, which is then cut as the tensor is: devices of any mesh draw the
    bits that one device draws.

    ```mlir
    // before
    func.func @main(%x: tensor<4x6xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<4x6xbf16> {
      %0 = step.stochastic_round %x, %step, %key : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x6xbf16>
      return %0 : tensor<4x6xbf16>
    }
    // after
    func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<ui32>, %arg2: tensor<2xui32>) -> tensor<4x6xbf16> {
      %0 = stablehlo.iota dim = 1 : tensor<4x6xui32>
      %1 = stablehlo.iota dim = 0 : tensor<4x6xui32>
      %c = stablehlo.constant dense<6> : tensor<4x6xui32>
      %2 = stablehlo.multiply %1, %c : tensor<4x6xui32>
      %3 = stablehlo.add %2, %0 : tensor<4x6xui32>
      %4 = step.stochastic_round %arg0, %arg1, %arg2, %3 : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>, tensor<4x6xui32>) -> tensor<4x6xbf16>
      return %4 : tensor<4x6xbf16>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def FoldDevicesPass : Pass<"sharding-fold-devices", "::mlir::ModuleOp"> {
  let summary = "have each rank run several devices of a partitioned step";
  let description = [{
    Along one axis of the mesh, whose size is a power of two, the devices become
    logical shards: a rank runs the programs of several neighbours, each alone,
    with the shapes that the devices have. What is equal on all of them is
    computed once. Sums over the axis are added by a binary tree over all
    devices, first by each rank over its own and then between ranks
    (`step.sums_by_tree`), so that every number of ranks that divides the devices
    gives the same bits.

    ```mlir
    // options: axis=data ranks=2
    // before
    module attributes {mhlo.num_partitions = 4 : i32, step.mesh = "data=4"} {
      func.func @main(%x: tensor<2x4xf32> {step.layout = "[data, -]", step.whole = tensor<8x4xf32>}) -> (tensor<4xf32> {step.layout = "[-]", step.whole = tensor<4xf32>}) {
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
        %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %2 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %2 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    }
    // after
    module attributes {mhlo.num_partitions = 2 : i32, step.logical_shards = "data=4", step.mesh = "data=2"} {
      func.func @main(%arg0: tensor<4x4xf32> {step.layout = "[data, -]", step.whole = tensor<8x4xf32>}) -> (tensor<4xf32> {step.layout = "[-]", step.whole = tensor<4xf32>}) {
        %0 = stablehlo.slice %arg0 [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
        %1 = stablehlo.slice %arg0 [2:4, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %2 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
        %3 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
        %4 = stablehlo.add %2, %3 : tensor<4xf32>
        %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
          %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
          stablehlo.return %6 : tensor<f32>
        }) {step.sums_by_tree} : (tensor<4xf32>) -> tensor<4xf32>
        return %5 : tensor<4xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"axis", "axis", "std::string", "\"data\"", "the axis of the devices">,
    Option<"ranks", "ranks", "int64_t", "1",
           "how many there are along the axis; they divide its devices">,
  ];
}

#endif // TENON_SHARDING_PASSES_TD
