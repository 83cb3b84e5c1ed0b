// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{names 2 dimensions of query, which has 3}}
  %o, %max, %sum = step.attention %q [q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{names dimension q of query twice}}
  %o, %max, %sum = step.attention %q [q, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{query has no dimension k}}
  %o, %max, %sum = step.attention %q [k, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x3xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{dimension d of key has extent 3, elsewhere 4}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x3xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{key has batch dimension 1, which the query lacks}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [1, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6xf32>) {
  // expected-error@+1 {{dimension v of value is missing}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{has no batch dimension 0 but one with the number 1}}
  %o, %max, %sum = step.attention %q [1, q, d], %k [1, k, d], %v [1, k, v] -> [1, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{key and value have different batch dimensions}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf64>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{takes elements of f32, bf16 or f16, found 'f64'}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf64>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %m: tensor<8x6xi1>) {
  // expected-error@+1 {{takes elements of f32, bf16 or f16, found 'i1'}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] bias %m [q, k] mask %m [q, k] -> [0, q, v] {fill = 0.0 : f32, scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, tensor<8x6xi1>, tensor<8x6xi1>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{the batch dimensions of output are not those of what it belongs to}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>) {
  // expected-error@+1 {{the maximum has type 'tensor<8x2xf32>', expected 'tensor<2x8xf32>'}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>) -> (tensor<2x8x5xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %x: tensor<8x6xi1>) {
  // expected-error@+1 {{a mask and 'fill' come together}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] mask %x [q, k] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, tensor<8x6xi1>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %x: tensor<8x6xf32>) {
  // expected-error@+1 {{the mask has elements of type 'tensor<8x6xf32>', expected i1}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] mask %x [q, k] -> [0, q, v] {fill = 0.0 : f32, scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, tensor<8x6xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %x: tensor<8x4xf32>) {
  // expected-error@+1 {{bias has no dimension d}}
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] bias %x [q, d] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, tensor<8x4xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>) {
  // expected-error@+1 {{expected the number of a batch dimension, q, k, d or v, found 'x'}}
  %o, %max, %sum = step.attention %q [0, q, x], %q [0, k, d], %q [0, k, v] -> [0, q, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @main(%q: tensor<2x8x4xf32>, %max: tensor<2x8xf32>, %sum: tensor<2x8xf32>) {
  // expected-error@+1 {{dimension d of key gradient is missing}}
  %dq, %dk, %dv = step.attention_gradient %q [0, q, d], %q [0, k, d], %q [0, k, v] of %max, %sum, %q [0, q, v] -> [0, q, d], [0, k], [0, k, v] {scale = 1.0 : f32} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>)
  return
}
