//===- ExecutorTest.cpp - Running a hand-made program ---------------------===//
//
// The sample program against the same arithmetic in double, with one and more
// threads, own and bound memory, and with everything that can be wrong.
//
//===----------------------------------------------------------------------===//

#include "SampleProblem.h"

#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"
#include "tenon/Runtime/State.h"
#include "tenon/Support/FloatingPointMode.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

std::vector<std::byte> copyOf(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

} // namespace

TEST(Executor, TrainsLikeTheSameArithmeticInDouble) {
  for (unsigned threads : {1u, 2u, 3u}) {
    auto executor = loadSample(threads);
    ASSERT_TRUE(executor);
    Problem problem;
    problem.fill(*executor);
    std::vector<double> w;
    auto losses = problem.train(20, w);
    Error error;
    for (int step = 0; step < 20; ++step) {
      ASSERT_TRUE(executor->run(1, error)) << error.message;
      EXPECT_NEAR(values<float>(*executor, "loss")[0], losses[step],
                  1e-5 * losses[0]);
      EXPECT_EQ(values<int32_t>(*executor, "steps")[0], step + 1);
      EXPECT_EQ(values<int32_t>(*executor, "inner")[0], 5);
      EXPECT_EQ(values<int32_t>(*executor, "choice")[0], step + 1 < 3 ? 11 : 7);
    }
    EXPECT_LT(losses.back(), 0.3 * losses.front());
    for (size_t j = 0; j < w.size(); ++j)
      EXPECT_NEAR(values<float>(*executor, "params.w")[j], w[j], 1e-4);
  }
}

/// The file says what is done with subnormal numbers and how results are
/// rounded, whatever the caller's thread does, and that stays as it was.
TEST(Executor, ComputesAsTheFileSaysWhateverTheCallerDoes) {
  auto constantBytes = test::sampleConstants(),
       kernelBytes = test::sampleKernels();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constantBytes},
      {format::SectionKind::cpuKernels, kernelBytes}};
  constexpr unsigned ieee = 0x1f80, flush = 0x8040, towardsZero = 0x6000;
  for (Subnormals subnormals : {Subnormals::flush, Subnormals::keep}) {
    format::Index index = test::sampleIndex();
    index.subnormals = subnormals;
    std::vector<float> weights[2];
    for (unsigned caller : {ieee, ieee | flush | towardsZero})
      for (unsigned threads : {1u, 2u}) {
        Error error;
        auto executor = Executor::loadBytes(format::write(index, sections),
                                            {threads}, error);
        ASSERT_TRUE(executor) << error.message;
        Problem problem;
        problem.fill(*executor);
        // The last row alone, whose gradient is subnormal.
        auto x = values<float>(*executor, "x"),
             y = values<float>(*executor, "y"),
             w = values<float>(*executor, "params.w");
        std::ranges::fill(x, 0.0f);
        std::ranges::fill(y, 0.0f);
        std::ranges::fill(w, 0.0f);
        x.back() = 1;
        y.back() = 1.5e-39f;
        w.front() = 1;
        x.front() = 1.0f / 3;
        unsigned before = _mm_getcsr();
        _mm_setcsr(caller);
        bool ran = executor->run(1, error);
        unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        ASSERT_TRUE(ran) << error.message;
        EXPECT_EQ(after & ~0x3fu, caller); // but for what happened
        EXPECT_EQ(w.back() != 0, subnormals == Subnormals::keep) << w.back();
        std::vector<float> &expected = weights[0];
        if (expected.empty())
          expected.assign(w.begin(), w.end());
        EXPECT_EQ(expected, std::vector<float>(w.begin(), w.end()));
      }
  }
}

TEST(Executor, BitsDoNotDependOnThreads) {
  std::vector<std::vector<std::byte>> state;
  for (unsigned threads : {1u, 2u, 5u}) {
    auto executor = loadSample(threads);
    Problem().fill(*executor);
    Error error;
    ASSERT_TRUE(executor->run(50, error)) << error.message;
    state.push_back(copyOf(executor->segmentMemory(0)));
  }
  EXPECT_EQ(state[0], state[1]);
  EXPECT_EQ(state[0], state[2]);
}

