// Functions and remainders of f64 on a GPU, which has no library of C.

// RUN: TenonRandom check %s --target=sm_90 --subnormals=keep | FileCheck %s
// RUN: TenonRandom check %s --target=sm_80 --subnormals=flush | FileCheck %s
// CHECK: 0 differences

func.func @main() -> tensor<12xf64> {
  %c = stablehlo.constant dense<[0.0, -0.0, 0.4, -0.7, 1.0, 3.5, -5.25, 1.0e300, -7.0e-310, 0x7FF0000000000000, 0x7FF8000000000000, 26.5]> : tensor<12xf64>
  %d = stablehlo.constant dense<[1.0, 2.0, 0.3, 1.0e-320, 3.0, -0.1, 2.5, 7.0e-300, 3.0e-312, 2.0, 1.0, 0x7FF0000000000000]> : tensor<12xf64>
  %x, %y = stablehlo.optimization_barrier %c, %d : tensor<12xf64>, tensor<12xf64>
  %0 = stablehlo.exponential %x : tensor<12xf64>
  %1 = stablehlo.exponential_minus_one %x : tensor<12xf64>
  %2 = stablehlo.log %x : tensor<12xf64>
  %3 = stablehlo.log_plus_one %x : tensor<12xf64>
  %4 = stablehlo.power %x, %y : tensor<12xf64>
  %5 = stablehlo.cbrt %x : tensor<12xf64>
  %6 = stablehlo.sine %x : tensor<12xf64>
  %7 = stablehlo.cosine %x : tensor<12xf64>
  %8 = stablehlo.tan %x : tensor<12xf64>
  %9 = stablehlo.atan2 %x, %y : tensor<12xf64>
  %10 = stablehlo.tanh %x : tensor<12xf64>
  %11 = stablehlo.logistic %x : tensor<12xf64>
  %12 = chlo.erf %x : tensor<12xf64> -> tensor<12xf64>
  %13 = chlo.erfc %x : tensor<12xf64> -> tensor<12xf64>
  %14 = stablehlo.remainder %x, %y : tensor<12xf64>
  return %14 : tensor<12xf64>
}
