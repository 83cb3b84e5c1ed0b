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

#endif // TENON_SHARDING_PASSES_TD
