//===- Program.cpp - An entry point, flattened and resolved --------------===//
//
// Building and walking programs.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "PlaceBarriers.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace tenon;
using namespace tenon::runtime;

namespace tenon::runtime {

/// Appends the operations of blocks to a program.
class Program::Builder {
public:
  Builder(Program &program, const format::Index &index,
          std::span<const KernelFunction> kernels,
          std::span<const std::unique_ptr<libraries::Call>> calls, Error &error)
      : program(program), index(index), kernels(kernels), calls(calls),
        error(error) {}

  bool append(const format::Block &block) {
    for (const format::Instruction &instruction : block.instructions)
      if (!append(instruction))
        return false;
    return true;
  }

  /// Barriers where two operations touch the same bytes and one writes them.
  /// Operations of thread 0 alone follow each other anyway.
  void placeBarriers() {
    runtime::placeBarriers(program.list, program.targets,
                           [&](size_t later, size_t earlier) {
                             return mustFollow(later, earlier);
                           });
  }

private:
  bool append(const format::Instruction &instruction) {
    if (instruction.queue != 0)
      return fail("an instruction is for queue " +
                  std::to_string(instruction.queue) + ", a CPU has only 0");
    switch (instruction.kind) {
    case format::InstructionKind::invoke:
      return appendInvoke(instruction);
    case format::InstructionKind::wait:
      program.list.push_back(make(Operation::wait, {}));
      return true;
    case format::InstructionKind::loop:
      return appendLoop(instruction);
    case format::InstructionKind::branch:
      return appendBranch(instruction);
    }
    return fail("an instruction is of unknown kind");
  }

  bool appendInvoke(const format::Instruction &invoke) {
    const format::Callee &callee = index.callees[invoke.callee];
    Operation operation = make(kindOf(callee.kind), invoke.operands);
    operation.callee = invoke.callee;
    operation.parts = invoke.parts;
    for (int64_t argument : callee.reads)
      if (argument >= 0 && argument < int64_t(invoke.operands.size()))
        program.written[operation.firstPointer + argument] = false;
    if (operation.kind == Operation::launch)
      operation.function = kernels[invoke.callee];
    else if (operation.kind == Operation::copy)
      cutCopy(invoke.operands[0].bytes, operation);
    else if (!bindCall(invoke, callee, operation))
      return false;
    program.list.push_back(operation);
    return true;
  }

  static void cutCopy(uint64_t bytes, Operation &operation) {
    // Below this a second thread costs more than it helps.
    constexpr uint64_t bytesPerPart = 1 << 16;
    operation.bytes = bytes;
    operation.parts =
        uint32_t(std::clamp<uint64_t>(bytes / bytesPerPart, 1, 1024));
  }

  static Operation::Kind kindOf(format::CalleeKind kind) {
    switch (kind) {
    case format::CalleeKind::kernel:
      return Operation::launch;
    case format::CalleeKind::library:
      return Operation::libraryCall;
    case format::CalleeKind::copy:
      return Operation::copy;
    }
    return Operation::copy;
  }

  bool bindCall(const format::Instruction &invoke, const format::Callee &callee,
                Operation &operation) {
    const libraries::Call &made = *calls[invoke.callee];
    int64_t operands = made.argumentCount() - (made.workspaceBytes() > 0);
    int64_t expected = operands + (callee.workspaceBytes > 0);
    if (int64_t(invoke.operands.size()) != expected)
      return fail("a library call has " +
                  std::to_string(invoke.operands.size()) +
                  " arguments, expected " + std::to_string(expected));
    for (int64_t i = 0; i < made.argumentCount(); ++i)
      if (invoke.operands[i].bytes < uint64_t(made.argumentBytes(i)))
        return fail(
            "argument " + std::to_string(i) + " of a library call has " +
            std::to_string(invoke.operands[i].bytes) + " bytes, it works on " +
            std::to_string(made.argumentBytes(i)));
    operation.call = uint32_t(program.sites.size());
    CallSite site;
    std::string message;
    site.bound = made.newBinding(message);
    if (!site.bound) {
      error = {Failure::memory,
               "a library call cannot be made ready: " + message};
      return false;
    }
    site.serial = true;
    for (int64_t phase = 0; phase < made.phases(); ++phase) {
      site.tasks.push_back(made.tasks(phase));
      site.serial &= made.tasks(phase) == 1;
    }
    program.sites.push_back(std::move(site));
    // Results, and the workspace behind them, are written.
    for (int64_t i = 0; i < made.operandCount(); ++i)
      program.written[operation.firstPointer + i] = false;
    for (uint32_t i = 0; i < operation.pointerCount; ++i)
      program.siteOfSlot[operation.firstPointer + i] =
          uint32_t(program.list.size()) + 1;
    return true;
  }

