//===- Device.cpp - What runs the instructions of a program --------------===//
//
// Which devices there are, and how an entry point gets onto one.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "CpuDevice.h"
#include "CudaDevice.h"
#include "SpanLog.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

using namespace tenon;
using namespace tenon::runtime;

DeviceMemory::~DeviceMemory() = default;
OperationObserver::~OperationObserver() = default;
CapturedStep::~CapturedStep() = default;
Capture::~Capture() = default;
StepPipeline::~StepPipeline() = default;
Device::~Device() = default;

uint32_t tenon::runtime::branchOf(const void *selector, uint64_t bytes,
                                  uint32_t branches) {
  int32_t value = 0;
  if (bytes == 1)
    value = *static_cast<const uint8_t *>(selector);
  else
    std::memcpy(&value, selector, sizeof(value));
  return value < 0 || uint32_t(value) >= branches ? branches - 1
                                                  : uint32_t(value);
}

std::unique_ptr<Device>
tenon::runtime::newDevice(const format::Index &index,
                          const ExecutorOptions &options,
                          Communicator *communicator, Error &error) {
  std::string classes;
  for (const format::DeviceClass &one : index.deviceClasses)
    classes += (classes.empty() ? "'" : ", '") + one.name + "'";
  if (!options.deviceClass.empty() &&
      classes != "'" + options.deviceClass + "'")
    return refuse(error, Failure::machine,
                  "the file is compiled for " + classes + ", not for '" +
                      options.deviceClass +
                      "'; compile the step again with another --target");
  if (classes == "'cpu'" && options.tune)
    return refuse(error, Failure::argument,
                  "the file is compiled for a processor, and what is tuned are "
                  "calls of cuBLASLt, which only files for GPUs have; leave "
                  "--tune out");
  if (classes == "'cpu'")
    return CpuDevice::create(index, options, communicator, error);
  if (classes == "'cuda'" && communicator && !options.processes)
    return refuse(error, Failure::argument,
                  "the file is for several ranks on GPUs, each of which is a "
                  "process with a GPU of its own; run it with mpirun -n " +
                      std::to_string(index.ranks()));
  if (classes == "'cuda'")
    return CudaDevice::create(index, options, communicator, error);
  return refuse(error, Failure::machine,
                "the file is compiled for the device classes " + classes +
                    "; this runtime has one device, a 'cpu' or a 'cuda'");
}

namespace {

/// Notes when operations run that follow each other. Of what only a device's
/// clock has seen, each begins where the one before ended.
class SpanObserver final : public OperationObserver {
public:
  void begin(size_t) override { start = SpanLog::now(); }
  void end(size_t operation) override {
    log.add(operation, /*isWait=*/false, start);
  }
  void took(size_t operation, double seconds) override {
    const int64_t begin = start;
    start += int64_t(seconds * 1e9);
    log.add(operation, /*isWait=*/false, begin, start);
  }
  const SpanLog &spans() const { return log; }

private:
  SpanLog log{/*thread=*/0};
  int64_t start = SpanLog::now();
};

/// Hands the instructions of an entry point to a capture, and notes whose the
/// pointers are.
class InstructionWalk {
public:
  InstructionWalk(const format::Block &program, Capture &into) : into(into) {
    number(program);
  }

  bool capture(const format::Block &block, Error &error) {
    for (const format::Instruction &instruction : block.instructions)
      if (!capture(instruction, error))
        return false;
    return true;
  }

  std::vector<uint32_t> owners; // per pointer

private:
  /// A device may leave blocks out, so they are counted ahead.
  void number(const format::Block &block) {
    for (const format::Instruction &instruction : block.instructions) {
      numbers.emplace(&instruction, uint32_t(numbers.size()));
      for (const format::Block &inner : instruction.blocks)
        number(inner);
    }
  }
  bool capture(const format::Instruction &instruction, Error &error);
  Capture::Body bodyOf(const format::Block &block, uint32_t owner) {
    return [this, &block, owner](Error &error) {
      // What control flow was given before its blocks is its own.
      owners.resize(into.slotCount(), owner);
      return capture(block, error);
    };
  }
  bool captureOne(const format::Instruction &instruction, uint32_t number,
                  Error &error);

  Capture &into;
  std::unordered_map<const format::Instruction *, uint32_t> numbers;
};

bool InstructionWalk::capture(const format::Instruction &instruction,
                              Error &error) {
  uint32_t number = numbers.at(&instruction);
  bool done = captureOne(instruction, number, error);
  owners.resize(into.slotCount(), number);
  return done;
}

bool InstructionWalk::captureOne(const format::Instruction &instruction,
                                 uint32_t number, Error &error) {
  switch (instruction.kind) {
  case format::InstructionKind::invoke:
    return into.launch(instruction, error);
  case format::InstructionKind::wait:
    if (auto event =
            into.record(instruction.queue, instruction.pending, error)) {
      into.wait(*event);
      return true;
    }
    return false;
  case format::InstructionKind::loop:
    return into.loop(instruction.operands[0], instruction.trips,
                     bodyOf(instruction.blocks[0], number),
                     bodyOf(instruction.blocks[1], number), error);
  case format::InstructionKind::branch: {
    std::vector<Capture::Body> branches;
    for (const format::Block &branch : instruction.blocks)
      branches.push_back(bodyOf(branch, number));
    return into.branch(instruction.operands[0], branches, error);
  }
  }
  return refuse(error, Failure::file, "an instruction is of unknown kind");
}

} // namespace

RunOutcome CapturedStep::trace(unsigned threads, StepTrace &trace) {
  SpanObserver observer;
  RunOutcome outcome = run(1, threads, &observer);
  observer.spans().addTo(trace);
  trace.isOneByOne = true;
  return outcome;
}

bool CapturedStep::touchTheSame(Pointers a, Pointers b) const {
  for (size_t i = a.first; i < a.first + a.second; ++i)
    for (size_t j = b.first; j < b.first + b.second; ++j)
      if ((written[i] || written[j]) && overlap(places[i], places[j]))
        return true;
  return false;
}

std::vector<uint32_t> CapturedStep::instructionsOf(size_t operation) const {
  auto [first, count] = slotsOf(operation);
  std::vector<uint32_t> found(instructions.begin() + ptrdiff_t(first),
                              instructions.begin() + ptrdiff_t(first + count));
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::unique_ptr<CapturedStep>
tenon::runtime::captureStep(const format::EntryPoint &entry, Device &device,
                            Error &error) {
  std::unique_ptr<Capture> into = device.beginCapture();
  InstructionWalk walk(entry.program, *into);
  if (!walk.capture(entry.program, error))
    return nullptr;
  std::unique_ptr<CapturedStep> step = into->finish(error);
  if (step)
    step->instructions = std::move(walk.owners);
  return step;
}
