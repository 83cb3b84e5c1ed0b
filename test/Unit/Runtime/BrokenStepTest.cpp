//===- BrokenStepTest.cpp - Steps whose library calls fail ----------------===//
//
// The sample program with library calls that fail when they are told to: the
// step ends there, all threads leave it, and nothing goes on from its state.
//
//===----------------------------------------------------------------------===//

#include "FailingCalls.h"
#include "SampleProblem.h"

#include "tenon/Runtime/State.h"
#include "tenon/Runtime/Trace.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

// Two tasks of the forward product and one of the backward one.
constexpr long callsPerStep = 3;

bool has(const Error &error, const std::string &text) {
  return error.message.find(text) != std::string::npos;
}

class BrokenStep : public testing::Test {
protected:
  void TearDown() override { failing_calls_fail(-1); }
};

} // namespace

TEST_F(BrokenStep, EndsTheRunAndNamesTheCall) {
  for (unsigned threads : {1u, 2u, 3u, 5u})
    for (long call = 0; call < 4 * callsPerStep; ++call) {
      auto broken = loadSample(threads), whole = loadSample(threads);
      Problem().fill(*broken);
      Problem().fill(*whole);
      Error error;
      failing_calls_fail(call);
      EXPECT_FALSE(broken->run(10, error));
      failing_calls_fail(-1);
      EXPECT_EQ(error.kind, Failure::run);
      int64_t step = call / callsPerStep;
      EXPECT_TRUE(has(error, "step " + std::to_string(step + 1) +
                                 " failed in library_call_"))
          << error.message;
      bool isForward = call % callsPerStep < 2;
      EXPECT_TRUE(has(error, isForward ? "library_call_0, matrix "
                                         "multiplication 48x1x32 f32 ("
                                       : "library_call_1, matrix "
                                         "multiplication 32x1x48 f32 ("))
          << error.message;
      EXPECT_TRUE(has(error, "oneDNN: out of memory")) << error.message;
      // Both calls come before the step writes its state, so that is as the
      // step before left it.
      ASSERT_TRUE(whole->run(step, error)) << error.message;
      EXPECT_TRUE(
          std::ranges::equal(broken->segmentMemory(0), whole->segmentMemory(0)))
          << threads << " threads, call " << call;
    }
}

// A thread that goes on alone, or leaves alone, would hang here.
TEST_F(BrokenStep, AllThreadsLeaveTogether) {
  auto executor = loadSample(3);
  Problem problem;
  Error error;
  for (long round = 0; round < 40; ++round) {
    problem.fill(*executor);
    failing_calls_fail(round % 7);
    ASSERT_FALSE(executor->run(5, error)) << round;
  }
  failing_calls_fail(-1);
  problem.fill(*executor);
  EXPECT_TRUE(executor->run(5, error)) << error.message;
}

TEST_F(BrokenStep, IsSeenWithAnObserver) {
  auto executor = loadSample(3);
  Problem().fill(*executor);
  Error error;
  std::vector<InstructionTime> times;
  failing_calls_fail(callsPerStep + 1);
  EXPECT_FALSE(executor->profile(4, times, error));
  EXPECT_TRUE(has(error, "step 2 failed in library_call_0")) << error.message;
  failing_calls_fail(0);
  Problem().fill(*executor);
  StepTrace trace;
  EXPECT_FALSE(executor->trace(trace, error));
  EXPECT_TRUE(has(error, "step 2 failed in library_call_0")) << error.message;
  failing_calls_fail(0);
  Problem().fill(*executor);
  EXPECT_FALSE(executor->checkMemory(4, error));
  EXPECT_TRUE(has(error, "step 2 failed in library_call_0")) << error.message;
}

TEST_F(BrokenStep, TakesTheValuesFromTheState) {
  auto path = std::filesystem::temp_directory_path() /
              ("tenon-broken-step-" + std::to_string(getpid()));
  auto executor = loadSample(2);
  Problem().fill(*executor);
  Error error;
  ASSERT_TRUE(executor->run(2, error));
  ASSERT_TRUE(saveState(*executor, path, error)) << error.message;
  failing_calls_fail(0);
  ASSERT_FALSE(executor->run(1, error));
  failing_calls_fail(-1);

  // Neither run nor saved: the file is the one of the second step.
  EXPECT_FALSE(executor->run(1, error));
  EXPECT_EQ(error.kind, Failure::value);
  EXPECT_TRUE(has(error, "2 arguments have no value: 'params.w', 'steps'"))
      << error.message;
  EXPECT_TRUE(has(error, "step 3 failed")) << error.message;
  EXPECT_FALSE(saveState(*executor, path, error));
  EXPECT_EQ(error.kind, Failure::value);
  EXPECT_FALSE(executor->checkState(error));

  // A part of the state is not enough.
  executor->markWritten(*executor->findTensor("steps"));
  EXPECT_FALSE(executor->run(1, error));
  EXPECT_TRUE(has(error, "1 argument has no value: 'params.w'"))
      << error.message;

  ASSERT_TRUE(loadState(*executor, path, error)) << error.message;
  EXPECT_EQ(values<int32_t>(*executor, "steps")[0], 2);
  EXPECT_TRUE(executor->run(1, error)) << error.message;
  EXPECT_EQ(values<int32_t>(*executor, "steps")[0], 3);
  std::filesystem::remove(path);
}
