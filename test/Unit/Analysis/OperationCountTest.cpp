//===- OperationCountTest.cpp - FLOPs, bytes and trips --------------------===//
//
// Small functions whose work is counted by hand in the comments.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {

class OperationCounts : public testing::Test {
protected:
  OperationCounts() {
    context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                        step::StepDialect>();
  }

  /// What the only function of `text` does.
  OperationCount count(llvm::StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    if (!module)
      return {};
    return countOperations((*module->getOps<func::FuncOp>().begin()).getBody());
  }

  /// The trips of a loop over an i32 of that start, step and condition.
  std::optional<int64_t> trips(int64_t start, llvm::StringRef next,
                               int64_t step, llvm::StringRef condition,
                               int64_t limit) {
    std::string text = llvm::formatv(R"(
      func.func @main() -> tensor<i32> {{
        %start = stablehlo.constant dense<{0}> : tensor<i32>
        %limit = stablehlo.constant dense<{4}> : tensor<i32>
        %step = stablehlo.constant dense<{2}> : tensor<i32>
        %r = stablehlo.while(%i = %start) : tensor<i32>
        cond {{
          %c = stablehlo.compare {3} : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {{
          %n = stablehlo.{1} : tensor<i32>
          stablehlo.return %n : tensor<i32>
        }
        return %r : tensor<i32>
      })",
                                     start, next, step, condition, limit);
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    std::optional<int64_t> result;
    if (module)
      module->walk([&](stablehlo::WhileOp loop) { result = tripCount(loop); });
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OperationCounts, Dots) {
  // 2 * (4 * 8 * 16) * 32; f32 operands and result.
  OperationCount result = count(R"(
    func.func @main(%x: tensor<4x8x32xf32>, %w: tensor<4x32x16xf32>) -> tensor<4x8x16xf32> {
      %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x32xf32>, tensor<4x32x16xf32>) -> tensor<4x8x16xf32>
      %1 = stablehlo.tanh %0 : tensor<4x8x16xf32>
      return %1 : tensor<4x8x16xf32>
    })");
  EXPECT_EQ(result.flops, 2.0 * 4 * 8 * 16 * 32);
  EXPECT_EQ(result.bytes, 4.0 * (4 * 8 * 32 + 4 * 32 * 16 + 4 * 8 * 16));
  EXPECT_EQ(result.dots, 1);
  EXPECT_EQ(result.convolutions, 0);
}

TEST_F(OperationCounts, AStridedConvolutionAndItsDataGradientCostTheSame) {
  // 2 * batch 2 * 8 outputs * 4 inputs * (4 * 3) * (4 * 3).
  double expected = 2.0 * 2 * 8 * 4 * 12 * 12;
  EXPECT_EQ(count(R"(
    func.func @main(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<2x4x4x8xf32> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x4x4x8xf32>
      return %0 : tensor<2x4x4x8xf32>
    })")
                .flops,
            expected);
  EXPECT_EQ(count(R"(
    func.func @main(%dy: tensor<2x4x4x8xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<2x8x8x4xf32> {
      %0 = stablehlo.convolution(%dy, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x4x8xf32>, tensor<3x3x4x8xf32>) -> tensor<2x8x8x4xf32>
      return %0 : tensor<2x8x8x4xf32>
    })")
                .flops,
            expected);
}

TEST_F(OperationCounts, HolesDependOnWhereTheWindowStarts) {
  // One dimension: five elements dilated by three, kernel of one, thirteen
  // outputs of which five meet an element. Shifted by one, the padding lies
  // where an element would have been.
  auto flops = [&](int low, int high) {
    return count(llvm::formatv(R"(
    func.func @main(%x: tensor<1x5x1xf32>, %w: tensor<1x1x1xf32>) -> tensor<1x{2}x1xf32> {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{pad = [[{0}, {1}]], lhs_dilate = [3]} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x1xf32>, tensor<1x1x1xf32>) -> tensor<1x{2}x1xf32>
      return %0 : tensor<1x{2}x1xf32>
    })",
                               low, high, 13 + low + high)
                     .str())
        .flops;
  };
  EXPECT_EQ(flops(0, 0), 2 * 5);
  EXPECT_EQ(flops(-1, 0), 2 * 4);
  EXPECT_EQ(flops(2, 1), 2 * 5);
  EXPECT_EQ(flops(3, 0), 2 * 6);
}

TEST_F(OperationCounts, GroupsDivideTheFeatures) {
  // Depthwise: each of 6 outputs reads one input through 3 taps, 10 places.
  EXPECT_EQ(count(R"(
    func.func @main(%x: tensor<2x12x6xf32>, %w: tensor<3x1x6xf32>) -> tensor<2x10x6xf32> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<2x12x6xf32>, tensor<3x1x6xf32>) -> tensor<2x10x6xf32>
      return %0 : tensor<2x10x6xf32>
    })")
                .flops,
            2.0 * 2 * 10 * 6 * 3);
}

