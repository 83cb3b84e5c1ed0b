// RUN: tenon-opt %s --partition='mesh=data=2' --remarks-filter=partition --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// What runs unknown code sees whole tensors, and so does what works on one
// matrix. A remark says what that takes.

// REMARK: 'stablehlo.custom_call' runs on whole tensors on every device: operand 0 is gathered
// REMARK: 'stablehlo.cholesky' runs on whole tensors on every device: operand 0 is gathered
// REMARK-NOT: gathered
// CHECK: %[[X:.*]] = "stablehlo.all_gather"(%arg0)
// CHECK: stablehlo.custom_call @somewhere(%[[X]], %arg1)
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["data"=2]>, [{"data"}, {}]>}, %y: tensor<4xf32>,
                %z: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<mesh<["data"=2]>, [{"data"}, {}]>}) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.custom_call @somewhere(%x, %y) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.cholesky"(%z) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<4x4xf32>
}
