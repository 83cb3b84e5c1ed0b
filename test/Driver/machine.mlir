// RUN: tenon compile %s --cpu=x86-64-v3 --compile-to=simplify | FileCheck %s --check-prefix=FLOPS
// RUN: tenon compile %s --machine=%S/Inputs/machine.json --compile-to=group --report=%t.json | FileCheck %s --check-prefix=PIECES
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: tenon compile %s --cpu=x86-64-v3 --compile-to=group | FileCheck %s --check-prefix=BUILTIN
// RUN: not tenon compile %s --machine=%S/Inputs/machine.json --cpu=x86-64-v4 -o %t.tenon 2>&1 | FileCheck %s --check-prefix=LARGER
// RUN: not tenon compile %s --machine=%t.missing -o %t.tenon 2>&1 | FileCheck %s --check-prefix=MISSING

// Two products of 2 * 256 * 256 * 256 FLOPs.
// FLOPS: module
// FLOPS-SAME: step.flops = 0x4190000000000000 : f64
// FLOPS-NOT: step.group

// How a call is cut follows from its work, never from the machine: its bits depend
// on it.
// PIECES: step.group library
// PIECES-SAME: pieces = 2 : i64
// BUILTIN: step.group library
// BUILTIN-SAME: pieces = 2 : i64

// REPORT: "flops": 67108864
// REPORT: "machine": "a machine of round numbers"
// REPORT: "predicted_bytes"
// REPORT: "predicted_seconds"

// LARGER: error: --cpu=x86-64-v4 does not run on the machine of '{{.*}}machine.json', which has x86-64-v3
// MISSING: error: {{.*}}.missing: cannot be read: No such file or directory

func.func public @main(%w: tensor<256x256xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<256x256xf32>) -> (tensor<256x256xf32> {jax.result_info = "result['w']"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}
