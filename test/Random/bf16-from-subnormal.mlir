// Numbers just below the smallest normal one round up to it if they are kept, as
// on x86-64-v3 here, and are zeros if they are flushed.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --cpu=x86-64-v3 | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<4x5xbf16>, tensor<4x5xbf16>) {
  %a = stablehlo.constant dense<[[1.0, -1.17549421E-38, 1.95228201E-39, 0.0, -0.0], [1.0, 1.17549421E-38, 5.0, 0x7F800000, 3.0], [2.0, 1.17549435E-38, -1.17549435E-38, 1.4e-45, 1.0], [1.0, 1.0, -1.4e-45, 3.40282347E+38, -1.17549421E-38]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<(-1.17549421E-38, 1.0)> : tensor<4x5xcomplex<f32>>
  %x:2 = stablehlo.optimization_barrier %a, %b : tensor<4x5xf32>, tensor<4x5xcomplex<f32>>
  %0 = stablehlo.convert %x#0 : (tensor<4x5xf32>) -> tensor<4x5xbf16>
  %1 = stablehlo.convert %x#1 : (tensor<4x5xcomplex<f32>>) -> tensor<4x5xbf16>
  return %0, %1 : tensor<4x5xbf16>, tensor<4x5xbf16>
}
