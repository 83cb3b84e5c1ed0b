// A call of LAPACK in a step for GPUs is the host's: its workspace is memory of the host and no argument. On a processor it is the last argument.
// RUN: tenon compile %s --target=sm_90 --compile-to=lower | FileCheck %s --check-prefix=GPU
// RUN: tenon compile %s --cpu=x86-64-v3 --compile-to=lower | FileCheck %s --check-prefix=CPU
// RUN: tenon compile %s --target=sm_90 --compile-to=codegen --no-cubins -o %t.mlir --report=%t.json
// RUN: FileCheck %s --check-prefix=REPORT < %t.json

// GPU: exec.library @library_0 {batch = 1 : i64, call = "lapack",
// GPU-SAME: routine = "potrf"
// GPU-SAME: workspace [[WORKSPACE:[1-9][0-9]*]] {exec.on_host}
// GPU: exec.invoke @library_0(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}})
// CPU: exec.library @library_0 {batch = 1 : i64, call = "lapack",
// CPU-NOT: exec.on_host
// CPU: exec.invoke @library_0(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}})

// 64 bytes each of the operand, the factor and the verdict, and a copy of the operand by columns. The call is three copies and itself.
// REPORT: "host_bytes": 256
// REPORT: "nodes": 4
// REPORT: "on_host": [
// REPORT: "bytes": 132
// REPORT-NEXT: "call": "potrf of 1x4x4x0 f32"
// REPORT-NEXT: "place": "{{.*}}host-calls.mlir:[[#@LINE+16]]:

// A text between stages goes on to the same file.
// RUN: tenon compile %s --target=sm_90 --no-cubins -o %t.whole.tenon
// RUN: tenon compile %s --target=sm_90 --compile-to=lower -o %t.lower.mlir
// RUN: tenon compile %t.lower.mlir --target=sm_90 --no-cubins --compile-from=lower -o %t.lower.tenon
// RUN: cmp %t.whole.tenon %t.lower.tenon
// RUN: tenon compile %t.mlir --target=sm_90 --compile-from=codegen -o %t.codegen.tenon
// RUN: cmp %t.whole.tenon %t.codegen.tenon

// What only a library runs needs one, whatever the target is.
// RUN: not tenon compile %s --target=sm_90 --no-libraries -o %t.tenon 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tenon compile %s --no-libraries -o %t.tenon 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: custom call @lapack_spotrf_ffi has no kernel, only a library runs it; leave out --no-libraries

func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, api_version = 4 : i32}
    : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  return %0#0 : tensor<4x4xf32>
}