TEST(Executor, ManyStepsAtOnceAreManySteps) {
  auto one = loadSample(2), many = loadSample(2);
  Problem().fill(*one);
  Problem().fill(*many);
  Error error;
  for (int i = 0; i < 30; ++i)
    ASSERT_TRUE(one->run(1, error));
  ASSERT_TRUE(many->run(30, error));
  EXPECT_EQ(copyOf(one->segmentMemory(0)), copyOf(many->segmentMemory(0)));
}

TEST(Executor, BoundMemoryIsUsedWithoutCopies) {
  auto own = loadSample(2), bound = loadSample(2);
  Problem problem;
  problem.fill(*own);
  problem.fill(*bound);
  alignas(64) float weights[test::sampleFeatures];
  alignas(64) static float x[test::sampleRows * test::sampleFeatures];
  alignas(64) float loss[1] = {};
  std::ranges::copy(problem.start, weights);
  std::ranges::copy(problem.x, x);
  auto untouched = copyOf(bound->segmentMemory(0));
  Error error;
  ASSERT_TRUE(bound->bind(*bound->findTensor("params.w"), weights, error));
  ASSERT_TRUE(bound->bind(*bound->findTensor("x"), x, error));
  ASSERT_TRUE(bound->bind(*bound->findTensor("loss"), loss, error));
  // What is bound is what is read: spoil the own memory.
  std::memset(bound->segmentMemory(1).data(), 0x7f,
              test::sampleRows * test::sampleFeatures * 4);
  ASSERT_TRUE(own->run(10, error));
  ASSERT_TRUE(bound->run(10, error));
  auto expected = values<float>(*own, "params.w");
  EXPECT_EQ(0, std::memcmp(weights, expected.data(), sizeof(weights)));
  EXPECT_EQ(loss[0], values<float>(*own, "loss")[0]);
  EXPECT_EQ(0, std::memcmp(untouched.data(), bound->segmentMemory(0).data(),
                           sizeof(weights)));
  // And back.
  size_t tensor = *bound->findTensor("x");
  ASSERT_TRUE(bound->bind(tensor, nullptr, error));
  std::ranges::copy(problem.x, values<float>(*bound, "x").begin());
  bound->markWritten(tensor);
  ASSERT_TRUE(own->run(1, error));
  ASSERT_TRUE(bound->run(1, error));
  EXPECT_EQ(0, std::memcmp(weights, expected.data(), sizeof(weights)));
}

TEST(Executor, RefusesToBindMisalignedMemory) {
  auto executor = loadSample(1);
  alignas(64) float weights[test::sampleFeatures + 1];
  Error error;
  EXPECT_FALSE(executor->bind(0, weights + 1, error));
  EXPECT_EQ(error.kind, Failure::argument);
  EXPECT_NE(error.message.find("multiple of 64"), std::string::npos);
}

TEST(Executor, RefusesToBindWhatSharesItsPlace) {
  auto index = test::sampleIndex();
  // An instruction that works on params.w and steps at once.
  index.entryPoints[0].program.instructions.push_back(
      {format::InstructionKind::invoke, 3, 0, {{0, 0, 192}}});
  auto kernels = test::sampleKernels(), constants = test::sampleConstants();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, kernels}};
  Error error;
  auto executor =
      Executor::loadBytes(format::write(index, sections), {1}, error);
  ASSERT_TRUE(executor) << error.message;
  alignas(64) float weights[test::sampleFeatures];
  EXPECT_FALSE(executor->bind(0, weights, error));
  EXPECT_NE(error.message.find("neighbours"), std::string::npos);
  EXPECT_TRUE(executor->bind(2, nullptr, error));
}

