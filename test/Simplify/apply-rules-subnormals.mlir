// RUN: tenon-opt %s --simplify-apply-rules --split-input-file | FileCheck %s
// RUN: tenon-opt %s --simplify-apply-rules=subnormals=keep --split-input-file | FileCheck %s --check-prefix=KEEP
// RUN: not tenon-opt %s --simplify-apply-rules=subnormals=round 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: unknown way 'round' to treat subnormal numbers, expected flush or keep

// An argument may be subnormal: multiplying it by 1 flushes it. What was computed
// is flushed already.

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[H:.*]]: tensor<8xf16>)
// CHECK: %[[P:.*]] = stablehlo.multiply %[[X]], %{{.*}} : tensor<8xf32>
// CHECK: %[[M:.*]] = stablehlo.maximum %[[X]], %[[X]] : tensor<8xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[X]], %[[X]] : tensor<8xf32>
// CHECK: return %[[P]], %[[M]], %[[S]], %[[H]]
// KEEP-LABEL: func.func @neutral
// KEEP-SAME: (%[[X:.*]]: tensor<8xf32>, %[[H:.*]]: tensor<8xf16>)
// KEEP: %[[S:.*]] = stablehlo.add %[[X]], %[[X]] : tensor<8xf32>
// KEEP: return %[[X]], %[[X]], %[[S]], %[[H]]
func.func @neutral(%x: tensor<8xf32>, %h: tensor<8xf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf16>) {
  %one = stablehlo.constant dense<1.0> : tensor<8xf32>
  %half_one = stablehlo.constant dense<1.0> : tensor<8xf16>
  %0 = stablehlo.multiply %x, %one : tensor<8xf32>
  %1 = stablehlo.maximum %x, %x : tensor<8xf32>
  %2 = stablehlo.add %x, %x : tensor<8xf32>
  %3 = stablehlo.negate %2 : tensor<8xf32>
  %4 = stablehlo.multiply %3, %one : tensor<8xf32>
  %5 = stablehlo.negate %4 : tensor<8xf32>
  %6 = stablehlo.multiply %h, %half_one : tensor<8xf16>
  return %0, %1, %5, %6 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf16>
}

// -----

// Converting f32 to f64 flushes; widening bf16 to f32 moves its bits, and only
// the way back flushes.

// CHECK-LABEL: func.func @conversions
// CHECK-COUNT-4: stablehlo.convert
// KEEP-LABEL: func.func @conversions
// KEEP-NOT: stablehlo.convert
// KEEP: return %arg0, %arg1
func.func @conversions(%x: tensor<8xf32>, %h: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>) {
  %0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xf64>
  %1 = stablehlo.convert %0 : (tensor<8xf64>) -> tensor<8xf32>
  %2 = stablehlo.convert %h : (tensor<8xbf16>) -> tensor<8xf32>
  %3 = stablehlo.convert %2 : (tensor<8xf32>) -> tensor<8xbf16>
  return %1, %3 : tensor<8xf32>, tensor<8xbf16>
}

// -----

// A negative sum that is flushed is -0, to which adding +0 does something.

// CHECK-LABEL: func.func @sums
// CHECK: stablehlo.reduce
// CHECK: stablehlo.add {{.*}} : tensor<8xf32>
// KEEP-LABEL: func.func @sums
// KEEP: %[[R:.*]] = stablehlo.reduce
// KEEP-NEXT: return %[[R]]
func.func @sums(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.add %0, %zeros : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Constants are computed as the step computes: 3 units of the last place are 0
// where they are flushed. The inverse of 2^-127 exists, but not of zero.

// CHECK-LABEL: func.func @constants
// CHECK-DAG: stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: stablehlo.constant dense<true> : tensor<i1>
// CHECK-DAG: stablehlo.constant dense<{{-4.20.*[eE]-45}}> : tensor<f32>
// CHECK-DAG: stablehlo.constant dense<0.000000e+00> : tensor<f64>
// CHECK-NOT: stablehlo.{{multiply|compare|negate|convert}}
// CHECK: stablehlo.divide %arg0, %{{.*}} : tensor<f32>
// KEEP-LABEL: func.func @constants
// KEEP-DAG: stablehlo.constant dense<false> : tensor<i1>
// KEEP-DAG: stablehlo.constant dense<{{4.51.*[eE]-36}}> : tensor<f32>
// KEEP-DAG: stablehlo.constant dense<{{4.20.*[eE]-45}}> : tensor<f64>
// KEEP: stablehlo.divide %arg0, %{{.*}} : tensor<f32>
func.func @constants(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<i1>, tensor<f32>, tensor<f64>, tensor<f32>) {
  %small = stablehlo.constant dense<0x00000003> : tensor<f32>
  %large = stablehlo.constant dense<0x4E800000> : tensor<f32>
  %normal = stablehlo.constant dense<0x00800000> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %tiny = stablehlo.constant dense<0x00400000> : tensor<f32>
  %0 = stablehlo.multiply %small, %large : tensor<f32>
  %1 = stablehlo.multiply %normal, %half : tensor<f32>
  %2 = stablehlo.compare EQ, %small, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %3 = stablehlo.negate %small : tensor<f32>
  %4 = stablehlo.convert %small : (tensor<f32>) -> tensor<f64>
  %5 = stablehlo.divide %x, %tiny : tensor<f32>
  return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<i1>, tensor<f32>, tensor<f64>, tensor<f32>
}
