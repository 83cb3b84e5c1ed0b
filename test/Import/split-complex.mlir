// RUN: tenon-opt %s --import-split-complex --split-input-file | FileCheck %s

// Arguments and results hold both parts in a last dimension; in between they
// are two tensors.

// CHECK-LABEL: func.func @main(%arg0: tensor<8x2xf32> {step.complex}) -> (tensor<8x2xf32> {step.complex})
// CHECK: %[[R:.*]] = stablehlo.slice %arg0 [0:8, 0:1]
// CHECK: %[[RE:.*]] = stablehlo.reshape %[[R]]
// CHECK: %[[I:.*]] = stablehlo.slice %arg0 [0:8, 1:2]
// CHECK: %[[IM:.*]] = stablehlo.reshape %[[I]]
// CHECK: %[[NRE:.*]] = stablehlo.negate %[[RE]]
// CHECK: %[[NIM:.*]] = stablehlo.negate %[[IM]]
// CHECK: stablehlo.concatenate
func.func @main(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %0 = stablehlo.negate %x : tensor<8xcomplex<f32>>
  return %0 : tensor<8xcomplex<f32>>
}

// -----

// A sort's comparator gets its arguments in pairs per operand.

// CHECK-LABEL: func.func @sort
// CHECK: "stablehlo.sort"(%{{.*}}, %{{.*}}, %arg1)
// CHECK: ^bb0(%[[LR:.*]]: tensor<f32>, %[[RR:.*]]: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>):
// CHECK: stablehlo.compare LT, %[[LR]], %[[RR]]
func.func @sort(%values: tensor<3xcomplex<f32>>, %keys: tensor<3xi32>) -> tensor<3xcomplex<f32>> {
  %sorted:2 = "stablehlo.sort"(%values, %keys) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>, %j: tensor<i32>, %k: tensor<i32>):
    %ra = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %rb = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %less = stablehlo.compare LT, %ra, %rb, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3xcomplex<f32>>, tensor<3xi32>) -> (tensor<3xcomplex<f32>>, tensor<3xi32>)
  return %sorted#0 : tensor<3xcomplex<f32>>
}

// -----

// Branches return both parts; what they use from outside is split as well.

// CHECK-LABEL: func.func @branch
// CHECK: "stablehlo.case"(%arg1)
// CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
// CHECK: (tensor<i32>) -> (tensor<f32>, tensor<f32>)
func.func @branch(%z: tensor<complex<f32>>, %one: tensor<i32>) -> tensor<complex<f32>> {
  %0 = "stablehlo.case"(%one) ({
    stablehlo.return %z : tensor<complex<f32>>
  }, {
    %minus = stablehlo.negate %z : tensor<complex<f32>>
    stablehlo.return %minus : tensor<complex<f32>>
  }) : (tensor<i32>) -> tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
}

// -----

// A call gets both parts side by side. What is stated of ranks without them is
// left out.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.custom_call @lapack_zpotrf_ffi
// CHECK-NOT: layouts
// CHECK-NOT: sharding_rule
// CHECK-SAME: (tensor<2x3x3x2xf64>) -> (tensor<2x3x3x2xf64>, tensor<2xi32>)
func.func @main(%a: tensor<2x3x3xcomplex<f64>>) -> tensor<2xi32> {
  %0:2 = stablehlo.custom_call @lapack_zpotrf_ffi(%a) {api_version = 4 : i32, mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=2, j=3, k=3, l=3, m=3}, custom>} : (tensor<2x3x3xcomplex<f64>>) -> (tensor<2x3x3xcomplex<f64>>, tensor<2xi32>)
  return %0#1 : tensor<2xi32>
}
