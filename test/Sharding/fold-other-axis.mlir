// RUN: tenon-opt %s --sharding-fold-devices='axis=data ranks=2' -o %t.two
// RUN: FileCheck %s < %t.two
// RUN: tenon-opt %t.two --check-folding=devices=%s
// RUN: tenon-opt %s --sharding-fold-devices='axis=data ranks=1' -o %t.one
// RUN: FileCheck %s --check-prefix=ONE < %t.one
// RUN: tenon-opt %t.one --check-folding=devices=%s

// Which half along `model` a device has follows from its number, and is equal
// for all devices along `data`: the half is cut and computed with once.

// CHECK: step.mesh = "data=2,model=2"
// CHECK: stablehlo.partition_id
// CHECK: stablehlo.remainder
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.tanh
// CHECK-NOT: stablehlo.tanh
// CHECK: "stablehlo.all_gather"
// CHECK-SAME: dense<{{\[\[}}0, 1], [2, 3]]>
// With one rank along `data`, a rank's number says where it is along `model`, and
// nothing else is computed of it.

// ONE: step.mesh = "data=1,model=2"
// ONE-NOT: stablehlo.divide
// ONE: return
module attributes {step.mesh = "data=4,model=2"} {
  func.func @main(%w: tensor<8xf32> {step.layout = "[-]", step.whole = tensor<8xf32>}, %x: tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) -> (tensor<8xf32> {step.layout = "[-]", step.whole = tensor<8xf32>}, tensor<2xf32> {step.layout = "[data]", step.whole = tensor<8xf32>}) {
    %c2 = stablehlo.constant dense<2> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %0 = stablehlo.negate %x : tensor<2xf32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
    %3 = stablehlo.remainder %2, %c2 : tensor<i32>
    %4 = stablehlo.multiply %3, %c4 : tensor<i32>
    %5 = stablehlo.dynamic_slice %w, %4, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
    %6 = stablehlo.tanh %5 : tensor<4xf32>
    %7 = "stablehlo.all_gather"(%6) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
    return %7, %0 : tensor<8xf32>, tensor<2xf32>
  }
}
