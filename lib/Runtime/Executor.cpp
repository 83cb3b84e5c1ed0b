//===- Executor.cpp - Runs a compiled step --------------------------------===//
//
// Loading: the device makes callees ready, allocates segments and captures the
// entry points, constants are read, pointers resolved. Running: the device runs
// what it captured.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Executor.h"

#include "AvailableMemory.h"
#include "Device.h"
#include "MemoryCheck.h"
#include "Team.h"

#include "tenon/Format/Reader.h"
#include "tenon/Support/Bytes.h"

#include <algorithm>
#include <chrono>
#include <map>

using namespace tenon;
using namespace tenon::runtime;

namespace {

/// Where one tensor is used, so that binding it touches nothing else.
struct TensorUses {
  struct Slot {
    uint32_t entryPoint, slot;
  };
  std::vector<Slot> slots;
  std::string whyNotBindable;   // empty if it is
  std::byte *address = nullptr; // where it is now
  bool hasValue = false;        // of an argument, at `address`
};

/// Times operations into one entry each.
class Timer final : public OperationObserver {
public:
  explicit Timer(std::vector<InstructionTime> &times) : times(times) {}

  void begin(size_t) override { start = Clock::now(); }
  void end(size_t operation) override {
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    InstructionTime &time = times[operation];
    time.shortest = time.runs == 0 ? seconds : std::min(time.shortest, seconds);
    time.seconds += seconds;
    ++time.runs;
  }

private:
  using Clock = std::chrono::steady_clock;
  std::vector<InstructionTime> &times;
  Clock::time_point start;
};

} // namespace

struct Executor::Implementation {
  format::Index index;
  ExecutorOptions options;
  std::unique_ptr<Device> device;
  std::vector<std::unique_ptr<DeviceMemory>> segments;
  std::vector<std::unique_ptr<CapturedStep>> steps; // per entry point
  std::vector<TensorUses> uses;                     // per tensor
  std::map<std::string, size_t, std::less<>> byName;
  int64_t stepsRun = 0; // since the program was loaded
  std::string
      brokenStep; // the step that left its state partly written, and why

  bool load(const format::Reader &reader, Error &error);
  void readConstants(const format::Reader &reader,
                     const format::Section &section, DeviceMemory &memory,
                     std::string &error);
  bool loadSegments(const format::Reader &reader, Error &error);
  void collectNames();
  void collectUses();
  void point(size_t tensor, std::byte *address);
  std::byte *ownAddress(const format::Slice &slice) const {
    return segments[slice.segment]->data() + slice.offset;
  }
  format::SegmentKind segmentKind(size_t tensor) const {
    return index.segments[index.tensors[tensor].storage.segment].kind;
  }
  bool isState(size_t tensor) const {
    return index.tensors[tensor].argument >= 0 &&
           segmentKind(tensor) == format::SegmentKind::state;
  }
  std::vector<size_t> withoutValue(bool stateOnly) const;
  bool checkValues(bool stateOnly, Error &error) const;
  void markWritten(size_t tensor, bool isWhole);
  CapturedStep *findStep(std::string_view name, Error &error) const;
  bool run(CapturedStep &step, int64_t steps, unsigned threads,
           OperationObserver *observer, Error &error);
  bool checkMemory(CapturedStep &step, int64_t steps, Error &error);
};

bool Executor::Implementation::load(const format::Reader &reader,
                                    Error &error) {
  index = reader.index();
  device = newDevice(index, options, error);
  if (!device || !device->loadCallees(reader, error) ||
      !loadSegments(reader, error))
    return false;
  for (format::EntryPoint &entry : index.entryPoints) {
    auto &step = steps.emplace_back(captureStep(entry, *device, error));
    if (!step)
      return false;
    // What was captured is flat; the nested form is not needed again.
    entry.program = {};
    for (size_t slot = 0; slot < step->slices().size(); ++slot)
      step->setPointer(slot, ownAddress(step->slices()[slot]));
    step->update();
  }
  collectNames();
  collectUses();
  return true;
}

/// "158.90 MiB (166618112 bytes)".
static std::string bytesText(uint64_t bytes) {
  return printBytes(int64_t(std::min<uint64_t>(bytes, INT64_MAX))) + " (" +
         std::to_string(bytes) + " bytes)";
}

void Executor::Implementation::readConstants(const format::Reader &reader,
                                             const format::Section &section,
                                             DeviceMemory &memory,
                                             std::string &error) {
  std::span<std::byte> into = memory.bytes();
  std::vector<std::byte> staged(into.empty() ? section.bytes : 0);
  if (into.empty())
    into = staged;
  if (reader.readSection(section, into, error) && !staged.empty())
    device->copy(memory.data(), staged.data(), staged.size());
}

