// RUN: tenon-opt %s --verify-exec-form --split-input-file --verify-diagnostics

// A kernel that overwrites its first operand and has scratch memory: two
// operands, no argument for the result, one for the scratch.
module {
  exec.device_class @cpu
  exec.memory_space @host
  exec.segment @state state in @host of @cpu bytes 64 alignment 64
  exec.segment @temporaries temporaries in @host of @cpu bytes 192 alignment 64
  func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32>
      attributes {exec.in_place = array<i64: 0>, exec.kernel = #step<group_kind elementwise>, exec.scratch_bytes = 64 : i64} {
    %0 = stablehlo.add %a, %b : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  exec.program @step {
    %0 = exec.slice @state[0] : memref<8xf32>
    %1 = exec.slice @temporaries[64] : memref<8xf32>
    %2 = exec.slice @temporaries[128] : memref<64xi8>
    exec.invoke @kernel_0(%0, %1, %2) : memref<8xf32>, memref<8xf32>, memref<64xi8>
  }
}

// -----

// expected-error@+1 {{expected a program in exec form}}
module {
}

// -----

exec.program @step {
  // expected-error@+1 {{'exec.slice' op names the unknown segment 'elsewhere'}}
  %0 = exec.slice @elsewhere[0] : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 128 alignment 64
exec.program @step {
  // expected-error@+1 {{'exec.slice' op starts at byte 32, expected a multiple of 64}}
  %0 = exec.slice @batch[32] : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 80 alignment 64
exec.program @step {
  // expected-error@+1 {{'exec.slice' op ends at byte 96 of a segment of 80 bytes}}
  %0 = exec.slice @batch[64] : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'exec.invoke' op invokes 'kernel_9', which is no kernel, library call, collective or copy of the module}}
  exec.invoke @kernel_9(%0) : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>) -> tensor<8xf32> attributes {exec.in_place = array<i64: -1>} {
  return %a : tensor<8xf32>
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'exec.invoke' op passes 1 slices, kernel 'kernel_0' takes 2}}
  exec.invoke @kernel_0(%0) : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>) -> tensor<8xf32> attributes {exec.in_place = array<i64: 0>} {
  return %a : tensor<8xf32>
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xi32>
  // expected-error@+1 {{'exec.invoke' op passes 'memref<8xi32>' as argument #0 of kernel 'kernel_0', which takes 'tensor<8xf32>'}}
  exec.invoke @kernel_0(%0) : memref<8xi32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  // expected-error@+1 {{'stablehlo.constant' op makes a tensor in exec form, which holds none outside kernels}}
  %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
}

// -----

