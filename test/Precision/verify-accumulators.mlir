// RUN: tenon-opt %s --precision-verify-accumulators --split-input-file --verify-diagnostics

// A sum in f32 that is rounded once, and one of 16-bit numbers that adds up in
// f32 by definition.
func.func @rounded_once(%x: tensor<64x128xf32>, %y: tensor<64x128xbf16>) -> (tensor<128xbf16>, tensor<128xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %narrow = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x128xf32>, tensor<f32>) -> tensor<128xf32>
  %1 = stablehlo.convert %0 {step.cast} : (tensor<128xf32>) -> tensor<128xbf16>
  %2 = stablehlo.reduce(%y init: %narrow) applies stablehlo.add across dimensions = [0] : (tensor<64x128xbf16>, tensor<bf16>) -> tensor<128xbf16>
  return %1, %2 : tensor<128xbf16>, tensor<128xbf16>
}

// -----

func.func @split_sum(%x: tensor<8x64x128xf32>) -> tensor<128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
  %1 = stablehlo.convert %0 {step.cast} : (tensor<8x128xf32>) -> tensor<8x128xbf16>
  %2 = stablehlo.convert %1 {step.cast} : (tensor<8x128xbf16>) -> tensor<8x128xf32>
  // expected-error @below {{'stablehlo.reduce' adds up in 16 bits, expected a sum in f32 or wider that is rounded once}}
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x128xf32>, tensor<f32>) -> tensor<128xf32>
  return %3 : tensor<128xf32>
}

// -----

func.func @scatter(%x: tensor<16x8xbf16>, %i: tensor<4x1xi32>, %u: tensor<4x8xbf16>) -> tensor<16x8xbf16> {
  // expected-error @below {{'stablehlo.scatter' adds up in 16 bits}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %1 : tensor<bf16>
  }) : (tensor<16x8xbf16>, tensor<4x1xi32>, tensor<4x8xbf16>) -> tensor<16x8xbf16>
  return %0 : tensor<16x8xbf16>
}

// -----

// Windows that share no element place one source each; others add up.

func.func @windows_apart(%x: tensor<2x8x4xbf16>, %y: tensor<2x4x4xbf16>) -> tensor<2x8x4xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %zero) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %1 : tensor<bf16>
  }) : (tensor<2x8x4xbf16>, tensor<2x4x4xbf16>, tensor<bf16>) -> tensor<2x8x4xbf16>
  return %0 : tensor<2x8x4xbf16>
}

// -----

func.func @windows_overlap(%x: tensor<2x8x4xbf16>, %y: tensor<2x7x4xbf16>) -> tensor<2x8x4xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  // expected-error @below {{'stablehlo.select_and_scatter' adds up in 16 bits}}
  %0 = "stablehlo.select_and_scatter"(%x, %y, %zero) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 1, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %1 : tensor<bf16>
  }) : (tensor<2x8x4xbf16>, tensor<2x7x4xbf16>, tensor<bf16>) -> tensor<2x8x4xbf16>
  return %0 : tensor<2x8x4xbf16>
}

// -----

func.func @rounds(%x: tensor<128xf32>) -> tensor<128xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<128xbf16>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  // expected-error @below {{'stablehlo.while' adds up in 16 bits}}
  %0:2 = stablehlo.while(%i = %c0, %s = %zero) : tensor<i32>, tensor<128xbf16>
  cond {
    %1 = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.convert %s {step.cast} : (tensor<128xbf16>) -> tensor<128xf32>
    %2 = stablehlo.add %1, %x : tensor<128xf32>
    %3 = stablehlo.convert %2 {step.cast} : (tensor<128xf32>) -> tensor<128xbf16>
    %4 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<128xbf16>
  }
  return %0#1 : tensor<128xbf16>
}

// -----

// In the device program: a kernel stores partial sums in 16 bits, and another
// one adds them up.