bool Executor::Implementation::loadSegments(const format::Reader &reader,
                                            Error &error) {
  uint64_t planned = 0;
  for (const format::Segment &segment : index.segments)
    if (__builtin_add_overflow(planned, segment.bytes, &planned))
      planned = UINT64_MAX;
  AvailableMemory available = availableMemory();
  std::string shortage =
      "the program needs " + bytesText(planned) + " of memory, " +
      (available.limit.empty()
           ? "which the system does not give"
           : bytesText(available.bytes) + " are available " + available.limit) +
      "; compile the step again with a --memory-budget, or with a smaller "
      "batch";
  if (planned > available.bytes) {
    error = {Failure::memory, shortage};
    return false;
  }
  for (const format::Segment &segment : index.segments) {
    std::string message;
    auto &memory = segments.emplace_back(device->allocate(
        index.memorySpaces[segment.space], segment, options.prefault, message));
    if (!memory) {
      error = {Failure::memory, shortage + " (" +
                                    std::string(name(segment.kind)) + ": " +
                                    message + ")"};
      return false;
    }
    if (segment.kind != format::SegmentKind::constants || segment.bytes == 0)
      continue;
    const format::Section *section =
        reader.findSection(format::SectionKind::constants);
    if (!section)
      message = "the file has constants but no bytes for them";
    else
      readConstants(reader, *section, *memory, message);
    if (!message.empty()) {
      error = {Failure::file, message};
      return false;
    }
    memory->makeReadOnly();
  }
  return true;
}

void Executor::Implementation::collectNames() {
  // The first to claim a name keeps it: arguments before results, canonical
  // names before others.
  auto claim = [&](const std::string &name, size_t tensor) {
    if (!name.empty())
      byName.try_emplace(name, tensor);
  };
  const auto &tensors = index.tensors;
  for (bool arguments : {true, false}) {
    for (size_t i = 0; i < tensors.size(); ++i)
      if ((tensors[i].argument >= 0) == arguments)
        claim(tensors[i].name, i);
    for (size_t i = 0; i < tensors.size(); ++i)
      if ((tensors[i].argument >= 0) == arguments)
        for (const std::string &alias : tensors[i].aliases)
          claim(alias, i);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].argument >= 0)
      claim("arg" + std::to_string(tensors[i].argument), i);
    if (tensors[i].result >= 0)
      claim("result" + std::to_string(tensors[i].result), i);
  }
}

void Executor::Implementation::collectUses() {
  const auto &tensors = index.tensors;
  uses.resize(tensors.size());
  std::vector<size_t> order;
  for (size_t i = 0; i < tensors.size(); ++i) {
    uses[i].address = ownAddress(tensors[i].storage);
    if (tensors[i].storage.bytes > 0)
      order.push_back(i);
  }
  auto place = [&](size_t tensor) {
    const format::Slice &slice = tensors[tensor].storage;
    return std::pair(slice.segment, slice.offset);
  };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return place(a) < place(b); });
  for (size_t i = 1; i < order.size(); ++i)
    if (overlap(tensors[order[i - 1]].storage, tensors[order[i]].storage))
      for (size_t j : {i - 1, i})
        uses[order[j]].whyNotBindable =
            "its memory is shared with tensor '" +
            tensors[order[j == i ? i - 1 : i]].name + "'";
  for (uint32_t number = 0; number < steps.size(); ++number) {
    const std::vector<format::Slice> &slices = steps[number]->slices();
    for (uint32_t slot = 0; slot < slices.size(); ++slot) {
      const format::Slice &slice = slices[slot];
      // The last tensor that starts before the slice ends, and those before it.
      auto after = std::upper_bound(
          order.begin(), order.end(),
          std::pair(slice.segment, slice.offset + slice.bytes),
          [&](const auto &end, size_t tensor) { return end <= place(tensor); });
      while (after != order.begin()) {
        size_t tensor = *--after;
        const format::Slice &storage = tensors[tensor].storage;
        if (!overlap(storage, slice))
          break;
        if (!contains(storage, slice)) {
          uses[tensor].whyNotBindable =
              "an instruction works on it and its neighbours at once";
          continue;
        }
        uses[tensor].slots.push_back({number, slot});
      }
    }
  }
}

