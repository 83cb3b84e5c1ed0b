//===- Passes.td - Memory: order, places, the exec program ----------------===//
//
// The stages `plan` (grouped form to scheduled form) and `lower` (scheduled
// form to exec form). See docs/Forms.md.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_PASSES_TD
#define TENON_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderOperationsPass : Pass<"memory-order-operations", "::mlir::func::FuncOp"> {
  let summary = "run updates as soon as their gradient is there";
  let description = [{
    Keeps the order of the program except that an operation which frees at least
    as many bytes as it needs runs as soon as it can. A parameter's update
    overwrites the parameter, so it needs nothing and frees the gradient; it
    waits only for the last reader of the old value.

    ```mlir
    // before: both gradients live until the end
    func.func @main(%p1: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                    %p2: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 1 : i64},
                    %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %g1 = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %0 = stablehlo.tanh %a : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      %g2 = step.group elementwise(%y) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %0 = stablehlo.cosine %a : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      %w1 = step.group elementwise(%p1, %g1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %0 = stablehlo.subtract %a, %b : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      %w2 = step.group elementwise(%p2, %g2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %0 = stablehlo.subtract %a, %b : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      return %w1, %w2 : tensor<8xf32>, tensor<8xf32>
    }
    // after
    func.func @main(%p1: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                    %p2: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 1 : i64},
                    %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %g2 = step.group elementwise(%y) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %0 = stablehlo.cosine %a : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      %w2 = step.group elementwise(%p2, %g2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %0 = stablehlo.subtract %a, %b : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      %g1 = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %0 = stablehlo.tanh %a : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      %w1 = step.group elementwise(%p1, %g1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %0 = stablehlo.subtract %a, %b : tensor<8xf32>
        step.yield %0 : tensor<8xf32>
      }
      return %w1, %w2 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def SearchOrderPass : Pass<"memory-search-order", "::mlir::func::FuncOp"> {
  let summary = "look for an order in which fewer bytes are live at once";
  let description = [{
    Asks the ordering solver for each block, those of loops and branches first,
    whether its operations can run in an order that needs fewer bytes of
    temporaries at once. The order is kept where placing the buffers confirms
    it: fewer bytes are live in that block, and the arena is not larger. Where
    the solver's bound says that no order needs less, nothing is searched.

    ```mlir
    // before: the second chain begins before the first one has become small
    func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
      %a = step.group generic(%x) : (tensor<16xf32>) -> tensor<16x60xf32> {
      ^bb0(%p: tensor<16xf32>):
        %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<16xf32>) -> tensor<16x60xf32>
        step.yield %0 : tensor<16x60xf32>
      }
      %b = step.group generic(%y) : (tensor<16xf32>) -> tensor<16x60xf32> {
      ^bb0(%p: tensor<16xf32>):
        %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<16xf32>) -> tensor<16x60xf32>
        step.yield %0 : tensor<16x60xf32>
      }
      %c = step.group row(%a) : (tensor<16x60xf32>) -> tensor<16xf32> {
      ^bb0(%p: tensor<16x60xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16x60xf32>, tensor<f32>) -> tensor<16xf32>
        step.yield %0 : tensor<16xf32>
      }
      %d = step.group row(%c, %b) : (tensor<16xf32>, tensor<16x60xf32>) -> tensor<16xf32> {
      ^bb0(%q: tensor<16xf32>, %p: tensor<16x60xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16x60xf32>, tensor<f32>) -> tensor<16xf32>
        %1 = stablehlo.add %0, %q : tensor<16xf32>
        step.yield %1 : tensor<16xf32>
      }
      return %d : tensor<16xf32>
    }
    // after
    func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
      %a = step.group generic(%x) : (tensor<16xf32>) -> tensor<16x60xf32> {
      ^bb0(%p: tensor<16xf32>):
        %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<16xf32>) -> tensor<16x60xf32>
        step.yield %0 : tensor<16x60xf32>
      }
      %c = step.group row(%a) : (tensor<16x60xf32>) -> tensor<16xf32> {
      ^bb0(%p: tensor<16x60xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16x60xf32>, tensor<f32>) -> tensor<16xf32>
        step.yield %0 : tensor<16xf32>
      }
      %b = step.group generic(%y) : (tensor<16xf32>) -> tensor<16x60xf32> {
      ^bb0(%p: tensor<16xf32>):
        %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<16xf32>) -> tensor<16x60xf32>
        step.yield %0 : tensor<16x60xf32>
      }
      %d = step.group row(%c, %b) : (tensor<16xf32>, tensor<16x60xf32>) -> tensor<16xf32> {
      ^bb0(%q: tensor<16xf32>, %p: tensor<16x60xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16x60xf32>, tensor<f32>) -> tensor<16xf32>
        %1 = stablehlo.add %0, %q : tensor<16xf32>
        step.yield %1 : tensor<16xf32>
      }
      return %d : tensor<16xf32>
    }
    ```
  }];
  let options = [
    Option<"problemFile", "problem-file", "std::string", "\"\"",
           "where to write the ordering problem of the function's block as text, for tenon-solve">,
    Option<"leastGain", "least-gain", "int64_t", "0",
           "percent of its bytes that a block has to need less in a new order">,
  ];
}

def GatherLaunchesPass : Pass<"memory-gather-launches", "::mlir::func::FuncOp"> {
  let summary = "bring together what one launch on a GPU can do";
  let description = [{
    Lets groups of the function's block run later, up to the next group that one
    launch can do as well: element-wise groups, and reductions of the same kind.
    A group waits for others as long as nobody waits for its results, and no more
    bytes are live than are at the peak. What is alone then runs earlier or later,
    next to groups that one launch can do with it. The new order is kept if the
    arena is at most 1/4096 larger in it. The stage `codegen` launches together what then follows each
    other and does not touch what another one writes.

    ```mlir
    // before: the update of %x is over when the sum begins
    func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
      %a = step.group elementwise(%x) : (tensor<16xf32>) -> tensor<16xf32> {
      ^bb0(%p: tensor<16xf32>):
        %0 = stablehlo.negate %p : tensor<16xf32>
        step.yield %0 : tensor<16xf32>
      }
      %b = step.group row(%y) : (tensor<16xf32>) -> tensor<f32> {
      ^bb0(%p: tensor<16xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
        step.yield %0 : tensor<f32>
      }
      %c = step.group elementwise(%y, %b) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
      ^bb0(%p: tensor<16xf32>, %q: tensor<f32>):
        %0 = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> tensor<16xf32>
        %1 = stablehlo.add %p, %0 : tensor<16xf32>
        step.yield %1 : tensor<16xf32>
      }
      return %a, %c : tensor<16xf32>, tensor<16xf32>
    }
    // after: both results come from one launch
    func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
      %b = step.group row(%y) : (tensor<16xf32>) -> tensor<f32> {
      ^bb0(%p: tensor<16xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
        step.yield %0 : tensor<f32>
      }
      %a = step.group elementwise(%x) : (tensor<16xf32>) -> tensor<16xf32> {
      ^bb0(%p: tensor<16xf32>):
        %0 = stablehlo.negate %p : tensor<16xf32>
        step.yield %0 : tensor<16xf32>
      }
      %c = step.group elementwise(%y, %b) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32> {
      ^bb0(%p: tensor<16xf32>, %q: tensor<f32>):
        %0 = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> tensor<16xf32>
        %1 = stablehlo.add %p, %0 : tensor<16xf32>
        step.yield %1 : tensor<16xf32>
      }
      return %a, %c : tensor<16xf32>, tensor<16xf32>
    }
    ```
  }];
}

def OverlapCollectivesPass : Pass<"memory-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "order operations so that others run while ranks exchange";
  let description = [{
    What reads the result of a collective runs later, what waits for none of its
    readers runs in front of them, and the collective starts earlier, until what
    runs between takes as long as the collective is predicted to
    (`step.nanoseconds`), as far as no more bytes are live than are at the
    peak. `step.beside` says how many operations behind it shall run beside a
    collective: what it works on is live until then. The new order is kept if the
    arena is no larger in it.

    ```mlir
    // before: the update waits for the sum at once
    func.func @main(%w: tensor<4xf32>, %g: tensor<4xf32>, %x: tensor<64xf32>) -> (tensor<4xf32>, tensor<64xf32>) {
      %sum = step.group collective(%g) attributes {step.nanoseconds = 20000 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>):
        %0 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        step.yield %0 : tensor<4xf32>
      }
      %new = step.group elementwise(%w, %sum) attributes {step.nanoseconds = 1000 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
        %0 = stablehlo.add %p, %q : tensor<4xf32>
        step.yield %0 : tensor<4xf32>
      }
      %y = step.group elementwise(%x) attributes {step.nanoseconds = 30000 : i64} : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%p: tensor<64xf32>):
        %0 = stablehlo.tanh %p : tensor<64xf32>
        step.yield %0 : tensor<64xf32>
      }
      return %new, %y : tensor<4xf32>, tensor<64xf32>
    }
    // after
    func.func @main(%w: tensor<4xf32>, %g: tensor<4xf32>, %x: tensor<64xf32>) -> (tensor<4xf32>, tensor<64xf32>) {
      %sum = step.group collective(%g) attributes {step.beside = 1 : i64, step.nanoseconds = 20000 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>):
        %0 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        step.yield %0 : tensor<4xf32>
      }
      %y = step.group elementwise(%x) attributes {step.nanoseconds = 30000 : i64} : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%p: tensor<64xf32>):
        %0 = stablehlo.tanh %p : tensor<64xf32>
        step.yield %0 : tensor<64xf32>
      }
      %new = step.group elementwise(%w, %sum) attributes {step.nanoseconds = 1000 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
        %0 = stablehlo.add %p, %q : tensor<4xf32>
        step.yield %0 : tensor<4xf32>
      }
      return %new, %y : tensor<4xf32>, tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"switchNanoseconds", "switch-nanoseconds", "int64_t", "10000",
           "what it takes to start a collective beside others and to wait for "
           "it: shorter ones stay alone">,
  ];
}

