//===- GpuMatmulTest.cpp - What is asked about cuBLASLt without a GPU -----===//
//
// Which products it takes, how they lie, and what is planned for them. How they
// run is tested on the emulated driver.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Library.h"
#include "tenon/Libraries/Stored.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::libraries;

namespace {

GpuMatmulDescription product(int64_t m, int64_t n, int64_t k) {
  GpuMatmulDescription d;
  d.m = m;
  d.n = n;
  d.k = k;
  d.lhsStrideM = k;
  d.rhsStrideK = d.resultStrideM = n;
  d.lhsStrideK = d.rhsStrideN = d.resultStrideN = 1;
  return d;
}

void expectRefusal(const GpuMatmulDescription &d, const char *expected) {
  EXPECT_NE(whyNotSupported(d, {}).find(expected), std::string::npos)
      << whyNotSupported(d, {});
}

} // namespace

TEST(GpuMatmul, HasALibraryThatNeedsNoGpu) {
  EXPECT_EQ(libraryOf(product(2, 3, 4)).name(), "cuBLASLt");
  EXPECT_EQ(libraryOf(product(2, 3, 4)).version(), "13");
  EXPECT_EQ(whyNotSupported(product(2, 3, 4), {}), "");
  EXPECT_EQ(describe(product(2, 3, 4)), "matrix multiplication 2x3x4 f32");
  std::string error;
  auto call = Call::create(product(2, 3, 4), {}, error);
  ASSERT_TRUE(call) << error;
  EXPECT_EQ(call->argumentCount(), 3);
  EXPECT_EQ(call->operandCount(), 2);
  EXPECT_EQ(call->argumentBytes(0), 2 * 4 * 4);
  EXPECT_EQ(call->argumentBytes(2), 2 * 3 * 4);
  EXPECT_FALSE(call->newBinding(error));
  EXPECT_EQ(error, "it runs on a GPU");
}

TEST(GpuMatmul, RefusesWhatTheLibraryDoesNotTake) {
  GpuMatmulDescription d = product(8, 8, 8);
  d.rhsType = ElementType::bf16;
  expectRefusal(d,
                "two operands of f32, of bf16 or of f16, found f32 and bf16");
  d.lhsType = ElementType::bf16;
  EXPECT_EQ(whyNotSupported(d, {}), "");
  d.resultType = ElementType::f16;
  expectRefusal(d, "rounds products of bf16 to f32 or to their type");
  d.resultType = ElementType::bf16;
  d.epilogue = Epilogue::bias;
  EXPECT_EQ(whyNotSupported(d, {}), "");
  d.activation = Activation::geluKeeping;
  EXPECT_EQ(whyNotSupported(d, {}), "");
  d.resultType = ElementType::f32;
  expectRefusal(d, "not exact enough for results of f32");
  d.resultType = ElementType::bf16;
  d.n = d.rhsStrideK = d.resultStrideM = 12;
  expectRefusal(d, "the rows of which are multiples of 8 elements");
  d = product(8, 8, 8);
  d.lhsStrideK = 2;
  d.lhsStrideM = 16;
  expectRefusal(d, "elements side by side");
  d = product(8, 8, 8);
  d.resultStrideM = 1;
  d.resultStrideN = 8;
  expectRefusal(d, "and the rows of the result");
  // Rows that overlap are no matrix.
  d = product(8, 8, 8);
  d.lhsStrideM = 4;
  expectRefusal(d, "elements side by side");
  d = product(8, 8, 8);
  d.batch = {{20, 64, 64, 64}, {17, 1280, 1280, 1280}};
  expectRefusal(d, "more than 16 calls");
  d.batch[1].size = 16;
  EXPECT_EQ(whyNotSupported(d, {}), "");
  d = product(0, 8, 8);
  expectRefusal(d, "m 0 is out of range");
}

TEST(GpuMatmul, PassesARowAsAColumn) {
  std::string why;
  GpuMatmulDescription d = product(2, 3, 4);
  auto plain = columnMajor(d, why);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->first.rows, 3);
  EXPECT_EQ(plain->first.columns, 4);
  EXPECT_EQ(plain->first.leading, 3);
  EXPECT_FALSE(plain->first.isTransposed);
  EXPECT_EQ(plain->result.rows, 3);
  EXPECT_EQ(plain->result.leading, 3);
  d.rhsStrideK = 1;
  d.rhsStrideN = 4;
  auto transposed = columnMajor(d, why);
  ASSERT_TRUE(transposed);
  EXPECT_TRUE(transposed->first.isTransposed);
  EXPECT_EQ(transposed->first.rows, 4);
  EXPECT_EQ(transposed->first.leading, 4);
}

TEST(GpuMatmul, PlansAWorkspaceForSumsThatAreCut) {
  auto usable = [](const GpuMatmulDescription &d) {
    return int64_t(usableWorkspace(uint64_t(plannedWorkspace(d))));
  };
  // One tile and a long sum: sixteen partial sums of each element.
  EXPECT_EQ(usable(product(128, 128, 4096)), 16 * 128 * 128 * 4);
  EXPECT_EQ(usable(product(128, 128, 200)), 2 * 128 * 128 * 4);
  // Enough tiles, or nothing to cut.
  EXPECT_EQ(plannedWorkspace(product(2048, 2048, 4096)), 0);
  EXPECT_EQ(plannedWorkspace(product(64, 64, 64)), 0);
  EXPECT_EQ(usable(product(1024, 2048, 1 << 20)), 16 << 20);
  GpuMatmulDescription d = product(100, 64, 64);
  d.epilogue = Epilogue::bias;
  EXPECT_EQ(usable(d), 448); // 100 ones
}

