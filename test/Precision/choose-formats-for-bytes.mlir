// RUN: tenon-opt %s --precision-choose-formats="cpu=x86-64-v3" | FileCheck %s --check-prefix=TIME
// RUN: tenon-opt %s --precision-choose-formats="cpu=x86-64-v3 most-bytes=1e9 most-seconds=1" | FileCheck %s --check-prefix=TIME
// RUN: tenon-opt %s --precision-choose-formats="cpu=x86-64-v3 most-bytes=4e6 most-seconds=1" | FileCheck %s --check-prefix=BYTES
// RUN: tenon-opt %s --precision-choose-formats="cpu=x86-64-v3 most-bytes=4e6 most-seconds=1e-6" | FileCheck %s --check-prefix=TIME

// Where products of 16 bits are not quicker, what products of f32 read takes
// time to round and to widen. By time alone it stays f32; where more is in memory
// than is wanted and there is time for it, what waits for the last products is
// stored in 16 bits.

// TIME-LABEL: func.func @main
// TIME-NOT: bf16
// TIME: return

// BYTES-LABEL: func.func @main
// BYTES: %[[T:.*]] = stablehlo.tanh
// BYTES-NEXT: stablehlo.convert %[[T]] {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
// BYTES: return
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %turned = stablehlo.transpose %w, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %d0 = stablehlo.dot_general %x, %turned, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t0 = stablehlo.tanh %d0 : tensor<512x512xf32>
  %d1 = stablehlo.dot_general %t0, %turned, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t1 = stablehlo.tanh %d1 : tensor<512x512xf32>
  %d2 = stablehlo.dot_general %t1, %turned, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t2 = stablehlo.tanh %d2 : tensor<512x512xf32>
  %d3 = stablehlo.dot_general %t2, %turned, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t3 = stablehlo.tanh %d3 : tensor<512x512xf32>
  %d4 = stablehlo.dot_general %t3, %turned, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t4 = stablehlo.tanh %d4 : tensor<512x512xf32>
  %d5 = stablehlo.dot_general %t4, %turned, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t5 = stablehlo.tanh %d5 : tensor<512x512xf32>
  %g0 = stablehlo.dot_general %t0, %t5, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g1 = stablehlo.dot_general %t1, %t5, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g2 = stablehlo.dot_general %t2, %t5, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g3 = stablehlo.dot_general %t3, %t5, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g4 = stablehlo.dot_general %t4, %t5, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g5 = stablehlo.dot_general %t5, %t5, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %g0, %g1, %g2, %g3, %g4, %g5 : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
