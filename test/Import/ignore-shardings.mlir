// RUN: tenon-opt %s --import-ignore-shardings --split-input-file | FileCheck %s
// RUN: tenon-opt %s --import-ignore-shardings --split-input-file --remarks-filter="import-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Operations that only carry shardings go; attributes of the signature stay.

// REMARK: remark: [Missed] shardings {{.*}}shardings ignored: a program for 8 devices is compiled for one
// CHECK: sdy.mesh @mesh
// CHECK: func.func @main(%[[X:.*]]: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
// CHECK-NEXT: %[[R:.*]] = stablehlo.add %[[X]], %[[X]] : tensor<8x4xf32>
// CHECK-NEXT: return %[[R]]
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.add %1, %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}

// -----

// On one device a sum over all devices is its operand, and the device's number 0.

// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ID:.*]] = stablehlo.constant dense<0> : tensor<ui32>
// CHECK-NEXT: return %[[X]], %[[ID]]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.partition_id : tensor<ui32>
  return %0, %1 : tensor<4xf32>, tensor<ui32>
}

// -----

// A program per device, for one device: the body.

// CHECK: func.func @main(%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[R:.*]] = stablehlo.add %[[X]], %[[X]]
// CHECK-NEXT: return %[[R]]
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=1]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%local: tensor<8xf32>) {
      %1 = stablehlo.add %local, %local : tensor<8xf32>
      %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %2 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Whom no pair and no group reaches has zeros; whom a pair of itself does, its
// operand.

// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<2xcomplex<f32>>)
// CHECK-DAG: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG: %[[C:.*]] = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<2xcomplex<f32>>
// CHECK: return %[[Z]], %[[X]], %{{.*}}, %[[C]], %[[X]]
func.func @main(%x: tensor<4xf32>, %c: tensor<2xcomplex<f32>>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xcomplex<f32>>, tensor<4xf32>) {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<-1> : tensor<1x1xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.collective_broadcast"(%c) <{replica_groups = dense<-1> : tensor<1x1xi64>}> : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %4 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xcomplex<f32>>, tensor<4xf32>
}

// -----

// Parts of a program with a name, and computations along axes of one device, see
// whole tensors, however many devices the mesh has.

// REMARK: remark: [Missed] shardings {{.*}}shardings ignored: a program for 8 devices is compiled for one
// CHECK: func.func @main(%[[X:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[X]], %[[X]]
// CHECK-NEXT: %[[M:.*]] = stablehlo.multiply %[[A]], %[[A]]
// CHECK-NEXT: return %[[M]]
sdy.mesh @mesh = <["data"=8, "model"=1]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.named_computation<"layer">(%x) (%local: tensor<8xf32>) {
    %1 = stablehlo.add %local, %local : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"model"}]>] out_shardings=[<@mesh, [{"model"}]>] manual_axes={"model"} (%local: tensor<8xf32>) {
    %3 = stablehlo.multiply %local, %local : tensor<8xf32>
    sdy.return %3 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
