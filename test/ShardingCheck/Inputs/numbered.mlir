func.func @main(%x: tensor<4xi32>) -> tensor<4xi1> {
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %1 = stablehlo.compare EQ, %x, %0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %1 : tensor<4xi1>
}
