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
