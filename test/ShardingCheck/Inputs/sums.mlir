// Steps whose sums over ranks are joined, added up before and moved behind
// loops by the passes behind the partitioner.

func.func @added(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x8xf32>, %d: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

func.func @turned(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<8x4xf32>, %d: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.dot_general %d, %c, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.add %0, %2 : tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

// Several sums that share a collective, of which one is uneven.
func.func @small(%a: tensor<8x5xf32>, %b: tensor<8x3xf32>, %c: tensor<8xf32>) -> (tensor<5xf32>, tensor<3xf32>, tensor<f32>, tensor<5x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x5xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x5xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  return %0, %1, %2, %3 : tensor<5xf32>, tensor<3xf32>, tensor<f32>, tensor<5x3xf32>
}

func.func @largest(%a: tensor<8x5xf32>, %b: tensor<8x3xf32>) -> (tensor<5xf32>, tensor<3xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %most = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<8x5xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.reduce(%b init: %most) applies stablehlo.minimum across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1 : tensor<5xf32>, tensor<3xf32>
}

// What rounds of a loop add up is summed over ranks once, behind it.
func.func @rounds(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x6xf32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %first, %s = %zeros) : tensor<i32>, tensor<4x6xf32>
  cond {
    %count = stablehlo.constant dense<3> : tensor<i32>
    %more = stablehlo.compare LT, %i, %count, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %product = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %sum = stablehlo.add %s, %product : tensor<4x6xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<4x6xf32>
  }
  return %0#1 : tensor<4x6xf32>
}

func.func @rounds_from(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %start: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %first, %s = %start) : tensor<i32>, tensor<4x6xf32>
  cond {
    %count = stablehlo.constant dense<3> : tensor<i32>
    %more = stablehlo.compare LT, %i, %count, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %product = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %sum = stablehlo.add %s, %product : tensor<4x6xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<4x6xf32>
  }
  return %0#1 : tensor<4x6xf32>
}
