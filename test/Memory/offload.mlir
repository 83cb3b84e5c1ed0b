// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation='budget=3136 host-bytes-per-second=1000000000 host-start=7' | FileCheck %s
// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation='budget=3136 host-bytes-per-second=100000000 host-start=7' | FileCheck %s --check-prefix=SLOW
// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation='host-bytes-per-second=1000000000 host-start=7' | FileCheck %s --check-prefix=ROOM

// %a takes 1 KiB and is dear. Of values of that size three fit, so it is copied
// to the host's memory before %c runs, and back when %d has run: each way takes
// 1,024 ns. The transfer to the host runs beside %b, which takes 2,000 ns, that
// back beside %s, and what read another name of %a reads one of what came back.

// CHECK-LABEL: func.func @main
// CHECK-SAME: base_nanoseconds = 108000 : i64, {{.*}}nanoseconds = 108014 : i64
// CHECK: %[[A:.*]] = step.group elementwise(%arg0)
// CHECK: %[[COPY:.*]] = step.group save(%[[A]]) attributes {step.beside = 1 : i64, step.nanoseconds = 7 : i64, step.node = 6 : i64, step.node_values = array<i64: -1>, step.transfer_nanoseconds = 1024 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<16x16xf32>):
// CHECK-NEXT: step.yield %[[IN]]
// CHECK: step.group row(%[[A]])
// CHECK: %[[C:.*]]:2 = step.group row
// CHECK: %[[D:.*]] = step.group row(%[[C]]#0, %[[C]]#1)
// CHECK: %[[BACK:.*]] = step.group load(%[[COPY]]) attributes {step.beside = 1 : i64, step.nanoseconds = 7 : i64, step.node = 7 : i64, step.node_bytes = array<i64: 1024>, step.node_values = array<i64: 0>, step.recomputed, step.transfer_nanoseconds = 1024 : i64}
// CHECK: %[[S:.*]] = step.group row(%[[D]])
// CHECK: %[[NAME:.*]] = stablehlo.reshape %[[BACK]]
// CHECK: step.group row(%[[S]], %[[NAME]])

// Over a link with a tenth of the rate neither way is over in time.
// SLOW-LABEL: func.func @main
// SLOW-NOT: step.group save
// SLOW: step.recomputed
// SLOW-NOT: step.group load

// ROOM-LABEL: func.func @main
// ROOM-SAME: nanoseconds = 108000 : i64
// ROOM-NOT: step.group save
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group elementwise(%x) attributes {step.nanoseconds = 100000 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %name = stablehlo.reshape %a : (tensor<16x16xf32>) -> tensor<256xf32>
    %b = step.group row(%a) attributes {step.nanoseconds = 2000 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %c:2 = step.group row(%b) attributes {step.nanoseconds = 2000 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1) attributes {step.nanoseconds = 1000 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %5 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %6 = stablehlo.constant dense<0.0> : tensor<f32>
      %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %7 : tensor<16xf32>
    }
    %s = step.group row(%d) attributes {step.nanoseconds = 2000 : i64} : (tensor<16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16xf32>):
      %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
      %2 = stablehlo.exponential %1 : tensor<16x16xf32>
      step.yield %2 : tensor<16x16xf32>
    }
    %e = step.group row(%s, %name) attributes {step.nanoseconds = 1000 : i64} : (tensor<16x16xf32>, tensor<256xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %2: tensor<256xf32>):
      %3 = stablehlo.reshape %2 : (tensor<256xf32>) -> tensor<16x16xf32>
      %4 = stablehlo.add %0, %3 : tensor<16x16xf32>
      %6 = stablehlo.constant dense<0.0> : tensor<f32>
      %7 = stablehlo.reduce(%4 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %7 : tensor<16xf32>
    }
    return %e : tensor<16xf32>
  }
}
