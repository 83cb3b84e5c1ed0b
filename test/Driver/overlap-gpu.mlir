// A sum over ranks on GPUs is an exchange, a kernel and another exchange: the step multiplies beside the first, and the file says so and is checked for it.

// RUN: echo 'arg1 = [data, -]' > %t.layouts
// RUN: tenon compile %s --target=sm_90 --no-libraries --no-cubins --mesh=data=2 --sharding=%t.layouts --verify-forms --compile-to=lower -o %t.lower.mlir
// RUN: FileCheck %s < %t.lower.mlir
// CHECK: exec.invoke @collective_0(%{{.*}}) queue 1
// CHECK: exec.invoke @kernel_1
// CHECK-NEXT: exec.wait queue 1
// CHECK: exec.invoke @kernel_2
// CHECK: exec.invoke @collective_1(%{{[0-9]+}}, %{{[0-9]+}}) {
// CHECK: exec.invoke @kernel_3

// RUN: tenon compile %s --target=sm_90 --no-libraries --no-cubins --mesh=data=2 --sharding=%t.layouts --report=%t.json -o %t.tenon
// RUN: tenon verify %t.tenon | FileCheck %s --check-prefix=VERIFY
// VERIFY: instructions read what the plan says
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// REPORT: "exposed_communication_seconds"
// REPORT: "hidden_communication_seconds": 3.0000{{[0-9]*}}e-06

func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x4xf32>, %y: tensor<1024x1024xf32>) -> (tensor<4xf32>, tensor<1024x1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %new = stablehlo.add %w, %sum : tensor<4xf32>
  %z = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %new, %z : tensor<4xf32>, tensor<1024x1024xf32>
}
