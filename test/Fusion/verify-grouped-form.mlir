// RUN: tenon-opt %s --verify-grouped-form --split-input-file --verify-diagnostics

// Groups, constants, loops with groups inside, views and barriers are grouped form.
func.func @main(%x: tensor<4x8xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x8xf32>
  cond {
    %more = step.group elementwise(%i, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1> {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %c : tensor<i1>
    }
    stablehlo.return %more : tensor<i1>
  } do {
    %next:2 = step.group generic(%i, %v) : (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>) {
    ^bb0(%a: tensor<i32>, %b: tensor<4x8xf32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.add %a, %one : tensor<i32>
      step.yield %c, %b : tensor<i32>, tensor<4x8xf32>
    }
    stablehlo.return %next#0, %next#1 : tensor<i32>, tensor<4x8xf32>
  }
  %1 = stablehlo.optimization_barrier %0#1 : tensor<4x8xf32>
  %2 = step.group row(%1) : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    step.yield %s : tensor<4xf32>
  }
  %3 = stablehlo.reshape %1 : (tensor<4x8xf32>) -> tensor<32xf32>
  return %2, %3 : tensor<4xf32>, tensor<32xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'stablehlo.tanh' op stands outside a group in grouped form}}
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Regions of loops are looked into.
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%i = %x) : tensor<i32>
  cond {
    %more = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    // expected-error@+1 {{'stablehlo.add' op stands outside a group}}
    %n = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// A sum of rows is no element-wise kernel.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'step.group' op is of kind elementwise, expected row}}
  %0 = step.group elementwise(%x) : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    step.yield %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Results of different shapes have no iteration space in common.
func.func @main(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  // expected-error@+1 {{'step.group' op no template emits this group: }}
  %0:2 = step.group elementwise(%x, %y) : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<4xf32>):
    %c = stablehlo.tanh %a : tensor<8xf32>
    %d = stablehlo.tanh %b : tensor<4xf32>
    step.yield %c, %d : tensor<8xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'step.group' op a library group needs the attribute 'exec.library'}}
  %0 = step.group library(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

// What the library is asked for is what stands in the group; how the work is cut is free.
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %0 = step.group library(%x, %w) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 2 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %0 = step.group library(%x, %w, %v) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "bias", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %s = stablehlo.add %d, %e : tensor<2x4xf32>
    step.yield %s : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'step.group' op has 'exec.library' with n = 5 : i64, but its operations need n = 4 : i64; correct the entry or the operations}}
  %0 = step.group library(%x, %w) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 5 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{has 'exec.library' with rhs_stride_k = 1 : i64, but its operations need rhs_stride_k = 4 : i64}}
  %0 = step.group library(%x, %w) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 1 : i64, rhs_stride_n = 8 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{has 'exec.library' with epilogue = "none", but its operations need epilogue = "bias"}}
  %0 = step.group library(%x, %w, %v) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %s = stablehlo.add %d, %e : tensor<2x4xf32>
    step.yield %s : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{has 'exec.library' with epilogue = "bias", but its operations need epilogue = "none"}}
  %0 = step.group library(%x, %w) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "bias", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{is not given the 2 operands of its library call in their order}}
  %0 = step.group library(%x, %w, %y) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<2x8xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>, %c: tensor<2x8xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{no library call computes this group: it does not end with the product, or with what is added to it}}
  %0 = step.group library(%x, %w) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %s = stablehlo.negate %d : tensor<2x4xf32>
    step.yield %s : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4xf32>, %y: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{no library call computes this group: it has not exactly one dot_general, convolution or custom_call}}
  %0 = step.group library(%x) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 2 : i64, n = 4 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 4 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 4 : i64, rhs_stride_n = 1 : i64}} : (tensor<2x8xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>):
    %d = stablehlo.slice %a [0:2, 0:4] : (tensor<2x8xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

// expected-error@+1 {{argument 0 has no role and a successor, expected the role of a state}}
func.func @main(%x: tensor<8xf32> {step.successor = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{argument 0 has the role batch and a successor, expected the role of a state}}
func.func @main(%x: tensor<8xf32> {step.role = #step.role<batch>, step.successor = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{arguments 0 and 1 have the same successor, result 0}}
func.func @main(%x: tensor<8xf32> {step.role = #step.role<state>, step.successor = 0 : i64},
                %y: tensor<8xf32> {step.role = #step.role<state>, step.successor = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// A packed operand is what the call is given; the body says what it holds.
func.func @main(%x: tensor<32x64xbf16>, %p: tensor<2x2x16x64x2xbf16>) -> tensor<32x128xbf16> {
  %0 = step.group library(%x, %p) attributes {exec.library = {accumulate = "f32", batch = [], call = "packed_matmul", compute = "bf16", epilogue = "none", k = 64 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 64 : i64, m = 32 : i64, n = 128 : i64, pieces = 2 : i64, result = "bf16", result_stride_m = 128 : i64, result_stride_n = 1 : i64, rhs = "bf16", rhs_stride_k = 128 : i64, rhs_stride_n = 1 : i64}} : (tensor<32x64xbf16>, tensor<2x2x16x64x2xbf16>) -> tensor<32x128xbf16> {
  ^bb0(%a: tensor<32x64xbf16>, %b: tensor<2x2x16x64x2xbf16>):
    %t = stablehlo.transpose %b, dims = [1, 2, 4, 0, 3] : (tensor<2x2x16x64x2xbf16>) -> tensor<2x16x2x2x64xbf16>
    %w = stablehlo.reshape %t : (tensor<2x16x2x2x64xbf16>) -> tensor<64x128xbf16>
    %d = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
    step.yield %d : tensor<32x128xbf16>
  }
  return %0 : tensor<32x128xbf16>
}

// -----

// What is multiplied lies in plain rows, so no call takes it for packed.
func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x128xbf16>) -> tensor<32x128xbf16> {
  // expected-error@+1 {{has 'exec.library' with call = "packed_matmul", but its operations need call = "matmul"}}
  %0 = step.group library(%x, %w) attributes {exec.library = {accumulate = "f32", batch = [], call = "packed_matmul", compute = "bf16", epilogue = "none", k = 64 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 64 : i64, m = 32 : i64, n = 128 : i64, pieces = 2 : i64, result = "bf16", result_stride_m = 128 : i64, result_stride_n = 1 : i64, rhs = "bf16", rhs_stride_k = 128 : i64, rhs_stride_n = 1 : i64}} : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16> {
  ^bb0(%a: tensor<32x64xbf16>, %b: tensor<64x128xbf16>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
    step.yield %d : tensor<32x128xbf16>
  }
  return %0 : tensor<32x128xbf16>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{is of kind save, which only scheduled form has}}
  %0 = step.group save(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{is of kind load, expected a body that yields its only argument}}
  %0 = step.group load(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %t = stablehlo.tanh %a : tensor<8xf32>
    step.yield %t : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
