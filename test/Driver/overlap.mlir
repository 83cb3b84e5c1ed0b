// While ranks sum the gradient, each multiplies; the file says so, and no file is taken in which an instruction does not wait for what it reads.

// RUN: echo 'arg1 = [data, -]' > %t.layouts
// RUN: sed 's/"cores": [0-9]*/"cores": 1, "links": [{"latency_microseconds": 10, "gigabytes_per_second": 1, "shared_by": 1, "hidden_share": 1}]/; s/"machine_version": 1/"machine_version": 2/' %S/Inputs/machine.json > %t.json
// RUN: tenon compile %s --machine=%t.json --mesh=data=2 --sharding=%t.layouts --verify-forms --compile-to=plan -o %t.plan.mlir
// RUN: FileCheck %s --check-prefix=PLAN < %t.plan.mlir
// PLAN: step.group collective(%{{.*}}) attributes {step.beside = 1 : i64
// PLAN: step.group library
// PLAN: step.group elementwise

// RUN: tenon compile %t.plan.mlir --compile-from=plan --compile-to=lower -o %t.lower.mlir
// RUN: FileCheck %s --check-prefix=LOWER < %t.lower.mlir
// LOWER: exec.invoke @collective_0(%{{.*}}) queue 1
// LOWER: exec.invoke @library_0
// LOWER: exec.wait queue 1
// LOWER: exec.invoke @kernel_1

// RUN: tenon compile %t.lower.mlir --compile-from=lower -o %t.tenon
// RUN: tenon verify %t.tenon | FileCheck %s --check-prefix=VERIFY
// VERIFY: instructions read what the plan says

// RUN: sed '/exec.wait/d' %t.lower.mlir > %t.early.mlir
// RUN: tenon compile %t.early.mlir --compile-from=lower -o %t.early.tenon
// RUN: not tenon verify %t.early.tenon 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: {{.*}} does not keep its plan: instruction 3 {{.*}} touches bytes that instruction 1 {{.*}}, which is not awaited yet, works on
// RUN: not tenon run %t.early.tenon --ranks=2 --zero-state 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: {{.*}} the file is damaged: an instruction touches bytes of a collective, all_reduce sum of 4 f32 by 2, that is not awaited yet

func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x4xf32>, %y: tensor<256x256xf32>) -> (tensor<4xf32>, tensor<256x256xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %new = stablehlo.add %w, %sum : tensor<4xf32>
  %z = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %new, %z : tensor<4xf32>, tensor<256x256xf32>
}
