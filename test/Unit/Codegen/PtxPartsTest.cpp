//===- PtxPartsTest.cpp - Kernels that GPUs compute in parts --------------===//
//
// Kernels that GPUs have no schedules of their own for, on the emulated GPU and
// on this processor.
//
//===----------------------------------------------------------------------===//

#include "BothTargets.h"

#include <gtest/gtest.h>
#include <string>

namespace {

void compareParts(const std::string &text) {
  EXPECT_TRUE(compareTargets(text).isInParts);
}

/// Reductions that are no single operation: the first place of the largest.
std::string firstOfTheLargest(const std::string &dims,
                              const std::string &result) {
  return "func.func private @kernel(%x: tensor<5x33xf32>) -> tensor<" + result +
         R"(xi32> {
      %m = stablehlo.constant dense<0xff800000> : tensor<f32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %i = stablehlo.iota dim = )" +
         dims + R"( : tensor<5x33xi32>
      %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [)" +
         dims +
         R"(] : (tensor<5x33xf32>, tensor<5x33xi32>, tensor<f32>, tensor<i32>) -> (tensor<)" +
         result + "xf32>, tensor<" + result + R"(xi32>)
       reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
        %3 = stablehlo.select %1, %c, %d : tensor<i1>, tensor<i32>
        stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
      }
      return %0#1 : tensor<)" +
         result + "xi32>\n}";
}

TEST(PtxParts, Reductions) {
  compareParts(firstOfTheLargest("1", "5"));
  compareParts(firstOfTheLargest("0", "33"));
}

TEST(PtxParts, ManyLargestElements) {
  // More than fit registers.
  compareParts(R"(
    func.func private @kernel(%x: tensor<6x40xf32>) -> (tensor<6x20xf32>, tensor<6x20xi32>) {
      %0, %1 = chlo.top_k(%x, k = 20) : tensor<6x40xf32> -> (tensor<6x20xf32>, tensor<6x20xi32>)
      return %0, %1 : tensor<6x20xf32>, tensor<6x20xi32>
    })");
}

} // namespace
