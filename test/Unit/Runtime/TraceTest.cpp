//===- TraceTest.cpp - What the threads of a step did ---------------------===//
//
// The spans of the sample program's threads, and which instruction of the plan
// each operation is.
//
//===----------------------------------------------------------------------===//

#include "SampleProblem.h"

#include "tenon/Runtime/Trace.h"

#include <gtest/gtest.h>
#include <map>

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

/// A plan that says of instruction i that it comes from `s<i>`.
format::Plan planOf(uint32_t instructions) {
  format::Plan plan;
  for (uint32_t i = 0; i < instructions; ++i) {
    plan.texts.push_back("s" + std::to_string(i));
    format::PlannedOperation &operation = plan.operations.emplace_back();
    operation.begin = operation.end = i;
    operation.source = i;
  }
  return plan;
}

/// The sources of what worked, in the order in which one thread came to it.
std::vector<std::string> sources(const StepTrace &trace, uint32_t thread) {
  std::vector<std::string> found;
  for (const TracedSpan &span : trace.spans)
    if (span.thread == thread && !span.isWait)
      found.push_back(trace.operations[span.operation].source);
  return found;
}

} // namespace

TEST(Trace, NotesWhatEachThreadDid) {
  // How a library cuts its calls is its own business.
  format::Index index = withoutCalls(sampleIndex());
  index.entryPoints[0].plan = planOf(14);
  Error error;
  auto traced = Executor::loadBytes(sampleFile(index), {2}, error),
       plain = Executor::loadBytes(sampleFile(index), {2}, error);
  ASSERT_TRUE(traced && plain) << error.message;
  Problem().fill(*traced);
  Problem().fill(*plain);
  // The kernel of a branch is the last one: 11 before the third step, then 7.
  for (const char *lastBranch : {"s13", "s13", "s12"}) {
    StepTrace trace;
    ASSERT_TRUE(traced->trace(trace, error)) << error.message;
    ASSERT_TRUE(plain->run(1, error)) << error.message;
    EXPECT_FALSE(trace.isOneByOne);
    EXPECT_EQ(trace.leftOut, 0u);

    std::vector<std::string> expected = {"s0", "s1", "s2", "s3",
                                         "s4", "s5", "s6"};
    for (int round = 0; round < 5; ++round)
      expected.insert(expected.end(), {"s8", "s9"});
    expected.insert(expected.end(), {"s8", "s10", lastBranch});
    EXPECT_EQ(sources(trace, 0), expected);
    // Only these are cut in parts.
    EXPECT_EQ(sources(trace, 1), (std::vector<std::string>{"s0", "s1", "s4"}));

    std::map<uint32_t, int64_t> ends;
    bool hasWaits = false;
    for (const TracedSpan &span : trace.spans) {
      EXPECT_LE(ends[span.thread], span.begin);
      EXPECT_LE(span.begin, span.end);
      ends[span.thread] = span.end;
      hasWaits |= span.isWait;
    }
    EXPECT_TRUE(hasWaits);
  }
  StepTrace trace;
  ASSERT_TRUE(traced->trace(trace, error)) << error.message;
  // What decides about the loop and which branch runs has a source, too.
  for (const TracedOperation &operation : trace.operations)
    if (operation.name == "while" || operation.name == "case") {
      EXPECT_EQ(operation.source, operation.name == "while" ? "s7" : "s11");
    }
  ASSERT_TRUE(plain->run(1, error)) << error.message;
  EXPECT_EQ(values<int32_t>(*traced, "steps")[0], 4);
  for (const char *name : {"params.w", "loss"})
    EXPECT_TRUE(
        std::ranges::equal(std::as_bytes(values<float>(*traced, name)),
                           std::as_bytes(values<float>(*plain, name)),
                           [](std::byte a, std::byte b) { return a == b; }));
}

TEST(Trace, NeedsNoPlanAndTellsCallsFromKernels) {
  auto executor = loadSample(1);
  Problem().fill(*executor);
  StepTrace trace;
  Error error;
  ASSERT_TRUE(executor->trace(trace, error)) << error.message;
  EXPECT_EQ(sources(trace, 0).size(), 7u + 11 + 2);
  EXPECT_TRUE(trace.operations[0].library);
  EXPECT_NE(trace.operations[0].what.find("48x1x32"), std::string::npos);
  EXPECT_FALSE(trace.operations[1].library);
  EXPECT_EQ(trace.operations[1].name, "sample_residual");
  EXPECT_FALSE(executor->trace(trace, error, "evaluate"));
  EXPECT_EQ(error.kind, Failure::argument);
}