TEST_F(OperationCounts, TripsOfCountingLoops) {
  EXPECT_EQ(trips(0, "add %i, %step", 1, "LT, %i, %limit", 12), 12);
  EXPECT_EQ(trips(0, "add %step, %i", 5, "LT, %i, %limit", 12), 3);
  EXPECT_EQ(trips(2, "add %i, %step", 5, "LE, %i, %limit", 12), 3);
  EXPECT_EQ(trips(12, "subtract %i, %step", 1, "GT, %i, %limit", 0), 12);
  EXPECT_EQ(trips(11, "add %i, %step", -1, "GE, %i, %limit", 0), 12);
  EXPECT_EQ(trips(0, "add %i, %step", 1, "GT, %limit, %i", 7), 7);
  EXPECT_EQ(trips(0, "add %i, %step", 2, "NE, %i, %limit", 8), 4);
  EXPECT_EQ(trips(9, "add %i, %step", 1, "LT, %i, %limit", 9), 0);
}

TEST_F(OperationCounts, OtherLoopsHaveNoEvidentTrips) {
  EXPECT_FALSE(trips(0, "add %i, %step", 2, "NE, %i, %limit", 9));
  EXPECT_FALSE(trips(0, "add %i, %step", 0, "LT, %i, %limit", 9));
  EXPECT_FALSE(trips(0, "add %i, %step", -1, "LT, %i, %limit", 9));
  EXPECT_FALSE(trips(0, "subtract %step, %i", 1, "LT, %i, %limit", 9));
  EXPECT_FALSE(trips(1, "multiply %i, %step", 2, "LT, %i, %limit", 64));
  EXPECT_FALSE(trips(0, "add %i, %i", 1, "LT, %i, %limit", 64));
  // An i32 wraps around before it is at the limit.
  constexpr int64_t largest = INT32_MAX;
  EXPECT_EQ(trips(1, "add %i, %step", 2, "LT, %i, %limit", largest - 1),
            largest / 2);
  EXPECT_FALSE(trips(0, "add %i, %step", 2, "LT, %i, %limit", largest));
}

TEST_F(OperationCounts, LoopsMultiplyAndBranchesTakeTheDearest) {
  // Three rounds of a dot of 2 * 4 * 4 * 4; then one or two of them.
  OperationCount result = count(R"(
    func.func @main(%x: tensor<4x4xf32>, %p: tensor<i1>) -> tensor<4x4xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x4xf32>
      cond {
        %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %n = stablehlo.add %i, %one : tensor<i32>
        %d = stablehlo.dot_general %v, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        stablehlo.return %n, %d : tensor<i32>, tensor<4x4xf32>
      }
      %b = "stablehlo.if"(%p) ({
        %d = stablehlo.dot_general %r#1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        stablehlo.return %d : tensor<4x4xf32>
      }, {
        %d = stablehlo.dot_general %r#1, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        %e = stablehlo.dot_general %d, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        stablehlo.return %e : tensor<4x4xf32>
      }) : (tensor<i1>) -> tensor<4x4xf32>
      return %b : tensor<4x4xf32>
    })");
  EXPECT_EQ(result.flops, (3 + 2) * 2.0 * 4 * 4 * 4);
  EXPECT_EQ(result.bytes, (3 + 2) * 3.0 * 4 * 4 * 4);
  EXPECT_TRUE(result.loopsCountedOnce.empty());
}

TEST_F(OperationCounts, LoopsOfUnknownLengthCountOnceAndAreNamed) {
  OperationCount result = count(R"(
    func.func @main(%x: tensor<4x4xf32>, %n: tensor<i32>) -> tensor<4x4xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x4xf32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %m = stablehlo.add %i, %one : tensor<i32>
        %d = stablehlo.dot_general %v, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        stablehlo.return %m, %d : tensor<i32>, tensor<4x4xf32>
      }
      return %r#1 : tensor<4x4xf32>
    })");
  EXPECT_EQ(result.flops, 2.0 * 4 * 4 * 4);
  EXPECT_EQ(result.loopsCountedOnce.size(), 1u);
}

TEST_F(OperationCounts, GroupsAreLookedThrough) {
  OperationCount result = count(R"(
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x4xf32>
      cond {
        %c = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
        ^bb0(%a: tensor<i32>):
          %six = stablehlo.constant dense<6> : tensor<i32>
          %0 = stablehlo.compare LT, %a, %six : (tensor<i32>, tensor<i32>) -> tensor<i1>
          step.yield %0 : tensor<i1>
        }
        stablehlo.return %c : tensor<i1>
      } do {
        %n = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
        ^bb0(%a: tensor<i32>):
          %two = stablehlo.constant dense<2> : tensor<i32>
          %0 = stablehlo.add %a, %two : tensor<i32>
          step.yield %0 : tensor<i32>
        }
        %d = step.group library(%v, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
        ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          step.yield %0 : tensor<4x4xf32>
        }
        stablehlo.return %n, %d : tensor<i32>, tensor<4x4xf32>
      }
      return %r#1 : tensor<4x4xf32>
    })");
  EXPECT_EQ(result.flops, 3 * 2.0 * 4 * 4 * 4);
}

} // namespace
