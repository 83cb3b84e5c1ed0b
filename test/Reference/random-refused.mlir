// RUN: not tenon run %s --reference 2>&1 | FileCheck %s

// Random bits are bits of integers: other elements are refused, not read.

// CHECK: error: 'stablehlo.rng_bit_generator' op makes no elements of type 'complex<f32>' in the interpreter, expected integers of 8 to 64 bits
func.func @main() {
  %s = stablehlo.constant dense<[7, 9]> : tensor<2xui64>
  %0:2 = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xcomplex<f32>>)
  check.expect_eq %0#1, %0#1 : tensor<2xcomplex<f32>>
  return
}
