// Products and convolutions of 16-bit operands with results of 16 and 32 bits:
// forward, grouped and weight gradient. They run by the instructions for bf16
// where those are fast, and widened elsewhere.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --cpu=x86-64-v3 | FileCheck %s
// CHECK: 13 bounded, 0 unjudged results, 0 differences

func.func @main() -> (tensor<4x16x16x32xbf16>, tensor<4x16x16x32xf32>, tensor<3x3x24x32xbf16>, tensor<1024x17xf16>, tensor<4x16x16x32xf32>) {
  %xi = stablehlo.iota dim = 2 : tensor<4x16x16x24xf32>
  %xj = stablehlo.iota dim = 0 : tensor<4x16x16x24xf32>
  %xc = stablehlo.constant dense<0.37> : tensor<4x16x16x24xf32>
  %xm = stablehlo.multiply %xi, %xc : tensor<4x16x16x24xf32>
  %xs = stablehlo.sine %xm : tensor<4x16x16x24xf32>
  %xt = stablehlo.cosine %xj : tensor<4x16x16x24xf32>
  %xp = stablehlo.multiply %xs, %xt : tensor<4x16x16x24xf32>
  %x = stablehlo.convert %xp : (tensor<4x16x16x24xf32>) -> tensor<4x16x16x24xbf16>
  %wi = stablehlo.iota dim = 2 : tensor<3x3x24x32xf32>
  %wj = stablehlo.iota dim = 0 : tensor<3x3x24x32xf32>
  %wc = stablehlo.constant dense<0.38> : tensor<3x3x24x32xf32>
  %wm = stablehlo.multiply %wi, %wc : tensor<3x3x24x32xf32>
  %ws = stablehlo.sine %wm : tensor<3x3x24x32xf32>
  %wt = stablehlo.cosine %wj : tensor<3x3x24x32xf32>
  %wp = stablehlo.multiply %ws, %wt : tensor<3x3x24x32xf32>
  %w = stablehlo.convert %wp : (tensor<3x3x24x32xf32>) -> tensor<3x3x24x32xbf16>
  %vi = stablehlo.iota dim = 0 : tensor<32x17xf32>
  %vj = stablehlo.iota dim = 1 : tensor<32x17xf32>
  %vc = stablehlo.constant dense<0.39> : tensor<32x17xf32>
  %vm = stablehlo.multiply %vi, %vc : tensor<32x17xf32>
  %vs = stablehlo.sine %vm : tensor<32x17xf32>
  %vt = stablehlo.cosine %vj : tensor<32x17xf32>
  %vp = stablehlo.multiply %vs, %vt : tensor<32x17xf32>
  %v = stablehlo.convert %vp : (tensor<32x17xf32>) -> tensor<32x17xf16>
  %gi = stablehlo.iota dim = 2 : tensor<3x3x12x32xf32>
  %gj = stablehlo.iota dim = 0 : tensor<3x3x12x32xf32>
  %gc = stablehlo.constant dense<0.40> : tensor<3x3x12x32xf32>
  %gm = stablehlo.multiply %gi, %gc : tensor<3x3x12x32xf32>
  %gs = stablehlo.sine %gm : tensor<3x3x12x32xf32>
  %gt = stablehlo.cosine %gj : tensor<3x3x12x32xf32>
  %gp = stablehlo.multiply %gs, %gt : tensor<3x3x12x32xf32>
  %g = stablehlo.convert %gp : (tensor<3x3x12x32xf32>) -> tensor<3x3x12x32xbf16>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x16x16x24xbf16>, tensor<3x3x24x32xbf16>) -> tensor<4x16x16x32xbf16>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x16x16x24xbf16>, tensor<3x3x24x32xbf16>) -> tensor<4x16x16x32xf32>
  %2 = stablehlo.convolution(%x, %0) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x16x16x24xbf16>, tensor<4x16x16x32xbf16>) -> tensor<3x3x24x32xbf16>
  %3 = stablehlo.convert %0 : (tensor<4x16x16x32xbf16>) -> tensor<4x16x16x32xf16>
  %4 = stablehlo.reshape %3 : (tensor<4x16x16x32xf16>) -> tensor<1024x32xf16>
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<1024x32xf16>, tensor<32x17xf16>) -> tensor<1024x17xf16>
  %6 = stablehlo.convolution(%x, %g) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x16x16x24xbf16>, tensor<3x3x12x32xbf16>) -> tensor<4x16x16x32xf32>
  return %0, %1, %2, %5, %6 : tensor<4x16x16x32xbf16>, tensor<4x16x16x32xf32>, tensor<3x3x24x32xbf16>, tensor<1024x17xf16>, tensor<4x16x16x32xf32>
}
