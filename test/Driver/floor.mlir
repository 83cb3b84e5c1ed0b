// RUN: tenon compile %s --machine=%S/Inputs/machine.json -o %t.tenon
// RUN: tenon bench %t.tenon --machine=%S/Inputs/machine.json --steps=3 | FileCheck %s

// 2 * 256^3 FLOPs at 300 GFLOP/s are 0.112 ms; 262,144 bytes of state are read
// and written at 20 GB/s in 0.026 ms, since they do not fit the cache stated.
// CHECK: step min {{.*}} over 3 steps
// CHECK: rate {{.*}}% of the peak of 300.0
// CHECK: floor 0.138 ms: 0.112 compute + 0.026 state of 0.2 MiB at 20.0 GB/s

func.func public @main(%w: tensor<256x256xf32> {tf.aliasing_output = 0 : i32} loc("state['w']"), %x: tensor<256x256xf32> loc("x")) -> (tensor<256x256xf32> {jax.result_info = "result['w']"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.tanh %0 : tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}
