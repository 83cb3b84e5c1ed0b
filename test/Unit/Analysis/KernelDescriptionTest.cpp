//===- KernelDescriptionTest.cpp - What a kernel runs over and computes ---===//
//
// Classes, passes, accesses and units of small kernels.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/KernelDescription.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

class KernelDescriptions : public testing::Test {
protected:
  KernelDescriptions() {
    context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect>();
  }

  /// Of @main, which takes x of f32[8,32] and has zero and negative infinity.
  KernelDescription describe(const std::string &body,
                             const std::string &results) {
    module = parseSourceString<ModuleOp>(
        ("func.func @main(%x: tensor<8x32xf32>, %i: tensor<i32>) -> " +
         results + " {\n%zero = stablehlo.constant dense<0.0> : tensor<f32>\n" +
         "%least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n" +
         body + "}\n"),
        &context);
    return KernelDescription((*module->getOps<func::FuncOp>().begin()).front());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr char softmax[] = R"(
    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %d = stablehlo.subtract %x, %b : tensor<8x32xf32>
    %e = stablehlo.exponential %d : tensor<8x32xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %c = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %q = stablehlo.divide %e, %c : tensor<8x32xf32>
    return %q : tensor<8x32xf32>)";

TEST_F(KernelDescriptions, SoftmaxHasThreePassesAndKeepsTheExponential) {
  KernelDescription kernel = describe(softmax, "tensor<8x32xf32>");
  EXPECT_EQ(kernel.kernelClass(), KernelClass::row);
  EXPECT_EQ(kernel.units(), 8);
  EXPECT_FALSE(kernel.isFallback());
  EXPECT_EQ(kernel.level(kernel.results().front()), 2u);
  RowPasses passes = kernel.passes();
  ASSERT_EQ(passes.reductions.size(), 2u);
  ASSERT_EQ(passes.kept.size(), 1u);
  const KeptValue &kept = passes.kept.front();
  EXPECT_TRUE(isa<stablehlo::ExponentialOp>(kept.value.getDefiningOp()));
  EXPECT_EQ(kept.pass, 1u);
  EXPECT_EQ(kept.result, 0);
  // It reads no difference in the last pass.
  Operation *difference =
      kept.value.getDefiningOp()->getOperand(0).getDefiningOp();
  EXPECT_FALSE(passes.times.contains(difference));
}

TEST_F(KernelDescriptions, AResultMayReplaceWhatNoLaterPassReads) {
  KernelDescription kernel = describe(softmax, "tensor<8x32xf32>");
  // The exponential, which the result's place keeps, is the last to read %x.
  Value x = kernel.reductions().front()->getOperand(0);
  EXPECT_EQ(kernel.passes().lastRead.lookup(x), 1u);
  EXPECT_TRUE(kernel.mayReplace(x, 0));

  // The first pass writes %t, the second one reads %x for %y.
  KernelDescription both = describe(R"(
    %t = stablehlo.negate %x : tensor<8x32xf32>
    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %y = stablehlo.subtract %x, %b : tensor<8x32xf32>
    return %t, %y : tensor<8x32xf32>, tensor<8x32xf32>)",
                                    "(tensor<8x32xf32>, tensor<8x32xf32>)");
  x = both.reductions().front()->getOperand(0);
  EXPECT_FALSE(both.mayReplace(x, 0));
  EXPECT_TRUE(both.mayReplace(x, 1));
}

TEST_F(KernelDescriptions, AResultKeepsNothingBeforeItsOperandWasReadLast) {
  // The logarithm of softmax is summed up before the result is written.
  KernelDescription kernel = describe(R"(
    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %d = stablehlo.subtract %x, %b : tensor<8x32xf32>
    %e = stablehlo.exponential %d : tensor<8x32xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %l = stablehlo.log %s : tensor<8xf32>
    %k = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %p = stablehlo.subtract %d, %k : tensor<8x32xf32>
    %t = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %c = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %q = stablehlo.multiply %e, %c : tensor<8x32xf32>
    return %q : tensor<8x32xf32>)",
                                      "tensor<8x32xf32>");
  Value x = kernel.reductions().front()->getOperand(0);
  RowPasses passes = kernel.passes();
  EXPECT_EQ(passes.lastRead.lookup(x), 2u);
  ASSERT_EQ(passes.kept.size(), 1u);
  EXPECT_EQ(passes.kept.front().result, -1);
  EXPECT_TRUE(kernel.mayReplace(x, 0));
}

