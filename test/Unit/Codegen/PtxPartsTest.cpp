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

TEST(PtxParts, ManyLargestElements) {
  // More than fit registers.
  compareParts(R"(
    func.func private @kernel(%x: tensor<6x40xf32>) -> (tensor<6x20xf32>, tensor<6x20xi32>) {
      %0, %1 = chlo.top_k(%x, k = 20) : tensor<6x40xf32> -> (tensor<6x20xf32>, tensor<6x20xi32>)
      return %0, %1 : tensor<6x20xf32>, tensor<6x20xi32>
    })");
}

} // namespace