void Executor::Implementation::point(size_t tensor, std::byte *address) {
  uses[tensor].address = address;
  uint64_t start = index.tensors[tensor].storage.offset;
  for (TensorUses::Slot use : uses[tensor].slots) {
    CapturedStep &step = *steps[use.entryPoint];
    step.setPointer(use.slot,
                    address + (step.slices()[use.slot].offset - start));
  }
  for (auto &step : steps)
    step->update();
}

CapturedStep *Executor::Implementation::findStep(std::string_view name,
                                                 Error &error) const {
  for (size_t i = 0; i < steps.size(); ++i)
    if (index.entryPoints[i].name == name)
      return steps[i].get();
  error = {Failure::argument,
           "the file has no entry point '" + std::string(name) + "'"};
  return nullptr;
}

bool Executor::Implementation::run(CapturedStep &step, int64_t steps,
                                   unsigned threads,
                                   OperationObserver *observer, Error &error) {
  if (steps < 0) {
    error = {Failure::argument, "cannot run " + std::to_string(steps) +
                                    " steps, expected at least 0"};
    return false;
  }
  if (steps > 0 && !checkValues(/*stateOnly=*/false, error))
    return false;
  RunOutcome outcome = step.run(steps, threads, observer);
  stepsRun += outcome.wholeSteps;
  if (outcome.wholeSteps == steps)
    return true;
  InstructionTime call = step.describe(outcome.failedOperation);
  brokenStep = "step " + std::to_string(stepsRun + 1) + " failed in " +
               call.name + ", " + call.what + ": " + outcome.whatFailed;
  for (size_t i = 0; i < uses.size(); ++i)
    if (isState(i))
      uses[i].hasValue = false;
  error = {Failure::run, brokenStep + "; the state is only partly written"};
  return false;
}

std::vector<size_t>
Executor::Implementation::withoutValue(bool stateOnly) const {
  std::vector<size_t> missing;
  for (size_t i = 0; i < uses.size(); ++i)
    if (index.tensors[i].argument >= 0 && !uses[i].hasValue &&
        index.tensors[i].storage.bytes > 0 && (!stateOnly || isState(i)))
      missing.push_back(i);
  return missing;
}

bool Executor::Implementation::checkValues(bool stateOnly, Error &error) const {
  std::vector<size_t> missing = withoutValue(stateOnly);
  if (missing.empty())
    return true;
  std::string names;
  constexpr size_t most = 8;
  for (size_t i = 0; i < std::min(missing.size(), most); ++i)
    names += (i ? ", '" : "'") + index.tensors[missing[i]].name + "'";
  std::string message =
      std::to_string(missing.size()) +
      (missing.size() == 1 ? " argument has" : " arguments have") +
      " no value: " + names + (missing.size() > most ? ", ..." : "");
  message += "; load or write them first, or initialise the state with zeros";
  if (!brokenStep.empty())
    message += " (" + brokenStep + ")";
  error = {Failure::value, std::move(message)};
  return false;
}

void Executor::Implementation::markWritten(size_t tensor, bool isWhole) {
  uses[tensor].hasValue = isWhole;
  if (!brokenStep.empty() && withoutValue(/*stateOnly=*/true).empty())
    brokenStep.clear();
}

bool Executor::Implementation::checkMemory(CapturedStep &step, int64_t steps,
                                           Error &error) {
  for (size_t i = 0; i < uses.size(); ++i)
    if (uses[i].address != ownAddress(index.tensors[i].storage)) {
      error = {Failure::argument, "cannot check memory while tensor '" +
                                      index.tensors[i].name +
                                      "' lives in the caller's"};
      return false;
    }
  MemoryCheck check(step, index.segments, segments);
  bool done = true;
  for (int64_t count = 0; done && count < steps; ++count) {
    check.beginStep();
    done = run(step, 1, 1, &check, error);
    if (auto breach = check.breach()) {
      InstructionTime operation = step.describe(breach->operation);
      error = {Failure::run,
               "operation " + std::to_string(breach->operation) + ", " +
                   operation.name + " (" + operation.what + "), wrote byte " +
                   std::to_string(breach->byte) + " of the " +
                   std::string(name(index.segments[breach->segment].kind)) +
                   " of " +
                   std::to_string(index.segments[breach->segment].bytes) +
                   ", which it does not name"};
      done = false;
    }
  }
  check.finish();
  return done;
}

