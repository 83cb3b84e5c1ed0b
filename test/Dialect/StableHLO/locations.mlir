// A reduction written by name and the values of a loop are where the operation
// is; its location may be an alias that is defined later.

// RUN: tenon-opt %s --mlir-print-debuginfo --mlir-print-op-generic --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: sym_name = "places"
func.func @places(%a: tensor<4xf32>, %zero: tensor<f32>) {
  // CHECK: "stablehlo.reduce"
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32> loc("sum"), %{{.*}}: tensor<f32> loc("sum")):
  // CHECK-NEXT: "stablehlo.add"({{.*}}) : {{.*}} loc("sum")
  // CHECK-NEXT: "stablehlo.return"({{.*}}) : {{.*}} loc("sum")
  // CHECK-NEXT: -> tensor<f32> loc("sum")
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc(#sum)
  // CHECK: "stablehlo.while"
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32> loc("loop")):
  // CHECK: "stablehlo.return"({{.*}}) : {{.*}} loc("condition")
  // CHECK: ^bb0(%{{.*}}: tensor<f32> loc("loop")):
  // CHECK: -> tensor<f32> loc("loop")
  %1 = stablehlo.while(%k = %zero) : tensor<f32>
    cond {
      %2 = stablehlo.compare LT, %k, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1> loc("condition")
    } do {
      stablehlo.return %k : tensor<f32>
    } loc("loop")
  return
}
#sum = loc("sum")