TEST(Executor, FindsTensorsByEveryName) {
  auto executor = loadSample(1);
  EXPECT_EQ(executor->findTensor("params.w"), 0u);
  EXPECT_EQ(executor->findTensor("state['params']['w']"), 0u);
  EXPECT_EQ(executor->findTensor("arg0"), 0u);
  EXPECT_EQ(executor->findTensor("result0"), 0u);
  EXPECT_EQ(executor->findTensor("result2"), 4u);
  EXPECT_EQ(executor->findArgument(3), 3u);
  EXPECT_EQ(executor->findResult(4), 6u);
  EXPECT_FALSE(executor->findTensor("w"));
  EXPECT_FALSE(executor->findArgument(-1));
  EXPECT_TRUE(executor->isState(1));
  EXPECT_TRUE(executor->isBatch(2));
  EXPECT_FALSE(executor->isBatch(4));
}

TEST(Executor, ProfilesEveryInstruction) {
  auto executor = loadSample(2);
  Problem().fill(*executor);
  std::vector<InstructionTime> times;
  Error error;
  ASSERT_TRUE(executor->profile(4, times, error)) << error.message;
  // Nine instructions, two in the loop, two branches, one of which ran per
  // step.
  ASSERT_EQ(times.size(), 14u);
  EXPECT_EQ(times[0].library, true);
  EXPECT_NE(times[0].what.find("48x1x32"), std::string::npos);
  EXPECT_EQ(times[1].name, "sample_residual");
  EXPECT_EQ(times[1].runs, 4);
  EXPECT_GT(times[1].seconds, 0);
  int64_t runs = 0;
  for (const InstructionTime &time : times)
    if (time.name == "sample_increment") {
      EXPECT_TRUE(time.fallback);
      runs += time.runs;
    }
  EXPECT_EQ(runs, 4 + 4 * 5);
  EXPECT_EQ(values<int32_t>(*executor, "steps")[0], 4);
}

TEST(Executor, RejectsUnknownEntryPointsAndStepCounts) {
  auto executor = loadSample(1);
  Error error;
  EXPECT_FALSE(executor->run(1, error, "evaluate"));
  EXPECT_EQ(error.kind, Failure::argument);
  EXPECT_FALSE(executor->run(-1, error));
  EXPECT_TRUE(executor->run(0, error));
  EXPECT_EQ(values<int32_t>(*executor, "steps")[0], 0);
}

TEST(Executor, SaysWhatTheProcessorLacks) {
  auto index = test::sampleIndex();
  index.deviceClasses[0].features.push_back("avx99");
  auto kernels = test::sampleKernels(), constants = test::sampleConstants();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, kernels}};
  Error error;
  EXPECT_FALSE(Executor::loadBytes(format::write(index, sections), {1}, error));
  EXPECT_EQ(error.kind, Failure::machine);
  EXPECT_NE(error.message.find("avx99"), std::string::npos);
}

TEST(Executor, RefusesCallsThatReachBeyondTheirSlices) {
  auto index = test::sampleIndex();
  test::attribute(index, "m").numbers = {49};
  auto kernels = test::sampleKernels(), constants = test::sampleConstants();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, kernels}};
  Error error;
  EXPECT_FALSE(Executor::loadBytes(format::write(index, sections), {1}, error));
  EXPECT_NE(error.message.find("6144 bytes, it works on 6272"),
            std::string::npos)
      << error.message;
}

TEST(Executor, RejectsMissingSectionsAndSymbols) {
  auto kernels = test::sampleKernels(), constants = test::sampleConstants();
  Error error;
  format::SectionBytes onlyConstants[] = {
      {format::SectionKind::constants, constants}};
  EXPECT_FALSE(Executor::loadBytes(
      format::write(test::sampleIndex(), onlyConstants), {1}, error));
  EXPECT_NE(error.message.find("no code"), std::string::npos);
  format::SectionBytes onlyKernels[] = {
      {format::SectionKind::cpuKernels, kernels}};
  EXPECT_FALSE(Executor::loadBytes(
      format::write(test::sampleIndex(), onlyKernels), {1}, error));
  EXPECT_NE(error.message.find("constants"), std::string::npos);
  auto index = test::sampleIndex();
  index.callees[2].name = "no_such_kernel";
  format::SectionBytes both[] = {{format::SectionKind::constants, constants},
                                 {format::SectionKind::cpuKernels, kernels}};
  EXPECT_FALSE(Executor::loadBytes(format::write(index, both), {1}, error));
  EXPECT_NE(error.message.find("no_such_kernel"), std::string::npos);
}

