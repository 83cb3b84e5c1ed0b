// Constraints of random bits, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @rng_bit_generator_c1(%a: tensor<2xui64>) {
  // expected-error@+1 {{'stablehlo.rng_bit_generator' op expected 'initial_state' and 'output_state' to have the same type, found 'tensor<2xui64>' and 'tensor<3xui64>'}}
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  return
}

// -----

func.func @rng_bit_generator_c2(%a: tensor<3xui64>) {
  // expected-error@+1 {{'stablehlo.rng_bit_generator' op 'initial_state' has 3 elements, expected 2 for THREE_FRY}}
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  return
}

// -----

func.func @rng_bit_generator_c2_b(%a: tensor<4xui64>) {
  // expected-error@+1 {{'stablehlo.rng_bit_generator' op 'initial_state' has 4 elements, expected 2 or 3 for PHILOX}}
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<4xui64>) -> (tensor<4xui64>, tensor<8xui32>)
  return
}

// -----

func.func @rng_bit_generator_i2(%a: tensor<1x2xui64>) {
  // expected-error@+1 {{'stablehlo.rng_bit_generator' op 'initial_state' has rank 2, expected 1}}
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<1x2xui64>) -> (tensor<1x2xui64>, tensor<8xui32>)
  return
}

// -----

func.func @rng_c1(%a: tensor<f32>, %b: tensor<f64>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{'stablehlo.rng' op expected 'a' and 'b' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.rng"(%a, %b, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f64>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rng_c1_b(%a: tensor<f32>, %b: tensor<f32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{'stablehlo.rng' op expected 'a' and 'result' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.rng"(%a, %b, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf64>
  return
}

// -----

func.func @rng_c2(%a: tensor<i32>, %b: tensor<i32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{'stablehlo.rng' op 'a' has element type 'i32', expected a floating-point type for NORMAL}}
  %r = "stablehlo.rng"(%a, %b, %s) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<2x3xi32>
  return
}

// -----

func.func @rng_c3(%a: tensor<f32>, %b: tensor<f32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{'stablehlo.rng' op dimension 1 of 'result' has size 4, expected 3: found shape [2, 4], expected [2, 3], which 'shape' holds}}
  %r = "stablehlo.rng"(%a, %b, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @rng_i1(%a: tensor<1xf32>, %b: tensor<f32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{'stablehlo.rng' op 'a' has rank 1, expected a tensor without dimensions}}
  %r = "stablehlo.rng"(%a, %b, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<1xf32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}
