// RUN: tenon-opt --codegen-lower-to-llvm=cpu=x86-64-v3 --split-input-file --verify-diagnostics %s
// RUN: not tenon-opt --codegen-lower-to-llvm %s 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: unknown feature set '', expected x86-64-v3
// RUN: not tenon-opt --codegen-lower-to-llvm=cpu=pentium %s 2>&1 | FileCheck %s
// CHECK: unknown feature set 'pentium', expected x86-64-v3

func.func private @call(%x: vector<16xf32>) -> vector<16xf32> {
  // expected-error @+2 {{operation 'math.tanh' has no lowering in a CPU kernel}}
  // expected-note @+1 {{expand it with emitMath}}
  %y = math.tanh %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

func.func private @flags(%x: vector<16xf32>) -> vector<16xf32> {
  // expected-error @+1 {{operation 'arith.mulf' carries fast-math flags, expected none}}
  %y = arith.mulf %x, %x fastmath<fast> : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

func.func private @tensors(%x: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{operation 'stablehlo.add' has no lowering in a CPU kernel}}
  %y = stablehlo.add %x, %x : tensor<16xf32>
  return %y : tensor<16xf32>
}
