//===- Passes.td - Passes of the simplify stage --------------------------===//
//
// Same meaning, less work. Every pass keeps step form, and may run again after
// any later stage; none undoes a user's rounding or recomputation.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SIMPLIFY_PASSES_TD
#define TENON_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyRulesPass : Pass<"simplify-apply-rules"> {
  let summary = "a library of small rewrites, each exact in every bit";
  let description = [{
    Folds constants (elementary functions excepted: they belong to the compiled
    code), removes what changes nothing in floating point, composes movements of
    elements, turns guarded accesses at known places into slices, and dots that
    add nothing up into element-wise products, adds up padded tensors that lie
    side by side by a concatenation, and picks single elements, as of labels, from
    what others are computed from. Where subnormal numbers are
    flushed, an operation that leaves its operand alone otherwise (here the
    multiplication by 1) goes only if the operand cannot be subnormal, as what was
    computed before.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %one = stablehlo.constant dense<1.0> : tensor<8xf32>
      %0 = stablehlo.add %x, %x : tensor<8xf32>
      %1 = stablehlo.multiply %0, %one : tensor<8xf32>
      %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<2x4xf32>
      %3 = stablehlo.reshape %2 : (tensor<2x4xf32>) -> tensor<8xf32>
      return %3 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
  let options = [
    Option<"subnormals", "subnormals", "std::string", "\"flush\"",
           "what the compiled step does with subnormal numbers: flush or keep">,
  ];
}

def MergeDuplicatesPass : Pass<"simplify-merge-duplicates"> {
  let summary = "equal operations on equal operands are one";
  let description = [{
    Keeps the first of several operations that compute the same. Barriers are
    never merged and hide what is behind them, so that a recomputation written by
    the user stays one. Constants that a reducer reads are cloned into it: the
    regions of reductions, scatters and sorts refer to nothing outside.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %y : tensor<8xf32>
      %1 = stablehlo.add %x, %y : tensor<8xf32>
      %2 = stablehlo.multiply %0, %1 : tensor<8xf32>
      return %2 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %y : tensor<8xf32>
      %1 = stablehlo.multiply %0, %0 : tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
}

def DropBarriersPass : Pass<"simplify-drop-barriers"> {
  let summary = "forget which values the user recomputes";
  let description = [{
    A checkpoint that the user wrote is a second copy of operations behind a
    barrier, and stays one. This pass takes the barriers away, so that copies
    merge again and planning under a budget decides what is computed twice. It
    runs with `--recompute=replan` only.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %x : tensor<8xf32>
      %1 = stablehlo.optimization_barrier %x : tensor<8xf32>
      %2 = stablehlo.tanh %1 : tensor<8xf32>
      %3 = stablehlo.multiply %0, %2 : tensor<8xf32>
      return %3 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %x : tensor<8xf32>
      %1 = stablehlo.tanh %x : tensor<8xf32>
      %2 = stablehlo.multiply %0, %1 : tensor<8xf32>
      return %2 : tensor<8xf32>
    }
    ```
  }];
}

def TrimLoopsPass : Pass<"simplify-trim-loops"> {
  let summary = "loops carry what changes and what is read";
  let description = [{
    A value that every round of a loop hands on unchanged is captured from outside
    instead; one that nobody reads, neither after the loop nor in the computation
    of what is read, is not computed; values that are equal at the start and in
    every round are carried once.

    ```mlir
    // before
    func.func @main(%weights: tensor<8xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %0:3 = stablehlo.while(%i = %zero, %w = %weights, %v = %weights) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %n = stablehlo.add %i, %one : tensor<i32>
        %m = stablehlo.multiply %v, %w : tensor<8xf32>
        stablehlo.return %n, %w, %m : tensor<i32>, tensor<8xf32>, tensor<8xf32>
      }
      return %0#2 : tensor<8xf32>
    }
    // after
    func.func @main(%weights: tensor<8xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %v = %weights) : tensor<i32>, tensor<8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %n = stablehlo.add %i, %one : tensor<i32>
        %m = stablehlo.multiply %v, %weights : tensor<8xf32>
        stablehlo.return %n, %m : tensor<i32>, tensor<8xf32>
      }
      return %0#1 : tensor<8xf32>
    }
    ```
  }];
}

def HoistInvariantsPass : Pass<"simplify-hoist-invariants"> {
  let summary = "what every round of a loop computes alike is computed before it";
  let description = [{
    Moves operations of a loop's body whose operands do not change in front of the
    loop. Operations that only spread a smaller tensor (broadcasts, counting) stay
    inside: kept over the loop they would cost memory and save nothing.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.while(%v = %x) : tensor<8xf32>
      cond {
        %more = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %k = stablehlo.exponential %w : tensor<8xf32>
        %n = stablehlo.multiply %v, %k : tensor<8xf32>
        stablehlo.return %n : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
      %k = stablehlo.exponential %w : tensor<8xf32>
      %0 = stablehlo.while(%v = %x) : tensor<8xf32>
      cond {
        %more = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %n = stablehlo.multiply %v, %k : tensor<8xf32>
        stablehlo.return %n : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
}

def RecognizeIdiomsPass : Pass<"simplify-recognize-idioms"> {
  let summary = "name gathers and scatters by what they are in training";
  let description = [{
    Marks gathers and scatters whose dimension numbers are those of an embedding
    lookup, its gradient, or the choice of one element per row by a label, with
    the attribute `step.idiom`. Nothing else changes.

    | `step.idiom` | operation |
    |---|---|
    | `embedding_lookup` | gather of whole rows of a table |
    | `embedding_gradient` | scatter of whole rows into a table, added up |
    | `index_pick` | gather of one element per row |
    | `index_pick_gradient` | scatter of one element per row, added up |

    ```mlir
    // before
    func.func @main(%table: tensor<65x128xf32>, %ids: tensor<64x1xi32>) -> tensor<64x128xf32> {
      %0 = "stablehlo.gather"(%table, %ids) <{
        dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
                                              start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 128>
      }> : (tensor<65x128xf32>, tensor<64x1xi32>) -> tensor<64x128xf32>
      return %0 : tensor<64x128xf32>
    }
    // after
    func.func @main(%table: tensor<65x128xf32>, %ids: tensor<64x1xi32>) -> tensor<64x128xf32> {
      %0 = "stablehlo.gather"(%table, %ids) <{
        dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
                                              start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 128>
      }> {step.idiom = "embedding_lookup"} : (tensor<65x128xf32>, tensor<64x1xi32>) -> tensor<64x128xf32>
      return %0 : tensor<64x128xf32>
    }
    ```
  }];
}

def RaiseAttentionPass : Pass<"simplify-raise-attention"> {
  let summary = "attention, written as many operations, becomes one";
  let description = [{
    Finds the softmax of products of queries and keys, with scale, bias and mask,
    whose weights, with or without dropout, are multiplied by values, and its
    gradient as automatic differentiation writes it, and puts `step.attention`
    and `step.attention_gradient` in their place. Whether it does follows from
    the program alone; what is close to attention gets a remark that says why it
    stays. Zeros that are added to a gradient of f32 are left out: whether a sum
    underflows to +0 or -0 depends on its order, which is another one here.

    ```mlir
    // before
    func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %half = stablehlo.constant dense<0.5> : tensor<2x8x8xf32>
      %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
      %1 = stablehlo.multiply %0, %half : tensor<2x8x8xf32>
      %2 = stablehlo.reduce(%1 init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
      %4 = stablehlo.subtract %1, %3 : tensor<2x8x8xf32>
      %5 = stablehlo.exponential %4 : tensor<2x8x8xf32>
      %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
      %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
      %8 = stablehlo.divide %5, %7 : tensor<2x8x8xf32>
      %9 = stablehlo.dot_general %8, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
      return %9 : tensor<2x8x4xf32>
    }
    // after
    func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
      %o, %max, %sum = step.attention %q[0, q, d], %k[0, k, d], %v[0, k, v] -> [0, q, v] {scale = 5.000000e-01 : f32}
          : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
      return %o : tensor<2x8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect", "::tenon::stablehlo::StableHLODialect"];
}

def ComputeReadPartsPass : Pass<"simplify-compute-read-parts"> {
  let summary = "rows that nobody reads are not computed";
  let description = [{
    A slice reads a part of what was computed, and the gradient that comes back
    through it is zero in all other parts, so what it is multiplied by is read in
    that part, too. Products, their gradients, attention and what stands between
    them are computed for the part that is both read and not zero, if that is at
    most half of a dimension; where somebody reads more, zeros are put around it.
    A piece of the step is written so if a product in it gets smaller by that.

    Sums then have fewer terms, so they may be added in another order, and a
    product with zero counts as zero, whatever the other factor
    (docs/Rationale/PartsRead.md).

    ```mlir
    // before
    func.func @main(%x: tensor<2x65x8xf32>, %w: tensor<8x4xf32>, %g: tensor<2x1x4xf32>) -> (tensor<2x1x4xf32>, tensor<8x4xf32>, tensor<2x65x8xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x65x8xf32>, tensor<8x4xf32>) -> tensor<2x65x4xf32>
      %1 = stablehlo.slice %0 [0:2, 0:1, 0:4] : (tensor<2x65x4xf32>) -> tensor<2x1x4xf32>
      %2 = stablehlo.pad %g, %zero, low = [0, 0, 0], high = [0, 64, 0], interior = [0, 0, 0] : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x65x4xf32>
      %3 = stablehlo.dot_general %x, %2, contracting_dims = [0, 1] x [0, 1] : (tensor<2x65x8xf32>, tensor<2x65x4xf32>) -> tensor<8x4xf32>
      %4 = stablehlo.dot_general %2, %w, contracting_dims = [2] x [1] : (tensor<2x65x4xf32>, tensor<8x4xf32>) -> tensor<2x65x8xf32>
      return %1, %3, %4 : tensor<2x1x4xf32>, tensor<8x4xf32>, tensor<2x65x8xf32>
    }
    // after
    func.func @main(%x: tensor<2x65x8xf32>, %w: tensor<8x4xf32>, %g: tensor<2x1x4xf32>) -> (tensor<2x1x4xf32>, tensor<8x4xf32>, tensor<2x65x8xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.slice %x [0:2, 0:1, 0:8] : (tensor<2x65x8xf32>) -> tensor<2x1x8xf32>
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [2] x [0] : (tensor<2x1x8xf32>, tensor<8x4xf32>) -> tensor<2x1x4xf32>
      %2 = stablehlo.dot_general %0, %g, contracting_dims = [0, 1] x [0, 1] : (tensor<2x1x8xf32>, tensor<2x1x4xf32>) -> tensor<8x4xf32>
      %3 = stablehlo.dot_general %g, %w, contracting_dims = [2] x [1] : (tensor<2x1x4xf32>, tensor<8x4xf32>) -> tensor<2x1x8xf32>
      %4 = stablehlo.pad %3, %zero, low = [0, 0, 0], high = [0, 64, 0], interior = [0, 0, 0] : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<2x65x8xf32>
      return %1, %2, %4 : tensor<2x1x4xf32>, tensor<8x4xf32>, tensor<2x65x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def ExpandAttentionPass : Pass<"simplify-expand-attention"> {
  let summary = "attention becomes many operations again";
  let description = [{
    Writes `step.attention` and `step.attention_gradient` as plain operations on
    whole tensors, for the output that XLA compiles.

    ```mlir
    // before
    func.func @main(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %o, %max, %sum = step.attention %q[q, d], %k[k, d], %v[k, v] -> [q, v] {scale = 1.000000e+00 : f32}
          : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>)
      return %o : tensor<8x4xf32>
    }
    // after
    func.func @main(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
      %3 = stablehlo.subtract %0, %2 : tensor<8x8xf32>
      %4 = stablehlo.exponential %3 : tensor<8x8xf32>
      %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
      %7 = stablehlo.divide %4, %6 : tensor<8x8xf32>
      %8 = stablehlo.dot_general %7, %v, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      return %8 : tensor<8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

#endif // TENON_SIMPLIFY_PASSES_TD
