// RUN: tenon-opt %s --memory-separate-results --memory-plan-offsets | FileCheck %s

// A value that is computed from another one in 2^40 ways: each operation is
// looked at once to find out that the result may take the operand's place.

// CHECK: step.group elementwise{{.*}}step.places = [#step.place<state, 0>]
module {
  func.func @main(%state: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64}) -> tensor<8xf32> {
    %new = step.group elementwise(%state) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%x: tensor<8xf32>):
      %0 = stablehlo.add %x, %x : tensor<8xf32>
      %1 = stablehlo.add %0, %0 : tensor<8xf32>
      %2 = stablehlo.add %1, %1 : tensor<8xf32>
      %3 = stablehlo.add %2, %2 : tensor<8xf32>
      %4 = stablehlo.add %3, %3 : tensor<8xf32>
      %5 = stablehlo.add %4, %4 : tensor<8xf32>
      %6 = stablehlo.add %5, %5 : tensor<8xf32>
      %7 = stablehlo.add %6, %6 : tensor<8xf32>
      %8 = stablehlo.add %7, %7 : tensor<8xf32>
      %9 = stablehlo.add %8, %8 : tensor<8xf32>
      %10 = stablehlo.add %9, %9 : tensor<8xf32>
      %11 = stablehlo.add %10, %10 : tensor<8xf32>
      %12 = stablehlo.add %11, %11 : tensor<8xf32>
      %13 = stablehlo.add %12, %12 : tensor<8xf32>
      %14 = stablehlo.add %13, %13 : tensor<8xf32>
      %15 = stablehlo.add %14, %14 : tensor<8xf32>
      %16 = stablehlo.add %15, %15 : tensor<8xf32>
      %17 = stablehlo.add %16, %16 : tensor<8xf32>
      %18 = stablehlo.add %17, %17 : tensor<8xf32>
      %19 = stablehlo.add %18, %18 : tensor<8xf32>
      %20 = stablehlo.add %19, %19 : tensor<8xf32>
      %21 = stablehlo.add %20, %20 : tensor<8xf32>
      %22 = stablehlo.add %21, %21 : tensor<8xf32>
      %23 = stablehlo.add %22, %22 : tensor<8xf32>
      %24 = stablehlo.add %23, %23 : tensor<8xf32>
      %25 = stablehlo.add %24, %24 : tensor<8xf32>
      %26 = stablehlo.add %25, %25 : tensor<8xf32>
      %27 = stablehlo.add %26, %26 : tensor<8xf32>
      %28 = stablehlo.add %27, %27 : tensor<8xf32>
      %29 = stablehlo.add %28, %28 : tensor<8xf32>
      %30 = stablehlo.add %29, %29 : tensor<8xf32>
      %31 = stablehlo.add %30, %30 : tensor<8xf32>
      %32 = stablehlo.add %31, %31 : tensor<8xf32>
      %33 = stablehlo.add %32, %32 : tensor<8xf32>
      %34 = stablehlo.add %33, %33 : tensor<8xf32>
      %35 = stablehlo.add %34, %34 : tensor<8xf32>
      %36 = stablehlo.add %35, %35 : tensor<8xf32>
      %37 = stablehlo.add %36, %36 : tensor<8xf32>
      %38 = stablehlo.add %37, %37 : tensor<8xf32>
      %39 = stablehlo.add %38, %38 : tensor<8xf32>
      step.yield %39 : tensor<8xf32>
    }
    return %new : tensor<8xf32>
  }
}
