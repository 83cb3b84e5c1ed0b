// RUN: tenon-opt %s --partition=mesh=data=4 -o %t.parts
// RUN: tenon-opt %t.parts --sharding-fold-devices='axis=data ranks=2' -o %t.ranks
// RUN: tenon-opt %t.ranks --check-folding='devices=%t.parts axis=data'
// RUN: sed 's/ {step.sums_by_tree}//' %t.ranks | not tenon-opt --check-folding=devices=%t.parts 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/\[2:4\]/[0:2]/' %t.ranks | not tenon-opt --check-folding=devices=%t.parts 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/\[\[0, 1\]\]> : tensor<1x2xi64>/[[0], [1]]> : tensor<2x1xi64>/' %t.ranks | not tenon-opt --check-folding=devices=%t.parts 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/data=2/data=8/' %t.ranks | not tenon-opt --check-folding=devices=%t.parts 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not tenon-opt %t.ranks --check-folding='devices=%t.parts axis=model' 2>&1 | FileCheck %s --check-prefix=AXIS

// A sum in the order of the ranks, another device's elements, and a rank that
// sums alone have other bits.

// ORDER: result 0 of a rank is not that of its devices
// MESH: the mesh data=8 does not run the devices of data=4 along 'data'
// AXIS: the mesh has no axis 'model'
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["data"=4]>, [{"data"}]>}) -> tensor<f32> {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<8xf32>
  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
