// A program that says nothing of devices but in its groups is for several.

// RUN: not tenon compile %s -o %t.tenon 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: several-devices.mlir:[[@LINE+14]]:8: error: 'stablehlo.all_reduce' computes per device, which cannot run on one device: 'replica_groups' is for at least 2 devices; export the step for one device, or without shard_map

// RUN: not tenon run %s --reference --inputs=none.safetensors 2>&1 | FileCheck %s --check-prefix=REFERENCE
// REFERENCE: error: 'stablehlo.all_reduce' computes per device, which cannot run on one device

// XLA decides what each device does, so the text stays; what a device holds is not known.
// RUN: tenon compile %s --target=stablehlo | FileCheck %s --check-prefix=XLA
// XLA: "stablehlo.all_reduce"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>

// RUN: not tenon compile %s --target=stablehlo --memory-budget=1GiB -o %t.mlir 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: error: --memory-budget is for programs for one device, found that 'replica_groups' is for at least 2 devices

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // The line that the first check names.
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
