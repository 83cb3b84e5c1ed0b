//===- DeviceTest.cpp - What a device is asked for ------------------------===//
//
// A device that writes down what is put on its queues stands for those that are
// no CPU: it has two queues and keeps no memory of the process's.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/Device.h"
#include "SampleProblem.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::runtime;

namespace {

class WritingDevice final : public Device {
public:
  std::string log;

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
    return std::make_unique<Writer>(log);
  }

private:
  class Writer final : public Capture {
  public:
    explicit Writer(std::string &log) : log(log) {}

    bool launch(const Instruction &invoke, Error &error) override {
      log += std::to_string(invoke.callee) + " on " +
             std::to_string(invoke.queue) + "; ";
      return hasQueue(invoke.queue, error);
    }
    std::optional<Event> record(uint32_t queue, uint32_t,
                                Error &error) override {
      log += "record " + std::to_string(queue) + "; ";
      return hasQueue(queue, error) ? std::optional(Event{queue})
                                    : std::nullopt;
    }
    void wait(Event event) override {
      log += "wait " + std::to_string(event.queue) + "; ";
    }
    bool loop(const Slice &predicate, int64_t trips, const Body &condition,
              const Body &body, Error &error) override {
      log += "while at " + std::to_string(predicate.offset) + " for " +
             std::to_string(trips) + " (";
      bool ok = condition(error);
      log += ") (";
      ok = ok && body(error);
      log += "); ";
      return ok;
    }
    bool branch(const Slice &selector, std::span<const Body> branches,
                Error &error) override {
      log += "case at " + std::to_string(selector.offset) + " ";
      bool ok = true;
      for (const Body &body : branches) {
        log += "(";
        ok = ok && body(error);
        log += ")";
      }
      log += "; ";
      return ok;
    }
    size_t slotCount() const override { return 0; }
    std::unique_ptr<CapturedStep> finish(Error &) override {
      log += "finish";
      return nullptr;
    }

  private:
    static bool hasQueue(uint32_t queue, Error &error) {
      if (queue > 1)
        error = {Failure::file, "there is no queue " + std::to_string(queue)};
      return queue <= 1;
    }
    std::string &log;
  };
};

Instruction invoke(uint32_t callee, uint32_t queue) {
  return {InstructionKind::invoke, callee, queue};
}

} // namespace

TEST(Device, IsGivenInstructionsOnTheirQueues) {
  EntryPoint entry;
  entry.program.instructions = {
      invoke(3, 1),
      invoke(4, 0),
      {InstructionKind::wait, 0, 1},
      {InstructionKind::loop,
       0,
       0,
       {{0, 64, 1}},
       1,
       {{{invoke(5, 0)}}, {{invoke(6, 1), {InstructionKind::wait, 0, 1}}}},
       12},
      {InstructionKind::branch,
       0,
       0,
       {{0, 128, 4}},
       1,
       {{{invoke(7, 0)}}, {}}}};
  WritingDevice device;
  Error error;
  captureStep(entry, device, error);
  EXPECT_EQ(device.log,
            "3 on 1; 4 on 0; record 1; wait 1; "
            "while at 64 for 12 (5 on 0; ) (6 on 1; record 1; wait 1; ); "
            "case at 128 (7 on 0; )(); finish");
}

TEST(Device, EndsTheCaptureWithTheFirstError) {
  for (Instruction wrong :
       {invoke(1, 2), Instruction{InstructionKind::wait, 0, 2}}) {
    EntryPoint entry;
    entry.program.instructions = {
        {InstructionKind::loop, 0, 0, {{}}, 1, {{{wrong}}, {{invoke(9, 0)}}}},
        invoke(9, 0)};
    WritingDevice device;
    Error error;
    EXPECT_FALSE(captureStep(entry, device, error));
    EXPECT_EQ(error.message, "there is no queue 2");
    EXPECT_EQ(device.log.find('9'), std::string::npos) << device.log;
  }
}

TEST(Device, OfAFileMustBeThere) {
  auto whyNot = [](auto spoil) {
    Index index = test::sampleIndex();
    spoil(index);
    Error error;
    EXPECT_FALSE(Executor::loadBytes(test::sampleFile(index), {1}, error));
    EXPECT_EQ(error.kind, Failure::machine);
    return error.message;
  };
  EXPECT_EQ(whyNot([](Index &index) { index.deviceClasses[0].name = "tpu"; }),
            "the file is compiled for the device classes 'tpu'; this runtime "
            "has one device, a 'cpu' or a 'cuda'");
  EXPECT_EQ(
      whyNot([](Index &index) { index.memorySpaces.push_back({"device"}); }),
      "the file keeps memory in space 'device', a CPU has only 'host'");
}
