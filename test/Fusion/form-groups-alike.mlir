// RUN: tenon-opt %s --fusion-form-groups --remarks-filter="fusion-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s

// What is found for some operations as one kernel holds for others that are
// like them, and only for those: the same operations on a value twice, on two
// values, or with a result that others read, too, move other numbers of bytes.

// CHECK: predicted to take [[SQUARE:105.18 us in one kernel, 175.40 us in two]]
// CHECK: predicted to take 419.75 us in one kernel, 629.79 us in two
// CHECK: predicted to take [[SQUARE]]
// CHECK: predicted to take 419.75 us in one kernel, 524.93 us in two
func.func @main(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>, %z: tensor<1024x1024xf32>,
                %u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %a = stablehlo.multiply %x, %x : tensor<1024x1024xf32>
  %b = stablehlo.add %a, %y : tensor<1024x1024xf32>
  %c = stablehlo.multiply %y, %z : tensor<1024x1024xf32>
  %d = stablehlo.add %c, %x : tensor<1024x1024xf32>
  %e = stablehlo.multiply %u, %u : tensor<1024x1024xf32>
  %f = stablehlo.add %e, %v : tensor<1024x1024xf32>
  %g = stablehlo.multiply %v, %v : tensor<1024x1024xf32>
  %h = stablehlo.add %g, %w : tensor<1024x1024xf32>
  return %b, %d, %f, %h, %g : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