module {
  exec.device_class @cpu
  exec.memory_space @host
  exec.segment @batch batch in @host of @cpu bytes 262144 alignment 64
  exec.segment @temporaries temporaries in @host of @cpu bytes 4096 alignment 64
  exec.segment @results results in @host of @cpu bytes 512 alignment 64
  func.func private @split(%x: tensor<8x64x128xf32>) -> tensor<8x128xbf16> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
    %1 = stablehlo.convert %0 {step.cast} : (tensor<8x128xf32>) -> tensor<8x128xbf16>
    return %1 : tensor<8x128xbf16>
  }
  func.func private @whole(%x: tensor<8x128xbf16>) -> tensor<128xf32> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.convert %x {step.cast} : (tensor<8x128xbf16>) -> tensor<8x128xf32>
    // expected-error @below {{'stablehlo.reduce' of kernel 'whole' adds up partial sums that an earlier kernel stored in 16 bits, expected them in f32 or wider}}
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x128xf32>, tensor<f32>) -> tensor<128xf32>
    return %1 : tensor<128xf32>
  }
  exec.copy @copy
  exec.program @step {
    %0 = exec.slice @batch[0] : memref<8x64x128xf32>
    %1 = exec.slice @temporaries[0] : memref<8x128xbf16>
    %2 = exec.slice @temporaries[2048] : memref<8x128xbf16>
    %3 = exec.slice @results[0] : memref<128xf32>
    exec.invoke @split(%0, %1) : memref<8x64x128xf32>, memref<8x128xbf16>
    exec.invoke @copy(%1, %2) : memref<8x128xbf16>, memref<8x128xbf16>
    exec.invoke @whole(%2, %3) : memref<8x128xbf16>, memref<128xf32>
  }
}

// -----

// The same place, where something else was written in between, and partial sums
// in f32.

module {
  exec.device_class @cpu
  exec.memory_space @host
  exec.segment @batch batch in @host of @cpu bytes 262144 alignment 64
  exec.segment @temporaries temporaries in @host of @cpu bytes 8192 alignment 64
  exec.segment @results results in @host of @cpu bytes 512 alignment 64
  func.func private @split(%x: tensor<8x64x128xf32>) -> tensor<8x128xbf16> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
    %1 = stablehlo.convert %0 {step.cast} : (tensor<8x128xf32>) -> tensor<8x128xbf16>
    return %1 : tensor<8x128xbf16>
  }
  func.func private @wide(%x: tensor<8x64x128xf32>) -> tensor<8x128xf32> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
  func.func private @whole(%x: tensor<8x128xf32>) -> tensor<128xf32> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x128xf32>, tensor<f32>) -> tensor<128xf32>
    return %0 : tensor<128xf32>
  }
  exec.program @step {
    %0 = exec.slice @batch[0] : memref<8x64x128xf32>
    %1 = exec.slice @temporaries[0] : memref<8x128xbf16>
    %2 = exec.slice @temporaries[0] : memref<8x128xf32>
    %3 = exec.slice @results[0] : memref<128xf32>
    exec.invoke @split(%0, %1) : memref<8x64x128xf32>, memref<8x128xbf16>
    exec.invoke @wide(%0, %2) : memref<8x64x128xf32>, memref<8x128xf32>
    exec.invoke @whole(%2, %3) : memref<8x128xf32>, memref<128xf32>
  }
}

// -----

// The mark of the compiler's casts stands on nothing else.

func.func @no_cast(%x: tensor<128xf32>) -> tensor<128xf32> {
  // expected-error @below {{'step.cast' stands on a conversion between f32 and bf16 or f16, found 'stablehlo.tanh'}}
  %0 = stablehlo.tanh %x {step.cast} : tensor<128xf32>
  return %0 : tensor<128xf32>
}

// -----

// Half of the partial sums is gone, and what is there now is none of them.

