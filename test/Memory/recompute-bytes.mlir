// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation | FileCheck %s

// What nodes need while they run, to the byte: a bound that counts more than
// the program needs would be above what some plan costs. Values take 1 KiB.

// A kernel that writes over the result before it is one node with that one. It
// makes two values, when %a is not needed any more.

// CHECK: nodes = 3 : i64, {{.*}}peak = 2048 : i64
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %b = step.group row(%a) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %c:2 = step.group elementwise(%b) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.sine %0 : tensor<16x16xf32>
      %2 = stablehlo.negate %0 : tensor<16x16xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %4 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// Somebody reads %a later, and it is not computed again: it is there as well.

// CHECK: nodes = 3 : i64, {{.*}}peak = 3072 : i64, {{.*}}\0Aoverwrite 0 1 1024
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %b = step.group row(%a) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %c:2 = step.group elementwise(%b) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.sine %0 : tensor<16x16xf32>
      %2 = stablehlo.negate %0 : tensor<16x16xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1, %a) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %e: tensor<16x16xf32>):
      %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %5 = stablehlo.add %2, %e : tensor<16x16xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%5 init: %3) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %4 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// What a loop carries takes nothing from its last reader in a round to the next
// round's value, and what is written over another value takes its bytes once:
// %b and %c 2 KiB, beside them %a or %next, and a counter and a predicate.

// CHECK: peak = 3200 : i64
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<16x16xf32>
    cond {
      %more = step.group elementwise(%i, %three) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i1> {
      ^bb0(%0: tensor<i32>, %1: tensor<i32>):
        %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        step.yield %2 : tensor<i1>
      }
      stablehlo.return %more : tensor<i1>
    } do {
      %a = step.group row(%v) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.tanh %0 : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      %b = step.group row(%a) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x32xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.concatenate %0, %0, dim = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x32xf32>
        step.yield %1 : tensor<16x32xf32>
      }
      %c = step.group elementwise(%b) attributes {step.nanoseconds = 1 : i64} : (tensor<16x32xf32>) -> tensor<16x32xf32> {
      ^bb0(%0: tensor<16x32xf32>):
        %1 = stablehlo.tanh %0 : tensor<16x32xf32>
        step.yield %1 : tensor<16x32xf32>
      }
      %next = step.group row(%c) attributes {step.nanoseconds = 1 : i64} : (tensor<16x32xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x32xf32>):
        %1 = stablehlo.slice %0 [0:16, 0:16] : (tensor<16x32xf32>) -> tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      %n = step.group elementwise(%i, %one) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i32> {
      ^bb0(%0: tensor<i32>, %1: tensor<i32>):
        %2 = stablehlo.add %0, %1 : tensor<i32>
        step.yield %2 : tensor<i32>
      }
      stablehlo.return %n, %next : tensor<i32>, tensor<16x16xf32>
    }
    %d = step.group row(%r#1) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %2 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// What chooses a branch need not be there while the branch runs.

// CHECK: nodes = 4 : i64, {{.*}}peak = 2048 : i64
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}, %k: tensor<i32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %j = step.group elementwise(%k) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>) -> tensor<i32> {
    ^bb0(%0: tensor<i32>):
      %1 = stablehlo.negate %0 : tensor<i32>
      step.yield %1 : tensor<i32>
    }
    %s = "stablehlo.case"(%j) ({
      %u = step.group row(%a) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.tanh %0 : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      stablehlo.return %u : tensor<16x16xf32>
    }, {
      %u = step.group row(%a) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.sine %0 : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      stablehlo.return %u : tensor<16x16xf32>
    }) : (tensor<i32>) -> tensor<16x16xf32>
    %d = step.group row(%s) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %2 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// A branch is done with what it reads from outside before it writes its result:
// beside %m, 64 bytes, there is %a or %u.

// CHECK: nodes = 3 : i64, {{.*}}peak = 1088 : i64
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}, %k: tensor<i32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %s = "stablehlo.case"(%k) ({
      %m = step.group row(%a) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
        step.yield %2 : tensor<16xf32>
      }
      %u = step.group elementwise(%m) attributes {step.nanoseconds = 1 : i64} : (tensor<16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16xf32>):
        %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      stablehlo.return %u : tensor<16x16xf32>
    }, {
      %u = step.group elementwise(%x) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.sine %0 : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      stablehlo.return %u : tensor<16x16xf32>
    }) : (tensor<i32>) -> tensor<16x16xf32>
    %d = step.group row(%s) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %2 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// Somebody reads %a later, so it is there beside %u.

// CHECK: nodes = 3 : i64, {{.*}}peak = 2112 : i64, {{.*}}\0Aoverwrite 0 1 1024
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}, %k: tensor<i32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %s = "stablehlo.case"(%k) ({
      %m = step.group row(%a) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
        step.yield %2 : tensor<16xf32>
      }
      %u = step.group elementwise(%m) attributes {step.nanoseconds = 1 : i64} : (tensor<16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16xf32>):
        %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      stablehlo.return %u : tensor<16x16xf32>
    }, {
      %u = step.group elementwise(%x) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.sine %0 : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      stablehlo.return %u : tensor<16x16xf32>
    }) : (tensor<i32>) -> tensor<16x16xf32>
    %d = step.group row(%s, %a) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%5: tensor<16x16xf32>, %6: tensor<16x16xf32>):
      %0 = stablehlo.add %5, %6 : tensor<16x16xf32>
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %2 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// A loop that starts with what somebody reads later carries a copy; where that
// reader computes the value again, the loop goes on in its place.

// CHECK: peak = 2176 : i64, {{.*}}\0Aworkspace 1 -960{{.*}}\0Aoverwrite 0 1 1024
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %r:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<16x16xf32>
    cond {
      %more = step.group elementwise(%i, %three) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i1> {
      ^bb0(%0: tensor<i32>, %1: tensor<i32>):
        %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        step.yield %2 : tensor<i1>
      }
      stablehlo.return %more : tensor<i1>
    } do {
      %next = step.group elementwise(%v) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>):
        %1 = stablehlo.sine %0 : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      %n = step.group elementwise(%i, %one) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i32> {
      ^bb0(%0: tensor<i32>, %1: tensor<i32>):
        %2 = stablehlo.add %0, %1 : tensor<i32>
        step.yield %2 : tensor<i32>
      }
      stablehlo.return %n, %next : tensor<i32>, tensor<16x16xf32>
    }
    %d = step.group row(%r#1, %a) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %4 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}
