//===- Passes.td - The check of partitioned steps -------------------------===//
//
// Whether a step that was cut over a mesh computes what the whole one does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDINGCHECK_PASSES_TD
#define TENON_SHARDINGCHECK_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckPartitionPass : Pass<"check-partition", "::mlir::ModuleOp"> {
  let summary = "check that a partitioned step computes the whole one";
  let description = [{
    Reads the step that a partitioned one was made from, follows both, and fails
    with an error where the results of the partitioned step do not follow from
    those of the whole one. Changes nothing. It shares no rules with `partition`
    (docs/Rationale/Sharding.md).

    `tenon-opt step.mlir --partition=mesh=data=2 -o parts.mlir`, then
    `tenon-opt parts.mlir --check-partition=whole=step.mlir`. Here each device has
    a sum over its own rows, and nothing adds these up:

    ```mlir
    // options: whole=step.mlir
    // file: step.mlir
    func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32> {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // refused: result 0 of the partitioned step is not what the layout [-] of result 0 of the whole step says
    module attributes {step.mesh = "data=2"} {
      func.func @main(%x: tensor<4x4xf32> {step.layout = "[data, -]", step.whole = tensor<8x4xf32>}) -> (tensor<4xf32> {step.layout = "[-]", step.whole = tensor<4xf32>}) {
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"whole", "whole", "std::string", "\"\"",
           "the file with the step that was partitioned">,
  ];
}

def CheckFoldingPass : Pass<"check-folding", "::mlir::ModuleOp"> {
  let summary = "check that ranks compute what the devices that they run do";
  let description = [{
    Reads the partitioned step of which each rank runs several devices
    (`sharding-fold-devices`), and fails with an error unless the results of each
    rank are, bit by bit, those of its devices, with sums over `axis` added by a
    binary tree over all devices. Changes nothing.

    Here a rank adds four shards from the first to the last:

    ```mlir
    // options: devices=parts.mlir
    // file: parts.mlir
    module attributes {step.mesh = "data=4"} {
      func.func @main(%x: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<2xf32> {step.layout = "[-]", step.whole = tensor<2xf32>}) {
        %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }
    }
    // refused: result 0 of a rank is not that of its devices
    module attributes {step.logical_shards = "data=4"} {
      func.func @main(%x: tensor<8xf32>) -> tensor<2xf32> {
        %0 = stablehlo.slice %x [0:2] : (tensor<8xf32>) -> tensor<2xf32>
        %1 = stablehlo.slice %x [2:4] : (tensor<8xf32>) -> tensor<2xf32>
        %2 = stablehlo.slice %x [4:6] : (tensor<8xf32>) -> tensor<2xf32>
        %3 = stablehlo.slice %x [6:8] : (tensor<8xf32>) -> tensor<2xf32>
        %4 = stablehlo.add %0, %1 : tensor<2xf32>
        %5 = stablehlo.add %4, %2 : tensor<2xf32>
        %6 = stablehlo.add %5, %3 : tensor<2xf32>
        return %6 : tensor<2xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"devices", "devices", "std::string", "\"\"",
           "the file with the partitioned step">,
    Option<"axis", "axis", "std::string", "\"data\"", "the axis of the devices">,
  ];
}

#endif // TENON_SHARDINGCHECK_PASSES_TD
