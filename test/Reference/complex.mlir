// RUN: tenon run %s --reference
// RUN: tenon run %s

// Functions of complex elements: by the interpreter, and compiled.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0)]> : tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.5, -1.0), (2.0, 2.0), (4.0, 0.0)]> : tensor<3xcomplex<f32>>
  %sum = stablehlo.add %x, %y : tensor<3xcomplex<f32>>
  check.expect_eq_const %sum, dense<[(1.5, 1.0), (-1.0, 2.5), (4.0, -1.0)]> : tensor<3xcomplex<f32>>
  %product = stablehlo.multiply %x, %y : tensor<3xcomplex<f32>>
  check.expect_eq_const %product, dense<[(2.5, 0.0), (-7.0, -5.0), (0.0, -4.0)]> : tensor<3xcomplex<f32>>
  %quotient = stablehlo.divide %product, %y : tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %quotient, dense<[(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0)]> : tensor<3xcomplex<f32>> {tolerance = 1.0e-6 : f64}
  %root = stablehlo.sqrt %x : tensor<3xcomplex<f32>>
  %square = stablehlo.multiply %root, %root : tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %square, dense<[(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0)]> : tensor<3xcomplex<f32>> {tolerance = 1.0e-6 : f64}
  %log = stablehlo.log %x : tensor<3xcomplex<f32>>
  %back = stablehlo.exponential %log : tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %back, dense<[(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0)]> : tensor<3xcomplex<f32>> {tolerance = 1.0e-6 : f64}
  %angle = chlo.asin %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %sine = stablehlo.sine %angle : tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %sine, dense<[(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0)]> : tensor<3xcomplex<f32>> {tolerance = 2.0e-6 : f64}
  %z = stablehlo.constant dense<[(3.0, 4.0), (0.0, 0.0), (-5.0, 12.0)]> : tensor<3xcomplex<f32>>
  %size = stablehlo.abs %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_close_const %size, dense<[5.0, 0.0, 13.0]> : tensor<3xf32>
  %real = stablehlo.real %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %imaginary = stablehlo.imag %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %again = stablehlo.complex %real, %imaginary : tensor<3xcomplex<f32>>
  check.expect_eq %again, %z : tensor<3xcomplex<f32>>
  %equal = stablehlo.compare EQ, %again, %sum : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %equal, dense<false> : tensor<3xi1>
  // Above a pole, where a logarithm's operand is nearly zero.
  %near = stablehlo.constant dense<[(0.01, 1.05), (0.01, -1.05)]> : tensor<2xcomplex<f32>>
  %arc = chlo.atan %near : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %arc, dense<[(1.4745374623665415, 1.8469872511301808), (1.4745374623665415, -1.8469872511301808)]> : tensor<2xcomplex<f32>> {tolerance = 4.0e-7 : f64}
  // Bits stay where they are: as they are, of narrower and of wider elements.
  %same = stablehlo.bitcast_convert %x : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  check.expect_eq %same, %x : tensor<3xcomplex<f32>>
  %wide = stablehlo.constant dense<[(2.0, -0.0), (1.0, 32.0)]> : tensor<2xcomplex<f64>>
  %narrow = stablehlo.bitcast_convert %wide : (tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %narrow, dense<[[(0.0, 2.0), (0.0, -0.0)], [(0.0, 1.875), (0.0, 3.0)]]> : tensor<2x2xcomplex<f32>>
  %widened = stablehlo.bitcast_convert %narrow : (tensor<2x2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  check.expect_eq %widened, %wide : tensor<2xcomplex<f64>>
  return
}
