// RUN: tenon-opt %s --split-input-file --memory-order-operations --memory-separate-results --memory-search-order | FileCheck %s
// RUN: tenon-opt %s --split-input-file --memory-order-operations --memory-separate-results --memory-search-order --memory-plan-offsets | FileCheck %s --check-prefix=BYTES
// RUN: tenon-opt %s --split-input-file --memory-order-operations --memory-separate-results --memory-plan-offsets | FileCheck %s --check-prefix=DUE
// RUN: tenon-opt %s --split-input-file --memory-order-operations --memory-separate-results --memory-search-order=least-gain=29 --memory-plan-offsets | FileCheck %s --check-prefix=BYTES
// RUN: tenon-opt %s --split-input-file --memory-order-operations --memory-separate-results --memory-search-order=least-gain=30 --memory-plan-offsets | FileCheck %s --check-prefix=DUE

// Two chains that grow before they shrink. In the order that runs what makes
// room at once, both begin before either shrinks: 60 + 60 + 80 KiB at once. If
// the first has grown when the second begins, 60 + 80 KiB and what the first
// leaves are enough. Nothing else moves.

// CHECK-LABEL: func.func @main
// CHECK: %[[A1:.*]] = step.group generic(%arg0)
// CHECK: %[[A2:.*]] = step.group generic(%[[A1]])
// CHECK: %[[B1:.*]] = step.group generic(%arg1)
// CHECK: %[[A3:.*]] = step.group row(%[[A2]])
// CHECK: %[[B2:.*]] = step.group generic(%[[B1]])
// CHECK: step.group row(%[[B2]], %[[A3]])
// BYTES: temporaries = 144384 : i64
// DUE: temporaries = 204800 : i64
module {
  func.func @main(%x: tensor<256xf32> {step.role = #step.role<batch>}, %y: tensor<256xf32> {step.role = #step.role<batch>}) -> tensor<256xf32> {
    %a1 = step.group generic(%x) : (tensor<256xf32>) -> tensor<256x60xf32> {
    ^bb0(%p: tensor<256xf32>):
      %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<256xf32>) -> tensor<256x60xf32>
      step.yield %0 : tensor<256x60xf32>
    }
    %b1 = step.group generic(%y) : (tensor<256xf32>) -> tensor<256x60xf32> {
    ^bb0(%p: tensor<256xf32>):
      %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<256xf32>) -> tensor<256x60xf32>
      step.yield %0 : tensor<256x60xf32>
    }
    %a2 = step.group generic(%a1) : (tensor<256x60xf32>) -> tensor<256x80xf32> {
    ^bb0(%p: tensor<256x60xf32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.pad %p, %z, low = [0, 0], high = [0, 20], interior = [0, 0] : (tensor<256x60xf32>, tensor<f32>) -> tensor<256x80xf32>
      step.yield %0 : tensor<256x80xf32>
    }
    %b2 = step.group generic(%b1) : (tensor<256x60xf32>) -> tensor<256x80xf32> {
    ^bb0(%p: tensor<256x60xf32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.pad %p, %z, low = [0, 0], high = [0, 20], interior = [0, 0] : (tensor<256x60xf32>, tensor<f32>) -> tensor<256x80xf32>
      step.yield %0 : tensor<256x80xf32>
    }
    %a3 = step.group row(%a2) : (tensor<256x80xf32>) -> tensor<256xf32> {
    ^bb0(%p: tensor<256x80xf32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<256x80xf32>, tensor<f32>) -> tensor<256xf32>
      step.yield %0 : tensor<256xf32>
    }
    %b3 = step.group row(%b2, %a3) : (tensor<256x80xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%p: tensor<256x80xf32>, %q: tensor<256xf32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<256x80xf32>, tensor<f32>) -> tensor<256xf32>
      %1 = stablehlo.add %0, %q : tensor<256xf32>
      step.yield %1 : tensor<256xf32>
    }
    return %b3 : tensor<256xf32>
  }
}

// -----

// The same inside the body of a loop.

// CHECK-LABEL: func.func @main
// CHECK: } do {
// CHECK: %[[A1:.*]] = step.group generic
// CHECK: %[[A2:.*]] = step.group generic(%[[A1]])
// CHECK: %[[B1:.*]] = step.group generic
// CHECK: %[[A3:.*]] = step.group row(%[[A2]])
// CHECK: %[[B2:.*]] = step.group generic(%[[B1]])
// CHECK: step.group row(%[[B2]], %[[A3]])
module {
  func.func @main(%x: tensor<256xf32> {step.role = #step.role<batch>}, %n: tensor<i32> {step.role = #step.role<batch>}) -> tensor<256xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<256xf32> cond {
      %0 = step.group elementwise(%i, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1> {
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %1 = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
        step.yield %1 : tensor<i1>
      }
      stablehlo.return %0 : tensor<i1>
    } do {
      %a1 = step.group generic(%c) : (tensor<256xf32>) -> tensor<256x60xf32> {
      ^bb0(%p: tensor<256xf32>):
        %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<256xf32>) -> tensor<256x60xf32>
        step.yield %0 : tensor<256x60xf32>
      }
      %b1 = step.group generic(%c) : (tensor<256xf32>) -> tensor<256x60xf32> {
      ^bb0(%p: tensor<256xf32>):
        %m = stablehlo.negate %p : tensor<256xf32>
        %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x60xf32>
        step.yield %0 : tensor<256x60xf32>
      }
      %a2 = step.group generic(%a1) : (tensor<256x60xf32>) -> tensor<256x80xf32> {
      ^bb0(%p: tensor<256x60xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.pad %p, %z, low = [0, 0], high = [0, 20], interior = [0, 0] : (tensor<256x60xf32>, tensor<f32>) -> tensor<256x80xf32>
        step.yield %0 : tensor<256x80xf32>
      }
      %b2 = step.group generic(%b1) : (tensor<256x60xf32>) -> tensor<256x80xf32> {
      ^bb0(%p: tensor<256x60xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.pad %p, %z, low = [0, 0], high = [0, 20], interior = [0, 0] : (tensor<256x60xf32>, tensor<f32>) -> tensor<256x80xf32>
        step.yield %0 : tensor<256x80xf32>
      }
      %a3 = step.group row(%a2) : (tensor<256x80xf32>) -> tensor<256xf32> {
      ^bb0(%p: tensor<256x80xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<256x80xf32>, tensor<f32>) -> tensor<256xf32>
        step.yield %0 : tensor<256xf32>
      }
      %b3 = step.group row(%b2, %a3) : (tensor<256x80xf32>, tensor<256xf32>) -> tensor<256xf32> {
      ^bb0(%p: tensor<256x80xf32>, %q: tensor<256xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<256x80xf32>, tensor<f32>) -> tensor<256xf32>
        %1 = stablehlo.add %0, %q : tensor<256xf32>
        step.yield %1 : tensor<256xf32>
      }
      %next = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
      ^bb0(%p: tensor<i32>):
        %one = stablehlo.constant dense<1> : tensor<i32>
        %1 = stablehlo.add %p, %one : tensor<i32>
        step.yield %1 : tensor<i32>
      }
      stablehlo.return %next, %b3 : tensor<i32>, tensor<256xf32>
    }
    return %r#1 : tensor<256xf32>
  }
}
