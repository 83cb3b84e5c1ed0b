// RUN: tenon-opt %s --collectives-reduce-by-library=library=mpi | FileCheck %s --check-prefix=MPI
// RUN: tenon-opt %s --collectives-reduce-by-library=library=nccl --collectives-expand | FileCheck %s --check-prefix=NCCL
// RUN: not tenon-opt %s --collectives-reduce-by-library=library=ranks 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: library: expected mpi or nccl, found 'ranks'

// MPI-LABEL: func.func @sum
// MPI: {step.reducer = "mpi"}
// NCCL-LABEL: func.func @sum
// NCCL-NOT: stablehlo.all_to_all
// NCCL: "stablehlo.all_reduce"
// NCCL: {step.reducer = "nccl"}
func.func @sum(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// MPI has no bf16.

// MPI-LABEL: func.func @narrow
// MPI-NOT: step.reducer
// NCCL-LABEL: func.func @narrow
// NCCL: {step.reducer = "nccl"}
func.func @narrow(%x: tensor<5xbf16>) -> tensor<5xbf16> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %1 : tensor<bf16>
  }) : (tensor<5xbf16>) -> tensor<5xbf16>
  return %0 : tensor<5xbf16>
}

// A maximum would lose a not-a-number.

// MPI-LABEL: func.func @maximum
// MPI-NOT: step.reducer
// NCCL-LABEL: func.func @maximum
// NCCL-NOT: step.reducer
// NCCL: stablehlo.all_to_all
func.func @maximum(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// Whole numbers have none.

// MPI-LABEL: func.func @whole_numbers
// MPI: {step.reducer = "mpi"}
// NCCL-LABEL: func.func @whole_numbers
// NCCL: {step.reducer = "nccl"}
func.func @whole_numbers(%x: tensor<5xi32>) -> tensor<5xi32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<5xi32>) -> tensor<5xi32>
  return %0 : tensor<5xi32>
}

// NCCL scatters what lies in one piece.

// MPI-LABEL: func.func @scatter
// MPI: {step.reducer = "mpi"}
// NCCL-LABEL: func.func @scatter
// NCCL: stablehlo.transpose %{{.*}} : (tensor<3x2x2xf32>) -> tensor<2x3x2xf32>
// NCCL: "stablehlo.reduce_scatter"
// NCCL-SAME: scatter_dimension = 0
// NCCL: {step.reducer = "nccl"} : (tensor<2x3x2xf32>) -> tensor<1x3x2xf32>
// NCCL: stablehlo.reshape %{{.*}} : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
func.func @scatter(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3x4xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