Executor::Executor(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

Executor::~Executor() = default;

std::unique_ptr<Executor> Executor::loadFrom(const format::Reader &reader,
                                             const ExecutorOptions &options,
                                             Error &error) {
  auto implementation = std::make_unique<Implementation>();
  implementation->options = options;
  if (options.threads == 0)
    implementation->options.threads = availableThreads();
  if (!implementation->load(reader, error))
    return nullptr;
  return std::unique_ptr<Executor>(new Executor(std::move(implementation)));
}

std::unique_ptr<Executor> Executor::load(const std::string &path,
                                         const ExecutorOptions &options,
                                         Error &error) {
  std::string message;
  auto reader = format::Reader::open(path, message);
  if (!reader) {
    error = {Failure::file, message};
    return nullptr;
  }
  auto executor = loadFrom(*reader, options, error);
  if (!executor)
    error.message = "'" + path + "': " + error.message;
  return executor;
}

std::unique_ptr<Executor> Executor::loadBytes(std::vector<std::byte> bytes,
                                              const ExecutorOptions &options,
                                              Error &error) {
  std::string message;
  auto reader = format::Reader::fromBytes(std::move(bytes), message);
  if (!reader) {
    error = {Failure::file, message};
    return nullptr;
  }
  return loadFrom(*reader, options, error);
}

const format::Index &Executor::index() const { return implementation->index; }

unsigned Executor::threads() const { return implementation->options.threads; }

std::optional<size_t> Executor::findTensor(std::string_view name) const {
  auto found = implementation->byName.find(name);
  return found == implementation->byName.end() ? std::nullopt
                                               : std::optional(found->second);
}

std::optional<size_t> Executor::findArgument(int32_t argument) const {
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (argument >= 0 && tensors[i].argument == argument)
      return i;
  return std::nullopt;
}

std::optional<size_t> Executor::findResult(int32_t result) const {
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (result >= 0 && tensors[i].result == result)
      return i;
  return std::nullopt;
}

bool Executor::isState(size_t tensor) const {
  return implementation->isState(tensor);
}

bool Executor::isBatch(size_t tensor) const {
  return index().tensors[tensor].argument >= 0 && !isState(tensor);
}

std::span<std::byte> Executor::memory(size_t tensor) const {
  return {implementation->uses[tensor].address,
          index().tensors[tensor].storage.bytes};
}

std::vector<size_t> Executor::withoutValue() const {
  return implementation->withoutValue(/*stateOnly=*/false);
}

void Executor::markWritten(size_t tensor, bool isWhole) {
  implementation->markWritten(tensor, isWhole);
}

void Executor::initializeZeros() {
  for (size_t i = 0; i < index().tensors.size(); ++i)
    if (isState(i)) {
      std::ranges::fill(memory(i), std::byte{0});
      markWritten(i);
    }
}

bool Executor::checkState(Error &error) const {
  return implementation->checkValues(/*stateOnly=*/true, error);
}

bool Executor::bind(size_t tensor, void *memory, Error &error) {
  TensorUses &uses = implementation->uses[tensor];
  const format::Tensor &description = index().tensors[tensor];
  auto *address = static_cast<std::byte *>(memory);
  if (!address)
    address = implementation->ownAddress(description.storage);
  std::string fault = uses.whyNotBindable;
  if (reinterpret_cast<uintptr_t>(address) % 64 != 0)
    fault = "the memory is not at a multiple of 64";
  if (!fault.empty()) {
    error = {Failure::argument, "cannot bind tensor '" + description.name +
                                    "': " + fault + "; copy it instead"};
    return false;
  }
  bool isMoved = address != uses.address;
  if (isMoved)
    implementation->point(tensor, address);
  if (isMoved || memory)
    markWritten(tensor, /*isWhole=*/memory != nullptr);
  return true;
}

bool Executor::run(int64_t steps, Error &error, std::string_view entryPoint) {
  CapturedStep *step = implementation->findStep(entryPoint, error);
  return step &&
         implementation->run(*step, steps, implementation->options.threads,
                             nullptr, error);
}

bool Executor::profile(int64_t steps, std::vector<InstructionTime> &times,
                       Error &error, std::string_view entryPoint) {
  CapturedStep *step = implementation->findStep(entryPoint, error);
  if (!step)
    return false;
  times.clear();
  for (size_t i = 0; i < step->operationCount(); ++i)
    times.push_back(step->describe(i));
  Timer timer(times);
  bool done = implementation->run(*step, steps, implementation->options.threads,
                                  &timer, error);
  std::erase_if(times,
                [](const InstructionTime &time) { return time.name.empty(); });
  return done;
}

bool Executor::checkMemory(int64_t steps, Error &error,
                           std::string_view entryPoint) {
  CapturedStep *step = implementation->findStep(entryPoint, error);
  return step && implementation->checkMemory(*step, steps, error);
}

std::span<std::byte> Executor::segmentMemory(size_t segment) const {
  return implementation->segments[segment]->bytes();
}