  bool appendLoop(const format::Instruction &loop) {
    uint32_t head = here();
    if (!append(loop.blocks[0]))
      return false;
    uint32_t branch = here();
    program.list.push_back(makeRead(Operation::branchUnless, loop.operands));
    if (!append(loop.blocks[1]))
      return false;
    Operation jump;
    jump.kind = Operation::jump;
    jump.target = head;
    program.list.push_back(jump);
    program.list[branch].target = here();
    return true;
  }

  bool appendBranch(const format::Instruction &conditional) {
    auto branches = uint32_t(conditional.blocks.size());
    auto firstTarget = uint32_t(program.targets.size());
    program.targets.resize(firstTarget + branches);
    Operation select = makeRead(Operation::select, conditional.operands);
    select.target = firstTarget;
    select.parts = branches;
    select.bytes = conditional.operands[0].bytes;
    program.list.push_back(select);
    std::vector<uint32_t> ends;
    for (uint32_t i = 0; i < branches; ++i) {
      program.targets[firstTarget + i] = here();
      if (!append(conditional.blocks[i]))
        return false;
      ends.push_back(here());
      Operation jump;
      jump.kind = Operation::jump;
      program.list.push_back(jump);
    }
    for (uint32_t end : ends)
      program.list[end].target = here();
    return true;
  }

  Operation make(Operation::Kind kind,
                 const std::vector<format::Slice> &slices) {
    Operation operation;
    operation.kind = kind;
    operation.firstPointer = uint32_t(program.places.size());
    operation.pointerCount = uint32_t(slices.size());
    program.places.insert(program.places.end(), slices.begin(), slices.end());
    program.siteOfSlot.resize(program.places.size());
    program.written.resize(program.places.size(), true);
    return operation;
  }

  /// Control flow, in which every thread reads the one operand.
  Operation makeRead(Operation::Kind kind,
                     const std::vector<format::Slice> &slices) {
    Operation operation = make(kind, slices);
    program.written[operation.firstPointer] = false;
    return operation;
  }

  /// Whether `later` must not start before all threads are done with `earlier`.
  bool mustFollow(size_t later, size_t earlier) const {
    const Operation &a = program.list[earlier], &b = program.list[later];
    if (isSerial(a) && isSerial(b))
      return false;
    if (a.kind == Operation::wait || b.kind == Operation::wait)
      return true;
    for (uint32_t i = a.firstPointer; i < a.firstPointer + a.pointerCount; ++i)
      for (uint32_t j = b.firstPointer; j < b.firstPointer + b.pointerCount;
           ++j)
        if ((program.written[i] || program.written[j]) &&
            overlap(program.places[i], program.places[j]))
          return true;
    return false;
  }

  bool isSerial(const Operation &operation) const {
    switch (operation.kind) {
    case Operation::launch:
    case Operation::copy:
      return operation.parts == 1;
    case Operation::libraryCall:
      return program.sites[operation.call].serial;
    default:
      return false;
    }
  }

  uint32_t here() const { return uint32_t(program.list.size()); }

  bool fail(std::string message) {
    error = {Failure::file, "the file is damaged: " + std::move(message)};
    return false;
  }

  Program &program;
  const format::Index &index;
  std::span<const KernelFunction> kernels;
  std::span<const std::unique_ptr<libraries::Call>> calls;
  Error &error;
};

} // namespace tenon::runtime

bool Program::build(const format::Index &index, const format::EntryPoint &entry,
                    std::span<const KernelFunction> kernels,
                    std::span<const std::unique_ptr<libraries::Call>> calls,
                    Error &error) {
  entryName = entry.name;
  Builder builder(*this, index, kernels, calls, error);
  if (!builder.append(entry.program))
    return false;
  builder.placeBarriers();
  pointers.assign(places.size(), nullptr);
  return true;
}

void Program::rebindCalls(std::span<const uint32_t> operations) {
  for (uint32_t number : operations) {
    const Operation &operation = list[number];
    sites[operation.call].bound->bind(
        {&pointers[operation.firstPointer], operation.pointerCount});
  }
}

