// Every function of one operand on every f16, interpreted and compiled, with
// subnormal numbers kept and flushed, for the narrowest and the host's vectors.

// RUN: TenonRandom check %s --cpu=x86-64-v3 --subnormals=keep | FileCheck %s
// RUN: TenonRandom check %s --cpu=x86-64-v3 --subnormals=flush | FileCheck %s
// RUN: TenonRandom check %s --subnormals=flush | FileCheck %s

// CHECK: 20 equal, 21 bounded, 0 unjudged results, 0 differences

func.func @main() -> (tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xi1>, tensor<65536xf32>, tensor<65536xf64>, tensor<65536xbf16>, tensor<65536xi8>, tensor<65536xi32>, tensor<65536xui16>, tensor<65536xi1>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf16>) {
  %bits = stablehlo.iota dim = 0 : tensor<65536xui16>
  %x = stablehlo.bitcast_convert %bits : (tensor<65536xui16>) -> tensor<65536xf16>
  %abs = stablehlo.abs %x : tensor<65536xf16>
  %cbrt = stablehlo.cbrt %x : tensor<65536xf16>
  %ceil = stablehlo.ceil %x : tensor<65536xf16>
  %cosine = stablehlo.cosine %x : tensor<65536xf16>
  %exponential = stablehlo.exponential %x : tensor<65536xf16>
  %exponential_minus_one = stablehlo.exponential_minus_one %x : tensor<65536xf16>
  %floor = stablehlo.floor %x : tensor<65536xf16>
  %log = stablehlo.log %x : tensor<65536xf16>
  %log_plus_one = stablehlo.log_plus_one %x : tensor<65536xf16>
  %logistic = stablehlo.logistic %x : tensor<65536xf16>
  %negate = stablehlo.negate %x : tensor<65536xf16>
  %round_nearest_afz = stablehlo.round_nearest_afz %x : tensor<65536xf16>
  %round_nearest_even = stablehlo.round_nearest_even %x : tensor<65536xf16>
  %rsqrt = stablehlo.rsqrt %x : tensor<65536xf16>
  %sign = stablehlo.sign %x : tensor<65536xf16>
  %sine = stablehlo.sine %x : tensor<65536xf16>
  %sqrt = stablehlo.sqrt %x : tensor<65536xf16>
  %tan = stablehlo.tan %x : tensor<65536xf16>
  %tanh = stablehlo.tanh %x : tensor<65536xf16>
  %acos = chlo.acos %x : tensor<65536xf16> -> tensor<65536xf16>
  %acosh = chlo.acosh %x : tensor<65536xf16> -> tensor<65536xf16>
  %asin = chlo.asin %x : tensor<65536xf16> -> tensor<65536xf16>
  %asinh = chlo.asinh %x : tensor<65536xf16> -> tensor<65536xf16>
  %atan = chlo.atan %x : tensor<65536xf16> -> tensor<65536xf16>
  %atanh = chlo.atanh %x : tensor<65536xf16> -> tensor<65536xf16>
  %cosh = chlo.cosh %x : tensor<65536xf16> -> tensor<65536xf16>
  %erf = chlo.erf %x : tensor<65536xf16> -> tensor<65536xf16>
  %erfc = chlo.erfc %x : tensor<65536xf16> -> tensor<65536xf16>
  %sinh = chlo.sinh %x : tensor<65536xf16> -> tensor<65536xf16>
  %finite = stablehlo.is_finite %x : (tensor<65536xf16>) -> tensor<65536xi1>
  %to_f32 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xf32>
  %to_f64 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xf64>
  %to_bf16 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xbf16>
  %to_i8 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xi8>
  %to_i32 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xi32>
  %to_ui16 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xui16>
  %to_i1 = stablehlo.convert %x : (tensor<65536xf16>) -> tensor<65536xi1>
  %twice = stablehlo.add %to_f32, %to_f32 : tensor<65536xf32>
  %third = stablehlo.constant dense<0.333333343> : tensor<65536xf32>
  %product = stablehlo.multiply %to_f32, %third : tensor<65536xf32>
  %back = stablehlo.convert %product : (tensor<65536xf32>) -> tensor<65536xf16>
  return %abs, %cbrt, %ceil, %cosine, %exponential, %exponential_minus_one, %floor, %log, %log_plus_one, %logistic, %negate, %round_nearest_afz, %round_nearest_even, %rsqrt, %sign, %sine, %sqrt, %tan, %tanh, %acos, %acosh, %asin, %asinh, %atan, %atanh, %cosh, %erf, %erfc, %sinh, %finite, %to_f32, %to_f64, %to_bf16, %to_i8, %to_i32, %to_ui16, %to_i1, %twice, %product, %back : tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xf16>, tensor<65536xi1>, tensor<65536xf32>, tensor<65536xf64>, tensor<65536xbf16>, tensor<65536xi8>, tensor<65536xi32>, tensor<65536xui16>, tensor<65536xi1>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf16>
}
