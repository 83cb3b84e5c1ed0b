// The step of check-partition.mlir, as it was before it was cut.
module {
  func.func @main(%x: tensor<8x6xf32>, %v: tensor<6x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.tanh %0 : tensor<8x4xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    return %2 : tensor<8x6xf32>
  }
}
