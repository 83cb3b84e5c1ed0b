//===- Passes.td - Fusion: operations become groups -----------------------===//
//
// The stage `group`: step form in, grouped form out. See docs/Forms.md.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_PASSES_TD
#define TENON_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseBlocksPass : Pass<"fusion-choose-blocks", "::mlir::func::FuncOp"> {
  let summary = "decide how many rounds of a loop are added up with one product";
  let description = [{
    A backward loop over time adds one small product per round to each weight's
    gradient. This pass finds such sums and marks each with the number of rounds
    that one product is to be made of, before other passes change the loop:
    the largest divisor of the rounds, of two blocks at least, with which a
    product has at most 256 terms to a sum and what is kept for it takes
    at most twice what the sums take. Products of what is kept so and a value from
    outside of the loop are marked, too, if a round only stacks them, and so are
    reductions of what is kept. A product may be rounded to 16 bits before it is
    added if the compiler chose so, which then happens once per block.
    `fusion-block-loops` makes the products.

    ```mlir
    // before
    func.func @main(%x: tensor<8x4x16xf32>, %d: tensor<8x4x16xf32>) -> tensor<16x16xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %eight = stablehlo.constant dense<8> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<16x16xf32>
      %0:2 = stablehlo.while(%i = %zero, %sum = %start) : tensor<i32>, tensor<16x16xf32>
      cond {
        %more = stablehlo.compare LT, %i, %eight, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
        %di = stablehlo.dynamic_slice %d, %i, %zero, %zero, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
        %xr = stablehlo.reshape %xi : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
        %dr = stablehlo.reshape %di : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
        %p = stablehlo.dot_general %xr, %dr, contracting_dims = [0] x [0] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
        %s = stablehlo.add %sum, %p : tensor<16x16xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %s : tensor<i32>, tensor<16x16xf32>
      }
      return %0#1 : tensor<16x16xf32>
    }
    // after
    func.func @main(%arg0: tensor<8x4x16xf32>, %arg1: tensor<8x4x16xf32>) -> tensor<16x16xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<8> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<16x16xf32>
      %0:2 = stablehlo.while(%iterArg = %c, %iterArg_2 = %cst) : tensor<i32>, tensor<16x16xf32>
      cond {
        %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = stablehlo.dynamic_slice %arg0, %iterArg, %c, %c, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
        %2 = stablehlo.dynamic_slice %arg1, %iterArg, %c, %c, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
        %3 = stablehlo.reshape %1 : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
        %4 = stablehlo.reshape %2 : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
        %5 = stablehlo.dot_general %3, %4, contracting_dims = [0] x [0] {step.block_rounds = 4 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
        %6 = stablehlo.add %iterArg_2, %5 : tensor<16x16xf32>
        %7 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %7, %6 : tensor<i32>, tensor<16x16xf32>
      }
      return %0#1 : tensor<16x16xf32>
    }
    ```
  }];
}

