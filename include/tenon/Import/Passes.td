//===- Passes.td - Passes of the import stage ----------------------------===//
//
// An exporter's module becomes step form, one idea per pass. Pipeline.h runs
// them in the order of this file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_PASSES_TD
#define TENON_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def JoinManualRegionsPass : Pass<"import-join-manual-regions", "::mlir::ModuleOp"> {
  let summary = "bodies per device between calls become regions";
  let description = [{
    In the spelling of last year's exporters a body that is written per device
    has no region: `@SPMDFullToShardShape` hands a value to it,
    `@SPMDShardToFullShape` takes one from it, and `mhlo.sharding` on these calls
    and on a `@Sharding` in front says how whole tensors are cut, by numbers of
    devices. This pass makes an `sdy.manual_computation` of what lies between. Its
    axes are those of `mesh`, or without one those that the texts and the groups
    of the step tell apart. Constraints inside of bodies become those of sdy.

    ```mlir
    // before
    module attributes {mhlo.num_partitions = 2 : i32} {
      func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
        %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<8xf32>) -> tensor<8xf32>
        %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
        %2 = stablehlo.sine %1 : tensor<4xf32>
        %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<4xf32>
        %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
        return %4 : tensor<8xf32>
      }
    }
    // after
    module attributes {mhlo.num_partitions = 2 : i32} {
      sdy.mesh @mesh = <["axis0"=2]>
      func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
        %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"axis0"} ]>] out_shardings=[<@mesh, [{"axis0"} ]>] manual_axes={"axis0"} (%arg1: tensor<4xf32>) {
          %1 = stablehlo.sine %arg1 : tensor<4xf32>
          sdy.return %1 : tensor<4xf32>
        } : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::tenon::sdy::SdyDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "the mesh whose axes bodies are written for, such as data=2,model=4">,
  ];
}

def KeepShardingsPass : Pass<"import-keep-shardings", "::mlir::ModuleOp"> {
  let summary = "what authors say of where values inside a step lie";
  let description = [{
    For a step that is cut over a mesh. Everything that says how a value inside
    it is to lie becomes a `step.sharding_constraint`: `sdy.sharding_constraint`
    and `sdy.reshard`, `sdy.sharding_group`, `sdy.propagation_barrier`, what
    other operations of that dialect repeat of their results, the older custom call `@Sharding`,
    `sdy.sharding` and `mhlo.sharding` on operations, and those on arguments and
    results of functions that will be inlined. Shardings of the step's own
    signature stay where they are. A constraint that nobody reads is one on its
    operand.

    ```mlir
    // before
    sdy.mesh @mesh = <["data"=2]>
    func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = sdy.sharding_constraint %x <@mesh, [{"data"} ]> : tensor<8xf32>
      %1 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }
    // after
    sdy.mesh @mesh = <["data"=2]>
    func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = step.sharding_constraint %x {sharding = #sdy.sharding<@mesh, [{"data"} ]>} : tensor<8xf32>
      %1 = step.sharding_constraint %x {open_dims = array<i64: 0>, sharding = "{replicated}"} : tensor<8xf32>
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect"];
  let options = [
    Option<"entry", "entry", "std::string", "\"main\"",
           "the function that is the step">,
  ];
}

def UnfoldManualComputationsPass
    : Pass<"import-unfold-manual-computations", "::mlir::ModuleOp"> {
  let summary = "bodies written per device, for all devices at once";
  let description = [{
    The body of an `sdy.manual_computation` (JAX's `shard_map`) says what one
    device computes of its parts, and what devices exchange. This pass writes
    what all of them compute together, on whole tensors: a value gets a leading
    dimension for each axis of the mesh along which devices may have different
    values, and none for the others. A sum over devices is a sum along such
    dimensions, a gather makes them part of another dimension, a permutation
    changes the order of their elements, and the device's number is a constant.
    So the step means the same on one device and on any mesh, and every later
    pass may look at it. With `constrain` the arguments of bodies and all that is
    exchanged have to lie on the devices that their author meant.

    What has no such form is refused: groups that follow no axes, loops that
    devices leave after different rounds, sums that are left pending, and
    operations that are in no rule here and take values that differ.

    ```mlir
    // before
    sdy.mesh @mesh = <["data"=2]>
    func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32> {
      %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}, {} ]>] out_shardings=[<@mesh, [{} ]>] manual_axes={"data"} (%part: tensor<4x4xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%part init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
        %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %3 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %3 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        sdy.return %2 : tensor<4xf32>
      } : (tensor<8x4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // after
    sdy.mesh @mesh = <["data"=2]>
    func.func @main(%arg0: tensor<8x4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.reshape %arg0 : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"constrain", "constrain", "bool", "false",
           "each device keeps what its author gave it">,
  ];
}

def IgnoreShardingsPass : Pass<"import-ignore-shardings", "::mlir::ModuleOp"> {
  let summary = "compile a program with shardings for one device";
  let description = [{
    Shardings say how a program for one device may be spread over many; the
    program means the same without them. This pass takes out the operations that
    only carry them (`sdy.sharding_constraint`, `@Sharding` custom calls) and
    leaves the attributes of the signature. How many there were stands in
    `step.dropped_constraints`, so that nobody cuts the step over a mesh without
    them; for a mesh `import-keep-shardings` goes before.

    What a device computes for itself (a collective, its own number, an
    `sdy.manual_computation` that nobody has unfolded) means something on one
    device only where the program is for one. The largest number counts that the attributes of the
    module, its meshes, the groups of its collectives and the pairs of its
    permutations say: a collective over groups `[[0]]` is its operand, one over
    `[[0, 1]]` is refused, whatever `mhlo.num_partitions` is, and so is a
    computation along axes of several devices. The error names the meshes and
    what says how many devices there are.

    ```mlir
    // before
    sdy.mesh @mesh = <["data"=2]>
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sdy.sharding_constraint %x <@mesh, [{"data"} ]> : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // after
    module attributes {step.dropped_constraints = 1 : i64} {
      sdy.mesh @mesh = <["data"=2]>
      func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
        return %x : tensor<8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"kept", "kept", "bool", "false",
           "what they say has been kept, so none is ignored">,
  ];
}

def ExpandTopKPass : Pass<"import-expand-top-k", "::mlir::ModuleOp"> {
  let summary = "approximate selections, exactly";
  let description = [{
    Replaces the custom call `ApproxTopK`, which may miss some of the largest
    elements to be faster on other machines, by a sort with its comparator and a
    slice.

    ```mlir
    // before
    func.func private @largest_first(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
      %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      return %0 : tensor<i1>
    }
    func.func @main(%x: tensor<9xf32>, %n: tensor<9xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %none = stablehlo.constant dense<-1> : tensor<i32>
      %0:2 = stablehlo.custom_call @ApproxTopK(%x, %n, %low, %none) {called_computations = [@largest_first], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 0 : i64, top_k = 4 : i64}} : (tensor<9xf32>, tensor<9xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
      return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
    }
    // after
    func.func @main(%arg0: tensor<9xf32>, %arg1: tensor<9xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
      %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %c = stablehlo.constant dense<-1> : tensor<i32>
      %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
        %3 = stablehlo.compare GT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      }) : (tensor<9xf32>, tensor<9xi32>) -> (tensor<9xf32>, tensor<9xi32>)
      %1 = stablehlo.slice %0#0 [0:4] : (tensor<9xf32>) -> tensor<4xf32>
      %2 = stablehlo.slice %0#1 [0:4] : (tensor<9xi32>) -> tensor<4xi32>
      return %1, %2 : tensor<4xf32>, tensor<4xi32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def InlineFunctionsPass : Pass<"import-inline-functions", "::mlir::ModuleOp"> {
  let summary = "one function, nothing called";
  let description = [{
    Replaces every call and every composite of a step by what it calls and drops
    the functions. An inlined operation's location is a call site: its own place
    and the place of the call.

    ```mlir
    // before
    func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"entry", "entry", "std::string", /*default=*/"\"main\"",
           "the function that is the step">,
  ];
}

def ExpandRngPass : Pass<"import-expand-rng", "::mlir::ModuleOp"> {
  let summary = "random numbers as functions of their place";
  let description = [{
    Replaces `rng`, which draws numbers nobody names a state for, by bits of
    THREE_FRY, whose key is the operation's number in the module, and what makes
    numbers of them. Every execution draws the same; a warning says so.

    ```mlir
    // before
    func.func @main(%a: tensor<ui32>, %b: tensor<ui32>) -> tensor<3xui32> {
      %shape = stablehlo.constant dense<3> : tensor<1xi64>
      %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<ui32>, tensor<ui32>, tensor<1xi64>) -> tensor<3xui32>
      return %0 : tensor<3xui32>
    }
    // after
    func.func @main(%arg0: tensor<ui32>, %arg1: tensor<ui32>) -> tensor<3xui32> {
      %c = stablehlo.constant dense<3> : tensor<1xi64>
      %c_0 = stablehlo.constant dense<0> : tensor<2xui64>
      %output_state, %output = stablehlo.rng_bit_generator %c_0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
      %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<3xui32>
      %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<3xui32>
      %2 = stablehlo.subtract %1, %0 : tensor<3xui32>
      %c_1 = stablehlo.constant dense<1> : tensor<3xui32>
      %3 = stablehlo.maximum %2, %c_1 : tensor<3xui32>
      %4 = stablehlo.remainder %output, %3 : tensor<3xui32>
      %5 = stablehlo.add %0, %4 : tensor<3xui32>
      %6 = stablehlo.convert %5 : tensor<3xui32>
      return %6 : tensor<3xui32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::chlo::CHLODialect",
                           "::tenon::stablehlo::StableHLODialect"];
}

def SeparateExpectationsPass
    : Pass<"import-separate-expectations", "::mlir::ModuleOp"> {
  let summary = "return what a self-checking program compares";
  let description = [{
    Takes the expectations out of `@main` and returns the values they compare
    as further results; which of them have to be how close is left on the module.

    ```mlir
    // before
    func.func @main() {
      %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
      %1 = stablehlo.negate %0 : tensor<4xf32>
      check.expect_eq_const %1, dense<-1.0> : tensor<4xf32> loc("checked.mlir":4:7)
      return
    }
    // after
    #loc = loc("checked.mlir":4:7)
    module attributes {step.expectations = [{closeness = 0 : i64, expected = 1 : i64, found = 0 : i64, location = #loc, max_units = 1 : i64, min_units = 0 : i64, tolerance = 1.000000e-04 : f64} ]} {
      func.func @main() -> (tensor<4xf32>, tensor<4xf32>) {
        %cst = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
        %0 = stablehlo.negate %cst : tensor<4xf32>
        %cst_0 = stablehlo.constant dense<-1.000000e+00> : tensor<4xf32>
        return %0, %cst_0 : tensor<4xf32>, tensor<4xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def InferRolesPass : Pass<"import-infer-roles", "::mlir::ModuleOp"> {
  let summary = "what every argument is, and what becomes of every result";
  let description = [{
    Decides which result replaces which argument in the next step (from a roles
    file, else from names, else from an exact match of positions; never from
    donation alone), gives every argument a role and every argument and result a
    name, and writes all of it into attributes. Where succession cannot be
    decided the pass fails and asks.

    ```mlir
    // before
    func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("state['params']['w']"),
                           %arg1: tensor<4xf32> loc("x"))
        -> (tensor<4xf32> {jax.result_info = "result[0]['params']['w']"},
            tensor<4xf32> {jax.result_info = "result[1]"}) {
      %0 = stablehlo.subtract %arg0, %arg1 : tensor<4xf32>
      return %0, %arg1 : tensor<4xf32>, tensor<4xf32>
    }
    // after
    func.func public @main(
        %arg0: tensor<4xf32> {step.aliases = ["state['params']['w']", "arg0"], step.donated, step.name = "params.w",
                              step.role = #step.role<parameter>,
                              step.role_reason = "result 0 has its path, named 'params'",
                              step.successor = 0 : i64, tf.aliasing_output = 0 : i32},
        %arg1: tensor<4xf32> {step.aliases = ["arg1"], step.name = "x", step.role = #step.role<batch>,
                              step.role_reason = "no result replaces it, named 'x'"})
        -> (tensor<4xf32> {jax.result_info = "result[0]['params']['w']",
                           step.aliases = ["result[0]['params']['w']", "result0"], step.name = "params.w"},
            tensor<4xf32> {jax.result_info = "result[1]", step.aliases = ["result[1]"], step.name = "result1"}) {
      %0 = stablehlo.subtract %arg0, %arg1 : tensor<4xf32>
      return %0, %arg1 : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"roles", "roles", "std::string", /*default=*/"",
           "JSON file that states roles and successors">,
    ListOption<"resultNames", "names", "std::string",
               "names of results that are no state, as 1=accuracy">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def ExpandElementLoopsPass
    : Pass<"import-expand-element-loops", "::mlir::func::FuncOp"> {
  let summary = "loops over elements where regions on them hold loops";
  let description = [{
    A region that works on single elements can only hold a straight line of
    operations and branches. Where there is more in it, a loop or an operation on
    many elements, the owner of the region becomes a loop over its elements with
    the region's operations in it. Elements are combined in row-major order, and
    a region is only run on the elements that the owner would give it.

    ```mlir
    // before
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>):
        %one = stablehlo.constant dense<1.0> : tensor<f32>
        %1 = stablehlo.while(%k = %a) : tensor<f32>
        cond {
          %p = stablehlo.compare LT, %k, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %d = stablehlo.add %k, %k : tensor<f32>
          stablehlo.return %d : tensor<f32>
        }
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // after
    func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.reshape %arg0 : (tensor<4xf32>) -> tensor<4xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
      %c = stablehlo.constant dense<0> : tensor<i32>
      %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %cst) : tensor<i32>, tensor<4xf32>
      cond {
        %c_1 = stablehlo.constant dense<4> : tensor<i32>
        %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %c_1 = stablehlo.constant dense<0> : tensor<i32>
        %2 = stablehlo.dynamic_slice %0, %iterArg, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
        %3 = stablehlo.reshape %2 : (tensor<1xf32>) -> tensor<f32>
        %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %4 = stablehlo.while(%iterArg_5 = %3) : tensor<f32>
        cond {
          %8 = stablehlo.compare LT, %iterArg_5, %cst_2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %8 : tensor<i1>
        } do {
          %8 = stablehlo.add %iterArg_5, %iterArg_5 : tensor<f32>
          stablehlo.return %8 : tensor<f32>
        }
        %5 = stablehlo.reshape %4 : (tensor<f32>) -> tensor<1xf32>
        %c_3 = stablehlo.constant dense<0> : tensor<i32>
        %6 = stablehlo.dynamic_update_slice %iterArg_0, %5, %iterArg : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
        %c_4 = stablehlo.constant dense<1> : tensor<i32>
        %7 = stablehlo.add %iterArg, %c_4 : tensor<i32>
        stablehlo.return %7, %6 : tensor<i32>, tensor<4xf32>
      }
      return %1#1 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def ExpandBranchesPass
    : Pass<"import-expand-branches", "::mlir::func::FuncOp"> {
  let summary = "selections instead of branches in reducers and comparators";
  let description = [{
    Regions that work on single elements hold a straight line of element-wise
    operations afterwards: `if` and `case` in them become selections. Loops and
    operations on many elements are refused there, all of them.

    ```mlir
    // before
    func.func @main(%x: tensor<9xf32>, %z: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %c = "stablehlo.if"(%less) ({
          %d = stablehlo.multiply %a, %b : tensor<f32>
          stablehlo.return %d : tensor<f32>
        }, {
          stablehlo.return %a : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<9xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    // after
    func.func @main(%x: tensor<9xf32>, %z: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<9xf32>, tensor<f32>) -> tensor<f32>
       reducer(%a: tensor<f32>, %b: tensor<f32>)  {
        %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = stablehlo.multiply %a, %b : tensor<f32>
        %3 = stablehlo.select %1, %2, %a : tensor<i1>, tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }
      return %0 : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def ExpandLinearAlgebraPass
    : Pass<"import-expand-linear-algebra", "::mlir::func::FuncOp"> {
  let summary = "matrix operations in terms of StableHLO";
  let description = [{
    Writes `fft` out as products with matrices of roots of unity (up to a length
    of 1,024), and `cholesky` and `triangular_solve` as loops over columns and
    rows.

    ```mlir
    // before
    func.func @main(%a: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
      %0 = stablehlo.fft %a, type = RFFT, length = [2] : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
      return %0 : tensor<2xcomplex<f32>>
    }
    // after
    func.func @main(%arg0: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
      %cst = stablehlo.constant dense<[[1.000000e+00, 1.000000e+00], [1.000000e+00, -1.000000e+00]]> : tensor<2x2xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<2x2xf32>
      %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
      %1 = stablehlo.dot_general %arg0, %cst_0, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
      %2 = stablehlo.negate %1 : tensor<2xf32>
      %3 = stablehlo.complex %0, %2 : tensor<2xcomplex<f32>>
      return %3 : tensor<2xcomplex<f32>>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::chlo::CHLODialect"];
}

def DecomposeCHLOPass : Pass<"import-decompose-chlo", "::mlir::func::FuncOp"> {
  let summary = "client operations in terms of StableHLO";
  let description = [{
    Writes the operations of the `chlo` dialect out in StableHLO, with formulas
    that keep their accuracy at small and large operands. `chlo.top_k` and the
    error functions stay: later stages have better code for them than any
    formula.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = chlo.square %x : tensor<8xf32> -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.multiply %x, %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"keepFunctions", "keep-functions", "bool", /*default=*/"false",
           "leave functions of elements, for the reference interpreter">,
  ];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def ExpandDotAlgorithmsPass
    : Pass<"import-expand-dot-algorithms", "::mlir::func::FuncOp"> {
  let summary = "dots that say how they are computed, as plain dots";
  let description = [{
    Rounds the operands of a dot to the precision types of its `algorithm`, into
    several components if it counts several products, multiplies and sums them by
    plain dots, and rounds the sum to the accumulation type. What no code computes
    is an error that says why; docs/Forms.md lists what is supported.

    ```mlir
    // before
    func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %0 : tensor<2x4xf32>
    }
    // after
    func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
      %0 = stablehlo.reduce_precision %x, format = e8m10 : tensor<2x8xf32>
      %1 = stablehlo.reduce_precision %w, format = e8m10 : tensor<8x4xf32>
      %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %2 : tensor<2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def CarryNarrowTypesPass : Pass<"import-carry-narrow-types", "::mlir::func::FuncOp"> {
  let summary = "floats of 8 bits and less and integers of 2 and 4 bits in bytes";
  let description = [{
    Gives tensors of element types without instructions of their own a carrier
    of bytes: `ui8` with the bits of a float, `i8` or `ui8` with the value of an
    integer. What moves elements moves bytes; what computes is computed on f32
    or 8-bit integers and rounded or wrapped once. Reductions of floats keep
    their running values in f32. Arguments and results are marked with
    `step.element_type`, the type that users see.

    ```mlir
    // before
    func.func @main(%x: tensor<8xi4>, %y: tensor<8xi4>) -> tensor<8xi4> {
      %0 = stablehlo.add %x, %y : tensor<8xi4>
      return %0 : tensor<8xi4>
    }
    // after
    func.func @main(%x: tensor<8xi8> {step.element_type = i4}, %y: tensor<8xi8> {step.element_type = i4}) -> (tensor<8xi8> {step.element_type = i4}) {
      %0 = stablehlo.add %x, %y : tensor<8xi8>
      %c = stablehlo.constant dense<4> : tensor<8xi8>
      %1 = stablehlo.shift_left %0, %c : tensor<8xi8>
      %c_0 = stablehlo.constant dense<4> : tensor<8xi8>
      %2 = stablehlo.shift_right_arithmetic %1, %c_0 : tensor<8xi8>
      return %2 : tensor<8xi8>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
}

def SplitComplexPass : Pass<"import-split-complex", "::mlir::func::FuncOp"> {
  let summary = "complex tensors as pairs of real ones";
  let description = [{
    Replaces every complex value by its real and its imaginary part, and every
    operation on complex elements by operations on them. Arguments and results
    keep the form that memory and files have: both parts side by side in a last
    dimension, marked with `step.complex`.

    ```mlir
    // before
    func.func @main(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
      %0 = stablehlo.negate %x : tensor<8xcomplex<f32>>
      return %0 : tensor<8xcomplex<f32>>
    }
    // after
    func.func @main(%x: tensor<8x2xf32> {step.complex}) -> (tensor<8x2xf32> {step.complex}) {
      %0 = stablehlo.slice %x [0:8, 0:1] : (tensor<8x2xf32>) -> tensor<8x1xf32>
      %1 = stablehlo.reshape %0 : (tensor<8x1xf32>) -> tensor<8xf32>
      %2 = stablehlo.slice %x [0:8, 1:2] : (tensor<8x2xf32>) -> tensor<8x1xf32>
      %3 = stablehlo.reshape %2 : (tensor<8x1xf32>) -> tensor<8xf32>
      %4 = stablehlo.negate %1 : tensor<8xf32>
      %5 = stablehlo.negate %3 : tensor<8xf32>
      %6 = stablehlo.reshape %4 : (tensor<8xf32>) -> tensor<8x1xf32>
      %7 = stablehlo.reshape %5 : (tensor<8xf32>) -> tensor<8x1xf32>
      %8 = stablehlo.concatenate %6, %7, dim = 1 : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x2xf32>
      return %8 : tensor<8x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::chlo::CHLODialect",
                           "::tenon::step::StepDialect"];
}

def DecomposeBatchNormPass
    : Pass<"import-decompose-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "batch normalisation as sums and element-wise operations";
  let description = [{
    Writes `batch_norm_training`, `batch_norm_inference` and `batch_norm_grad`,
    which some exporters emit whole, out by the formulas of the specification.

    ```mlir
    // before
    func.func @main(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %offset: tensor<4xf32>, %mean: tensor<4xf32>,
                    %variance: tensor<4xf32>) -> tensor<8x4xf32> {
      %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}>
          : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    // after
    func.func @main(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %offset: tensor<4xf32>, %mean: tensor<4xf32>,
                    %variance: tensor<4xf32>) -> tensor<8x4xf32> {
      %m = stablehlo.broadcast_in_dim %mean, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
      %c = stablehlo.subtract %x, %m : tensor<8x4xf32>
      %v = stablehlo.broadcast_in_dim %variance, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
      %epsilon = stablehlo.constant dense<1.0e-5> : tensor<8x4xf32>
      %e = stablehlo.add %v, %epsilon : tensor<8x4xf32>
      %d = stablehlo.sqrt %e : tensor<8x4xf32>
      %n = stablehlo.divide %c, %d : tensor<8x4xf32>
      %scales = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
      %s = stablehlo.multiply %scales, %n : tensor<8x4xf32>
      %offsets = stablehlo.broadcast_in_dim %offset, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
      %0 = stablehlo.add %s, %offsets : tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def CanonicalizeSpellingPass
    : Pass<"import-canonicalize-spelling", "::mlir::func::FuncOp"> {
  let summary = "one spelling per idea";
  let description = [{
    Programs of different exporters write the same thing differently. After this
    pass, `broadcast_in_dim` is the only broadcast and goes from its source to
    its result in one operation, a broadcast or transpose that only moves unit
    dimensions is a `reshape`, `compare` names its type, operations of the
    dynamic family whose extents are constants are static, tensors without
    elements are constants, `if` is a `case`, and conversions to the same type, deprecated
    operations, tuples and unread operations are gone.

    ```mlir
    // before
    func.func @main(%x: tensor<32x64xf32>, %b: tensor<64xf32>) -> tensor<32x64xi1> {
      %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
      %2 = stablehlo.compare GT, %x, %1 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xi1>
      return %2 : tensor<32x64xi1>
    }
    // after
    func.func @main(%x: tensor<32x64xf32>, %b: tensor<64xf32>) -> tensor<32x64xi1> {
      %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
      %1 = stablehlo.compare GT, %x, %0, FLOAT : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xi1>
      return %1 : tensor<32x64xi1>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def VerifyStepFormPass : Pass<"verify-step-form", "::mlir::ModuleOp"> {
  let summary = "check that a module is in step form";
  let description = [{
    Fails with a diagnostic for everything that docs/Forms.md does not allow in
    step form: functions besides `@main`, operations of other dialects, calls,
    composites, tuples, tokens, dynamic shapes, and arguments or results whose
    attributes are missing, doubled or contradict each other.

    ```mlir
    // refused: step form holds no 'func.call'
    func.func @main() {
      call @main() : () -> ()
      return
    }
    ```
  }];
}

#endif // TENON_IMPORT_PASSES_TD
