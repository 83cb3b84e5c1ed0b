// Products and convolutions as kernels, of every type that a library would be
// called for: plain, in batches, transposed, widened, and both gradients of a
// convolution.

// RUN: TenonRandom check %s --no-libraries | FileCheck %s
// RUN: TenonRandom check %s --no-libraries --cpu=x86-64-v3 | FileCheck %s
// RUN: TenonRandom check %s --no-libraries --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<5x7xf32>, tensor<2x5x7xf32>, tensor<5x7xbf16>, tensor<5x7xf32>, tensor<5x7xf16>,
                      tensor<5x7xf32>, tensor<2x6x6x4xf32>, tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) {
  %seed = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %s, %bits = stablehlo.rng_bit_generator %seed, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1024xui32>)
  %few = stablehlo.constant dense<9> : tensor<1024xui32>
  %shifted = stablehlo.shift_right_logical %bits, %few : tensor<1024xui32>
  %number = stablehlo.convert %shifted : (tensor<1024xui32>) -> tensor<1024xf32>
  %scale = stablehlo.constant dense<2.38418579e-7> : tensor<1024xf32>
  %one = stablehlo.constant dense<1.0> : tensor<1024xf32>
  %scaled = stablehlo.multiply %number, %scale : tensor<1024xf32>
  %values = stablehlo.subtract %scaled, %one : tensor<1024xf32>
  %la = stablehlo.slice %values [0:85] : (tensor<1024xf32>) -> tensor<85xf32>
  %lb = stablehlo.slice %values [100:219] : (tensor<1024xf32>) -> tensor<119xf32>
  %lc = stablehlo.slice %values [0:170] : (tensor<1024xf32>) -> tensor<170xf32>
  %ld = stablehlo.slice %values [200:438] : (tensor<1024xf32>) -> tensor<238xf32>
  %li = stablehlo.slice %values [0:384] : (tensor<1024xf32>) -> tensor<384xf32>
  %lk = stablehlo.slice %values [400:508] : (tensor<1024xf32>) -> tensor<108xf32>
  %lo = stablehlo.slice %values [600:888] : (tensor<1024xf32>) -> tensor<288xf32>
  %a0 = stablehlo.reshape %la : (tensor<85xf32>) -> tensor<5x17xf32>
  %b0 = stablehlo.reshape %lb : (tensor<119xf32>) -> tensor<17x7xf32>
  %c0 = stablehlo.reshape %lc : (tensor<170xf32>) -> tensor<2x5x17xf32>
  %d0 = stablehlo.reshape %ld : (tensor<238xf32>) -> tensor<7x2x17xf32>
  %i0 = stablehlo.reshape %li : (tensor<384xf32>) -> tensor<2x8x8x3xf32>
  %k0 = stablehlo.reshape %lk : (tensor<108xf32>) -> tensor<3x3x3x4xf32>
  %o0 = stablehlo.reshape %lo : (tensor<288xf32>) -> tensor<2x6x6x4xf32>
  %x:7 = stablehlo.optimization_barrier %a0, %b0, %c0, %d0, %i0, %k0, %o0 : tensor<5x17xf32>, tensor<17x7xf32>, tensor<2x5x17xf32>, tensor<7x2x17xf32>, tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<2x6x6x4xf32>
  %ab = stablehlo.convert %x#0 : (tensor<5x17xf32>) -> tensor<5x17xbf16>
  %bb = stablehlo.convert %x#1 : (tensor<17x7xf32>) -> tensor<17x7xbf16>
  %ah = stablehlo.convert %x#0 : (tensor<5x17xf32>) -> tensor<5x17xf16>
  %bh = stablehlo.convert %x#1 : (tensor<17x7xf32>) -> tensor<17x7xf16>
  %n:4 = stablehlo.optimization_barrier %ab, %bb, %ah, %bh : tensor<5x17xbf16>, tensor<17x7xbf16>, tensor<5x17xf16>, tensor<17x7xf16>
  %0 = stablehlo.dot_general %x#0, %x#1, contracting_dims = [1] x [0] : (tensor<5x17xf32>, tensor<17x7xf32>) -> tensor<5x7xf32>
  %1 = stablehlo.dot_general %x#2, %x#3, batching_dims = [0] x [1], contracting_dims = [2] x [2] : (tensor<2x5x17xf32>, tensor<7x2x17xf32>) -> tensor<2x5x7xf32>
  %2 = stablehlo.dot_general %n#0, %n#1, contracting_dims = [1] x [0] : (tensor<5x17xbf16>, tensor<17x7xbf16>) -> tensor<5x7xbf16>
  %3 = stablehlo.dot_general %n#0, %n#1, contracting_dims = [1] x [0] : (tensor<5x17xbf16>, tensor<17x7xbf16>) -> tensor<5x7xf32>
  %4 = stablehlo.dot_general %n#2, %n#3, contracting_dims = [1] x [0] : (tensor<5x17xf16>, tensor<17x7xf16>) -> tensor<5x7xf16>
  %5 = stablehlo.dot_general %n#2, %n#3, contracting_dims = [1] x [0] : (tensor<5x17xf16>, tensor<17x7xf16>) -> tensor<5x7xf32>
  %6 = stablehlo.convolution(%x#4, %x#5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x6x4xf32>
  %7 = stablehlo.convolution(%x#6, %x#5) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x6x4xf32>, tensor<3x3x3x4xf32>) -> tensor<2x8x8x3xf32>
  %8 = stablehlo.convolution(%x#4, %x#6) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<2x6x6x4xf32>) -> tensor<3x3x3x4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<5x7xf32>, tensor<2x5x7xf32>, tensor<5x7xbf16>, tensor<5x7xf32>, tensor<5x7xf16>, tensor<5x7xf32>, tensor<2x6x6x4xf32>, tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>
}