def MarkFilledStacksPass : Pass<"fusion-mark-filled-stacks", "::mlir::func::FuncOp"> {
  let summary = "say which stacks are written before they are read";
  let description = [{
    Of a stack that a counted loop only writes, slice by slice, nobody sees what
    it starts from. `step.filled` on the loop has the positions of such carried values;
    what they start from need not be stored.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<3x8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
      %0:3 = stablehlo.while(%i = %zero, %v = %x, %stack = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %t = stablehlo.tanh %v : tensor<8xf32>
        %r = stablehlo.reshape %t : (tensor<8xf32>) -> tensor<1x8xf32>
        %s = stablehlo.dynamic_update_slice %stack, %r, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %t, %s : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      return %0#2 : tensor<3x8xf32>
    }
    // after
    func.func @main(%arg0: tensor<8xf32>) -> tensor<3x8xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<3x8xf32>
      %0:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg0, %iterArg_3 = %cst) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32> attributes {step.filled = array<i64: 2>}
      cond {
        %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = stablehlo.tanh %iterArg_2 : tensor<8xf32>
        %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<1x8xf32>
        %3 = stablehlo.dynamic_update_slice %iterArg_3, %2, %iterArg, %c : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        %4 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %4, %1, %3 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      return %0#2 : tensor<3x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def BlockLoopsPass : Pass<"fusion-block-loops", "::mlir::func::FuncOp"> {
  let summary = "add up several rounds of a loop with one product";
  let description = [{
    Runs the rounds of a loop in blocks, an inner loop each, where sums are
    marked by `fusion-choose-blocks`. The rounds of a block keep what is multiplied, and one
    product whose contraction runs over the rounds, too, is added to the sum
    behind them. A marked product that a round only stacks is made of all rows of
    the block and written to the stack at once. What is kept is carried by the loop
    over blocks and takes the memory of one block. Rows of f32 that are a multiple
    of 4 KiB long are kept a cache line longer, so that they do not share sets of
    a cache.

    ```mlir
    // before
    func.func @main(%arg0: tensor<8x4x16xf32>, %arg1: tensor<8x4x16xf32>) -> tensor<16x16xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<8> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<16x16xf32>
      %0:2 = stablehlo.while(%iterArg = %c, %iterArg_2 = %cst) : tensor<i32>, tensor<16x16xf32>
      cond {
        %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = stablehlo.dynamic_slice %arg0, %iterArg, %c, %c, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
        %2 = stablehlo.dynamic_slice %arg1, %iterArg, %c, %c, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
        %3 = stablehlo.reshape %1 : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
        %4 = stablehlo.reshape %2 : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
        %5 = stablehlo.dot_general %3, %4, contracting_dims = [0] x [0] {step.block_rounds = 4 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
        %6 = stablehlo.add %iterArg_2, %5 : tensor<16x16xf32>
        %7 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %7, %6 : tensor<i32>, tensor<16x16xf32>
      }
      return %0#1 : tensor<16x16xf32>
    }
    // after
    func.func @main(%arg0: tensor<8x4x16xf32>, %arg1: tensor<8x4x16xf32>) -> tensor<16x16xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<16x16xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<4x4x16xf32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<4x4x16xf32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %0:4 = stablehlo.while(%iterArg = %c_2, %iterArg_3 = %cst, %iterArg_4 = %cst_0, %iterArg_5 = %cst_1) : tensor<i32>, tensor<16x16xf32>, tensor<4x4x16xf32>, tensor<4x4x16xf32> attributes {step.filled = array<i64: 2, 3>}
      cond {
        %c_6 = stablehlo.constant dense<2> : tensor<i32>
        %1 = stablehlo.compare LT, %iterArg, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %c_6 = stablehlo.constant dense<4> : tensor<i32>
        %1 = stablehlo.multiply %iterArg, %c_6 : tensor<i32>
        %c_7 = stablehlo.constant dense<0> : tensor<i32>
        %2:3 = stablehlo.while(%iterArg_9 = %c_7, %iterArg_10 = %iterArg_4, %iterArg_11 = %iterArg_5) : tensor<i32>, tensor<4x4x16xf32>, tensor<4x4x16xf32>
        cond {
          %c_12 = stablehlo.constant dense<4> : tensor<i32>
          %6 = stablehlo.compare LT, %iterArg_9, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %6 : tensor<i1>
        } do {
          %6 = stablehlo.add %1, %iterArg_9 : tensor<i32>
          %7 = stablehlo.dynamic_slice %arg0, %6, %c, %c, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
          %8 = stablehlo.dynamic_slice %arg1, %6, %c, %c, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
          %9 = stablehlo.reshape %7 : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
          %10 = stablehlo.reshape %8 : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
          %11 = stablehlo.reshape %9 : (tensor<4x16xf32>) -> tensor<1x4x16xf32>
          %c_12 = stablehlo.constant dense<0> : tensor<i32>
          %12 = stablehlo.dynamic_update_slice %iterArg_10, %11, %iterArg_9, %c_12, %c_12 : (tensor<4x4x16xf32>, tensor<1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x4x16xf32>
          %13 = stablehlo.reshape %10 : (tensor<4x16xf32>) -> tensor<1x4x16xf32>
          %c_13 = stablehlo.constant dense<0> : tensor<i32>
          %14 = stablehlo.dynamic_update_slice %iterArg_11, %13, %iterArg_9, %c_13, %c_13 : (tensor<4x4x16xf32>, tensor<1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x4x16xf32>
          %c_14 = stablehlo.constant dense<1> : tensor<i32>
          %15 = stablehlo.add %iterArg_9, %c_14 : tensor<i32>
          stablehlo.return %15, %12, %14 : tensor<i32>, tensor<4x4x16xf32>, tensor<4x4x16xf32>
        }
        %3 = stablehlo.dot_general %2#1, %2#2, contracting_dims = [0, 1] x [0, 1] : (tensor<4x4x16xf32>, tensor<4x4x16xf32>) -> tensor<16x16xf32>
        %4 = stablehlo.add %iterArg_3, %3 : tensor<16x16xf32>
        %c_8 = stablehlo.constant dense<1> : tensor<i32>
        %5 = stablehlo.add %iterArg, %c_8 : tensor<i32>
        stablehlo.return %5, %4, %2#1, %2#2 : tensor<i32>, tensor<16x16xf32>, tensor<4x4x16xf32>, tensor<4x4x16xf32>
      }
      return %0#1 : tensor<16x16xf32>
    }
    ```
  }];
  let options = [
    Option<"stagger", "stagger", "bool", "true",
           "make rows that share sets of a processor's cache longer">];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def RecomputeAcrossLoopsPass : Pass<"fusion-recompute-across-loops", "::mlir::func::FuncOp"> {
  let summary = "stack fewer values between a forward and a backward loop";
  let description = [{
    Of the values that every round of a loop stacks for the rounds of another
    one, those that follow element by element from others are computed again in
    the round that reads them. A minimum cut chooses which are stacked. At higher
    levels, for a memory budget, contractions and reductions are computed again,
    too. `step.loop_savings` on the function says how many bytes each pair of
    loops stacks less, `step.loop_pair` on the loops to which pair they belong.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
      %0:4 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %s = stablehlo.sine %v : tensor<8xf32>
        %d = stablehlo.multiply %s, %s : tensor<8xf32>
        %s1 = stablehlo.reshape %s : (tensor<8xf32>) -> tensor<1x8xf32>
        %d1 = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<1x8xf32>
        %as = stablehlo.dynamic_update_slice %a, %s1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        %bs = stablehlo.dynamic_update_slice %b, %d1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %s, %as, %bs : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
      }
      %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %r = stablehlo.dynamic_slice %0#2, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %t = stablehlo.dynamic_slice %0#3, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %u = stablehlo.add %r, %t : tensor<1x8xf32>
        %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
        %h = stablehlo.multiply %g, %w : tensor<8xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %h : tensor<i32>, tensor<8xf32>
      }
      return %1#1 : tensor<8xf32>
    }
    // after
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {step.loop_savings = array<i64: 96>} {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<3x8xf32>
      %0:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg0, %iterArg_3 = %cst) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32> attributes {step.loop_pair = 0 : i64}
      cond {
        %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = stablehlo.sine %iterArg_2 : tensor<8xf32>
        %3 = stablehlo.reshape %2 : (tensor<8xf32>) -> tensor<1x8xf32>
        %4 = stablehlo.dynamic_update_slice %iterArg_3, %3, %iterArg, %c : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        %5 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %5, %2, %4 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      %1:2 = stablehlo.while(%iterArg = %c, %iterArg_2 = %0#1) : tensor<i32>, tensor<8xf32> attributes {step.loop_pair = 0 : i64}
      cond {
        %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %c_3 = stablehlo.constant dense<0> : tensor<i32>
        %2 = stablehlo.dynamic_slice %0#2, %iterArg, %c_3, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %3 = stablehlo.reshape %2 : (tensor<1x8xf32>) -> tensor<8xf32>
        %4 = stablehlo.reshape %3 : (tensor<8xf32>) -> tensor<1x8xf32>
        %5 = stablehlo.multiply %3, %3 : tensor<8xf32>
        %6 = stablehlo.reshape %5 : (tensor<8xf32>) -> tensor<1x8xf32>
        %7 = stablehlo.add %4, %6 : tensor<1x8xf32>
        %8 = stablehlo.reshape %7 : (tensor<1x8xf32>) -> tensor<8xf32>
        %9 = stablehlo.multiply %iterArg_2, %8 : tensor<8xf32>
        %10 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        stablehlo.return %10, %9 : tensor<i32>, tensor<8xf32>
      }
      return %1#1 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"attention", "attention", "bool", "false",
           "compute nothing again but scores and weights of attention, whatever it takes">,
    ListOption<"levels", "levels", "int64_t",
               "of each pair in the order of the program, the last one for all "
               "further pairs: 0 for what costs next to nothing; each level more "
               "makes computing again four times cheaper against bytes, "
               "contractions included">,
  ];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def UpdateInLoopsPass : Pass<"fusion-update-in-loops", "::mlir::func::FuncOp"> {
  let summary = "update each layer in the round that computes its gradient";
  let description = [{
    Where a loop stacks gradients that only an element-wise update of state reads,
    each round updates its own slice of the state instead, in place, and nothing
    is stacked. Scalars that the update needs are computed before the loop; what
    depends on all gradients, such as their norm, keeps the update behind it.

    ```mlir
    // before
    func.func @main(%p: tensor<3x8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64}, %x: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<3x8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
      %0:3 = stablehlo.while(%i = %zero, %v = %x, %a = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %g = stablehlo.sine %v : tensor<8xf32>
        %g1 = stablehlo.reshape %g : (tensor<8xf32>) -> tensor<1x8xf32>
        %as = stablehlo.dynamic_update_slice %a, %g1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %g, %as : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      %1 = stablehlo.subtract %p, %0#2 : tensor<3x8xf32>
      return %1 : tensor<3x8xf32>
    }
    // after
    func.func @main(%arg0: tensor<3x8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64}, %arg1: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<3x8xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<3x8xf32>
      %0:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg1, %iterArg_3 = %arg0) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      cond {
        %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = stablehlo.sine %iterArg_2 : tensor<8xf32>
        %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<1x8xf32>
        %3 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        %4 = stablehlo.dynamic_slice %iterArg_3, %iterArg, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %5 = stablehlo.subtract %4, %2 : tensor<1x8xf32>
        %6 = stablehlo.dynamic_update_slice %iterArg_3, %5, %iterArg, %c : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        stablehlo.return %3, %1, %6 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      return %0#2 : tensor<3x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def SegmentLoopsPass : Pass<"fusion-segment-loops", "::mlir::func::FuncOp"> {
  let summary = "stack what a forward loop carries once per segment of its rounds";
  let description = [{
    For a memory budget. A forward loop whose stacks a backward loop reads keeps
    only what it carries, at the start of each of T/s segments of s rounds. The
    backward loop runs over segments: each runs the rounds of the forward loop
    again, stacking the slices of this segment, and then its backward rounds.
    s is the divisor of T for which least is stacked, or another number for
    which a tenth less is; the last segment is then shorter and stands beside
    the loop over the others. Pairs that would stack hardly less stay. With
    a depth above 1 the pair of loops that a segment runs is cut as well where a
    tenth less is stacked. `step.segment_savings` on the function says how many
    bytes each pair stacks less, `step.segments_can_nest` that a depth more
    would help.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %last = stablehlo.constant dense<11> : tensor<i32>
      %twelve = stablehlo.constant dense<12> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<12x8xf32>
      %0:3 = stablehlo.while(%i = %zero, %v = %x, %a = %start) : tensor<i32>, tensor<8xf32>, tensor<12x8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %twelve, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %s = stablehlo.sine %v : tensor<8xf32>
        %c = stablehlo.cosine %v : tensor<8xf32>
        %c1 = stablehlo.reshape %c : (tensor<8xf32>) -> tensor<1x8xf32>
        %as = stablehlo.dynamic_update_slice %a, %c1, %i, %zero : (tensor<12x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<12x8xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %s, %as : tensor<i32>, tensor<8xf32>, tensor<12x8xf32>
      }
      %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8xf32>
      cond {
        %more = stablehlo.compare LT, %i, %twelve, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %at = stablehlo.subtract %last, %i : tensor<i32>
        %r = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %w = stablehlo.reshape %r : (tensor<1x8xf32>) -> tensor<8xf32>
        %h = stablehlo.multiply %g, %w : tensor<8xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %h : tensor<i32>, tensor<8xf32>
      }
      return %1#1 : tensor<8xf32>
    }
    // after
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {step.segment_savings = array<i64: 128>} {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<12> : tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<5x8xf32>
      %0:3 = stablehlo.while(%iterArg = %c, %iterArg_3 = %arg0, %iterArg_4 = %cst) : tensor<i32>, tensor<8xf32>, tensor<5x8xf32>
      cond {
        %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = stablehlo.sine %iterArg_3 : tensor<8xf32>
        %3 = stablehlo.add %iterArg, %c_0 : tensor<i32>
        %c_5 = stablehlo.constant dense<2> : tensor<i32>
        %4 = stablehlo.add %iterArg, %c_5 : tensor<i32>
        %c_6 = stablehlo.constant dense<3> : tensor<i32>
        %5 = stablehlo.divide %4, %c_6 : tensor<i32>
        %6 = stablehlo.reshape %iterArg_3 : (tensor<8xf32>) -> tensor<1x8xf32>
        %c_7 = stablehlo.constant dense<0> : tensor<i32>
        %7 = stablehlo.dynamic_update_slice %iterArg_4, %6, %5, %c_7 : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
        stablehlo.return %3, %2, %7 : tensor<i32>, tensor<8xf32>, tensor<5x8xf32>
      }
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %1:2 = stablehlo.while(%iterArg = %c_2, %iterArg_3 = %0#1) : tensor<i32>, tensor<8xf32>
      cond {
        %c_4 = stablehlo.constant dense<4> : tensor<i32>
        %2 = stablehlo.compare LT, %iterArg, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %c_4 = stablehlo.constant dense<3> : tensor<i32>
        %2 = stablehlo.subtract %c_4, %iterArg : tensor<i32>
        %c_5 = stablehlo.constant dense<0> : tensor<i32>
        %3 = stablehlo.dynamic_slice %0#2, %2, %c_5, sizes = [1, 8] : (tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %4 = stablehlo.reshape %3 : (tensor<1x8xf32>) -> tensor<8xf32>
        %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<3x8xf32>
        %c_7 = stablehlo.constant dense<0> : tensor<i32>
        %5:3 = stablehlo.while(%iterArg_10 = %c_7, %iterArg_11 = %4, %iterArg_12 = %cst_6) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
        cond {
          %c_13 = stablehlo.constant dense<3> : tensor<i32>
          %8 = stablehlo.compare LT, %iterArg_10, %c_13, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %8 : tensor<i1>
        } do {
          %8 = stablehlo.sine %iterArg_11 : tensor<8xf32>
          %9 = stablehlo.cosine %iterArg_11 : tensor<8xf32>
          %10 = stablehlo.reshape %9 : (tensor<8xf32>) -> tensor<1x8xf32>
          %c_13 = stablehlo.constant dense<0> : tensor<i32>
          %11 = stablehlo.dynamic_update_slice %iterArg_12, %10, %iterArg_10, %c_13 : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
          %c_14 = stablehlo.constant dense<1> : tensor<i32>
          %12 = stablehlo.add %iterArg_10, %c_14 : tensor<i32>
          stablehlo.return %12, %8, %11 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
        }
        %c_8 = stablehlo.constant dense<0> : tensor<i32>
        %6:2 = stablehlo.while(%iterArg_10 = %c_8, %iterArg_11 = %iterArg_3) : tensor<i32>, tensor<8xf32>
        cond {
          %c_12 = stablehlo.constant dense<3> : tensor<i32>
          %8 = stablehlo.compare LT, %iterArg_10, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %8 : tensor<i1>
        } do {
          %c_12 = stablehlo.constant dense<2> : tensor<i32>
          %8 = stablehlo.subtract %c_12, %iterArg_10 : tensor<i32>
          %c_13 = stablehlo.constant dense<0> : tensor<i32>
          %9 = stablehlo.dynamic_slice %5#2, %8, %c_13, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
          %10 = stablehlo.reshape %9 : (tensor<1x8xf32>) -> tensor<8xf32>
          %11 = stablehlo.multiply %iterArg_11, %10 : tensor<8xf32>
          %c_14 = stablehlo.constant dense<1> : tensor<i32>
          %12 = stablehlo.add %iterArg_10, %c_14 : tensor<i32>
          stablehlo.return %12, %11 : tensor<i32>, tensor<8xf32>
        }
        %c_9 = stablehlo.constant dense<1> : tensor<i32>
        %7 = stablehlo.add %iterArg, %c_9 : tensor<i32>
        stablehlo.return %7, %6#1 : tensor<i32>, tensor<8xf32>
      }
      return %1#1 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    ListOption<"depths", "depths", "int64_t",
               "of each pair in the order of the program, the last one for all "
               "further pairs: 0 leaves it whole, 1, without the option, cuts it "
               "into segments, and each more may cut the rounds of a segment "
               "again for one more run of the forward loop">,
  ];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def SplitReductionsPass : Pass<"fusion-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "write long reductions out as two stages";
  let description = [{
    A reduction of many elements to few results leaves nothing to do in parallel
    and its order would depend on how it is cut. This pass writes the tree into
    the IR: the reduced dimension is split into blocks whose number follows from
    the shape alone, a first reduction makes one partial result per block, a
    second one combines them.
    A reduction over leading dimensions and a few trailing elements (groups of
    channels) goes over the leading ones first, where vectors are full.
    Sums of 16-bit floats are converted to f32 before the first stage and rounded
    after the last one.

    ```mlir
    // before
    func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
      return %s : tensor<f32>
    }
    // after
    func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %b = stablehlo.reshape %x : (tensor<1048576xf32>) -> tensor<64x16384xf32>
      %p = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x16384xf32>, tensor<f32>) -> tensor<64xf32>
      %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
      return %s : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def LayOutInvariantsPass : Pass<"fusion-lay-out-invariants", "::mlir::func::FuncOp"> {
  let summary = "lay weights of small products out once in front of a loop";
  let description = [{
    A dot in a loop whose right operand comes from outside of the loop, with at
    most 64 rows on the left, reads a copy made in front of the loop: a transposed
    one if it is contracted along its last dimension, and one with rows of f32 that
    are a cache line longer where they are a multiple of 4 KiB and so would share
    sets of a cache. A slice leaves out what is behind the end of these rows; the
    library takes it for a stride. Weights of bf16 are brought into the order in
    which AMX multiplies them; a transpose and a reshape undo that in the loop,
    and are part of the library's call.

    ```mlir
    // before
    func.func @main(%h: tensor<32x16xf32>, %w: tensor<16x16xf32>) -> tensor<32x16xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %x = %h) : tensor<i32>, tensor<32x16xf32>
      cond {
        %n = stablehlo.constant dense<4> : tensor<i32>
        %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
        stablehlo.return %j, %d : tensor<i32>, tensor<32x16xf32>
      }
      return %r#1 : tensor<32x16xf32>
    }
    // after
    func.func @main(%arg0: tensor<32x16xf32>, %arg1: tensor<16x16xf32>) -> tensor<32x16xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
      %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<32x16xf32>
      cond {
        %c_1 = stablehlo.constant dense<4> : tensor<i32>
        %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %c_1 = stablehlo.constant dense<1> : tensor<i32>
        %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
        %3 = stablehlo.dot_general %iterArg_0, %0, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
        stablehlo.return %2, %3 : tensor<i32>, tensor<32x16xf32>
      }
      return %1#1 : tensor<32x16xf32>
    }
    ```
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"\"",
           "the feature set, as in a file; without it nothing is packed">,
    Option<"stagger", "stagger", "bool", "true",
           "make rows that share sets of a processor's cache longer">];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def PadProductsPass : Pass<"fusion-pad-products", "::mlir::func::FuncOp"> {
  let summary = "make rows of products a multiple of 16 bytes, for GPUs";
  let description = [{
    Tensor cores read 16 bytes at once, and a library is several times slower
    where rows of 16-bit matrices have another length. If the last dimension of
    such a product has 256 or more elements, and they are no multiple of eight,
    it becomes a multiple of 64: zeros are put behind the end of the operand that
    it comes from. Element-wise operations, reductions along other dimensions,
    transposes and further products that have the dimension follow. Elements
    behind the end are replaced by the initial value where a sum or maximum runs
    along the dimension, by zero where a product reads them, and left out of a
    slice for all others. Done where the product is predicted to gain more than
    slices and padding would take, or for every such product with `always`.

    ```mlir
    // options: always=true
    // before
    func.func @main(%a: tensor<16x64xbf16>, %x: tensor<64x257xbf16>, %b: tensor<257x64xbf16>) -> tensor<16x64xbf16> {
      %s = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x257xbf16>) -> tensor<16x257xbf16>
      %t = stablehlo.tanh %s : tensor<16x257xbf16>
      %p = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (tensor<16x257xbf16>, tensor<257x64xbf16>) -> tensor<16x64xbf16>
      return %p : tensor<16x64xbf16>
    }
    // after
    func.func @main(%a: tensor<16x64xbf16>, %x: tensor<64x257xbf16>, %b: tensor<257x64xbf16>) -> tensor<16x64xbf16> {
      %zeroOfB = stablehlo.constant dense<0.0> : tensor<bf16>
      %longB = stablehlo.pad %b, %zeroOfB, low = [0, 0], high = [63, 0], interior = [0, 0] : (tensor<257x64xbf16>, tensor<bf16>) -> tensor<320x64xbf16>
      %zero = stablehlo.constant dense<0.0> : tensor<bf16>
      %longX = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 63], interior = [0, 0] : (tensor<64x257xbf16>, tensor<bf16>) -> tensor<64x320xbf16>
      %s = stablehlo.dot_general %a, %longX, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x320xbf16>) -> tensor<16x320xbf16>
      %t = stablehlo.tanh %s : tensor<16x320xbf16>
      %zeroBehind = stablehlo.constant dense<0.0> : tensor<bf16>
      %position = stablehlo.iota dim = 1 : tensor<16x320xi32>
      %end = stablehlo.constant dense<257> : tensor<16x320xi32>
      %isThere = stablehlo.compare LT, %position, %end, SIGNED : (tensor<16x320xi32>, tensor<16x320xi32>) -> tensor<16x320xi1>
      %fill = stablehlo.broadcast_in_dim %zeroBehind, dims = [] : (tensor<bf16>) -> tensor<16x320xbf16>
      %masked = stablehlo.select %isThere, %t, %fill : tensor<16x320xi1>, tensor<16x320xbf16>
      %p = stablehlo.dot_general %masked, %longB, contracting_dims = [1] x [0] : (tensor<16x320xbf16>, tensor<320x64xbf16>) -> tensor<16x64xbf16>
      return %p : tensor<16x64xbf16>
    }
    ```
  }];
  let options = [
    Option<"always", "always", "bool", "false",
           "also where nothing is predicted to be gained">];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def AlignContractionsPass : Pass<"fusion-align-contractions", "::mlir::func::FuncOp"> {
  let summary = "bring the contracted dimensions of a dot side by side";
  let description = [{
    A library multiplies along one contracted dimension. If a dot contracts
    several that do not lie in memory as one in an operand, in any order and with
    or without the transposes in front of it, that operand is transposed once so
    that they do. An operand whose elements are used fewer than eight times each
    is left alone.

    ```mlir
    // before
    func.func @main(%x: tensor<4x16x8xf32>, %w: tensor<4x8x32xf32>) -> tensor<16x32xf32> {
      %d = stablehlo.dot_general %x, %w, contracting_dims = [0, 2] x [0, 1] : (tensor<4x16x8xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    // after
    func.func @main(%x: tensor<4x16x8xf32>, %w: tensor<4x8x32xf32>) -> tensor<16x32xf32> {
      %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x16x8xf32>) -> tensor<16x4x8xf32>
      %d = stablehlo.dot_general %t, %w, contracting_dims = [1, 2] x [0, 1] : (tensor<16x4x8xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

def FormLibraryGroupsPass : Pass<"fusion-form-library-groups", "::mlir::func::FuncOp"> {
  let summary = "make a library group of each dot and convolution the library runs";
  let description = [{
    A `dot_general` or `convolution` becomes a `library` group with its
    description, together with the transposes of its operands, which the library
    reads through strides. Products of bf16 are multiplied as such where the
    machine's instructions for it are no slower than those for f32 and the
    library has code for the shape; otherwise the call widens its operands. On
    processors with AVX-512 a large product of f32 also takes over conversions
    that widen its operands from 16 bits, and the one that alone reads its
    result and rounds it: its code does that in copies that it makes anyway. What
    the library does not run stays for the generic template, and with `choose`
    so do small products of f32 that generated code is predicted to compute in
    less time; a remark says why.
    On GPUs calls are of matrix products, and of LAPACK, which the host runs.

    ```mlir
    // options: cpu=x86-64-v3
    // before
    func.func @main(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4xf32> {
      %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
      %d = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %d : tensor<2x4xf32>
    }
    // after
    func.func @main(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4xf32> {
      // One group, the transpose is a stride.
      %d = step.group library(%x, %w) attributes {exec.library = {
          accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64,
          lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64,
          result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64,
          rhs = "f32", rhs_stride_k = 1 : i64, rhs_stride_n = 8 : i64
        }} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32> {
      ^bb0(%a: tensor<2x8xf32>, %b: tensor<4x8xf32>):
        %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
        %0 = stablehlo.dot_general %a, %t, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
        step.yield %0 : tensor<2x4xf32>
      }
      return %d : tensor<2x4xf32>
    }
    ```
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"\"",
           "the feature set, as in a file; there is no default">,
    Option<"gpu", "gpu", "bool", "false",
           "whether the calls run on GPUs; then no feature set is needed">,
    Option<"choose", "choose", "bool", "false",
           "leave small products to generated code where that takes less time">,
    Option<"tf32", "tf32", "bool", "false",
           "whether calls on GPUs may round operands of f32 to tf32">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect", "::tenon::exec::ExecDialect"];
}

def FormAttentionGroupsPass : Pass<"fusion-form-attention-groups", "::mlir::func::FuncOp"> {
  let summary = "make a group of each attention operation and what it reads";
  let description = [{
    A `step.attention` or `step.attention_gradient` becomes a `generic` group,
    together with the slices, transposes, reshapes and broadcasts of its operands,
    and what widens them from 16 bits: its kernel copies them element by element
    to f32 anyway. A result that is only read in 16 bits is rounded as it is
    stored.

    ```mlir
    // before
    func.func @main(%all: tensor<8x3x4xf32>) -> tensor<8x4xf32> {
      %q = stablehlo.slice %all [0:8, 0:1, 0:4] : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
      %k = stablehlo.slice %all [0:8, 1:2, 0:4] : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
      %v = stablehlo.slice %all [0:8, 2:3, 0:4] : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
      %o, %max, %sum = step.attention %q[q, 0, d], %k[k, 0, d], %v[k, 0, v] -> [q, v, 0] {scale = 5.000000e-01 : f32}
          : (tensor<8x1x4xf32>, tensor<8x1x4xf32>, tensor<8x1x4xf32>) -> (tensor<8x4x1xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
      %r = stablehlo.reshape %o : (tensor<8x4x1xf32>) -> tensor<8x4xf32>
      return %r : tensor<8x4xf32>
    }
    // after
    func.func @main(%all: tensor<8x3x4xf32>) -> tensor<8x4xf32> {
      %g = step.group generic(%all) : (tensor<8x3x4xf32>) -> tensor<8x4x1xf32> {
      ^bb0(%a: tensor<8x3x4xf32>):
        %q = stablehlo.slice %a [0:8, 0:1, 0:4] : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
        %k = stablehlo.slice %a [0:8, 1:2, 0:4] : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
        %v = stablehlo.slice %a [0:8, 2:3, 0:4] : (tensor<8x3x4xf32>) -> tensor<8x1x4xf32>
        %o, %max, %sum = step.attention %q[q, 0, d], %k[k, 0, d], %v[k, 0, v] -> [q, v, 0] {scale = 5.000000e-01 : f32}
            : (tensor<8x1x4xf32>, tensor<8x1x4xf32>, tensor<8x1x4xf32>) -> (tensor<8x4x1xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
        step.yield %o : tensor<8x4x1xf32>
      }
      %r = stablehlo.reshape %g : (tensor<8x4x1xf32>) -> tensor<8x4xf32>
      return %r : tensor<8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def FormGroupsPass : Pass<"fusion-form-groups", "::mlir::func::FuncOp"> {
  let summary = "put every operation into a group";
  let description = [{
    Operations are merged along the values that flow between them as long as the
    union stays a group some template can emit (docs/Forms.md), no path leaves it
    and comes back, and one kernel is predicted to take no longer than two. Reads
    that cost nothing (broadcasts, iota, constants, slices) are cloned into each
    reader first, and element-wise values are computed again rather than kept in
    memory over the peak where the kernels are predicted to take hardly longer
    with that (docs/Rationale/Grouping.md). Remarks say with both predictions
    what was merged and recomputed, and for each value that stays in memory why
    its writer and reader were not merged.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %a = stablehlo.add %x, %y : tensor<8xf32>
      %b = stablehlo.tanh %a : tensor<8xf32>
      return %b : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %b = step.group elementwise(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%0: tensor<8xf32>, %1: tensor<8xf32>):
        %2 = stablehlo.add %0, %1 : tensor<8xf32>
        %3 = stablehlo.tanh %2 : tensor<8xf32>
        step.yield %3 : tensor<8xf32>
      }
      return %b : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"merge", "merge", "bool", "true",
           "merge operations; without it every operation is a group of its own">,
    Option<"recompute", "recompute", "bool", "true",
           "compute element-wise values again rather than keep them in memory "
           "over the peak">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def ReadSlicesPass : Pass<"fusion-read-slices", "::mlir::func::FuncOp"> {
  let summary = "read slices of stacks where they are used";
  let description = [{
    Where all that reads a slice of a captured stack in a loop is
    element-wise, each of these kernels reads the stack at the index of the
    round, and no kernel copies the slice.

    ```mlir
    // before
    func.func @main(%stack: tensor<3x8xf32>, %x: tensor<8xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8xf32>
      cond {
        %more = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
        ^bb0(%a: tensor<i32>):
          %b = stablehlo.constant dense<3> : tensor<i32>
          %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %c : tensor<i1>
        }
        stablehlo.return %more : tensor<i1>
      } do {
        %s = step.group elementwise(%stack, %i) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
        ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
          %c = stablehlo.constant dense<0> : tensor<i32>
          %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
          step.yield %d : tensor<1x8xf32>
        }
        %r = stablehlo.reshape %s : (tensor<1x8xf32>) -> tensor<8xf32>
        %m = step.group elementwise(%v, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
        ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
          %c = stablehlo.multiply %a, %b : tensor<8xf32>
          step.yield %c : tensor<8xf32>
        }
        %n = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
        ^bb0(%a: tensor<i32>):
          %b = stablehlo.constant dense<1> : tensor<i32>
          %c = stablehlo.add %a, %b : tensor<i32>
          step.yield %c : tensor<i32>
        }
        stablehlo.return %n, %m : tensor<i32>, tensor<8xf32>
      }
      return %0#1 : tensor<8xf32>
    }
    // after
    func.func @main(%arg0: tensor<3x8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %0:2 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg1) : tensor<i32>, tensor<8xf32>
      cond {
        %1 = step.group  elementwise(%iterArg) : (tensor<i32>) -> tensor<i1> {
        ^bb0(%arg2: tensor<i32>):
          %c_3 = stablehlo.constant dense<3> : tensor<i32>
          %2 = stablehlo.compare LT, %arg2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %2 : tensor<i1>
        }
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = step.group  elementwise(%iterArg_2, %arg0, %iterArg) : (tensor<8xf32>, tensor<3x8xf32>, tensor<i32>) -> tensor<8xf32> {
        ^bb0(%arg2: tensor<8xf32>, %arg3: tensor<3x8xf32>, %arg4: tensor<i32>):
          %c_3 = stablehlo.constant dense<0> : tensor<i32>
          %3 = stablehlo.dynamic_slice %arg3, %arg4, %c_3, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
          %4 = stablehlo.reshape %3 : (tensor<1x8xf32>) -> tensor<8xf32>
          %5 = stablehlo.multiply %arg2, %4 : tensor<8xf32>
          step.yield %5 : tensor<8xf32>
        }
        %2 = step.group  elementwise(%iterArg) : (tensor<i32>) -> tensor<i32> {
        ^bb0(%arg2: tensor<i32>):
          %c_3 = stablehlo.constant dense<1> : tensor<i32>
          %3 = stablehlo.add %arg2, %c_3 : tensor<i32>
          step.yield %3 : tensor<i32>
        }
        stablehlo.return %2, %1 : tensor<i32>, tensor<8xf32>
      }
      return %0#1 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def WriteSlicesPass : Pass<"fusion-write-slices", "::mlir::func::FuncOp"> {
  let summary = "write slices of stacks where they are made";
  let description = [{
    Where a round stores what an element-wise kernel computes in a slice of a
    stack, the kernel does that itself, in place. It also stores what the round
    begins with, if it computes what the next one begins with. It may read the
    slice that it writes, as an optimizer does in a loop over layers; what else
    reads the stack stands in front of it.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<3x8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %start = step.group elementwise() : () -> tensor<3x8xf32> {
        %a = stablehlo.constant dense<0.0> : tensor<3x8xf32>
        step.yield %a : tensor<3x8xf32>
      }
      %0:3 = stablehlo.while(%i = %zero, %v = %x, %stack = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      cond {
        %more = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
        ^bb0(%a: tensor<i32>):
          %b = stablehlo.constant dense<3> : tensor<i32>
          %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %c : tensor<i1>
        }
        stablehlo.return %more : tensor<i1>
      } do {
        %n = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
        ^bb0(%a: tensor<i32>):
          %b = stablehlo.constant dense<1> : tensor<i32>
          %c = stablehlo.add %a, %b : tensor<i32>
          step.yield %c : tensor<i32>
        }
        %m = step.group elementwise(%v, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
        ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
          %c = stablehlo.multiply %a, %b : tensor<8xf32>
          step.yield %c : tensor<8xf32>
        }
        %r = stablehlo.reshape %m : (tensor<8xf32>) -> tensor<1x8xf32>
        %s = step.group generic(%stack, %r, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
        ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
          %d = stablehlo.constant dense<0> : tensor<i32>
          %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
          step.yield %e : tensor<3x8xf32>
        }
        stablehlo.return %n, %m, %s : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      return %0#2 : tensor<3x8xf32>
    }
    // after
    func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<3x8xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0 = step.group  elementwise() : () -> tensor<3x8xf32> {
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<3x8xf32>
        step.yield %cst : tensor<3x8xf32>
      }
      %1:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0, %iterArg_1 = %0) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      cond {
        %2 = step.group  elementwise(%iterArg) : (tensor<i32>) -> tensor<i1> {
        ^bb0(%arg2: tensor<i32>):
          %c_2 = stablehlo.constant dense<3> : tensor<i32>
          %3 = stablehlo.compare LT, %arg2, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %3 : tensor<i1>
        }
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = step.group  elementwise(%iterArg) : (tensor<i32>) -> tensor<i32> {
        ^bb0(%arg2: tensor<i32>):
          %c_2 = stablehlo.constant dense<1> : tensor<i32>
          %4 = stablehlo.add %arg2, %c_2 : tensor<i32>
          step.yield %4 : tensor<i32>
        }
        %3:2 = step.group  elementwise(%iterArg_0, %arg1, %iterArg_1, %iterArg) : (tensor<8xf32>, tensor<8xf32>, tensor<3x8xf32>, tensor<i32>) -> (tensor<8xf32>, tensor<3x8xf32>) {
        ^bb0(%arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<3x8xf32>, %arg5: tensor<i32>):
          %4 = stablehlo.multiply %arg2, %arg3 : tensor<8xf32>
          %5 = stablehlo.reshape %4 : (tensor<8xf32>) -> tensor<1x8xf32>
          %c_2 = stablehlo.constant dense<0> : tensor<i32>
          %6 = stablehlo.dynamic_update_slice %arg4, %5, %arg5, %c_2 : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
          step.yield %4, %6 : tensor<8xf32>, tensor<3x8xf32>
        }
        stablehlo.return %2, %3#0, %3#1 : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
      }
      return %1#2 : tensor<3x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def ShareReadsPass : Pass<"fusion-share-reads", "::mlir::func::FuncOp"> {
  let summary = "merge kernels that read the same";
  let description = [{
    After groups were formed and products finished. Two kernels of elements or
    rows that need nothing of each other become one if both read a value that is
    as large as what they compute, fewer than `farthest` groups stand between
    them, a template emits both as one kernel, and that is predicted to take less time.
    What needs the first of them then runs behind both. With `keep-memory`, as on
    processors, values that are together as large as all results must be read
    for the last time, so that no more is in memory behind the kernel than
    before.

    ```mlir
    // before
    func.func @main(%x: tensor<8x64xf32>, %g: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
      %0 = step.group elementwise(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%a: tensor<8x64xf32>):
        %t = stablehlo.tanh %a : tensor<8x64xf32>
        step.yield %t : tensor<8x64xf32>
      }
      %1 = step.group elementwise(%g, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
        %t = stablehlo.tanh %b : tensor<8x64xf32>
        %m = stablehlo.multiply %a, %t : tensor<8x64xf32>
        step.yield %m : tensor<8x64xf32>
      }
      return %0, %1 : tensor<8x64xf32>, tensor<8x64xf32>
    }
    // after
    func.func @main(%arg0: tensor<8x64xf32>, %arg1: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
      %0:2 = step.group elementwise(%arg0, %arg1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
      ^bb0(%arg2: tensor<8x64xf32>, %arg3: tensor<8x64xf32>):
        %1 = stablehlo.tanh %arg2 : tensor<8x64xf32>
        %2 = stablehlo.multiply %arg3, %1 : tensor<8x64xf32>
        step.yield %1, %2 : tensor<8x64xf32>, tensor<8x64xf32>
      }
      return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
    }
    ```
  }];
  let options = [
    Option<"keepMemory", "keep-memory", "bool", "false",
           "only where no more is in memory behind the kernel than before">,
    Option<"narrowAsF32", "narrow-as-f32", "bool", "false",
           "with keep-memory: a bf16 counts as the f32 that it was, so that kernels are "
           "merged as in f32">,
    Option<"farthest", "farthest", "int64_t", "6",
           "how many groups apart two kernels may be in the program">];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def RegroupCopiesPass : Pass<"fusion-regroup-copies", "::mlir::func::FuncOp"> {
  let summary = "merge what is computed again with its only reader";
  let description = [{
    For a memory budget, after it was chosen what is computed again. A group that
    computes something again and is read by the next group alone becomes part of
    that group, if a template emits both as one kernel, that is predicted to take
    less time, and nothing has to stay in memory longer than the value did.
    `step.joined_nodes` says which nodes of the recomputation problem the kernel
    computes besides its own.

    ```mlir
    // before
    func.func @main(%x: tensor<8x64xf32>, %g: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = step.group elementwise(%x) attributes {step.node = 0 : i64, step.recomputed} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%a: tensor<8x64xf32>):
        %t = stablehlo.tanh %a : tensor<8x64xf32>
        step.yield %t : tensor<8x64xf32>
      }
      %1 = step.group elementwise(%g, %0) attributes {step.node = 3 : i64} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
        %m = stablehlo.multiply %a, %b : tensor<8x64xf32>
        step.yield %m : tensor<8x64xf32>
      }
      return %1 : tensor<8x64xf32>
    }
    // after
    func.func @main(%arg0: tensor<8x64xf32>, %arg1: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = step.group elementwise(%arg0, %arg1) attributes {step.joined_nodes = array<i64: 0>, step.nanoseconds = 201 : i64, step.node = 3 : i64} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%arg2: tensor<8x64xf32>, %arg3: tensor<8x64xf32>):
        %1 = stablehlo.tanh %arg2 : tensor<8x64xf32>
        %2 = stablehlo.multiply %arg3, %1 : tensor<8x64xf32>
        step.yield %2 : tensor<8x64xf32>
      }
      return %0 : tensor<8x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def AddResidualsPass : Pass<"fusion-add-residuals", "::mlir::func::FuncOp"> {
  let summary = "let a GPU's library add to a residual stream";
  let description = [{
    A product of 16 bits that is added, with a bias or without, to a value of
    f32 which it was computed from becomes a call that adds: it writes the sum
    in f32, and what it adds is not rounded before. That is done where the
    compiler chose to round the product, where several read the sum, and where
    it is predicted to take less time than reading the product and the old value
    in the kernels that read the sum. Runs behind
    `fusion-form-library-groups`. The sum is of the product, the old value and
    the bias, in this order.

    ```mlir
    // before
    func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xbf16>, %b: tensor<1024xf32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
      %n = stablehlo.convert %x {step.cast} : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
      %p = step.group library(%n, %w) attributes {exec.library = {
          accumulate = "f32", activation = "none", addend = "none", batch = [], call = "gpu_matmul", epilogue = "none", factors = "exact",
          k = 1024 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 1024 : i64, m = 4096 : i64, n = 1024 : i64, result = "bf16",
          result_stride_m = 1024 : i64, result_stride_n = 1 : i64, rhs = "bf16", rhs_stride_k = 1024 : i64, rhs_stride_n = 1 : i64,
          sums = "none"
        }} : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16> {
      ^bb0(%l: tensor<4096x1024xbf16>, %r: tensor<1024x1024xbf16>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
        step.yield %0 : tensor<4096x1024xbf16>
      }
      %q = stablehlo.convert %p {step.cast} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
      %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1024xf32>) -> tensor<4096x1024xf32>
      %d = stablehlo.add %q, %c : tensor<4096x1024xf32>
      %s = stablehlo.add %x, %d : tensor<4096x1024xf32>
      %t = stablehlo.tanh %s : tensor<4096x1024xf32>
      return %s, %t : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    }
    // after
    func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xbf16>, %b: tensor<1024xf32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
      %n = stablehlo.convert %x {step.cast} : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
      %s = step.group library(%n, %w, %x, %b) attributes {exec.library = {
          accumulate = "f32", activation = "none", addend = "operand", batch = [], call = "gpu_matmul", epilogue = "bias", factors = "exact",
          k = 1024 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 1024 : i64, m = 4096 : i64, n = 1024 : i64, result = "f32",
          result_stride_m = 1024 : i64, result_stride_n = 1 : i64, rhs = "bf16", rhs_stride_k = 1024 : i64, rhs_stride_n = 1 : i64,
          sums = "none"
        }} : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>, tensor<4096x1024xf32>, tensor<1024xf32>) -> tensor<4096x1024xf32> {
      ^bb0(%l: tensor<4096x1024xbf16>, %r: tensor<1024x1024xbf16>, %a: tensor<4096x1024xf32>, %c: tensor<1024xf32>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xf32>
        %1 = stablehlo.add %0, %a : tensor<4096x1024xf32>
        %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<1024xf32>) -> tensor<4096x1024xf32>
        %3 = stablehlo.add %1, %2 : tensor<4096x1024xf32>
        step.yield %3 : tensor<4096x1024xf32>
      }
      %t = stablehlo.tanh %s : tensor<4096x1024xf32>
      return %s, %t : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect", "::tenon::exec::ExecDialect"];
}

def FuseEpiloguesPass : Pass<"fusion-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "let the library add a bias";
  let description = [{
    A group that does nothing but add a bias to a matrix multiplication becomes
    the call's epilogue, if the library offers one with the bits of the separate
    addition and that is predicted to take less time. The group may round the
    sum to 16 bits, then the call does so. An addition that is part of a larger
    group stays there: the group reads the product anyway. On GPUs the same is
    done with the addition of a value of the product's shape.

    ```mlir
    // options: cpu=x86-64-v3
    // before
    func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>, %b: tensor<16xf32>) -> tensor<64x16xf32> {
      %d = step.group library(%x, %w) attributes {exec.library = {
          accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 32 : i64,
          lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 32 : i64, m = 64 : i64, n = 16 : i64, pieces = 1 : i64,
          result = "f32", result_stride_m = 16 : i64, result_stride_n = 1 : i64,
          rhs = "f32", rhs_stride_k = 16 : i64, rhs_stride_n = 1 : i64
        }} : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32> {
      ^bb0(%l: tensor<64x32xf32>, %r: tensor<32x16xf32>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
        step.yield %0 : tensor<64x16xf32>
      }
      %s = step.group elementwise(%d, %b) : (tensor<64x16xf32>, tensor<16xf32>) -> tensor<64x16xf32> {
      ^bb0(%p: tensor<64x16xf32>, %c: tensor<16xf32>):
        %0 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>
        %1 = stablehlo.add %p, %0 : tensor<64x16xf32>
        step.yield %1 : tensor<64x16xf32>
      }
      return %s : tensor<64x16xf32>
    }
    // after
    func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>, %b: tensor<16xf32>) -> tensor<64x16xf32> {
      %s = step.group library(%x, %w, %b) attributes {exec.library = {
          accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "bias", k = 32 : i64,
          lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 32 : i64, m = 64 : i64, n = 16 : i64, pieces = 1 : i64,
          result = "f32", result_stride_m = 16 : i64, result_stride_n = 1 : i64,
          rhs = "f32", rhs_stride_k = 16 : i64, rhs_stride_n = 1 : i64
        }} : (tensor<64x32xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<64x16xf32> {
      ^bb0(%l: tensor<64x32xf32>, %r: tensor<32x16xf32>, %c: tensor<16xf32>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
        %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>
        %2 = stablehlo.add %0, %1 : tensor<64x16xf32>
        step.yield %2 : tensor<64x16xf32>
      }
      return %s : tensor<64x16xf32>
    }
    ```
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"\"",
           "the feature set, as in a file; there is no default">,
    Option<"gpu", "gpu", "bool", "false",
           "whether the calls run on GPUs; then no feature set is needed">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect", "::tenon::exec::ExecDialect"];
}

def FinishProductsPass : Pass<"fusion-finish-products", "::mlir::func::FuncOp"> {
  let summary = "let a GPU's library finish products of 16 bits";
  let description = [{
    A group of element-wise operations behind a matrix product of 16 bits that
    cuBLASLt runs becomes part of the call, if that is predicted to take less
    time, and if it is one of the things that the library can do: it adds a
    bias, it applies GELU (in its form with a hyperbolic tangent) to that sum or
    to the product, and writes the input of GELU as well if anybody reads it, or
    it multiplies the product with the derivative of GELU at an input that was
    written so. What a group computes beside that stays a group.

    GELU is known by the values that the operations have, not by how they are
    written. What only its gradient reads of the forward part, such as the
    hyperbolic tangent, is computed no more. The library rounds the input and
    the result, once each, and reads a bias in the type of the results, so that
    one of f32 is rounded in a group of its own. Results that lie in memory in
    f32 may do so behind a sum with a bias, since the library has no exact GELU.

    ```mlir
    // before
    func.func @main(%x: tensor<64x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<16xf32>) -> tensor<64x16xbf16> {
      %d = step.group library(%x, %w) attributes {exec.library = {
          accumulate = "f32", activation = "none", addend = "none", batch = [], call = "gpu_matmul", epilogue = "none",
          factors = "exact", k = 32 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 32 : i64, m = 64 : i64, n = 16 : i64,
          result = "bf16", result_stride_m = 16 : i64, result_stride_n = 1 : i64,
          rhs = "bf16", rhs_stride_k = 16 : i64, rhs_stride_n = 1 : i64, sums = "none"
        }} : (tensor<64x32xbf16>, tensor<32x16xbf16>) -> tensor<64x16xbf16> {
      ^bb0(%l: tensor<64x32xbf16>, %r: tensor<32x16xbf16>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<64x32xbf16>, tensor<32x16xbf16>) -> tensor<64x16xbf16>
        step.yield %0 : tensor<64x16xbf16>
      }
      %s = step.group elementwise(%d, %b) : (tensor<64x16xbf16>, tensor<16xf32>) -> tensor<64x16xbf16> {
      ^bb0(%p: tensor<64x16xbf16>, %c: tensor<16xf32>):
        %0 = stablehlo.convert %p : (tensor<64x16xbf16>) -> tensor<64x16xf32>
        %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>
        %2 = stablehlo.add %0, %1 : tensor<64x16xf32>
        %3 = stablehlo.convert %2 : (tensor<64x16xf32>) -> tensor<64x16xbf16>
        step.yield %3 : tensor<64x16xbf16>
      }
      return %s : tensor<64x16xbf16>
    }
    // after
    func.func @main(%x: tensor<64x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<16xf32>) -> tensor<64x16xbf16> {
      %n = step.group elementwise(%b) : (tensor<16xf32>) -> tensor<16xbf16> {
      ^bb0(%c: tensor<16xf32>):
        %0 = stablehlo.convert %c : (tensor<16xf32>) -> tensor<16xbf16>
        step.yield %0 : tensor<16xbf16>
      }
      %s = step.group library(%x, %w, %n) attributes {exec.library = {
          accumulate = "f32", activation = "none", addend = "none", batch = [], call = "gpu_matmul", epilogue = "bias",
          factors = "exact", k = 32 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 32 : i64, m = 64 : i64, n = 16 : i64,
          result = "bf16", result_stride_m = 16 : i64, result_stride_n = 1 : i64,
          rhs = "bf16", rhs_stride_k = 16 : i64, rhs_stride_n = 1 : i64, sums = "none"
        }} : (tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<16xbf16>) -> tensor<64x16xbf16> {
      ^bb0(%l: tensor<64x32xbf16>, %r: tensor<32x16xbf16>, %c: tensor<16xbf16>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<64x32xbf16>, tensor<32x16xbf16>) -> tensor<64x16xf32>
        %1 = stablehlo.convert %c : (tensor<16xbf16>) -> tensor<16xf32>
        %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>
        %3 = stablehlo.add %0, %2 : tensor<64x16xf32>
        %4 = stablehlo.convert %3 : (tensor<64x16xf32>) -> tensor<64x16xbf16>
        step.yield %4 : tensor<64x16xbf16>
      }
      return %s : tensor<64x16xbf16>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect", "::tenon::exec::ExecDialect", "::tenon::stablehlo::StableHLODialect"];
}

def SumOperandsPass : Pass<"fusion-sum-operands", "::mlir::func::FuncOp"> {
  let summary = "let a GPU's library add up an operand of a product";
  let description = [{
    The gradient of a bias is the sum of what is also a factor of the weights'
    gradient. Where cuBLASLt multiplies 16 bits for the one, it adds up the other
    as a second result, of the type of the product, if that is predicted to take
    less time. The terms are the first dimensions of the factor. A sum over rows
    that was cut in two is found in both its groups. What a group did with the
    sum it does with the second result.

    Where the number format of gradients was chosen by Tenon, the sum is rounded
    as the weights' gradient is, and a sum of the f32 values that the factor was
    rounded from becomes one of the rounded values. A program that says itself
    what is rounded (`may-round=false`) keeps sums of the factor that it rounds
    to the type of the product, and no others.

    ```mlir
    // before
    func.func @main(%x: tensor<2048x128xbf16>, %d: tensor<2048x256xbf16>) -> (tensor<128x256xbf16>, tensor<256xf32>) {
      %w = step.group library(%x, %d) attributes {exec.library = {
          accumulate = "f32", activation = "none", addend = "none", batch = [], call = "gpu_matmul", epilogue = "none",
          factors = "exact", k = 2048 : i64, lhs = "bf16", lhs_stride_k = 128 : i64, lhs_stride_m = 1 : i64, m = 128 : i64, n = 256 : i64,
          result = "bf16", result_stride_m = 256 : i64, result_stride_n = 1 : i64,
          rhs = "bf16", rhs_stride_k = 256 : i64, rhs_stride_n = 1 : i64, sums = "none"
        }} : (tensor<2048x128xbf16>, tensor<2048x256xbf16>) -> tensor<128x256xbf16> {
      ^bb0(%l: tensor<2048x128xbf16>, %r: tensor<2048x256xbf16>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [0] x [0] : (tensor<2048x128xbf16>, tensor<2048x256xbf16>) -> tensor<128x256xbf16>
        step.yield %0 : tensor<128x256xbf16>
      }
      %b = step.group column(%d) : (tensor<2048x256xbf16>) -> tensor<256xf32> {
      ^bb0(%r: tensor<2048x256xbf16>):
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.convert %r : (tensor<2048x256xbf16>) -> tensor<2048x256xf32>
        %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2048x256xf32>, tensor<f32>) -> tensor<256xf32>
        step.yield %1 : tensor<256xf32>
      }
      return %w, %b : tensor<128x256xbf16>, tensor<256xf32>
    }
    // after
    func.func @main(%x: tensor<2048x128xbf16>, %d: tensor<2048x256xbf16>) -> (tensor<128x256xbf16>, tensor<256xf32>) {
      %w:2 = step.group library(%x, %d) attributes {exec.library = {
          accumulate = "f32", activation = "none", addend = "none", batch = [], call = "gpu_matmul", epilogue = "none",
          factors = "exact", k = 2048 : i64, lhs = "bf16", lhs_stride_k = 128 : i64, lhs_stride_m = 1 : i64, m = 128 : i64, n = 256 : i64,
          result = "bf16", result_stride_m = 256 : i64, result_stride_n = 1 : i64,
          rhs = "bf16", rhs_stride_k = 256 : i64, rhs_stride_n = 1 : i64, sums = "rhs"
        }} : (tensor<2048x128xbf16>, tensor<2048x256xbf16>) -> (tensor<128x256xbf16>, tensor<256xbf16>) {
      ^bb0(%l: tensor<2048x128xbf16>, %r: tensor<2048x256xbf16>):
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [0] x [0] : (tensor<2048x128xbf16>, tensor<2048x256xbf16>) -> tensor<128x256xbf16>
        %1 = stablehlo.convert %r : (tensor<2048x256xbf16>) -> tensor<2048x256xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2048x256xf32>, tensor<f32>) -> tensor<256xf32>
        %3 = stablehlo.convert %2 : (tensor<256xf32>) -> tensor<256xbf16>
        step.yield %0, %3 : tensor<128x256xbf16>, tensor<256xbf16>
      }
      %b = step.group elementwise(%w#1) : (tensor<256xbf16>) -> tensor<256xf32> {
      ^bb0(%r: tensor<256xbf16>):
        %0 = stablehlo.convert %r : (tensor<256xbf16>) -> tensor<256xf32>
        step.yield %0 : tensor<256xf32>
      }
      return %w#0, %b : tensor<128x256xbf16>, tensor<256xf32>
    }
    ```
  }];
  let options = [
    Option<"mayRound", "may-round", "bool", "true",
           "Round sums as the product is rounded.">
  ];
  let dependentDialects = ["::tenon::step::StepDialect", "::tenon::exec::ExecDialect", "::tenon::stablehlo::StableHLODialect"];
}

def SumGradientsPass : Pass<"fusion-sum-gradients", "::mlir::func::FuncOp"> {
  let summary = "sum rows of the gradients of attention in its kernel";
  let description = [{
    For GPUs. The gradients of the biases of queries, keys and values are sums
    over all rows of what the gradient of attention stores. Kernels of columns
    would read all of that once more. Its own kernel has 64 rows of it at a time
    and stores their sums as a further result, where a schedule computes that and
    it is predicted to take less time. A 64th of the rows is left to add up, in
    the group that did something with the sum.

    What is added is what is stored, so of results of 16 bits the rounded values,
    in f32. The order of the sum changes: 64 rows are added in the kernel, and
    then what these make.

    ```mlir
    // before
    func.func @main(%x: tensor<2x128x64xbf16>, %m: tensor<2x128xf32>) -> (tensor<2x128x64xbf16>, tensor<64xf32>) {
      %0 = step.group generic(%x, %m) : (tensor<2x128x64xbf16>, tensor<2x128xf32>) -> tensor<2x128x64xbf16> {
      ^bb0(%a: tensor<2x128x64xbf16>, %b: tensor<2x128xf32>):
        %q, %k, %v = step.attention_gradient %a [0, q, d], %a [0, k, d], %a [0, k, v] of %b, %b, %a [0, q, v]
            -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.0 : f32}
            : (tensor<2x128x64xbf16>, tensor<2x128x64xbf16>, tensor<2x128x64xbf16>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128x64xbf16>)
              -> (tensor<2x128x64xbf16>, tensor<2x128x64xbf16>, tensor<2x128x64xbf16>)
        step.yield %q : tensor<2x128x64xbf16>
      }
      %1 = step.group column(%0) : (tensor<2x128x64xbf16>) -> tensor<64xf32> {
      ^bb0(%a: tensor<2x128x64xbf16>):
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %w = stablehlo.convert %a : (tensor<2x128x64xbf16>) -> tensor<2x128x64xf32>
        %s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x128x64xf32>, tensor<f32>) -> tensor<64xf32>
        step.yield %s : tensor<64xf32>
      }
      return %0, %1 : tensor<2x128x64xbf16>, tensor<64xf32>
    }
    // after
    func.func @main(%x: tensor<2x128x64xbf16>, %m: tensor<2x128xf32>) -> (tensor<2x128x64xbf16>, tensor<64xf32>) {
      %0:2 = step.group generic(%x, %m) : (tensor<2x128x64xbf16>, tensor<2x128xf32>) -> (tensor<2x128x64xbf16>, tensor<4x64xf32>) {
      ^bb0(%a: tensor<2x128x64xbf16>, %b: tensor<2x128xf32>):
        %q, %k, %v = step.attention_gradient %a [0, q, d], %a [0, k, d], %a [0, k, v] of %b, %b, %a [0, q, v]
            -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.0 : f32}
            : (tensor<2x128x64xbf16>, tensor<2x128x64xbf16>, tensor<2x128x64xbf16>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128x64xbf16>)
              -> (tensor<2x128x64xbf16>, tensor<2x128x64xbf16>, tensor<2x128x64xbf16>)
        %w = stablehlo.convert %q : (tensor<2x128x64xbf16>) -> tensor<2x128x64xf32>
        %r = stablehlo.reshape %w : (tensor<2x128x64xf32>) -> tensor<4x64x64xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
        step.yield %q, %s : tensor<2x128x64xbf16>, tensor<4x64xf32>
      }
      %1 = step.group column(%0#1) : (tensor<4x64xf32>) -> tensor<64xf32> {
      ^bb0(%a: tensor<4x64xf32>):
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x64xf32>, tensor<f32>) -> tensor<64xf32>
        step.yield %s : tensor<64xf32>
      }
      return %0#0, %1 : tensor<2x128x64xbf16>, tensor<64xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def SumBesidePass : Pass<"fusion-sum-beside", "::mlir::func::FuncOp"> {
  let summary = "sum over leading dimensions in a kernel that has the elements";
  let description = [{
    For GPUs, the last of the passes that join groups. Gradients of a bias and of
    a norm's factors are sums over all rows of what a kernel of elements or rows
    computes, or else reads. A kernel of columns that does nothing but such a sum
    joins it, as a group of kind `generic`, where a schedule computes that and it
    is predicted to take less time. What was computed for the sum alone is not
    written to memory any more. The order of the sum stays what it was.

    A kernel of columns that does something with one sum may be cut: the sum joins,
    and the rest is a kernel of elements.

    A sum behind the kernel runs earlier for it; one in front of a kernel that
    reads the same runs later, together with what waits for it.

    ```mlir
    // before
    func.func @main(%x: tensor<32x64x256xf32>) -> (tensor<32x64x256xf32>, tensor<64x256xf32>) {
      %0 = step.group elementwise(%x) : (tensor<32x64x256xf32>) -> tensor<32x64x256xf32> {
      ^bb0(%a: tensor<32x64x256xf32>):
        %t = stablehlo.tanh %a : tensor<32x64x256xf32>
        step.yield %t : tensor<32x64x256xf32>
      }
      %1 = step.group column(%0) : (tensor<32x64x256xf32>) -> tensor<64x256xf32> {
      ^bb0(%a: tensor<32x64x256xf32>):
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
        step.yield %s : tensor<64x256xf32>
      }
      return %0, %1 : tensor<32x64x256xf32>, tensor<64x256xf32>
    }
    // after
    func.func @main(%arg0: tensor<32x64x256xf32>) -> (tensor<32x64x256xf32>, tensor<64x256xf32>) {
      %0:2 = step.group generic(%arg0) : (tensor<32x64x256xf32>) -> (tensor<32x64x256xf32>, tensor<64x256xf32>) {
      ^bb0(%arg1: tensor<32x64x256xf32>):
        %1 = stablehlo.tanh %arg1 : tensor<32x64x256xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
        step.yield %1, %2 : tensor<32x64x256xf32>, tensor<64x256xf32>
      }
      return %0#0, %0#1 : tensor<32x64x256xf32>, tensor<64x256xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect", "::tenon::step::StepDialect"];
}

def VerifyGroupedFormPass : Pass<"verify-grouped-form", "::mlir::ModuleOp"> {
  let summary = "check the contract of grouped form";
  let description = [{
    Fails on the first operation that docs/Forms.md does not allow between the
    stages `group` and `plan`.

    ```mlir
    // refused: 'stablehlo.tanh' op stands outside a group in grouped form
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %x : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
}

#endif // TENON_FUSION_PASSES_TD
