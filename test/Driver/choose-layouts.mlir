// A step whose layouts are chosen: each rank sums half of the columns, so nothing is exchanged, and a file says what was proved.

// RUN: tenon compile %s --mesh=data=2 --cpu=x86-64-v3 --verify-forms --compile-to=shard -o %t.shard.mlir
// RUN: FileCheck %s --check-prefix=SHARD < %t.shard.mlir
// SHARD: step.layout_proof = "predicted {{.*}} us (compute {{.*}} us, communication 0.00 us), chosen at {{.*}} us, no choice below {{.*}} us, gap 0.00 %"
// SHARD: func.func @main(%arg0: tensor<32768xf32>
// SHARD-SAME: %arg1: tensor<64x32768xf32>
// SHARD-NOT: all_reduce

// RUN: tenon compile %t.shard.mlir --compile-from=shard -o %t.tenon
// RUN: tenon verify %t.tenon | FileCheck %s --check-prefix=VERIFY
// VERIFY: layouts        the file says: predicted {{.*}}; checked when it was made, not again here
// RUN: tenon inspect %t.tenon | FileCheck %s --check-prefix=INSPECT
// INSPECT: layouts: predicted

// RUN: tenon plan %s --mesh=data=2 --cpu=x86-64-v3 | FileCheck %s --check-prefix=PLAN
// PLAN: tensor   layout                      bytes        moved  reason and next best
// PLAN-NEXT: arg0     [data]                     131072     0.000 ms  read where it lies; [-] takes {{.*}} ms more
// PLAN-NEXT: arg1     [-, data]                 8388608     0.000 ms  read where it lies; [{{.*}}] takes {{.*}} ms more
// PLAN: mesh           data=2, 2 ranks of 'built-in
// PLAN-NEXT: step           {{.*}} ms predicted, not measured: compute {{.*}} ms, communication 0.000 ms
// PLAN-NEXT: planned        {{.*}} ms by kernels and their order: compute {{.*}} ms, exposed communication 0.000 ms, hidden communication 0.000 ms
// PLAN-NEXT: exchange       each rank receives 0 B a step
// PLAN-NEXT: choice         {{.*}} ms, no choice of layouts takes less than {{.*}} ms (proved), gap 0.00 %
// PLAN: memory         8.{{.*}} MiB on each rank
// PLAN: check          the parts compute the whole step

func.func @main(%w: tensor<65536xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<64x65536xf32>) -> (tensor<65536xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x65536xf32>, tensor<f32>) -> tensor<65536xf32>
  %new = stablehlo.add %w, %sum : tensor<65536xf32>
  return %new : tensor<65536xf32>
}
