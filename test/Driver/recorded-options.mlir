// The text between stages says what the rest of the compilation depends on.
// RUN: tenon compile %s --cpu=x86-64-v3 --compile-to=group -o %t.v3.mlir
// RUN: FileCheck %s --check-prefix=TEXT < %t.v3.mlir
// RUN: tenon compile %s --machine=%S/Inputs/machine.json --fuse=false --compile-to=simplify -o %t.machine.mlir
// RUN: FileCheck %s --check-prefix=MACHINE < %t.machine.mlir

// TEXT: module attributes {{{.*}}step.options = {constants = "{{[0-9a-f]+}}", feature_set = "x86-64-v3", fuse = true, target = "cpu"}
// MACHINE: step.options = {constants = "{{[0-9a-f]+}}", feature_set = "x86-64-v3", fuse = false, machine = "{{.*}}a machine of round numbers{{.*}}", target = "cpu"}

// Without options, or with the same ones, the compilation goes on as it began.
// RUN: tenon compile %t.v3.mlir --compile-from=group --compile-to=plan | FileCheck %s --check-prefix=TEXT
// RUN: tenon compile %t.v3.mlir --cpu=x86-64-v3 --fuse --compile-from=group --compile-to=plan | FileCheck %s --check-prefix=TEXT
// RUN: tenon compile %t.machine.mlir --compile-from=simplify --compile-to=group --report=%t.json | FileCheck %s --check-prefix=MACHINE
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: tenon compile %t.machine.mlir --machine=%S/Inputs/machine.json --compile-from=simplify --compile-to=group | FileCheck %s --check-prefix=MACHINE

// REPORT: "cpu": "x86-64-v3"
// REPORT: "machine": "a machine of round numbers"

// Other options are errors that name both.
// RUN: not tenon compile %t.v3.mlir --cpu=x86-64-v4 --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tenon compile %t.v3.mlir --fuse=false --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=FUSE
// RUN: not tenon compile %t.v3.mlir --machine=%S/Inputs/machine.json --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tenon compile %t.machine.mlir --cpu=x86-64-v4 --compile-from=simplify -o %t.tenon 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tenon compile %t.v3.mlir --roles=roles.json --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=ROLES
// RUN: not tenon compile %t.v3.mlir --function=init --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=FUNCTION

// CPU: error: --cpu=x86-64-v4 contradicts '{{.*}}', which was written for x86-64-v3; leave the option out, or compile the exported module
// FUSE: error: --fuse=false contradicts '{{.*}}.v3.mlir', which was written with --fuse=true;
// OTHER: error: --machine={{.*}}machine.json contradicts '{{.*}}.v3.mlir', which was written for {{.*}};
// ROLES: error: --roles is read by the stage import, which --compile-from=group leaves out
// FUNCTION: error: --function is read by the stage import, which --compile-from=group leaves out

// What somebody edited is checked.
// RUN: sed 's/x86-64-v3/x86-64-v9/' %t.v3.mlir > %t.v9.mlir
// RUN: not tenon compile %t.v9.mlir --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=SET
// RUN: sed 's/fuse = true/fuse = 3/' %t.v3.mlir > %t.fuse.mlir
// RUN: not tenon compile %t.fuse.mlir --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: sed 's/target = "cpu"/target = "gpu"/' %t.v3.mlir > %t.target.mlir
// RUN: not tenon compile %t.target.mlir --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: sed 's/step.options = {[^}]*}/step.options = 7/' %t.v3.mlir > %t.seven.mlir
// RUN: not tenon compile %t.seven.mlir --compile-from=group -o %t.tenon 2>&1 | FileCheck %s --check-prefix=SEVEN

// SET: error: unknown feature set 'x86-64-v9' in '{{.*}}.v9.mlir'
// SHAPE: error: 'step.options' is {{.*}}fuse = 3{{.*}}, expected 'fuse' to be a boolean
// TARGET: error: 'step.options' is {{.*}}, expected 'target' to be "cpu"
// SEVEN: error: 'step.options' is 7 : i64, expected a dictionary

func.func public @main(%w: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x8xf32>) -> (tensor<8x8xf32> {jax.result_info = "result['w']"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
