// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Attributes of exec form that an edit made something else of.

// expected-error@+1 {{'exec.kernel' is "row", expected a #step.group_kind}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.kernel = "row"} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.scratch_bytes' is -64 : i64, expected bytes, an i64 of at least 0}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.scratch_bytes = -64 : i64} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.fallback' is 1 : i64, expected no value}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.fallback = 1 : i64} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.in_place' is [0, -1], expected an array<i64>}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.in_place = [0, -1]} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.in_place' has 1 entries, expected one for each of 2 results}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.in_place = array<i64: 0>} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.in_place' has result #1 overwrite operand #2, expected one of 2 that no other result overwrites, or -1}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.in_place = array<i64: -1, 2>} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.in_place' has result #0 overwrite operand #-2}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.in_place = array<i64: -2, -1>} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.in_place' has result #1 overwrite operand #1}}
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {exec.in_place = array<i64: 1, 1>} {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.plan' is 1 : i64, expected a dictionary}}
module attributes {exec.plan = 1 : i64} {
}

// -----

// expected-error@+1 {{'exec.region_ends' is [1], expected an array of array<i64>}}
exec.program @step attributes {exec.region_ends = [1 : i64]} {
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'exec.planned' is 1 : i64, expected a dictionary}}
  exec.invoke @copy(%0, %0) {exec.planned = 1 : i64} : memref<8xf32>, memref<8xf32>
}

// -----

// expected-error@+1 {{'exec.library' op has a damaged description: 'fft' is no library call; there are 'matmul', 'convolution', 'lapack'}}
exec.library @library_0 {call = "fft"} workspace 0

// -----

// expected-error@+1 {{'exec.library' op has a damaged description: sums are held in bf16, expected f32, from which a sum is rounded once it is complete}}
exec.library @library_0 {accumulate = "bf16", batch = [], call = "matmul", compute = "bf16", epilogue = "none", k = 8 : i64, lhs = "bf16", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 8 : i64, n = 8 : i64, pieces = 1 : i64, result = "bf16", result_stride_m = 8 : i64, result_stride_n = 1 : i64, rhs = "bf16", rhs_stride_k = 8 : i64, rhs_stride_n = 1 : i64} workspace 0

// -----

// expected-error@+1 {{'exec.library' op has a workspace of -1 bytes}}
exec.library @library_0 {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = 8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 8 : i64, n = 8 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 8 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 8 : i64, rhs_stride_n = 1 : i64} workspace -1

// -----

// expected-error@+1 {{'exec.collective' op has a damaged description: collective description has no 'type'}}
exec.collective @collective_0 {kind = "all_reduce"}

// -----

// expected-error@+1 {{'exec.collective' op has a damaged description: 'kind' of a collective description is "broadcast", expected one of 'all_gather', 'all_reduce', 'reduce_scatter', 'all_to_all', 'collective_permute', 'partition_id'}}
exec.collective @collective_0 {combination = "none", group_size = 1 : i64, groups = [], kind = "broadcast", outer = 1 : i64, piece = 1 : i64, type = "f32"}
