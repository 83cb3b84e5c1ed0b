// RUN: tenon-opt %s --fusion-pad-products=always=true --split-input-file | FileCheck %s
// RUN: tenon-opt %s --fusion-pad-products --split-input-file | FileCheck %s --check-prefix=COSTED

// A loss: everything of the size of the logits is longer. The bias gets zeros,
// the maximum and the sum the value that they start from, products zeros, and
// the logit of the label, whose index may be clamped, a slice.
// CHECK-LABEL: func @loss
// CHECK-DAG: %[[W:.*]] = stablehlo.pad %arg1, {{.*}} high = [63, 0]
// CHECK-DAG: %[[B:.*]] = stablehlo.pad %arg2, {{.*}} high = [63]
// CHECK: %[[T:.*]] = stablehlo.transpose %[[W]]
// CHECK: %[[D:.*]] = stablehlo.dot_general %arg0, %[[T]], {{.*}} -> tensor<16x320xbf16>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[D]] : (tensor<16x320xbf16>) -> tensor<16x320xf32>
// CHECK: %[[BIAS:.*]] = stablehlo.broadcast_in_dim %[[B]], dims = [1] : (tensor<320xf32>) -> tensor<16x320xf32>
// CHECK: %[[L:.*]] = stablehlo.add %[[WIDE]], %[[BIAS]]
// CHECK: stablehlo.slice %[[L]] [0:16, 0:257]
// CHECK: %[[POSITION:.*]] = stablehlo.iota dim = 1 : tensor<16x320xi32>
// CHECK: %[[END:.*]] = stablehlo.constant dense<257>
// CHECK: %[[THERE:.*]] = stablehlo.compare LT, %[[POSITION]], %[[END]], SIGNED
// CHECK: %[[LOWEST:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<16x320xf32>
// CHECK: %[[MASKED:.*]] = stablehlo.select %[[THERE]], %[[L]], %[[LOWEST]]
// CHECK: stablehlo.reduce(%[[MASKED]] init: {{.*}}) applies stablehlo.maximum
// CHECK: "stablehlo.gather"{{.*}}tensor<16x257xf32>
// CHECK: %[[E:.*]] = stablehlo.exponential {{.*}} : tensor<16x320xf32>
// CHECK: %[[TERMS:.*]] = stablehlo.select %{{.*}}, %[[E]], %{{.*}}
// CHECK: stablehlo.reduce(%[[TERMS]] init: {{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: stablehlo.compare EQ, {{.*}} tensor<16x320xi32>
// CHECK: %[[G:.*]] = stablehlo.convert {{.*}} : (tensor<16x320xf32>) -> tensor<16x320xbf16>
// CHECK: %[[GRADIENT:.*]] = stablehlo.select %{{.*}}, %[[G]], %{{.*}}
// CHECK: %[[DW:.*]] = stablehlo.dot_general %[[GRADIENT]], %arg0, {{.*}} -> tensor<320x64xbf16>
// CHECK: %[[OWN:.*]] = stablehlo.slice %[[DW]] [0:257, 0:64]
// CHECK: %[[DX:.*]] = stablehlo.dot_general %[[GRADIENT]], %[[W]], {{.*}} -> tensor<16x64xbf16>
// CHECK: %[[DB:.*]] = stablehlo.reduce({{.*}}across dimensions = [0] : (tensor<16x320xf32>, tensor<f32>) -> tensor<320xf32>
// CHECK: %[[OWNDB:.*]] = stablehlo.slice %[[DB]] [0:257]
// CHECK: return %{{.*}}, %[[OWN]], %[[DX]], %[[OWNDB]]

