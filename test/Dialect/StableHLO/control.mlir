// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @branches
func.func @branches(%p: tensor<i1>, %i: tensor<i32>, %a: tensor<4xf32>) {
  // CHECK: %{{.*}} = "stablehlo.if"(%arg0) ({
  // CHECK-NEXT: stablehlo.return %arg2 : tensor<4xf32>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  // CHECK-NEXT: }, {
  }, {
    %2 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  // CHECK: }) : (tensor<i1>) -> tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // CHECK: %{{.*}}:2 = "stablehlo.case"(%arg1) ({
  %1:2 = "stablehlo.case"(%i) ({
    stablehlo.return %a, %i : tensor<4xf32>, tensor<i32>
  }, {
    stablehlo.return %0, %i : tensor<4xf32>, tensor<i32>
  }, {
    stablehlo.return %a, %i : tensor<4xf32>, tensor<i32>
  // CHECK: }) : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  // CHECK: "stablehlo.if"(%arg0) ({
  // CHECK-NEXT: stablehlo.return
  "stablehlo.if"(%p) ({
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}

// CHECK-LABEL: func.func @loops
func.func @loops(%n: tensor<i32>, %a: tensor<4xf32>) {
  // CHECK: %{{.*}}:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<4xf32>
  // CHECK-NEXT: cond {
  %0:2 = stablehlo.while(%k = %n, %x = %a) : tensor<i32>, tensor<4xf32>
    cond {
      // CHECK: stablehlo.compare LT, %iterArg, %arg0, SIGNED
      %1 = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    // CHECK: } do {
    } do {
      // CHECK-NEXT: stablehlo.add %iterArg_0, %iterArg_0 : tensor<4xf32>
      %1 = stablehlo.add %x, %x : tensor<4xf32>
      stablehlo.return %k, %1 : tensor<i32>, tensor<4xf32>
    }
  // CHECK: stablehlo.while(%iterArg = %arg0) : tensor<i32> attributes {mhlo.frontend_attributes = {a = "b"}}
  // CHECK-NEXT: cond {
  %2 = stablehlo.while(%k = %n) : tensor<i32> attributes {mhlo.frontend_attributes = {a = "b"}}
    cond {
      %1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      stablehlo.return %k : tensor<i32>
    }
  // CHECK: stablehlo.while()
  // CHECK-NEXT: cond {
  stablehlo.while()
    cond {
      %1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      stablehlo.return
    }
  return
}

// CHECK-LABEL: func.func @calls
func.func @calls(%a: tensor<4xf32>, %b: tensor<2x2xf32>) {
  // CHECK: stablehlo.custom_call @name(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = stablehlo.custom_call @name(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.custom_call @"any name"() {has_side_effect = true} : () -> ()
  stablehlo.custom_call @"any name"() {has_side_effect = true} : () -> ()
  // CHECK: stablehlo.custom_call @ffi(%arg1) {api_version = 4 : i32, backend_config = {n = 3 : i64}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.custom_call @ffi(%b) {api_version = 4 : i32, backend_config = {n = 3 : i64}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: stablehlo.custom_call @text(%arg0) {backend_config = "opaque", called_computations = [@decomposed]} : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<i1>>
  %2 = stablehlo.custom_call @text(%a) {backend_config = "opaque", called_computations = [@decomposed]} : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<i1>>
  // CHECK: stablehlo.composite "vendor.thing" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @decomposed, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.composite "vendor.thing" %a {composite_attributes = {n = 1 : i64}, decomposition = @decomposed, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.composite "vendor.plain" %arg0 {decomposition = @decomposed} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = stablehlo.composite "vendor.plain" %a {decomposition = @decomposed} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.composite "vendor.body" %arg0 ({
  // CHECK-NEXT: ^bb0(%arg2: tensor<f32>):
  %5 = stablehlo.composite "vendor.body" %a ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  // CHECK: }) {decomposition = @decomposed} : (tensor<4xf32>) -> tensor<4xf32>
  }) {decomposition = @decomposed} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func private @decomposed(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// CHECK-LABEL: func.func @bundles
func.func @bundles(%a: tensor<4xf32>, %b: tensor<i1>, %t: !stablehlo.token) {
  // CHECK: %{{.*}}:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<4xf32>, tensor<i1>
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<4xf32>, tensor<i1>
  // CHECK: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier()
  // CHECK: stablehlo.tuple %arg0, %arg1 : tuple<tensor<4xf32>, tensor<i1>>
  %1 = stablehlo.tuple %a, %b : tuple<tensor<4xf32>, tensor<i1>>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<4xf32>, tensor<i1>>) -> tensor<i1>
  %2 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<4xf32>, tensor<i1>>) -> tensor<i1>
  // CHECK: stablehlo.after_all %arg2, %arg2 : !stablehlo.token
  %3 = stablehlo.after_all %t, %t : !stablehlo.token
  // CHECK: stablehlo.after_all : !stablehlo.token
  %4 = stablehlo.after_all : !stablehlo.token
  // CHECK: stablehlo.create_token : !stablehlo.token
  %5 = stablehlo.create_token : !stablehlo.token
  return
}
