// RUN: tenon-opt %s --split-input-file --fusion-lay-out-invariants | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-lay-out-invariants=stagger=false | FileCheck %s --check-prefix=TURN
// RUN: tenon-opt %s --split-input-file --fusion-lay-out-invariants --fusion-form-library-groups=cpu=x86-64-v3 | FileCheck %s --check-prefix=GROUP

// The weights are turned once, in front of the loop, and read as they are then.

// CHECK-LABEL: func.func @recurrent
// CHECK: %[[W:.*]] = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general %{{.*}}, %[[W]], contracting_dims = [1] x [0]
// GROUP-LABEL: func.func @recurrent
// GROUP: stablehlo.transpose
// GROUP: step.group library
// GROUP-SAME: rhs_stride_k = 64 : i64, rhs_stride_n = 1 : i64
func.func @recurrent(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<32x64xf32>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %d : tensor<i32>, tensor<32x64xf32>
    }
  return %r#1 : tensor<32x64xf32>
}

// -----

// Weights that change in the loop, and products outside of one, stay.

// CHECK-LABEL: func.func @carried
// CHECK-NOT: stablehlo.transpose
func.func @carried(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<32x64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %w) : tensor<i32>, tensor<64x64xf32>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.dot_general %v, %v, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %d : tensor<i32>, tensor<64x64xf32>
    }
  %e = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %r#1, %e : tensor<64x64xf32>, tensor<32x64xf32>
}

// -----

// Rows of 4 KiB share sets of a cache. The weights get a cache line of zeros
// behind each row, in the copy that puts them together where there is one, and
// the library takes the slice for a stride.

// CHECK-LABEL: func.func @rows_of_a_page
// CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<64x16xf32>
// CHECK: %[[W:.*]] = stablehlo.concatenate %arg1, %arg1, %[[Z]], dim = 1 : (tensor<64x512xf32>, tensor<64x512xf32>, tensor<64x16xf32>) -> tensor<64x1040xf32>
// CHECK: %[[V:.*]] = stablehlo.concatenate %arg2, %{{.*}}, dim = 1 : (tensor<64x1024xf32>, tensor<64x16xf32>) -> tensor<64x1040xf32>
// CHECK: stablehlo.while
// CHECK: %[[S:.*]] = stablehlo.slice %[[W]] [0:64, 0:1024]
// CHECK: stablehlo.dot_general %{{.*}}, %[[S]], contracting_dims = [1] x [0]
// CHECK: %[[T:.*]] = stablehlo.slice %[[V]] [0:64, 0:1024]
// CHECK: stablehlo.dot_general %{{.*}}, %[[T]], contracting_dims = [1] x [0]
// TURN-LABEL: func.func @rows_of_a_page
// TURN-NOT: 1040
// GROUP-LABEL: func.func @rows_of_a_page
// GROUP: step.group library
// GROUP-SAME: rhs_stride_k = 1040 : i64, rhs_stride_n = 1 : i64
// GROUP: step.group library
// GROUP-SAME: rhs_stride_k = 1040 : i64, rhs_stride_n = 1 : i64
func.func @rows_of_a_page(%x: tensor<32x64xf32>, %w: tensor<64x512xf32>, %v: tensor<64x1024xf32>) -> tensor<32x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<32x1024xf32>
  %both = stablehlo.concatenate %w, %w, dim = 1 : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x1024xf32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %f0) : tensor<i32>, tensor<32x1024xf32>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %h = stablehlo.slice %sum [0:32, 0:64] : (tensor<32x1024xf32>) -> tensor<32x64xf32>
      %d = stablehlo.dot_general %h, %both, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x1024xf32>) -> tensor<32x1024xf32>
      %e = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x1024xf32>) -> tensor<32x1024xf32>
      %s = stablehlo.add %d, %e : tensor<32x1024xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %s : tensor<i32>, tensor<32x1024xf32>
    }
  return %r#1 : tensor<32x1024xf32>
}