void Program::rebindAllCalls() {
  for (uint32_t i = 0; i < list.size(); ++i)
    if (list[i].kind == Operation::libraryCall)
      rebindCalls({&i, 1});
}

std::optional<uint32_t> Program::callUsing(size_t slot) const {
  return siteOfSlot[slot] ? std::optional(siteOfSlot[slot] - 1) : std::nullopt;
}

unsigned Program::widestOperation() const {
  int64_t widest = 1;
  for (const Operation &operation : list)
    if (operation.kind == Operation::launch ||
        operation.kind == Operation::copy)
      widest = std::max<int64_t>(widest, operation.parts);
  for (const CallSite &site : sites)
    for (int64_t tasks : site.tasks)
      widest = std::max(widest, tasks);
  return unsigned(std::min<int64_t>(widest, std::numeric_limits<int>::max()));
}

/// Whether this thread goes on: it leaves only where all others do.
bool Program::runCall(size_t operation, unsigned thread, unsigned threads,
                      Barrier &barrier, CallFailure &failure) const {
  const CallSite &site = sites[list[operation].call];
  for (size_t phase = 0; phase < site.tasks.size(); ++phase) {
    // A serial call belongs to thread 0 alone and has nobody to wait for.
    if (phase > 0 && !site.serial && !barrier.wait(threads))
      return false;
    for (int64_t task = thread; task < site.tasks[phase]; task += threads) {
      int status = site.bound->run(int64_t(phase), task);
      if (status == 0)
        continue;
      failure.report(operation, status);
      barrier.stop();
      if (site.serial)
        return true;
      break;
    }
  }
  return true;
}

static void copyPart(void *from, void *to, uint64_t bytes, unsigned part,
                     unsigned parts) {
  uint64_t chunk = ((bytes + parts - 1) / parts + 63) & ~uint64_t(63);
  uint64_t begin = std::min(bytes, part * chunk);
  uint64_t end = std::min(bytes, begin + chunk);
  if (begin < end)
    std::memcpy(static_cast<char *>(to) + begin,
                static_cast<const char *>(from) + begin, end - begin);
}

static uint32_t readSelector(const void *address, uint64_t bytes,
                             uint32_t branches) {
  int32_t value = 0;
  if (bytes == 1)
    value = *static_cast<const uint8_t *>(address);
  else
    std::memcpy(&value, address, sizeof(value));
  return value < 0 || uint32_t(value) >= branches ? branches - 1
                                                  : uint32_t(value);
}

template <bool observed>
bool Program::walkOperations(unsigned thread, unsigned threads,
                             Barrier &barrier, CallFailure &failure,
                             OperationObserver *observer) const {
  size_t next = 0;
  const size_t end = list.size();
  while (next < end) {
    const Operation &operation = list[next];
    const size_t current = next;
    if constexpr (observed) {
      if (!barrier.wait(threads))
        return false;
      if (thread == 0)
        observer->begin(current);
    }
    ++next;
    void *const *arguments = pointers.data() + operation.firstPointer;
    switch (operation.kind) {
    case Operation::launch: {
      unsigned parts = std::min(operation.parts, threads);
      if (thread < parts)
        operation.function(arguments, thread, parts);
      break;
    }
    case Operation::libraryCall:
      if (!runCall(current, thread, threads, barrier, failure))
        return false;
      break;
    case Operation::copy: {
      unsigned parts = std::min(operation.parts, threads);
      if (thread < parts)
        copyPart(arguments[0], arguments[1], operation.bytes, thread, parts);
      break;
    }
    case Operation::branchUnless:
      if (*static_cast<const uint8_t *>(arguments[0]) == 0)
        next = operation.target;
      break;
    case Operation::jump:
      next = operation.target;
      break;
    case Operation::wait: // for the barrier around it
      break;
    case Operation::select:
      next =
          targets[operation.target +
                  readSelector(arguments[0], operation.bytes, operation.parts)];
      break;
    }
    if ((observed || operation.barrierAfter) && !barrier.wait(threads))
      return false;
    if constexpr (observed)
      if (thread == 0)
        observer->end(current);
  }
  return true;
}

bool Program::walk(unsigned thread, unsigned threads, Barrier &barrier,
                   CallFailure &failure, OperationObserver *observer) const {
  return observer
             ? walkOperations<true>(thread, threads, barrier, failure, observer)
             : walkOperations<false>(thread, threads, barrier, failure,
                                     nullptr);
}