TEST_F(KernelDescriptions, WhatIsCheapIsComputedInEachPass) {
  KernelDescription kernel = describe(R"(
    %a = stablehlo.multiply %x, %x : tensor<8x32xf32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
    %r = stablehlo.rsqrt %s : tensor<8xf32>
    %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
    %q = stablehlo.multiply %a, %b : tensor<8x32xf32>
    return %q : tensor<8x32xf32>)",
                                      "tensor<8x32xf32>");
  RowPasses passes = kernel.passes();
  EXPECT_TRUE(passes.kept.empty());
  stablehlo::ReduceOp sum = kernel.reductions().front();
  Operation *square = sum.getInputs().front().getDefiningOp();
  EXPECT_EQ(passes.times.lookup(square), 2u);
}

TEST_F(KernelDescriptions, SeveralSumsNarrowTheBlocksOfColumns) {
  constexpr const char *sum =
      " init: %zero) applies stablehlo.add across dimensions = [0] : "
      "(tensor<8x32xf32>, tensor<f32>) -> tensor<32xf32>\n";
  std::string one = std::string("%a = stablehlo.reduce(%x") + sum;
  KernelDescription kernel =
      describe(one + "return %a : tensor<32xf32>", "tensor<32xf32>");
  EXPECT_EQ(kernel.kernelClass(), KernelClass::column);
  EXPECT_EQ(kernel.columnsPerUnit(), 128);
  EXPECT_EQ(kernel.units(), 1);
  std::string text = "%y = stablehlo.negate %x : tensor<8x32xf32>\n"
                     "%z = stablehlo.abs %x : tensor<8x32xf32>\n" +
                     one;
  text += std::string("%b = stablehlo.reduce(%y") + sum;
  text += std::string("%c = stablehlo.reduce(%z") + sum;
  kernel =
      describe(text + "return %a, %b, %c : tensor<32xf32>, tensor<32xf32>, "
                      "tensor<32xf32>",
               "(tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)");
  EXPECT_EQ(kernel.columnsPerUnit(), 64);
  // One sum of columns after another is no single kernel.
  text = one +
         "%b = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<32xf32>) "
         "-> tensor<8x32xf32>\n"
         "%c = stablehlo.reduce(%b" +
         sum;
  kernel = describe(text + "return %c : tensor<32xf32>", "tensor<32xf32>");
  EXPECT_EQ(kernel.kernelClass(), KernelClass::none);
}

TEST_F(KernelDescriptions, AnUpdateInPlaceTouchesTheSliceOnly) {
  KernelDescription kernel = describe(R"(
    %a = stablehlo.slice %x [0:1, 0:32] : (tensor<8x32xf32>) -> tensor<1x32xf32>
    %r = stablehlo.dynamic_update_slice %x, %a, %i, %i : (tensor<8x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<8x32xf32>
    return %r : tensor<8x32xf32>)",
                                      "tensor<8x32xf32>");
  const SmallVector<KernelRead> reads = kernel.reads();
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_FALSE(reads[0].isWhole);
  EXPECT_EQ(reads[0].pickedBytes, 128);
  EXPECT_NE(reads[0].update, nullptr);
  EXPECT_TRUE(reads[1].isWhole);
  EXPECT_EQ(kernel.touchedElements(), 1);
  EXPECT_EQ(kernel.touchedElements(ArrayRef<int64_t>{0}), 1);
  EXPECT_EQ(kernel.touchedElements(ArrayRef<int64_t>{-1}), 256);
}

TEST_F(KernelDescriptions, AlmostAllSingleOperationsAreFallbacks) {
  auto pool = [&](int64_t last) {
    std::string size = std::to_string(last);
    std::string type = "tensor<4x" + std::to_string(32 / last) + "xf32>";
    return describe("%r = \"stablehlo.reduce_window\"(%x, %least) "
                    "<{window_dimensions = array<i64: 2, " +
                        size + ">, window_strides = array<i64: 2, " + size +
                        ">}> ({\n"
                        "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                        "  %m = stablehlo.maximum %a, %b : tensor<f32>\n"
                        "  stablehlo.return %m : tensor<f32>\n"
                        "}) : (tensor<8x32xf32>, tensor<f32>) -> " +
                        type + "\nreturn %r : " + type,
                    type);
  };
  EXPECT_FALSE(pool(1).isFallback());
  EXPECT_TRUE(pool(2).isFallback());
  KernelDescription sort = describe(R"(
    %r = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<8x32xf32>) -> tensor<8x32xf32>
    return %r : tensor<8x32xf32>)",
                                    "tensor<8x32xf32>");
  EXPECT_EQ(sort.kernelClass(), KernelClass::root);
  EXPECT_EQ(sort.root(), sort.results().front().getDefiningOp());
  EXPECT_TRUE(sort.isFallback());
}

} // namespace
