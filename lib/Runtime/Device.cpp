//===- Device.cpp - What runs the instructions of a program --------------===//
//
// Which devices there are, and how an entry point gets onto one.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "CpuDevice.h"
#include "CudaDevice.h"

#include <cstring>

using namespace tenon;
using namespace tenon::runtime;

DeviceMemory::~DeviceMemory() = default;
OperationObserver::~OperationObserver() = default;
CapturedStep::~CapturedStep() = default;
Capture::~Capture() = default;
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
  if (classes == "'cpu'")
    return CpuDevice::create(index, options, communicator, error);
  if (classes == "'cuda'" && communicator)
    return refuse(error, Failure::machine,
                  "the file is for several ranks on GPUs, and ranks are "
                  "threads on a CPU");
  if (classes == "'cuda'")
    return CudaDevice::create(index, options, error);
  return refuse(error, Failure::machine,
                "the file is compiled for the device classes " + classes +
                    "; this runtime has one device, a 'cpu' or a 'cuda'");
}

static bool capture(const format::Block &block, Capture &into, Error &error);

static Capture::Body bodyOf(const format::Block &block, Capture &into) {
  return [&](Error &error) { return capture(block, into, error); };
}

static bool capture(const format::Instruction &instruction, Capture &into,
                    Error &error) {
  switch (instruction.kind) {
  case format::InstructionKind::invoke:
    return into.launch(instruction, error);
  case format::InstructionKind::wait:
    if (auto event = into.record(instruction.queue, error)) {
      into.wait(*event);
      return true;
    }
    return false;
  case format::InstructionKind::loop:
    return into.loop(instruction.operands[0], instruction.trips,
                     bodyOf(instruction.blocks[0], into),
                     bodyOf(instruction.blocks[1], into), error);
  case format::InstructionKind::branch: {
    std::vector<Capture::Body> branches;
    for (const format::Block &branch : instruction.blocks)
      branches.push_back(bodyOf(branch, into));
    return into.branch(instruction.operands[0], branches, error);
  }
  }
  return refuse(error, Failure::file, "an instruction is of unknown kind");
}

static bool capture(const format::Block &block, Capture &into, Error &error) {
  for (const format::Instruction &instruction : block.instructions)
    if (!capture(instruction, into, error))
      return false;
  return true;
}

std::unique_ptr<CapturedStep>
tenon::runtime::captureStep(const format::EntryPoint &entry, Device &device,
                            Error &error) {
  std::unique_ptr<Capture> into = device.beginCapture();
  return capture(entry.program, *into, error) ? into->finish(error) : nullptr;
}
