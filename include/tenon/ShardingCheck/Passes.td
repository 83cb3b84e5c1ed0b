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

#endif // TENON_SHARDINGCHECK_PASSES_TD
