//===- ProgramTest.cpp - Where threads wait for each other ----------------===//
//
// Barriers of small programs, laid out by hand: a kernel `copies` reads its
// first argument and writes its second, `both` may write all it is given.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::runtime;

namespace {

constexpr uint32_t copies = 0, both = 1;

Slice at(uint64_t offset, uint64_t bytes = 64) { return {0, offset, bytes}; }

void nothing(void *const *, int64_t, int64_t) {}

Instruction launch(uint32_t kernel, std::vector<Slice> arguments,
                   uint32_t parts = 2) {
  return {InstructionKind::invoke, kernel, 0, std::move(arguments), parts};
}

/// A device whose callees are not loaded from a file.
class CapturingDevice final : public Device {
public:
  CapturingDevice() {
    callees.described = {{CalleeKind::kernel, "copies", "", {0}},
                         {CalleeKind::kernel, "both"}};
    callees.kernels = {nothing, nothing};
    callees.calls.resize(2);
  }
  std::unique_ptr<DeviceMemory> allocate(const MemorySpace &, const Segment &,
                                         bool, std::string &) override {
    return nullptr;
  }
  bool copyIn(void *, const void *, uint64_t, Error &) override { return true; }
  bool copyOut(void *, const void *, uint64_t, Error &) override {
    return true;
  }
  AvailableMemory availableMemory() const override { return {}; }
  bool loadCallees(const Reader &, Error &) override { return true; }
  std::unique_ptr<Capture> beginCapture() override {
    return std::make_unique<ProgramBuilder>(callees, 1, Subnormals::flush);
  }

private:
  CpuCallees callees;
};

/// The device outlives what it captured.
struct Captured {
  CapturingDevice device;
  std::unique_ptr<CapturedStep> step;

  explicit Captured(std::vector<Instruction> instructions) {
    EntryPoint entry;
    entry.program.instructions = std::move(instructions);
    Error error;
    step = captureStep(entry, device, error);
    EXPECT_TRUE(step) << error.message;
  }
  const Program &program() const { return static_cast<Program &>(*step); }
};

/// After which operations there is a barrier.
std::vector<bool> barriers(std::vector<Instruction> instructions) {
  Captured captured(std::move(instructions));
  std::vector<bool> result;
  for (const Operation &operation : captured.program().operations())
    result.push_back(operation.barrierAfter);
  return result;
}

using Barriers = std::vector<bool>;

TEST(Program, WaitsForWhatIsRead) {
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}),
                      launch(copies, {at(64), at(128)})}),
            Barriers({true, true}));
}

TEST(Program, DoesNotWaitForOthers) {
  // All read the same and write apart; the last reads what the first wrote.
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}),
                      launch(copies, {at(0), at(128)}),
                      launch(copies, {at(0), at(192)}),
                      launch(copies, {at(64), at(256)})}),
            Barriers({false, false, true, true}));
}

TEST(Program, WaitsBeforeOverwriting) {
  // What is still read, what is still written, and a part of either.
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}),
                      launch(copies, {at(128), at(0)})}),
            Barriers({true, true}));
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}),
                      launch(copies, {at(0), at(64)})}),
            Barriers({true, true}));
  EXPECT_EQ(barriers({launch(copies, {at(0, 256), at(512)}),
                      launch(copies, {at(1024), at(192, 4)})}),
            Barriers({true, true}));
}

TEST(Program, TakesArgumentsForWrittenUnlessTold) {
  EXPECT_EQ(
      barriers({launch(both, {at(0), at(64)}), launch(both, {at(0), at(128)})}),
      Barriers({true, true}));
}

TEST(Program, OtherSegmentsAreApart) {
  Instruction other = launch(copies, {Slice{1, 64, 64}, Slice{1, 0, 64}});
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}), other}),
            Barriers({false, true}));
}

TEST(Program, OneThreadFollowsItself) {
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}, 1),
                      launch(copies, {at(64), at(128)}, 1),
                      launch(copies, {at(128), at(192)}, 2)}),
            Barriers({false, true, true}));
}

TEST(Program, NeedsNoTeamForSmallOperations) {
  Captured one({launch(copies, {at(0), at(64)}, 1)});
  EXPECT_EQ(one.program().widestOperation(), 1u);
  Captured two(
      {launch(copies, {at(0), at(64)}, 1), launch(copies, {at(0), at(64)}, 3)});
  EXPECT_EQ(two.program().widestOperation(), 3u);
}

/// A loop: condition, branch, body, jump; and what follows.
Barriers barriersOfLoop(Instruction condition, Instruction body,
                        Instruction after) {
  Instruction loop{InstructionKind::loop,
                   0,
                   0,
                   {at(512, 1)},
                   1,
                   {{{std::move(condition)}}, {{std::move(body)}}}};
  return barriers({loop, std::move(after)});
}

TEST(Program, WaitsInLoopsWhereTheyTouchTheSame) {
  // All threads read the predicate at the branch, before the next condition
  // overwrites it: behind the condition, and somewhere behind the branch.
  EXPECT_EQ(barriersOfLoop(launch(copies, {at(0), at(512)}),
                           launch(copies, {at(128), at(192)}),
                           launch(copies, {at(256), at(320)})),
            Barriers({true, false, false, true, true}));
}

TEST(Program, WaitsForTheRoundBefore) {
  // The condition reads what the body wrote a round ago, and the body writes
  // what the condition has read.
  EXPECT_EQ(barriersOfLoop(launch(copies, {at(192), at(64)}),
                           launch(copies, {at(128), at(192)}),
                           launch(copies, {at(256), at(320)})),
            Barriers({false, true, false, true, true}));
  // What follows the loop reads what the condition wrote.
  EXPECT_EQ(barriersOfLoop(launch(copies, {at(0), at(64)}),
                           launch(copies, {at(128), at(192)}),
                           launch(copies, {at(64), at(320)})),
            Barriers({false, true, false, false, true}));
}

TEST(Program, WaitsBehindBranchesForBoth) {
  Instruction branch{InstructionKind::branch,
                     0,
                     0,
                     {at(512, 4)},
                     1,
                     {{{launch(copies, {at(0), at(64)})}}, {}}};
  // Select, launch, jump, jump, and what reads the launch's result.
  EXPECT_EQ(barriers({branch, launch(copies, {at(64), at(128)})}),
            Barriers({false, false, true, false, true}));
  EXPECT_EQ(barriers({branch, launch(copies, {at(192), at(128)})}),
            Barriers({false, false, false, false, true}));
  // The selector is overwritten when all threads have read it.
  EXPECT_EQ(barriers({branch, launch(copies, {at(192), at(512)})}),
            Barriers({false, false, true, true, true}));
}

TEST(Program, WaitsWhereItIsTold) {
  EXPECT_EQ(barriers({launch(copies, {at(0), at(64)}),
                      {InstructionKind::wait},
                      launch(copies, {at(192), at(128)})}),
            Barriers({true, true, true}));
}

} // namespace