// So small a product gains nothing.
// COSTED-NOT: stablehlo.pad
func.func @loss(%x: tensor<16x64xbf16>, %w: tensor<257x64xbf16>, %b: tensor<257xf32>, %label: tensor<16xi32>)
    -> (tensor<16xf32>, tensor<257x64xbf16>, tensor<16x64xbf16>, tensor<257xf32>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1.0> : tensor<16x257xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<16x257xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<257x64xbf16>) -> tensor<64x257xbf16>
  %d = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x257xbf16>) -> tensor<16x257xbf16>
  %wide = stablehlo.convert %d : (tensor<16x257xbf16>) -> tensor<16x257xf32>
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<257xf32>) -> tensor<16x257xf32>
  %l = stablehlo.add %wide, %bias : tensor<16x257xf32>
  %m = stablehlo.reduce(%l init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<16x257xf32>, tensor<f32>) -> tensor<16xf32>
  %i = stablehlo.reshape %label : (tensor<16xi32>) -> tensor<16x1xi32>
  %own = "stablehlo.gather"(%l, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<16x257xf32>, tensor<16x1xi32>) -> tensor<16xf32>
  %mm = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<16xf32>) -> tensor<16x257xf32>
  %s = stablehlo.subtract %l, %mm : tensor<16x257xf32>
  %e = stablehlo.exponential %s : tensor<16x257xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x257xf32>, tensor<f32>) -> tensor<16xf32>
  %ss = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<16xf32>) -> tensor<16x257xf32>
  %p = stablehlo.divide %e, %ss : tensor<16x257xf32>
  %k = stablehlo.iota dim = 1 : tensor<16x257xi32>
  %kk = stablehlo.broadcast_in_dim %label, dims = [0] : (tensor<16xi32>) -> tensor<16x257xi32>
  %is = stablehlo.compare EQ, %k, %kk, SIGNED : (tensor<16x257xi32>, tensor<16x257xi32>) -> tensor<16x257xi1>
  %hot = stablehlo.select %is, %ones, %zeros : tensor<16x257xi1>, tensor<16x257xf32>
  %g = stablehlo.subtract %p, %hot : tensor<16x257xf32>
  %gn = stablehlo.convert %g : (tensor<16x257xf32>) -> tensor<16x257xbf16>
  %dw = stablehlo.dot_general %gn, %x, contracting_dims = [0] x [0] : (tensor<16x257xbf16>, tensor<16x64xbf16>) -> tensor<257x64xbf16>
  %dx = stablehlo.dot_general %gn, %w, contracting_dims = [1] x [0] : (tensor<16x257xbf16>, tensor<257x64xbf16>) -> tensor<16x64xbf16>
  %db = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x257xf32>, tensor<f32>) -> tensor<257xf32>
  return %own, %dw, %dx, %db : tensor<16xf32>, tensor<257x64xbf16>, tensor<16x64xbf16>, tensor<257xf32>
}

// -----

// A tensor of the same size that comes from elsewhere is not copied to follow,
// and a product of all elements, or with another start, not either.
// CHECK-LABEL: func @stops
// CHECK: %[[D:.*]] = stablehlo.dot_general {{.*}} -> tensor<16x320xbf16>
// CHECK: %[[S:.*]] = stablehlo.slice %[[D]] [0:16, 0:257]
// CHECK: stablehlo.add %[[S]], %arg2 : tensor<16x257xbf16>
// CHECK: stablehlo.reduce(%[[S]] init: {{.*}}) applies stablehlo.multiply
// CHECK: stablehlo.reduce(%[[S]] init: {{.*}}) applies stablehlo.add
func.func @stops(%x: tensor<16x64xbf16>, %w: tensor<64x257xbf16>, %y: tensor<16x257xbf16>)
    -> (tensor<16x257xbf16>, tensor<16xbf16>, tensor<16xbf16>) {
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x257xbf16>) -> tensor<16x257xbf16>
  %a = stablehlo.add %d, %y : tensor<16x257xbf16>
  %p = stablehlo.reduce(%d init: %one) applies stablehlo.multiply across dimensions = [1] : (tensor<16x257xbf16>, tensor<bf16>) -> tensor<16xbf16>
  %s = stablehlo.reduce(%d init: %one) applies stablehlo.add across dimensions = [1] : (tensor<16x257xbf16>, tensor<bf16>) -> tensor<16xbf16>
  return %a, %p, %s : tensor<16x257xbf16>, tensor<16xbf16>, tensor<16xbf16>
}

// -----

// f32 is not multiplied by tensor cores, and 264 elements are whole accesses.
// CHECK-LABEL: func @fits
// CHECK-NOT: stablehlo.pad
func.func @fits(%x: tensor<16x64xf32>, %w: tensor<64x257xf32>, %y: tensor<16x64xbf16>, %v: tensor<64x264xbf16>)
    -> (tensor<16x257xf32>, tensor<16x264xbf16>) {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x257xf32>) -> tensor<16x257xf32>
  %e = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x264xbf16>) -> tensor<16x264xbf16>
  return %d, %e : tensor<16x257xf32>, tensor<16x264xbf16>
}

// -----

// In a loop, a sum may start from a constant in front of it.
// CHECK-LABEL: func @loop
// CHECK: stablehlo.while
// CHECK: %[[D:.*]] = stablehlo.dot_general {{.*}} -> tensor<16x320xf32>
// CHECK: %[[T:.*]] = stablehlo.select %{{.*}}, %[[D]], %{{.*}}
// CHECK: stablehlo.reduce(%[[T]] init: {{.*}}) applies stablehlo.add
func.func @loop(%x: tensor<16x64xbf16>, %w: tensor<64x257xbf16>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<16xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %sum = %none) : tensor<i32>, tensor<16xf32>
  cond {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %c = stablehlo.compare LT, %k, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.add %k, %one : tensor<i32>
    %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x257xbf16>) -> tensor<16x257xf32>
    %s = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x257xf32>, tensor<f32>) -> tensor<16xf32>
    %t = stablehlo.add %sum, %s : tensor<16xf32>
    stablehlo.return %n, %t : tensor<i32>, tensor<16xf32>
  }
  return %r#1 : tensor<16xf32>
}
