// A step for GPUs lies in their memory, and its kernels are texts of PTX.
// RUN: tenon compile %s --target=sm_90,sm_80 --compile-to=lower | FileCheck %s --check-prefix=LOWER
// RUN: tenon compile %s --target=sm_90,sm_80 --compile-to=codegen --no-cubins -o %t.mlir --report=%t.json
// RUN: FileCheck %s --check-prefix=OBJECT < %t.mlir
// RUN: FileCheck %s --check-prefix=REPORT < %t.json

// LOWER: step.options = {architectures = "sm_80,sm_90", constants = "{{[0-9a-f]+}}", fuse = true, target = "cuda"}
// LOWER: exec.device_class @cuda
// LOWER-NEXT: exec.memory_space @device
// LOWER-NEXT: exec.segment @batch batch in @device of @cuda

// OBJECT: exec.ptx = [{architecture = "sm_80", text = "{{.*}}.target sm_80{{.*}}"}, {architecture = "sm_90", text = "{{.*}}.target sm_90{{.*}}"}]
// OBJECT: func.func private @kernel_0
// OBJECT-SAME: exec.launches = array<i64: 4, 256, 4, 256>
// OBJECT-SAME: exec.schedules = ["element-wise", "element-wise"]
// OBJECT-SAME: exec.symbol = "kernel_0"

// REPORT: "gpu": "sm_80,sm_90"

// What somebody edited is checked.
// RUN: sed 's/launches = array<i64: 4, 256, 4, 256>/launches = array<i64: 4, 256>/' %t.mlir > %t.launches.mlir
// RUN: not tenon compile %t.launches.mlir --target=sm_80,sm_90 --compile-from=codegen -o %t.tenon 2>&1 | FileCheck %s --check-prefix=LAUNCHES
// RUN: sed 's/launches = array<i64: 4, 256, 4, 256>/launches = array<i64: 4, 256, 0, 256>/' %t.mlir > %t.blocks.mlir
// RUN: not tenon compile %t.blocks.mlir --target=sm_80,sm_90 --compile-from=codegen -o %t.tenon 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: sed 's/architecture = "sm_80"/architecture = "sm_10"/' %t.mlir > %t.name.mlir
// RUN: not tenon compile %t.name.mlir --target=sm_80,sm_90 --compile-from=codegen -o %t.tenon 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not tenon compile %t.mlir --compile-from=codegen -o %t.tenon 2>&1 | FileCheck %s --check-prefix=TARGET

// LAUNCHES: error: {{.*}} does not say in 'exec.launches' how it starts on "sm_90"
// BLOCKS: error: the file would be refused: the code for sm_90 starts a kernel in 0 blocks of 256 threads
// NAME: error: 'exec.ptx' has code for "sm_10", expected sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120
// TARGET: error: 'step.options' is {{.*}}, expected 'target' to be "cpu"

func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = stablehlo.tanh %x : tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