module {
  exec.device_class @cpu
  exec.memory_space @host
  exec.segment @batch batch in @host of @cpu bytes 262144 alignment 64
  exec.segment @temporaries temporaries in @host of @cpu bytes 4096 alignment 64
  exec.segment @results results in @host of @cpu bytes 512 alignment 64
  func.func private @split(%x: tensor<8x64x128xf32>) -> tensor<8x128xbf16> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
    %1 = stablehlo.convert %0 : (tensor<8x128xf32>) -> tensor<8x128xbf16>
    return %1 : tensor<8x128xbf16>
  }
  func.func private @other(%x: tensor<4x128xf32>) -> tensor<4x128xbf16> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind elementwise>} {
    %0 = stablehlo.convert %x : (tensor<4x128xf32>) -> tensor<4x128xbf16>
    return %0 : tensor<4x128xbf16>
  }
  func.func private @whole(%x: tensor<4x128xbf16>) -> tensor<128xf32> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.convert %x : (tensor<4x128xbf16>) -> tensor<4x128xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x128xf32>, tensor<f32>) -> tensor<128xf32>
    return %1 : tensor<128xf32>
  }
  exec.program @step {
    %0 = exec.slice @batch[0] : memref<8x64x128xf32>
    %1 = exec.slice @temporaries[0] : memref<8x128xbf16>
    %2 = exec.slice @batch[0] : memref<4x128xf32>
    %3 = exec.slice @temporaries[0] : memref<4x128xbf16>
    %4 = exec.slice @temporaries[0] : memref<4x128xbf16>
    %5 = exec.slice @results[0] : memref<128xf32>
    exec.invoke @split(%0, %1) : memref<8x64x128xf32>, memref<8x128xbf16>
    exec.invoke @other(%2, %3) : memref<4x128xf32>, memref<4x128xbf16>
    exec.invoke @whole(%4, %5) : memref<4x128xbf16>, memref<128xf32>
  }
}

// -----

// The other half is still there.

module {
  exec.device_class @cpu
  exec.memory_space @host
  exec.segment @batch batch in @host of @cpu bytes 262144 alignment 64
  exec.segment @temporaries temporaries in @host of @cpu bytes 4096 alignment 64
  exec.segment @results results in @host of @cpu bytes 512 alignment 64
  func.func private @split(%x: tensor<8x64x128xf32>) -> tensor<8x128xbf16> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
    %1 = stablehlo.convert %0 : (tensor<8x128xf32>) -> tensor<8x128xbf16>
    return %1 : tensor<8x128xbf16>
  }
  func.func private @other(%x: tensor<4x128xf32>) -> tensor<4x128xbf16> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind elementwise>} {
    %0 = stablehlo.convert %x : (tensor<4x128xf32>) -> tensor<4x128xbf16>
    return %0 : tensor<4x128xbf16>
  }
  func.func private @whole(%x: tensor<4x128xbf16>) -> tensor<128xf32> attributes {exec.in_place = array<i64: -1>, exec.kernel = #step<group_kind column>} {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.convert %x : (tensor<4x128xbf16>) -> tensor<4x128xf32>
    // expected-error @below {{'stablehlo.reduce' of kernel 'whole' adds up partial sums that an earlier kernel stored in 16 bits, expected them in f32 or wider}}
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x128xf32>, tensor<f32>) -> tensor<128xf32>
    return %1 : tensor<128xf32>
  }
  exec.program @step {
    %0 = exec.slice @batch[0] : memref<8x64x128xf32>
    %1 = exec.slice @temporaries[0] : memref<8x128xbf16>
    %2 = exec.slice @batch[0] : memref<4x128xf32>
    %3 = exec.slice @temporaries[0] : memref<4x128xbf16>
    %4 = exec.slice @temporaries[1024] : memref<4x128xbf16>
    %5 = exec.slice @results[0] : memref<128xf32>
    exec.invoke @split(%0, %1) : memref<8x64x128xf32>, memref<8x128xbf16>
    exec.invoke @other(%2, %3) : memref<4x128xf32>, memref<4x128xbf16>
    exec.invoke @whole(%4, %5) : memref<4x128xbf16>, memref<128xf32>
  }
}
