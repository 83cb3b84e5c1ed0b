// RUN: tenon-opt %s --precision-count-overflows | FileCheck %s
// RUN: tenon-opt %s --precision-count-overflows --remarks-filter="precision-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A loop carries the count of each row, and a branch that is not taken gives
// none. A tangent is bounded. What a mask puts in is not counted.

// REMARK-COUNT-3: Counted {{.*}}infinite elements are counted
// REMARK-NOT: Counted

// CHECK-LABEL: func.func @main
// CHECK-SAME: step.initial = dense<0> : tensor<i64>, step.name = "__tenon__.overflow.multiply line 41", step.role = #step.role<counter>
// CHECK-SAME: "__tenon__.overflow.multiply line 48"
// CHECK-SAME: "__tenon__.overflow.select line 58"
// CHECK: %[[LOOP:.*]]:3 = stablehlo.while({{.*}}, %[[ROWS:.*]] = %{{.*}}) : tensor<i32>, tensor<4x8xf16>, tensor<4xi32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce({{.*}} across dimensions = [1] : (tensor<4x8xi32>, tensor<i32>) -> tensor<4xi32>
// CHECK: stablehlo.add %[[ROWS]], %[[SUM]] : tensor<4xi32>
// CHECK: stablehlo.reduce(%[[LOOP]]#2 init
// CHECK: "stablehlo.case"
// CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<4x8xf16>, tensor<4xi32>
// CHECK: %[[NONE:.*]] = stablehlo.constant dense<0> : tensor<4xi32>
// CHECK: stablehlo.return %{{.*}}, %[[NONE]] : tensor<4x8xf16>, tensor<4xi32>
// CHECK: stablehlo.tanh
// CHECK-NOT: reduce
// CHECK: stablehlo.select
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.and
func.func @main(%x: tensor<6x4x8xf32> {step.aliases = [], step.name = "x", step.role = #step.role<batch>, step.role_reason = "given"}, %c: tensor<i32> {step.aliases = [], step.name = "c", step.role = #step.role<batch>, step.role_reason = "given"}, %mask: tensor<4x8xi1> {step.aliases = [], step.name = "mask", step.role = #step.role<batch>, step.role_reason = "given"}) -> (tensor<4x8xf16> {step.aliases = [], step.name = "y"}, tensor<4x8xf16> {step.aliases = [], step.name = "z"}, tensor<4x8xf16> {step.aliases = [], step.name = "t"}, tensor<4x8xf16> {step.aliases = [], step.name = "m"}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<1.0> : tensor<4x8xf16>
  %0:2 = stablehlo.while(%i = %zero, %y = %start) : tensor<i32>, tensor<4x8xf16>
  cond {
    %n = stablehlo.constant dense<6> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 4, 8] : (tensor<6x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.convert %y {step.cast} : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %4 = stablehlo.multiply %3, %2 : tensor<4x8xf32>
    %5 = stablehlo.convert %4 {step.cast} : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %5 : tensor<i32>, tensor<4x8xf16>
  }
  %7 = "stablehlo.case"(%c) ({
    %8 = stablehlo.convert %0#1 {step.cast} : (tensor<4x8xf16>) -> tensor<4x8xf32>
    %9 = stablehlo.multiply %8, %8 : tensor<4x8xf32>
    %10 = stablehlo.convert %9 {step.cast} : (tensor<4x8xf32>) -> tensor<4x8xf16>
    stablehlo.return %10 : tensor<4x8xf16>
  }, {
    stablehlo.return %0#1 : tensor<4x8xf16>
  }) : (tensor<i32>) -> tensor<4x8xf16>
  %f = stablehlo.convert %7 {step.cast} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %t = stablehlo.tanh %f : tensor<4x8xf32>
  %11 = stablehlo.convert %t {step.cast} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %least = stablehlo.constant dense<0xFF800000> : tensor<4x8xf32>
  %12 = stablehlo.select %mask, %f, %least : tensor<4x8xi1>, tensor<4x8xf32>
  %13 = stablehlo.convert %12 {step.cast} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return %0#1, %7, %11, %13 : tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>
}