def AwaitCollectivesPass : Pass<"memory-await-collectives", "::mlir::func::FuncOp"> {
  let summary = "let run beside a collective what does not touch its bytes";
  let description = [{
    Of a function in scheduled form: sets `step.beside` of each collective, save
    and load to the number of operations behind it that touch none of the bytes it
    writes and write none of those it reads. Places stay as they are, so this takes
    no memory. A collective that is predicted to take less than running it
    beside others does stays alone. What was planned to run beside others does;
    where its bytes do not allow that, the pass fails.

    ```mlir
    // before
    func.func @main(%g: tensor<4xf32>, %x: tensor<64xf32>) -> (tensor<4xf32>, tensor<64xf32>)
        attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>],
                    step.result_places = [#step.place<results, 0>, #step.place<results, 64>],
                    step.segment_bytes = {batch = 320 : i64, results = 320 : i64, temporaries = 64 : i64}} {
      %sum = step.group collective(%g) attributes {step.places = [#step.place<results, 0>], step.scratch_bytes = 16 : i64, step.scratch_place = #step.place<temporaries, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>):
        %0 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        step.yield %0 : tensor<4xf32>
      }
      %y = step.group elementwise(%x) attributes {step.places = [#step.place<results, 64>]} : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%p: tensor<64xf32>):
        %0 = stablehlo.tanh %p : tensor<64xf32>
        step.yield %0 : tensor<64xf32>
      }
      return %sum, %y : tensor<4xf32>, tensor<64xf32>
    }
    // after
    func.func @main(%g: tensor<4xf32>, %x: tensor<64xf32>) -> (tensor<4xf32>, tensor<64xf32>)
        attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>],
                    step.result_places = [#step.place<results, 0>, #step.place<results, 64>],
                    step.segment_bytes = {batch = 320 : i64, results = 320 : i64, temporaries = 64 : i64}} {
      %sum = step.group collective(%g) attributes {step.beside = 1 : i64, step.places = [#step.place<results, 0>], step.scratch_bytes = 16 : i64, step.scratch_place = #step.place<temporaries, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>):
        %0 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        step.yield %0 : tensor<4xf32>
      }
      %y = step.group elementwise(%x) attributes {step.places = [#step.place<results, 64>]} : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%p: tensor<64xf32>):
        %0 = stablehlo.tanh %p : tensor<64xf32>
        step.yield %0 : tensor<64xf32>
      }
      return %sum, %y : tensor<4xf32>, tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"switchNanoseconds", "switch-nanoseconds", "int64_t", "10000",
           "what it takes to start a collective beside others and to wait for "
           "it: shorter ones stay alone">,
  ];
}

def TabulateLoopsPass : Pass<"memory-tabulate-loops", "::mlir::func::FuncOp"> {
  let summary = "list plans of each loop's body";
  let description = [{
    Solves the recomputation problem of each loop's body for several budgets,
    inner loops first, and leaves the plans on the loop: what each needs inside
    the loop, how long all rounds take, and the order of the body's nodes. The
    first row is the body as it stands. A loop whose body cannot do with less
    gets no table. Beside the table stand floors: what is proved of every way
    to run the body, listed or not. `memory-choose-recomputation` chooses a row,
    proves its bound for the floors, and removes both.

    ```mlir
    // before: predicted times on the groups; %a is read by the second group
    // and the last, and cheap
    func.func @main(%x: tensor<16x16xf32>, %n: tensor<i32>) -> tensor<16x16xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x16xf32> cond {
        %0 = step.group elementwise(%i, %n) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i1> {
        ^bb0(%p: tensor<i32>, %q: tensor<i32>):
          %1 = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %1 : tensor<i1>
        }
        stablehlo.return %0 : tensor<i1>
      } do {
        %next = step.group elementwise(%i) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>) -> tensor<i32> {
        ^bb0(%p: tensor<i32>):
          %one = stablehlo.constant dense<1> : tensor<i32>
          %1 = stablehlo.add %p, %one : tensor<i32>
          step.yield %1 : tensor<i32>
        }
        %a = step.group row(%c) attributes {step.nanoseconds = 2 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
        ^bb0(%p: tensor<16x16xf32>):
          %1 = stablehlo.tanh %p : tensor<16x16xf32>
          step.yield %1 : tensor<16x16xf32>
        }
        %b = step.group row(%a) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
        ^bb0(%p: tensor<16x16xf32>):
          %1 = stablehlo.exponential %p : tensor<16x16xf32>
          step.yield %1 : tensor<16x16xf32>
        }
        %d:2 = step.group row(%b) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
        ^bb0(%p: tensor<16x16xf32>):
          %1 = stablehlo.exponential %p : tensor<16x16xf32>
          %2 = stablehlo.tanh %p : tensor<16x16xf32>
          step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
        }
        %e = step.group elementwise(%c, %a, %d#0, %d#1) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
        ^bb0(%o: tensor<16x16xf32>, %p: tensor<16x16xf32>, %q: tensor<16x16xf32>, %s: tensor<16x16xf32>):
          %1 = stablehlo.add %p, %q : tensor<16x16xf32>
          %2 = stablehlo.add %1, %s : tensor<16x16xf32>
          %3 = stablehlo.add %2, %o : tensor<16x16xf32>
          step.yield %3 : tensor<16x16xf32>
        }
        stablehlo.return %next, %e : tensor<i32>, tensor<16x16xf32>
      }
      return %r#1 : tensor<16x16xf32>
    }
    // after
    func.func @main(%x: tensor<16x16xf32>, %n: tensor<i32>) -> tensor<16x16xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x16xf32> attributes {
        step.loop_floors = [{bytes = 3136 : i64, nanoseconds = 46 : i64}, {bytes = 3575 : i64, nanoseconds = 45 : i64},
                            {bytes = 4014 : i64, nanoseconds = 44 : i64} ],
        step.loop_rows = [{bytes = 4160 : i64, nanoseconds = 44 : i64, order = array<i32>, rows = array<i32>},
                          {bytes = 3136 : i64, nanoseconds = 46 : i64, order = array<i32: 0, 1, 2, 3, 1, 4>, rows = array<i32>} ]} cond {
        %0 = step.group elementwise(%i, %n) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i1> {
        ^bb0(%p: tensor<i32>, %q: tensor<i32>):
          %1 = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %1 : tensor<i1>
        }
        stablehlo.return %0 : tensor<i1>
      } do {
        %next = step.group elementwise(%i) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>) -> tensor<i32> {
        ^bb0(%p: tensor<i32>):
          %one = stablehlo.constant dense<1> : tensor<i32>
          %1 = stablehlo.add %p, %one : tensor<i32>
          step.yield %1 : tensor<i32>
        }
        %a = step.group row(%c) attributes {step.nanoseconds = 2 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
        ^bb0(%p: tensor<16x16xf32>):
          %1 = stablehlo.tanh %p : tensor<16x16xf32>
          step.yield %1 : tensor<16x16xf32>
        }
        %b = step.group row(%a) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
        ^bb0(%p: tensor<16x16xf32>):
          %1 = stablehlo.exponential %p : tensor<16x16xf32>
          step.yield %1 : tensor<16x16xf32>
        }
        %d:2 = step.group row(%b) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
        ^bb0(%p: tensor<16x16xf32>):
          %1 = stablehlo.exponential %p : tensor<16x16xf32>
          %2 = stablehlo.tanh %p : tensor<16x16xf32>
          step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
        }
        %e = step.group elementwise(%c, %a, %d#0, %d#1) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
        ^bb0(%o: tensor<16x16xf32>, %p: tensor<16x16xf32>, %q: tensor<16x16xf32>, %s: tensor<16x16xf32>):
          %1 = stablehlo.add %p, %q : tensor<16x16xf32>
          %2 = stablehlo.add %1, %s : tensor<16x16xf32>
          %3 = stablehlo.add %2, %o : tensor<16x16xf32>
          step.yield %3 : tensor<16x16xf32>
        }
        stablehlo.return %next, %e : tensor<i32>, tensor<16x16xf32>
      }
      return %r#1 : tensor<16x16xf32>
    }
    ```
  }];
  let options = [
    Option<"rows", "rows", "int32_t", "8", "how many budgets to try for a body">,
    Option<"moves", "moves", "int64_t", "20000", "effort of the solver for each">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def ChooseRecomputationPass : Pass<"memory-choose-recomputation", "::mlir::func::FuncOp"> {
  let summary = "compute values again that do not fit in memory";
  let description = [{
    Finds which values to keep and which to drop and compute again so that no
    more than a budget of temporaries is live at once, at the least predicted
    time, with the solver of lib/Solver/RecomputeChoice. Groups that run again
    are copied, marked `step.recomputed`, and stand right before their first
    reader; `step.node` is the node of the problem that an operation belongs to,
    `step.node_values` the values of the problem that its results are,
    `step.node_bytes` the temporaries that these take.
    Of a group with `step.parts` only the part that is read again is copied.
    Where there is a way to the host's memory (`host-bytes-per-second`), groups
    have no parts, and a value may wait there instead: a group `save` makes the
    copy, its `step.node` is the number of nodes and twice the number of the
    variant, a group `load` with the next number makes the value from it, and
    `step.beside` says how many operations behind each its transfer takes.
    The attribute `step.recomputation` holds the problem and the solution
    with its certificate as `tenon-solve` reads them, the plan's status,
    cost, proved bound and peak, and what nothing may run again with the reason;
    if no plan was found, nothing else changes.

    ```mlir
    // before: predicted times on the groups
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = step.group elementwise(%x) attributes {step.nanoseconds = 5 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %1 = stablehlo.tanh %a : tensor<8xf32>
        step.yield %1 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    // after: everything fits, so nothing is copied
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
        attributes {step.recomputation = {base_nanoseconds = 5 : i64, bound_nanoseconds = 5 : i64, budget = 2305843009213693951 : i64, nanoseconds = 5 : i64, nodes = 1 : i64, peak = 0 : i64, pinned_bytes = 0 : i64, value_bytes = 0 : i64, exclusions = [],
          problem = "recompute-problem 1\0Anodes 1\0Afixed-memory 0\0Anode 0 5 0\0A",
          solution = "recompute-solution 1\0Abudget 2305843009213693951\0Acost 5\0Apeak 0\0Abound 5\0Acertificate kind base\0Acertificate any-bound 5\0Acertificate any-kind base\0Aorder\0A0\0A",
          status = "solved"}} {
      %0 = step.group elementwise(%x) attributes {step.nanoseconds = 5 : i64, step.node = 0 : i64, step.node_values = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %1 = stablehlo.tanh %a : tensor<8xf32>
        step.yield %1 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"budget", "budget", "int64_t", "std::numeric_limits<int64_t>::max() / 4",
           "bytes of temporaries that may be live at once">,
    Option<"moves", "moves", "int64_t", "200000",
           "moves of the local search">,
    Option<"quick", "quick", "bool", "false",
           "a first look: a short search, and only cheap bounds">,
    Option<"hostBytesPerSecond", "host-bytes-per-second", "int64_t", "0",
           "what moves to the host's memory in a second, and back beside it; 0 "
           "if values may not wait there">,
    Option<"hostStartNanoseconds", "host-start", "int64_t", "0",
           "nanoseconds of computing that starting a transfer takes">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def SeparateResultsPass : Pass<"memory-separate-results", "::mlir::func::FuncOp"> {
  let summary = "make every value that leaves a block a value of its own";
  let description = [{
    A value that is returned twice, or returned without being computed in the
    block (an argument of another position, a constant, a value from outside),
    cannot be written to the place it leaves for. Such a value is copied by a
    group that hands on its operand. A group without operands whose result
    several values that a loop carries start from, or something else, is cloned
    in front of the loop for each of them.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      return %x, %x : tensor<8xf32>, tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %y = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        step.yield %a : tensor<8xf32>
      }
      %z = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        step.yield %a : tensor<8xf32>
      }
      return %y, %z : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def PlanOffsetsPass : Pass<"memory-plan-offsets", "::mlir::func::FuncOp"> {
  let summary = "give every value a place in memory";
  let description = [{
    Finds out when each value lives, lets values share a buffer where one ends as
    the other begins (state updated in place, carried values of loops, operands
    that a group may overwrite), and packs what remains into one arena with the
    offset-packing solver. The solver's lower bound is reported as a remark. What
    saves make waits in the segment `host`, an arena of its own that no limit
    counts.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<8xf32> {
      %0 = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %b = stablehlo.tanh %a : tensor<8xf32>
        step.yield %b : tensor<8xf32>
      }
      %1 = step.group elementwise(%0) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %b = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
        step.yield %b : tensor<8xf32>
      }
      return %1 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<8xf32>
        attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>],
                    step.segment_bytes = {batch = 64 : i64, constants = 0 : i64, results = 64 : i64, state = 0 : i64, temporaries = 64 : i64},
                    step.temporaries_bound = 64 : i64} {
      %0 = step.group elementwise(%x) attributes {step.places = [#step.place<temporaries, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %b = stablehlo.tanh %a : tensor<8xf32>
        step.yield %b : tensor<8xf32>
      }
      %1 = step.group elementwise(%0) attributes {step.places = [#step.place<results, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %b = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
        step.yield %b : tensor<8xf32>
      }
      return %1 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"problemFile", "problem-file", "std::string", "\"\"",
           "where to write the packing problem as CSV, for tenon-solve">,
    Option<"quick", "quick", "bool", "false",
           "a first look: a short search for a smaller arena">,
    Option<"limit", "limit", "int64_t", "-1",
           "bytes that all segments may take together; below 0 for any number">,
    Option<"together", "together", "bool", "false",
           "let no value take the place of another one between groups that may "
           "be one launch, where the arena stays as small">,
    Option<"unsearched", "unsearched", "bool", "false",
           "the first arenas that are found, without a search for smaller ones">,
  ];
  let dependentDialects = ["::tenon::step::StepDialect"];
}

def LowerToExecPass : Pass<"memory-lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "turn a scheduled step into a device program";
  let description = [{
    Outlines each distinct group body into a kernel function, each distinct
    library call into a description, and writes the program: launches and calls
    on slices, copies where a value has to move, loops and branches. Saves and
    loads are copies in queues of their own, which are awaited behind the last
    operation beside each (`step.beside`). What scheduled
    form knows of values, lifetimes and buffers stays beside it for whoever checks
    or shows the plan (docs/Forms.md).

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32> {step.name = "x", step.aliases = ["arg0"], step.role = #step.role<batch>})
        -> (tensor<8xf32> {step.name = "y", step.aliases = ["result0"]})
        attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>],
                    step.segment_bytes = {batch = 64 : i64, constants = 0 : i64, results = 64 : i64, state = 0 : i64, temporaries = 0 : i64}} {
      %0 = step.group elementwise(%x) attributes {step.places = [#step.place<results, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %b = stablehlo.tanh %a : tensor<8xf32> loc("tanh"("train.py":7:5))
        step.yield %b : tensor<8xf32>
      } loc("tanh"("train.py":7:5))
      return %0 : tensor<8xf32>
    }
    // after
    exec.device_class @cpu
    exec.memory_space @host
    exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
    exec.segment @constants constants in @host of @cpu bytes 0 alignment 64
    exec.segment @results results in @host of @cpu bytes 64 alignment 64
    exec.segment @state state in @host of @cpu bytes 0 alignment 64
    exec.segment @temporaries temporaries in @host of @cpu bytes 0 alignment 64
    exec.tensor "x" : tensor<8xf32> at @batch[0] {aliases = ["arg0"], argument = 0 : i64, role = #step.role<batch>}
    exec.tensor "y" : tensor<8xf32> at @results[0] {aliases = ["result0"], result = 0 : i64}
    func.func private @kernel_0(%a: tensor<8xf32>) -> tensor<8xf32>
        attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind elementwise>} {
      %0 = stablehlo.tanh %a : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    exec.program @step attributes {
      exec.plan = {buffers = [array<i64: 1, 0, 32>, array<i64: 2, 0, 32>],
        initial = array<i64: 0>,
        results = array<i64: 2>,
        texts = ["8xf32", "batch x", "tanh train.py:7", "result y"],
        values = [array<i64: 0, 32, 0, 1, 0, -1, 0, 3>, array<i64: 1, 32, 0, 2, 0, -1, 3, 7>, array<i64: 1, 32, 0, 3, 0, -1, 7, 10>]},
      exec.region_ends = [array<i64: 1, 2>]} {
      %0 = exec.slice @batch[0] : memref<8xf32>
      %1 = exec.slice @results[0] : memref<8xf32>
      exec.invoke @kernel_0(%0, %1) {exec.planned = {at = array<i64: 1, 1, 2>, reads = array<i64: 0, -1>, writes = array<i64: -1, 1>}} : memref<8xf32>, memref<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::exec::ExecDialect", "::mlir::func::FuncDialect"];
}

def VerifyScheduledFormPass : Pass<"verify-scheduled-form", "::mlir::ModuleOp"> {
  let summary = "check the contract of scheduled form";
  let description = [{
    Fails on the first value of `@main` without a place, and on the first place
    that does not fit its segment. Runs before every lowering.

    ```mlir
    // refused: 'step.group' op needs the attribute 'step.places' with 1 place
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
        attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>],
                    step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
      %0 = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %b = stablehlo.tanh %a : tensor<8xf32>
        step.yield %b : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    ```
  }];
}

def VerifyExecFormPass : Pass<"verify-exec-form", "::mlir::ModuleOp"> {
  let summary = "check the contract of exec form";
  let description = [{
    Fails on the first slice that does not fit its segment, invocation that
    does not match its kernel, or operation that docs/Forms.md does not allow after the
    stage `lower`.

    ```mlir
    // refused: 'exec.slice' op ends at byte 32 of a segment of 16 bytes
    exec.device_class @cpu
    exec.memory_space @host
    exec.segment @batch batch in @host of @cpu bytes 16 alignment 64
    exec.program @step {
      %0 = exec.slice @batch[0] : memref<8xf32>
    }
    ```
  }];
}

#endif // TENON_MEMORY_PASSES_TD
