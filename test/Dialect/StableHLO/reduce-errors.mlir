// Constraints of reduce and sort, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @reduce_c1(%a: tensor<4x6xf32>, %b: tensor<4x5xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op expected 'inputs' #0 and 'inputs' #1 to have the same shape, found [4, 6] and [4, 5], which differ in dimension 1}}
  %r:2 = "stablehlo.reduce"(%a, %b, %c, %d) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x5xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @reduce_c2(%a: tensor<4x6xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.reduce' op expected 'inputs' #0 and 'init_values' #0 to have the same element type, found 'f32' and 'i32'}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c3() {
  // expected-error@+1 {{'stablehlo.reduce' op has no inputs, expected at least one}}
  "stablehlo.reduce"() <{dimensions = array<i64: 1>}> ({
    stablehlo.return
  }) : () -> ()
  return
}

// -----

func.func @reduce_c3_b(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'operands' has 3 entries, expected 2, as many 'init_values' as 'inputs'}}
  %r = "stablehlo.reduce"(%a, %b, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c3_c(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'results' has 2 entries, expected 1, one for each of 'inputs'}}
  %r:2 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @reduce_c4(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'dimensions' holds 2 at position 0, expected a dimension of 'inputs' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c5(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'dimensions' holds 1 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c6(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op argument #1 of region 'body' has type 'tensor<f64>', expected 'tensor<f32>'}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f64>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c6_b(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op value #0 returned by region 'body' has type 'tensor<f64>', expected 'tensor<f32>'}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.convert %x : (tensor<f32>) -> tensor<f64>
    stablehlo.return %0 : tensor<f64>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c6_c(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op argument #0 of region 'body' has element type 'i32', expected a type that 'f32' can be promoted to}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c6_d(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op argument #0 of region 'body' has type 'tensor<1xf32>', expected 'tensor<f32>'}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>):
    %s = stablehlo.add %x, %y : tensor<1xf32>
    stablehlo.return %s : tensor<1xf32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c7(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op dimension 0 of 'results' #0 has size 6, expected 4: found shape [6], expected [4], the shape of 'inputs' without 'dimensions'}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @reduce_c7_b(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'results' #0 has rank 2 and shape [4, 1], expected rank 1 and shape [4], the shape of 'inputs' without 'dimensions'}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce_c8(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'results' #0 has element type 'f64', expected 'f32', which 'body' returns}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf64>
  return
}

// -----

func.func @reduce_i2(%a: tensor<4x6xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{'stablehlo.reduce' op 'init_values' #0 has rank 1, expected a tensor without dimensions}}
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_c1() {
  // expected-error@+1 {{'stablehlo.sort' op has no inputs, expected at least one}}
  "stablehlo.sort"() <{dimension = 1 : i64, is_stable = true}> ({
    %p = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : () -> ()
  return
}

// -----

func.func @sort_c2(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op expected 'inputs' #0 and 'results' #0 to have the same type, found 'tensor<4x6xf32>' and 'tensor<4x6xf64>'}}
  %r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return
}

// -----

func.func @sort_c2_b(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op 'results' has 0 entries, expected 1, one for each of 'inputs'}}
  "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>) -> ()
  return
}

// -----

func.func @sort_c3(%a: tensor<4x6xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op expected 'inputs' #0 and 'inputs' #1 to have the same shape, found [4, 6] and [4, 5], which differ in dimension 1}}
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<4x5xf32>) -> (tensor<4x6xf32>, tensor<4x5xf32>)
  return
}

// -----

func.func @sort_c4(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op 'dimension' is 2, expected a dimension of 'inputs' of rank 2 (at least -2, less than 2)}}
  %r = "stablehlo.sort"(%a) <{dimension = 2 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @sort_c4_b(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op 'dimension' is -3, expected a dimension of 'inputs' of rank 2 (at least -2, less than 2)}}
  %r = "stablehlo.sort"(%a) <{dimension = -3 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @sort_c5(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op value #0 returned by region 'comparator' has type 'tensor<f32>', expected 'tensor<i1>'}}
  %r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @sort_c5_b(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op argument #0 of region 'comparator' has type 'tensor<f16>', expected 'tensor<f32>'}}
  %r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f16>, tensor<f16>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @sort_c5_c(%a: tensor<4x6xf32>, %b: tensor<4x6xi32>) {
  // expected-error@+1 {{'stablehlo.sort' op region 'comparator' has 2 arguments, expected 4}}
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  return
}
