// RUN: TenonRandom check %s --subnormals=keep | FileCheck %s
// RUN: TenonRandom check %s --subnormals=flush --fuse=false | FileCheck %s
// RUN: TenonRandom check %s --subnormals=flush --cpu=x86-64-v3 | FileCheck %s

// Rounding by chance in kernels of different forms: element by element, behind a transpose, beside a reduction of rows and of
// columns, and of a tensor that repeats one number. The index is that in the whole tensor.

// CHECK: 0 differences
func.func @main() -> (tensor<37x19xbf16>, tensor<19x37xbf16>, tensor<37x19xbf16>, tensor<19xbf16>, tensor<37x19xbf16>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %third = stablehlo.constant dense<0.333333343> : tensor<f32>
  %step = stablehlo.constant dense<4000000000> : tensor<ui32>
  %key = stablehlo.constant dense<[2849889213, 1388560977]> : tensor<2xui32>
  %i = stablehlo.iota dim = 0 : tensor<703xui32>
  %factor = stablehlo.constant dense<2654435769> : tensor<703xui32>
  %bits = stablehlo.multiply %i, %factor : tensor<703xui32>
  %flat = stablehlo.bitcast_convert %bits : (tensor<703xui32>) -> tensor<703xf32>
  %x = stablehlo.reshape %flat : (tensor<703xf32>) -> tensor<37x19xf32>
  %0 = step.stochastic_round %x, %step, %key : (tensor<37x19xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<37x19xbf16>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<37x19xf32>) -> tensor<19x37xf32>
  %2 = step.stochastic_round %1, %step, %key : (tensor<19x37xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<19x37xbf16>
  %3 = stablehlo.convert %i : (tensor<703xui32>) -> tensor<703xf32>
  %4 = stablehlo.reshape %3 : (tensor<703xf32>) -> tensor<37x19xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<37x19xf32>, tensor<f32>) -> tensor<37xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<37xf32>) -> tensor<37x19xf32>
  %7 = stablehlo.subtract %4, %6 : tensor<37x19xf32>
  %8 = step.stochastic_round %7, %step, %key : (tensor<37x19xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<37x19xbf16>
  %9 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<37x19xf32>, tensor<f32>) -> tensor<19xf32>
  %10 = step.stochastic_round %9, %step, %key : (tensor<19xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<19xbf16>
  %11 = stablehlo.broadcast_in_dim %third, dims = [] : (tensor<f32>) -> tensor<37x19xf32>
  %12 = step.stochastic_round %11, %step, %key : (tensor<37x19xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<37x19xbf16>
  %13 = step.stochastic_round %third, %step, %key : (tensor<f32>, tensor<ui32>, tensor<2xui32>) -> tensor<bf16>
  return %0, %2, %8, %10, %12, %13 : tensor<37x19xbf16>, tensor<19x37xbf16>, tensor<37x19xbf16>, tensor<19xbf16>, tensor<37x19xbf16>, tensor<bf16>
}