/// The sample with another kernel in the place of one.
std::unique_ptr<Executor> loadWith(const char *symbol, const char *instead) {
  auto index = test::sampleIndex();
  for (format::Callee &callee : index.callees)
    if (callee.name == symbol)
      callee.name = instead;
  auto kernels = test::sampleKernels(), constants = test::sampleConstants();
  format::SectionBytes sections[] = {
      {format::SectionKind::constants, constants},
      {format::SectionKind::cpuKernels, kernels}};
  Error error;
  auto executor =
      Executor::loadBytes(format::write(index, sections), {1}, error);
  EXPECT_TRUE(executor) << error.message;
  return executor;
}

TEST(Executor, CheckingMemoryChangesNothing) {
  auto plain = loadSample(2), checked = loadSample(2);
  Error error;
  for (Executor *executor : {plain.get(), checked.get()})
    Problem().fill(*executor);
  ASSERT_TRUE(plain->run(5, error));
  ASSERT_TRUE(checked->checkMemory(5, error)) << error.message;
  for (size_t i = 0; i < plain->index().tensors.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(plain->memory(i), checked->memory(i)))
        << plain->index().tensors[i].name;
  // And it can go on as before.
  ASSERT_TRUE(plain->run(1, error));
  ASSERT_TRUE(checked->run(1, error));
  EXPECT_EQ(values<float>(*plain, "loss")[0],
            values<float>(*checked, "loss")[0]);
}

TEST(Executor, CheckingMemoryFindsStrayWritesAndReads) {
  Error error;
  // Four bytes behind a result nobody owns: results do not show it.
  auto overrun = loadWith("sample_eleven", "sample_overrun");
  Problem().fill(*overrun);
  EXPECT_TRUE(overrun->run(1, error));
  EXPECT_EQ(values<int32_t>(*overrun, "choice")[0], 11);
  EXPECT_FALSE(overrun->checkMemory(1, error));
  EXPECT_NE(error.message.find("sample_overrun"), std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("which it does not name"), std::string::npos);

  // The memory behind the result is zero until something is poured over it.
  auto stray = loadWith("sample_eleven", "sample_stray");
  Problem().fill(*stray);
  EXPECT_TRUE(stray->run(1, error));
  EXPECT_EQ(values<int32_t>(*stray, "choice")[0], 7);
  EXPECT_TRUE(stray->checkMemory(1, error));
  EXPECT_EQ(values<int32_t>(*stray, "choice")[0], -7);

  // In memory of the caller's there is nothing to check.
  alignas(64) float weights[test::sampleFeatures];
  auto bound = loadSample(1);
  ASSERT_TRUE(bound->bind(*bound->findTensor("params.w"), weights, error));
  EXPECT_FALSE(bound->checkMemory(1, error));
  EXPECT_NE(error.message.find("'params.w' lives in the caller's"),
            std::string::npos)
      << error.message;
}

TEST(Executor, NoByteOutsideTheTensorsChanges) {
  auto executor = loadSample(2);
  Problem().fill(*executor);
  // Poison what no instruction owns: the gaps and the rest of the workspace
  // beyond the batch.
  auto gap = executor->segmentMemory(0).subspan(132, 60);
  auto results = executor->segmentMemory(2);
  std::ranges::fill(gap, std::byte(0xa5));
  std::ranges::fill(results, std::byte(0xa5));
  auto batch = copyOf(executor->segmentMemory(1));
  auto constants = copyOf(executor->segmentMemory(4));
  Error error;
  ASSERT_TRUE(executor->run(3, error));
  for (std::byte byte : gap)
    EXPECT_EQ(byte, std::byte(0xa5));
  for (size_t i = 0; i < results.size(); ++i)
    if (i % 64 >= 4) {
      EXPECT_EQ(results[i], std::byte(0xa5)) << i;
    }
  EXPECT_EQ(batch, copyOf(executor->segmentMemory(1)));
  EXPECT_EQ(constants, copyOf(executor->segmentMemory(4)));
}
