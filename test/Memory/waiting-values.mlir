// Two values wait on the host, in an arena of its own, while others take their places in the GPU's memory.

// RUN: tenon-opt %s --memory-plan-offsets -o %t.planned.mlir
// RUN: FileCheck %s --check-prefix=PLAN < %t.planned.mlir
// PLAN: step.segment_bytes = {batch = 64 : i64, constants = 0 : i64, host = 128 : i64, results = 64 : i64, state = 0 : i64, temporaries = 128 : i64}
// PLAN: step.group save({{.*}}step.beside = 1 : i64, step.places = [#step.place<host, 0>]
// PLAN: step.group save({{.*}}step.places = [#step.place<host, 64>]
// PLAN: step.group load({{.*}}step.places = [#step.place<temporaries, 0>]
// PLAN: step.group load({{.*}}step.places = [#step.place<temporaries, 0>]

// The copies are in queues of their own. The kernel behind the first save runs beside it; nothing runs beside the others.

// RUN: tenon compile %t.planned.mlir --compile-from=plan --target=sm_90 --no-cubins --verify-forms --compile-to=lower -o - | FileCheck %s --check-prefix=LOWER
// LOWER: exec.memory_space @device
// LOWER-NEXT: exec.memory_space @pinned
// LOWER: exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
// LOWER: exec.segment @temporaries temporaries in @device of @cuda bytes 128 alignment 64
// LOWER: exec.invoke @kernel_0
// LOWER: exec.invoke @copy({{.*}}) queue 2
// LOWER-NOT: exec.wait
// LOWER: exec.invoke @kernel_1
// LOWER-NEXT: exec.wait queue 2
// LOWER: exec.invoke @copy({{.*}}) queue 2
// LOWER-NEXT: exec.wait queue 2
// LOWER: exec.invoke @kernel_1
// LOWER: exec.invoke @copy({{.*}}) queue 3
// LOWER-NEXT: exec.wait queue 3
// LOWER: exec.invoke @kernel_2
// LOWER: exec.invoke @copy({{.*}}) queue 3
// LOWER-NEXT: exec.wait queue 3
// LOWER: exec.invoke @kernel_3

// More may run beside a transfer than was asked for, up to where somebody touches its bytes: the first load takes the place of what the first save reads.

// RUN: tenon-opt %t.planned.mlir --memory-await-collectives | FileCheck %s --check-prefix=AWAIT
// AWAIT: step.group save({{.*}}step.beside = 3 : i64

// RUN: sed 's/step.beside = 1/step.beside = 4/' %t.planned.mlir | not tenon-opt --memory-await-collectives 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'step.group' op runs beside 4 operations, of which number 4 touches its bytes

// RUN: not tenon-opt %t.planned.mlir --memory-lower-to-exec 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: values wait in memory of the host, which the device class 'cpu' has not

func.func @main(%x: tensor<16xf32> {step.name = "x", step.aliases = ["arg0"], step.role = #step.role<batch>})
    -> (tensor<16xf32> {step.name = "y", step.aliases = ["result0"]}) {
  %a = step.group elementwise(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %sa = step.group save(%a) attributes {step.beside = 1 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    step.yield %p : tensor<16xf32>
  }
  %b = step.group elementwise(%a) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.reverse %p, dims = [0] : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %sb = step.group save(%b) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    step.yield %p : tensor<16xf32>
  }
  %c = step.group elementwise(%b) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.reverse %p, dims = [0] : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %lb = step.group load(%sb) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    step.yield %p : tensor<16xf32>
  }
  %d = step.group elementwise(%c, %lb) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
    %0 = stablehlo.multiply %p, %q : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %la = step.group load(%sa) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    step.yield %p : tensor<16xf32>
  }
  %e = step.group elementwise(%d, %la) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
    %0 = stablehlo.add %p, %q : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %e : tensor<16xf32>
}
