//===- GroupCostTest.cpp - The roofline of groups -------------------------===//
//
// Figures follow from a machine of round numbers; the sums are done in the
// comments.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

/// Two cores: 100 GFLOP/s in all, memory 10 GB/s, cache of 1 MiB 100 GB/s.
target::Target machine() {
  target::Target target = target::builtInTarget(target::Isa::avx2);
  target.caches = {32 << 10, 256 << 10, 1 << 20};
  target.compute = {{50e9, 100e9}, {100e9, 200e9}, {50e9, 100e9}};
  target.memory = {{8e9, 10e9}, {8e9, 10e9}, {50e9, 100e9}};
  target.overheads = {1e-7, 2e-7};
  return target;
}
constexpr double launch = 1e-7, overhead = 3e-7; // without and with a barrier

class GroupCosts : public testing::Test {
protected:
  GroupCosts() {
    context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect,
                        step::StepDialect, exec::ExecDialect>();
  }

  Region &parse(llvm::StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return (*module->getOps<func::FuncOp>().begin()).getBody();
  }

  /// `kind` group of the sum of two f32 tensors of `elements`.
  StepCost sumOf(int64_t elements, llvm::StringRef kind = "elementwise",
                 llvm::StringRef operation = "add %a, %b") {
    std::string type = llvm::formatv("tensor<{0}xf32>", elements);
    return predictStep(parse(llvm::formatv(R"(
      func.func @main(%x: {0}, %y: {0}) -> {0} {{
        %r = step.group {1}(%x, %y) : ({0}, {0}) -> {0} {{
        ^bb0(%a: {0}, %b: {0}):
          %0 = stablehlo.{2} : {0}
          step.yield %0 : {0}
        }
        return %r : {0}
      })",
                                           type, kind, operation)
                                 .str()),
                       machine());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Its bytes move over a link of their own, beside others.
TEST_F(GroupCosts, ATransferTakesItsStart) {
  StepCost step = predictStep(parse(R"(
    func.func @main(%x: tensor<1000000xf32>) {
      %0 = step.group save(%x) : (tensor<1000000xf32>) -> tensor<1000000xf32> {
      ^bb0(%a: tensor<1000000xf32>):
        step.yield %a : tensor<1000000xf32>
      }
      return
    })"),
                              machine());
  EXPECT_EQ(step.total.bytes, 0);
  EXPECT_DOUBLE_EQ(step.total.seconds, launch);
}

TEST_F(GroupCosts, ALargeSumIsBoundByMemory) {
  // 3 * 4 MB at 10 GB/s.
  StepCost step = sumOf(1000000);
  EXPECT_EQ(step.total.bytes, 12e6);
  EXPECT_EQ(step.total.operations, 1e6);
  EXPECT_EQ(step.total.flops, 0);
  EXPECT_DOUBLE_EQ(step.total.seconds, 1.2e-3 + overhead);
  ASSERT_EQ(step.kinds.size(), 1u);
  EXPECT_EQ(step.kinds[0].first, step::GroupKind::elementwise);
}

TEST_F(GroupCosts, ASmallOneRunsInCache) {
  // 3 * 40 KB at 100 GB/s.
  EXPECT_DOUBLE_EQ(sumOf(10000).total.seconds, 1.2e-6 + overhead);
}

TEST_F(GroupCosts, TranscendentalFunctionsCostMore) {
  // 16 * 10,000 at 50 G/s, against 120 KB in cache.
  EXPECT_DOUBLE_EQ(sumOf(10000, "elementwise", "power %a, %b").total.seconds,
                   2.0 * 16 * 10000 / 100e9 + overhead);
}

TEST_F(GroupCosts, TheFallbackIsSlow) {
  // 16 * 10,000 at 50 G/s.
  StepCost step = predictStep(parse(R"(
    func.func @main(%x: tensor<10000xf32>) -> tensor<10000xf32> {
      %r = step.group generic(%x) : (tensor<10000xf32>) -> tensor<10000xf32> {
      ^bb0(%a: tensor<10000xf32>):
        %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
        ^bb0(%b: tensor<f32>, %c: tensor<f32>):
          %p = stablehlo.compare LT, %b, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        }) : (tensor<10000xf32>) -> tensor<10000xf32>
        step.yield %0 : tensor<10000xf32>
      }
      return %r : tensor<10000xf32>
    })"),
                              machine());
  EXPECT_DOUBLE_EQ(step.total.seconds, 2.0 * 16 * 10000 / 100e9 + overhead);
  // What is computed as quickly as an element-wise group costs as much.
  EXPECT_EQ(sumOf(10000, "generic").total.seconds,
            sumOf(10000, "elementwise").total.seconds);
}

TEST_F(GroupCosts, AnUpdateInPlaceCostsItsPart) {
  // A slice of 1,000 elements and its indices are read and written by one core
  // at 50 GB/s, though the stack has a hundred times as many.
  StepCost step = predictStep(parse(R"(
    func.func @main(%x: tensor<100x1000xf32>, %y: tensor<1x1000xf32>, %i: tensor<i32>) -> tensor<100x1000xf32> {
      %r = step.group generic(%x, %y, %i) : (tensor<100x1000xf32>, tensor<1x1000xf32>, tensor<i32>) -> tensor<100x1000xf32> {
      ^bb0(%a: tensor<100x1000xf32>, %b: tensor<1x1000xf32>, %c: tensor<i32>):
        %0 = stablehlo.dynamic_update_slice %a, %b, %c, %c : (tensor<100x1000xf32>, tensor<1x1000xf32>, tensor<i32>, tensor<i32>) -> tensor<100x1000xf32>
        step.yield %0 : tensor<100x1000xf32>
      }
      return %r : tensor<100x1000xf32>
    })"),
                              machine());
  EXPECT_EQ(step.total.operations, 1000);
  EXPECT_EQ(step.total.bytes, 4000 + 4 + 4000);
  EXPECT_DOUBLE_EQ(step.total.seconds, 8004 / 50e9 + launch);
}

TEST_F(GroupCosts, WhatIsNotWorthCuttingWaitsForNobody) {
  // 3 * 8 KB on one core at 50 GB/s; twice as many elements are cut in two and
  // wait for each other.
  EXPECT_DOUBLE_EQ(sumOf(4096).total.seconds, 3 * 4 * 4096 / 50e9 + launch);
  EXPECT_DOUBLE_EQ(sumOf(8192).total.seconds, 3 * 4 * 8192 / 100e9 + overhead);
}

/// A library group of f32 or bf16 [`rows`,256] and [256,256] cut into `pieces`.
std::string product(llvm::StringRef type, int pieces, int rows = 256) {
  return llvm::formatv(R"(
    func.func @main(%x: tensor<{2}x256x{0}>, %w: tensor<256x256x{0}>) -> tensor<{2}x256x{0}> {{
      %r = step.group library(%x, %w) attributes {{exec.library = {{
        accumulate = "f32", batch = [], call = "matmul", compute = "{0}", epilogue = "none", k = 256 : i64, lhs = "{0}", lhs_stride_k = 1 : i64, lhs_stride_m = 256 : i64, m = {2} : i64,
        n = 256 : i64, pieces = {1} : i64, result = "{0}", result_stride_m = 256 : i64, result_stride_n = 1 : i64, rhs = "{0}",
        rhs_stride_k = 256 : i64, rhs_stride_n = 1 : i64}} : (tensor<{2}x256x{0}>, tensor<256x256x{0}>) -> tensor<{2}x256x{0}> {{
      ^bb0(%a: tensor<{2}x256x{0}>, %b: tensor<256x256x{0}>):
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{2}x256x{0}>, tensor<256x256x{0}>) -> tensor<{2}x256x{0}>
        step.yield %0 : tensor<{2}x256x{0}>
      }
      return %r : tensor<{2}x256x{0}>
    })",
                       type, pieces, rows);
}

/// Each of the pieces copies the right operand within the cache.
constexpr double copied(int64_t elementBytes, int pieces) {
  return double(pieces) * 2 * double(elementBytes) * 256 * 256 /
         (pieces > 1 ? 100e9 : 50e9);
}

TEST_F(GroupCosts, ProductsAreBoundByTheirType) {
  double flops = 2.0 * 256 * 256 * 256;
  StepCost step = predictStep(parse(product("f32", 2)), machine());
  EXPECT_EQ(step.total.flops, flops);
  EXPECT_EQ(step.total.bytes, 3.0 * 4 * 256 * 256);
  EXPECT_DOUBLE_EQ(step.total.seconds,
                   flops / (0.9 * 100e9) + copied(4, 2) + overhead);
  target::Target native = machine();
  native.isa = target::Isa::avx512Bf16;
  EXPECT_DOUBLE_EQ(predictStep(parse(product("bf16", 2)), native).total.seconds,
                   flops / (0.9 * 200e9) + copied(2, 2) + overhead);
  // Elsewhere both operands are widened, and the result is rounded.
  EXPECT_DOUBLE_EQ(
      predictStep(parse(product("bf16", 2)), machine()).total.seconds,
      flops / (0.9 * 100e9) + 3.0 * 256 * 256 / (4e9 * 2) + copied(2, 2) +
          overhead);
}

TEST_F(GroupCosts, OnePieceKeepsOneCoreBusy) {
  EXPECT_DOUBLE_EQ(
      predictStep(parse(product("f32", 1)), machine()).total.seconds,
      2.0 * 256 * 256 * 256 / (0.9 * 50e9) + copied(4, 1) + launch);
}

TEST_F(GroupCosts, CallsOfFewRowsCopyTheSameOperand) {
  // Eight calls of an eighth of the rows each: the products take as long.
  const double one =
      predictStep(parse(product("f32", 1)), machine()).total.seconds;
  const double eighth =
      predictStep(parse(product("f32", 1, 32)), machine()).total.seconds;
  EXPECT_NEAR(8 * eighth - one, 7 * (copied(4, 1) + launch), 1e-12);
}

/// A kernel's product of 4,096 x 4,096 operands of `type`, summed in f32.
std::string ownProduct(llvm::StringRef type) {
  return llvm::formatv(R"(
    func.func @main(%x: tensor<4096x4096x{0}>) -> tensor<4096x4096xf32> {{
      %r = step.group generic(%x) : (tensor<4096x4096x{0}>) -> tensor<4096x4096xf32> {{
      ^bb0(%a: tensor<4096x4096x{0}>):
        %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4096x4096x{0}>, tensor<4096x4096x{0}>) -> tensor<4096x4096xf32>
        step.yield %0 : tensor<4096x4096xf32>
      }
      return %r : tensor<4096x4096xf32>
    })",
                       type);
}

TEST_F(GroupCosts, GpusMultiplyNarrowTypesOnTensorCores) {
  target::Target gpu = machine();
  gpu.cores = 1;
  gpu.compute = {{100e9, 100e9}, {800e9, 800e9}, {800e9, 800e9}};
  gpu.launches.mostParts = 1;
  gpu.gpu = true;
  gpu.shares = {.library = 0.5, .kernel = 0.25, .attention = 1, .gradient = 1};
  const double small = 2.0 * 256 * 256 * 256;
  EXPECT_DOUBLE_EQ(predictStep(parse(product("f32", 1)), gpu).total.seconds,
                   small / (0.5 * 100e9) + launch);
  EXPECT_DOUBLE_EQ(predictStep(parse(product("bf16", 1)), gpu).total.seconds,
                   small / (0.5 * 800e9) + launch);
  const double large = 2.0 * 4096 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(predictStep(parse(ownProduct("f32")), gpu).total.seconds,
                   large / (0.25 * 100e9) + launch);
  EXPECT_DOUBLE_EQ(predictStep(parse(ownProduct("bf16")), gpu).total.seconds,
                   large / (0.25 * 800e9) + launch);
}

TEST_F(GroupCosts, ADecompositionIsWorkOfOneThread) {
  target::Target gpu = machine();
  gpu.gpu = true;
  gpu.hostLink = 64e9;
  const std::string text = R"(
    func.func @main(%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
      %0:3 = step.group library(%a) attributes {exec.library = {batch = 1 : i64, call = "lapack", columns = 256 : i64, diagonal = " ", mode = "V", pieces = 1 : i64, reflectors = 0 : i64, routine = "syevd", rows = 256 : i64, side = " ", transpose = " ", triangle = "L", type = "f32"}} : (tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256xf32>, tensor<i32>) {
      ^bb0(%b: tensor<256x256xf32>):
        %1:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%b) {api_version = 4 : i32, mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256xf32>, tensor<i32>)
        step.yield %1#0, %1#1, %1#2 : tensor<256x256xf32>, tensor<256xf32>, tensor<i32>
      }
      return %0#0 : tensor<256x256xf32>
    })";
  const double alone = predictStep(parse(text), machine()).total.seconds;
  EXPECT_NEAR(alone, 9 * 256. * 256 * 256 / 3e9, 1e-3);
  // On a GPU operands and results are copied from its host and back.
  const double copied = 2 * 4 * 256 * 256 + 4 * 256 + 4;
  EXPECT_NEAR(predictStep(parse(text), gpu).total.seconds - alone,
              copied / 64e9 + 5 * launch, 1e-9);
}

TEST_F(GroupCosts, AnEmbeddingReadsTheRowsItLooksUp) {
  StepCost step = predictStep(parse(R"(
    func.func @main(%table: tensor<50000x64xf32>, %i: tensor<i32>) -> tensor<1x64xf32> {
      %r = step.group elementwise(%table, %i) : (tensor<50000x64xf32>, tensor<i32>) -> tensor<1x64xf32> {
      ^bb0(%t: tensor<50000x64xf32>, %a: tensor<i32>):
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %0 = stablehlo.dynamic_slice %t, %a, %zero, sizes = [1, 64] : (tensor<50000x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
        step.yield %0 : tensor<1x64xf32>
      }
      return %r : tensor<1x64xf32>
    })"),
                              machine());
  EXPECT_EQ(step.total.bytes, 256 + 4 + 256);
}

} // namespace
