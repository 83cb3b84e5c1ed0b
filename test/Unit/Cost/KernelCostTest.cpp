//===- KernelCostTest.cpp - Work of operations as one kernel --------------===//
//
// What the templates of row and column kernels compute how often, and into how
// many parts they can be cut.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/KernelCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

class KernelCosts : public testing::Test {
protected:
  KernelCosts() {
    context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect>();
  }

  /// The work of all of @main as one kernel.
  KernelWork workOfBody(llvm::StringRef body, llvm::StringRef results) {
    module = parseSourceString<ModuleOp>(
        ("func.func @main(%x: tensor<512x64xf32>) -> " + results + " {\n" +
         "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n" + body + "}\n")
            .str(),
        &context);
    Block &block = (*module->getOps<func::FuncOp>().begin()).front();
    return workOf(KernelDescription(block));
  }

  target::Target machine = target::builtInTarget(target::Isa::avx2);
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr double elements = 512 * 64;

TEST_F(KernelCosts, ARowPassesOverItselfOncePerLevel) {
  // The sum and the quotient both need %p: what is cheap is computed twice, the
  // exponential is kept.
  KernelWork work = workOfBody(R"(
    %a = stablehlo.multiply %x, %x : tensor<512x64xf32>
    %e = stablehlo.exponential %x : tensor<512x64xf32>
    %p = stablehlo.add %a, %e : tensor<512x64xf32>
    %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
    %r = stablehlo.divide %p, %b : tensor<512x64xf32>
    return %r : tensor<512x64xf32>)",
                               "tensor<512x64xf32>");
  EXPECT_EQ(work.operations, (2 + 2 + 16 + 1 + 1 + 16) * elements);
  EXPECT_EQ(work.bytes, 2 * 4 * elements);
  EXPECT_EQ(work.parts(machine), 8); // of 4096 elements
}

TEST_F(KernelCosts, AColumnBlockIsOneUnit) {
  KernelWork work = workOfBody(R"(
    %a = stablehlo.multiply %x, %x : tensor<512x64xf32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
    return %s : tensor<64xf32>)",
                               "tensor<64xf32>");
  EXPECT_EQ(work.operations, 2 * elements);
  EXPECT_EQ(work.bytes, 4 * elements + 4 * 64);
  EXPECT_EQ(work.parts(machine), 1);
  const target::Rate &bandwidth = bandwidthOf(work.bytes, machine);
  KernelWork divided = work;
  divided.units = 2;
  // Nobody waits behind a kernel that is not cut.
  EXPECT_DOUBLE_EQ(secondsOf(work, bandwidth, machine),
                   work.bytes / bandwidth.oneCore + machine.overheads.launch);
  EXPECT_DOUBLE_EQ(secondsOf(divided, bandwidth, machine),
                   work.bytes / bandwidth.allCores + machine.overheads.launch +
                       machine.overheads.barrier);
}

TEST_F(KernelCosts, WhatTouchesLittleIsNotCut) {
  KernelWork slice = workOfBody(R"(
    %a = stablehlo.slice %x [0:64, 0:64] : (tensor<512x64xf32>) -> tensor<64x64xf32>
    %b = stablehlo.tanh %a : tensor<64x64xf32>
    return %b : tensor<64x64xf32>)",
                                "tensor<64x64xf32>");
  EXPECT_EQ(slice.parts(machine), 1);
  // A value that is read whole counts whole.
  KernelWork both = workOfBody(R"(
    %a = stablehlo.slice %x [0:64, 0:64] : (tensor<512x64xf32>) -> tensor<64x64xf32>
    %b = stablehlo.tanh %x : tensor<512x64xf32>
    return %a, %b : tensor<64x64xf32>, tensor<512x64xf32>)",
                               "(tensor<64x64xf32>, tensor<512x64xf32>)");
  EXPECT_EQ(both.parts(machine), 8);
}

} // namespace