exec.program @step {
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.group' op remains in exec form}}
  %0 = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
// expected-error@+1 {{'exec.segment' op has -64 bytes, expected 0 to 140737488355328}}
exec.segment @batch batch in @host of @cpu bytes -64 alignment 64
exec.program @step {
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @state state in @host of @cpu bytes 64 alignment 64
// expected-error@+1 {{'exec.tensor' op ends at byte 128 of a segment of 64 bytes}}
exec.tensor "w" : tensor<32xf32> at @state[0] {argument = 0, result = 0}
exec.program @step {
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @state state in @host of @cpu bytes 64 alignment 64
// expected-error@+1 {{'exec.constant' op lies in the segment 'state', which is not for constants}}
exec.constant @state[0] = dense<1.0> : tensor<8xf32>
exec.program @step {
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @constants constants in @host of @cpu bytes 64 alignment 64
// expected-error@+1 {{'exec.constant' op starts at byte -64, expected a multiple of 64}}
exec.constant @constants[-64] = dense<1.0> : tensor<8xf32>
exec.program @step {
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  // expected-error@+1 {{'exec.slice' op has type 'memref<?xf32>', expected a static shape, row by row}}
  %0 = exec.slice @batch[0] : memref<?xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  // expected-error@+1 {{'exec.slice' op has type 'memref<4xf32, strided<[2]>>', expected a static shape, row by row}}
  %0 = exec.slice @batch[0] : memref<4xf32, strided<[2]>>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'exec.invoke' op invokes 'library_7', which is no kernel, library call, collective or copy of the module}}
  exec.invoke @library_7(%0) : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>) -> tensor<16xf32> attributes {exec.in_place = array<i64: 0>} {
  %0 = stablehlo.constant dense<0.0> : tensor<16xf32>
  return %0 : tensor<16xf32>
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'exec.invoke' op runs kernel 'kernel_0', whose result #0 of type 'tensor<16xf32>' overwrites an operand of type 'tensor<8xf32>'}}
  exec.invoke @kernel_0(%0) : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>) {
  return
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'exec.invoke' op has 0 parts, expected at least 1}}
  exec.invoke @kernel_0(%0) parts 0 : memref<8xf32>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  // expected-error@+1 {{'memref.subview' op is no instruction of the exec program}}
  %1 = memref.subview %0[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 128 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>) attributes {exec.scratch_bytes = 128 : i64} {
  return
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @batch[64] : memref<64xi8>
  // expected-error@+1 {{'exec.invoke' op passes 'memref<64xi8>' as scratch memory of kernel 'kernel_0', which takes 128 bytes}}
  exec.invoke @kernel_0(%0, %1) : memref<8xf32>, memref<64xi8>
}

// -----

exec.device_class @cpu
exec.memory_space @host
exec.segment @batch batch in @host of @cpu bytes 64 alignment 64
exec.program @step {
  %0 = exec.slice @batch[0] : memref<i1>
  // expected-error@+1 {{'exec.while' op runs its body -2 times, expected at least 0}}
  exec.while %0 : memref<i1> attributes {trips = -2 : i64} condition {
  } body {
  }
}

// -----

// A value goes to the host and comes back.

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
exec.copy @copy
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  exec.invoke @copy(%0, %1) queue 2 : memref<8xf32>, memref<8xf32>
  exec.wait queue 2
  exec.invoke @copy(%1, %0) queue 3 : memref<8xf32>, memref<8xf32>
  exec.wait queue 3
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
exec.copy @copy
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{is in queue 2, which is for copies to memory of the host}}
  exec.invoke @copy(%1, %0) queue 2 : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
exec.copy @copy
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{is in queue 3, which is for copies from memory of the host}}
  exec.invoke @copy(%0, %1) queue 3 : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
exec.copy @copy
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{is in queue 1, which is for collectives}}
  exec.invoke @copy(%0, %1) queue 1 : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
exec.copy @copy
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{is in queue 4, expected 0 to 3}}
  exec.invoke @copy(%0, %1) queue 4 : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
exec.copy @copy
exec.program @step {
  %0 = exec.slice @host[64] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{copies within memory of the host}}
  exec.invoke @copy(%0, %1) : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  return
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{touches memory of the host, which only copies may}}
  exec.invoke @kernel_0(%0, %1) : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @device
exec.memory_space @pinned
exec.segment @batch batch in @device of @cuda bytes 64 alignment 64
exec.segment @host temporaries in @pinned of @cuda bytes 128 alignment 64
func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  return
}
exec.program @step {
  %0 = exec.slice @batch[0] : memref<8xf32>
  %1 = exec.slice @host[0] : memref<8xf32>
  // expected-error@+1 {{is in queue 2, which is for copies}}
  exec.invoke @kernel_0(%0, %1) queue 2 : memref<8xf32>, memref<8xf32>
}

// -----

exec.device_class @cuda
exec.memory_space @pinned
// expected-error@+1 {{has other than temporaries of a GPU in memory of its host}}
exec.segment @host state in @pinned of @cuda bytes 64 alignment 64
exec.program @step {
}

// -----

exec.device_class @cpu
exec.memory_space @pinned
// expected-error@+1 {{has other than temporaries of a GPU in memory of its host}}
exec.segment @host temporaries in @pinned of @cpu bytes 64 alignment 64
exec.program @step {
}