TEST(GpuMatmul, PassesWhatAnActivationReadsAndKeeps) {
  std::string error;
  auto bytesOf = [&](Activation activation) {
    GpuMatmulDescription d = product(16, 8, 4);
    d.lhsType = d.rhsType = d.resultType = ElementType::bf16;
    d.epilogue = activation == Activation::geluGradient ? Epilogue::none
                                                        : Epilogue::bias;
    d.activation = activation;
    auto call = Call::create(d, {}, error);
    EXPECT_TRUE(call) << error;
    std::vector<int64_t> bytes = {call->operandCount()};
    for (int64_t i = 0; i < call->argumentCount(); ++i)
      bytes.push_back(call->argumentBytes(i));
    return bytes;
  };
  const int64_t ones = int64_t(workspaceSlack) + 64;
  EXPECT_EQ(bytesOf(Activation::gelu),
            (std::vector<int64_t>{3, 128, 64, 16, 256, ones}));
  EXPECT_EQ(bytesOf(Activation::geluKeeping),
            (std::vector<int64_t>{3, 128, 64, 16, 256, 256, ones}));
  EXPECT_EQ(bytesOf(Activation::geluGradient),
            (std::vector<int64_t>{3, 128, 64, 256, 256}));
}

TEST(GpuMatmul, PassesTheSumsOfAnOperand) {
  std::string error;
  GpuMatmulDescription d = product(16, 8, 40);
  d.lhsType = d.rhsType = d.resultType = ElementType::bf16;
  d.lhsStrideM = 1;
  d.lhsStrideK = 16;
  const int64_t ones = int64_t(workspaceSlack) + 128; // 40 of 2 bytes
  for (auto [sums, bytes] :
       {std::pair(OperandSums::lhs, 32), {OperandSums::rhs, 16}}) {
    d.sums = sums;
    auto call = Call::create(d, {}, error);
    ASSERT_TRUE(call) << error;
    EXPECT_EQ(call->operandCount(), 2);
    ASSERT_EQ(call->argumentCount(), 5);
    EXPECT_EQ(call->argumentBytes(2), 256);
    EXPECT_EQ(call->argumentBytes(3), bytes);
    EXPECT_EQ(call->argumentBytes(4), ones);
  }
  EXPECT_NE(describe(d).find("and the sums of its right operand"),
            std::string::npos);
  auto restored = restore(store(d, {}, uint64_t(ones)), error);
  ASSERT_TRUE(restored) << error;
  EXPECT_EQ(std::get<GpuMatmulDescription>(*restored), d);
  auto refused = [&](auto change) {
    GpuMatmulDescription other = d;
    change(other);
    return !Call::create(other, {}, error);
  };
  EXPECT_TRUE(refused([](auto &d) { d.epilogue = Epilogue::bias; }));
  EXPECT_TRUE(refused([](auto &d) { d.addend = Addend::operand; }));
  EXPECT_TRUE(refused([](auto &d) { d.batch = {{2, 640, 320, 128}}; }));
  EXPECT_TRUE(refused([](auto &d) {
    d.lhsType = d.rhsType = d.resultType = ElementType::f32;
  }));
  EXPECT_TRUE(refused([](auto &d) {
    d.lhsStrideM = 40;
    d.lhsStrideK = 1;
  }));
}

TEST(GpuMatmul, SurvivesTheFile) {
  GpuMatmulDescription d = product(8, 16, 32);
  d.lhsType = d.rhsType = ElementType::bf16;
  d.batch = {{3, 256, 0, 128}};
  d.addend = Addend::inPlace;
  d.epilogue = Epilogue::bias;
  format::Callee callee = store(d, {}, 64);
  EXPECT_EQ(callee.library, "cuBLASLt");
  EXPECT_EQ(callee.name, "gpu_matmul");
  EXPECT_EQ(callee.description, "matrix multiplication 3 of 8x16x32 bf16 to "
                                "f32 plus an addend plus a bias");
  std::string error;
  auto restored = restore(callee, error);
  ASSERT_TRUE(restored) << error;
  EXPECT_EQ(std::get<GpuMatmulDescription>(*restored), d);
  d.activation = Activation::geluGradient;
  callee = store(d, {}, 64);
  EXPECT_NE(callee.description.find("then the gradient of gelu"),
            std::string::npos);
  restored = restore(callee, error);
  ASSERT_TRUE(restored) << error;
  EXPECT_EQ(std::get<GpuMatmulDescription>(*restored), d);
  d.activation = Activation::none;
  callee = store(d, {}, 64);
  // Only f32 is rounded to tf32.
  d.factors = Factors::tf32;
  EXPECT_FALSE(restore(store(d, {}, 64), error));
  EXPECT_NE(error.find("only operands of f32 are rounded to tf32"),
            std::string::npos)
      << error;
  d = product(8, 16, 32);
  d.factors = Factors::tf32;
  const format::Callee rounding = store(d, {}, 0);
  EXPECT_EQ(rounding.description, "matrix multiplication 8x16x32 f32 by tf32");
  restored = restore(rounding, error);
  ASSERT_TRUE(restored) << error;
  EXPECT_EQ(std::get<GpuMatmulDescription>(*restored), d);
  callee.library = "oneDNN";
  EXPECT_FALSE(restore(callee, error));
  EXPECT_NE(error.find("wants library 'oneDNN' for a gpu_matmul"),
            std::string::npos)
      << error;
  for (format::Attribute &attribute : callee.attributes)
    if (attribute.name == "addend")
      attribute.text = "twice";
  callee.library = "cuBLASLt";
  EXPECT_FALSE(restore(callee, error));
  EXPECT_EQ(error, "a gpu_matmul has an unknown or malformed 'addend'");
}
