//===- Passes.td - Fewer and larger collectives ---------------------------===//
//
// Passes on device form. See docs/Forms.md.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COLLECTIVES_PASSES_TD
#define TENON_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeEqualPass : Pass<"collectives-merge-equal", "::mlir::func::FuncOp"> {
  let summary = "one collective for equal ones of a block";
  let description = [{
    Collectives that exchange the same value in the same way, on whatever channel.

    ```mlir
    // before
    func.func @main(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
      %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
      return %0, %0 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def ReduceOncePass : Pass<"collectives-reduce-once", "::mlir::func::FuncOp"> {
  let summary = "sum over ranks what each has summed by itself";
  let description = [{
    Where two sums over the same ranks are added, the ranks add first and sum
    once. Where a loop adds sums over ranks to a value that it carries, such as
    the gradients of microbatches, and nothing else reads the value, the ranks
    sum it once, behind the loop. Floats are summed in another order by that.

    ```mlir
    // before
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = stablehlo.add %0, %1 : tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    // after
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %y : tensor<4xf32>
      %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def BucketSumsPass : Pass<"collectives-bucket-sums", "::mlir::func::FuncOp"> {
  let summary = "one collective for many small sums";
  let description = [{
    Joins all-reduces of a block over the same ranks, of one type and
    combination, to buckets of at most `bytes`, so that ranks wait for fewer
    messages. One that is larger stays alone. A bucket is summed where its last
    member is, or earlier where a collective needs one of its sums. Each element
    is summed as before.

    ```mlir
    // before
    func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>) {
      %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0, %1 : tensor<4xf32>, tensor<2x3xf32>
    }
    // after
    func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>) {
      %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = stablehlo.reshape %y : (tensor<2x3xf32>) -> tensor<6xf32>
      %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4xf32>, tensor<6xf32>) -> tensor<10xf32>
      %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<10xf32>) -> tensor<10xf32>
      %4 = stablehlo.slice %3 [0:4] : (tensor<10xf32>) -> tensor<4xf32>
      %5 = stablehlo.reshape %4 : (tensor<4xf32>) -> tensor<4xf32>
      %6 = stablehlo.slice %3 [4:10] : (tensor<10xf32>) -> tensor<6xf32>
      %7 = stablehlo.reshape %6 : (tensor<6xf32>) -> tensor<2x3xf32>
      return %5, %7 : tensor<4xf32>, tensor<2x3xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
  let options = [
    Option<"bytes", "bytes", "int64_t", "65536",
           "the most that sums of one collective have in all">,
  ];
}

def ReduceByLibraryPass : Pass<"collectives-reduce-by-library", "::mlir::func::FuncOp"> {
  let summary = "have a library combine elements, in an order of its own";
  let description = [{
    Marks the `all_reduce` and `reduce_scatter` operations whose elements the
    library combines that carries the bytes, MPI or NCCL, and does not lose a
    not-a-number of. All others are combined by the ranks, in their order.

    ```mlir
    // options: library=mpi
    // before
    func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<5xf32>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
    // after
    func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) {step.reducer = "mpi"} : (tensor<5xf32>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect"];
  let options = [
    Option<"library", "library", "std::string", "\"\"", "mpi or nccl">,
  ];
}

def ExpandPass : Pass<"collectives-expand", "::mlir::func::FuncOp"> {
  let summary = "leave collectives only bytes to move, in one piece";
  let description = [{
    Between GPUs a library moves bytes. Left to itself it would also add them up,
    in an order that it chooses by size and number of ranks. This pass writes an
    `all_reduce` as an `all_to_all` that hands every rank the elements that it adds
    up, a `reduce` over the ranks, in their order and accumulated in f32 if the
    type has 16 bits, and an `all_gather` of the sums; a `reduce_scatter` as
    the first two of these. A tensor with fewer elements than ranks is gathered and
    added up by all. Sums by a tree (`step.sums_by_tree`) are additions of halves
    instead of a `reduce`; with `only-trees` nothing else is expanded. What the library is to combine itself
    (`collectives-reduce-by-library`) stays.

    Parts that are not in one piece, since the collective cuts or joins a
    dimension behind others, are turned by a `transpose`, which may become part of the kernels around it.

    ```mlir
    // before
    func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<5xf32>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
    // after
    func.func @main(%arg0: tensor<5xf32>) -> tensor<5xf32> {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %0 = stablehlo.pad %arg0, %cst, low = [0], high = [1], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<6xf32>
      %1 = stablehlo.reshape %0 : (tensor<6xf32>) -> tensor<2x3xf32>
      %2 = "stablehlo.all_to_all"(%1) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
      %4 = stablehlo.reshape %3 : (tensor<3xf32>) -> tensor<1x3xf32>
      %5 = "stablehlo.all_gather"(%4) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x3xf32>) -> tensor<2x3xf32>
      %6 = stablehlo.reshape %5 : (tensor<2x3xf32>) -> tensor<6xf32>
      %7 = stablehlo.slice %6 [0:5] : (tensor<6xf32>) -> tensor<5xf32>
      return %7 : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
  let options = [
    Option<"onlyTrees", "only-trees", "bool", "false",
           "expand sums by a tree alone">,
  ];
}

#endif // TENON_COLLECTIVES_PASSES_TD
