// A step for two ranks: each has half of the rows, the sums are added up, and a text goes on from every stage behind.

// RUN: echo 'arg1 = [data, -]' > %t.layouts
// RUN: tenon compile %s --mesh=data=2 --sharding=%t.layouts --compile-to=shard -o %t.shard.mlir
// RUN: FileCheck %s --check-prefix=SHARD < %t.shard.mlir
// SHARD: tensor<4x4xf32> {{.*}}step.cuts = [array<i64: 1, 2>, array<i64>], step.layout = "[data, -]"
// SHARD: "stablehlo.all_reduce"

// RUN: tenon compile %t.shard.mlir --compile-from=shard --compile-to=group --verify-forms -o %t.group.mlir
// RUN: FileCheck %s --check-prefix=GROUP < %t.group.mlir
// GROUP: step.group column
// GROUP: step.group collective(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// GROUP-NEXT: ^bb0
// GROUP-NEXT: "stablehlo.all_reduce"
// GROUP: step.group elementwise

// RUN: tenon compile %t.group.mlir --compile-from=group --compile-to=lower --verify-forms -o %t.lower.mlir
// RUN: FileCheck %s --check-prefix=LOWER < %t.lower.mlir
// LOWER: exec.tensor "arg1" : tensor<4x4xf32> {{.*}}step.cuts = [array<i64: 1, 2>, array<i64>], step.whole = tensor<8x4xf32>
// LOWER: exec.collective @collective_0 {combination = "sum", group_size = 2 : i64, groups = [{rank = 0 : i64}, {rank = 1 : i64}], kind = "all_reduce", outer = 1 : i64, piece = 4 : i64, type = "f32"}
// LOWER: exec.invoke @collective_0(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} : memref<4xf32>, memref<4xf32>, memref<16xi8>

// RUN: tenon compile %t.lower.mlir --compile-from=lower -o %t.tenon
// RUN: tenon verify %t.tenon | FileCheck %s --check-prefix=VERIFY
// VERIFY: instructions read what the plan says
// RUN: tenon inspect %t.tenon | FileCheck %s --check-prefix=INSPECT
// INSPECT: for 2 ranks (--mesh=data=2); segments are those of each
// INSPECT: 8x4xf32 {{ *}}arg1 (each rank has 4x4xf32)

// RUN: sed 's/piece = 4/piece = 5/' %t.lower.mlir > %t.edited.mlir
// RUN: not tenon compile %t.edited.mlir --compile-from=lower -o %t.edited.tenon 2>&1 | FileCheck %s --check-prefix=EDITED
// EDITED: error: 'exec.invoke' op passes 'memref<4xf32>' as argument #0 of 'collective_0', which takes 20 bytes
// RUN: sed 's/rank = 1/rank = 7/' %t.lower.mlir > %t.edited.mlir
// RUN: not tenon compile %t.edited.mlir --compile-from=lower -o %t.edited.tenon 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: 'exec.collective' op has a damaged description: a collective 'all_reduce' names rank 7 of 2

func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x4xf32>) -> (tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %new = stablehlo.add %w, %sum : tensor<4xf32>
  return %new : tensor<4xf32>
}
