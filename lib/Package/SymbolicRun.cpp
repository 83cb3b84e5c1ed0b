//===- SymbolicRun.cpp - Runs a step on names of values ------------------===//
//
// See SymbolicRun.h.
//
//===----------------------------------------------------------------------===//

#include "SymbolicRun.h"

#include "tenon/Format/PinnedMemory.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::package;

void SymbolicMemory::cut(std::map<uint64_t, Range> &segment, uint64_t at) {
  auto next = segment.lower_bound(at);
  if (next == segment.begin() || (next != segment.end() && next->first == at))
    return;
  auto before = std::prev(next);
  if (before->second.end <= at)
    return;
  segment.emplace_hint(next, at, before->second);
  before->second.end = at;
}

void SymbolicMemory::set(const Slice &slice, int32_t value) {
  if (slice.bytes == 0)
    return;
  std::map<uint64_t, Range> &segment = ranges[slice.segment];
  uint64_t end = slice.offset + slice.bytes;
  cut(segment, slice.offset);
  cut(segment, end);
  segment.erase(segment.lower_bound(slice.offset), segment.lower_bound(end));
  segment[slice.offset] = {end, value};
}

bool SymbolicMemory::holds(const Slice &slice, int32_t value) const {
  if (slice.bytes == 0)
    return true;
  auto found = ranges[slice.segment].find(slice.offset);
  return found != ranges[slice.segment].end() &&
         found->second == Range{slice.offset + slice.bytes, value};
}

int32_t SymbolicMemory::anyIn(const Slice &slice) const {
  const std::map<uint64_t, Range> &segment = ranges[slice.segment];
  auto next = segment.lower_bound(slice.offset);
  if (next != segment.end() && next->first < slice.offset + slice.bytes)
    return next->second.value;
  if (next != segment.begin() && std::prev(next)->second.end > slice.offset)
    return std::prev(next)->second.value;
  return -1;
}

void SymbolicMemory::meet(const SymbolicMemory &other) {
  for (size_t i = 0; i < ranges.size(); ++i)
    std::erase_if(ranges[i], [&](const auto &range) {
      auto found = other.ranges[i].find(range.first);
      return found == other.ranges[i].end() || found->second != range.second;
    });
}

std::string SymbolicRun::nameOf(int32_t value) const {
  const PlannedValue &described = plan.values[value];
  return "value " + std::to_string(value) + " (" + plan.texts[described.type] +
         " of " + plan.texts[described.source] + ")";
}

std::string SymbolicRun::whereIs(size_t number) const {
  return "instruction " + std::to_string(number) + " (" +
         plan.texts[plan.operations[number].source] + ")";
}

Slice SymbolicRun::sliceOf(int32_t value) const {
  Slice slice = plan.buffers[plan.values[value].buffer];
  slice.bytes = plan.values[value].bytes;
  return slice;
}

bool SymbolicRun::isIn(const Slice &slice, int32_t value) const {
  return slice == sliceOf(value) &&
         slice.bytes <= plan.buffers[plan.values[value].buffer].bytes;
}

/// Temporaries are only touched while the plan says that they live.
void SymbolicRun::checkMoment(size_t number, int32_t value, int64_t moment) {
  const PlannedValue &described = plan.values[value];
  uint32_t segment = plan.buffers[described.buffer].segment;
  if (index.segments[segment].kind != SegmentKind::temporaries)
    return;
  if (!std::ranges::any_of(described.lifetimes, [&](const Lifetime &lifetime) {
        return lifetime.begin <= moment && moment < lifetime.end;
      }))
    fail(whereIs(number) + " touches " + nameOf(value) + " at moment " +
         std::to_string(moment) + ", when it is not live");
}

void SymbolicRun::read(size_t number, const Slice &slice, int32_t value,
                       int64_t moment) {
  if (!isIn(slice, value))
    return fail(whereIs(number) + " reads bytes " +
                std::to_string(slice.offset) + " + " +
                std::to_string(slice.bytes) + ", where " + nameOf(value) +
                " does not lie");
  checkMoment(number, value, moment);
  if (memory.holds(slice, value))
    return;
  int32_t there = memory.anyIn(slice);
  fail(whereIs(number) + " reads " + nameOf(value) + ", but " +
       (there < 0 ? "nothing" : nameOf(there)) + " is there");
}

void SymbolicRun::handOver(const Handovers &handovers,
                           const std::string &where) {
  for (size_t i = 0; i + 1 < handovers.size(); i += 2) {
    int32_t from = handovers[i], to = handovers[i + 1];
    if (sliceOf(from) != sliceOf(to))
      fail(where + ": " + nameOf(to) + " does not lie where " + nameOf(from) +
           " does");
    else if (!memory.holds(sliceOf(from), from))
      fail(where + ": " + nameOf(from) + " is not there to become " +
           nameOf(to));
    memory.set(sliceOf(to), to);
  }
}

void SymbolicRun::handOver(size_t number, size_t region) {
  const std::vector<Handovers> &ends = plan.operations[number].regionEnds;
  if (region < ends.size())
    handOver(ends[region], "at the end of a block of " + whereIs(number));
}

/// The callee writes what the plan has it write: a library call says so itself
/// when it is loaded.
void SymbolicRun::checkCallee(size_t number, const Callee &callee) {
  if (callee.kind == CalleeKind::library)
    return;
  const PlannedOperation &operation = plan.operations[number];
  for (size_t i = 0; i < operation.writes.size(); ++i)
    if ((std::ranges::find(callee.reads, int64_t(i)) == callee.reads.end()) !=
        (operation.writes[i] >= 0))
      fail(whereIs(number) + ": the plan and " +
           std::string(name(callee.kind)) + " '" + callee.name +
           "' disagree on whether argument " + std::to_string(i) +
           " is written");
  if (callee.kind == CalleeKind::copy && error.empty() &&
      operation.reads[1] >= 0)
    fail(whereIs(number) + ": the plan has a copy read what it overwrites");
}

/// Every device has a queue beside its first one, for collectives; a GPU also
/// one for copies to memory of its host, and one for copies from there.
bool SymbolicRun::hasQueue(uint32_t queue) const {
  const bool isOnGpu =
      std::ranges::any_of(index.deviceClasses, [](const DeviceClass &one) {
        return one.name == "cuda";
      });
  return queue <= collectiveQueue || (isOnGpu && queue < queues.size());
}

/// An instruction is in a queue that there is for such ones, and nothing but a
/// copy from or to a GPU touches memory of its host.
void SymbolicRun::checkQueue(size_t number, const Instruction &invoke) {
  auto says = [&](const std::string &what) {
    fail(whereIs(number) + " is in queue " + std::to_string(invoke.queue) +
         ", which " + what);
  };
  if (!hasQueue(invoke.queue))
    return says("there is not");
  auto isOnHost = [&](const Slice &slice) {
    return isPinned(index, index.segments[slice.segment]);
  };
  const std::vector<Slice> &operands = invoke.operands;
  const CalleeKind kind = index.callees[invoke.callee].kind;
  if (invoke.queue == collectiveQueue && kind != CalleeKind::collective)
    return says("is for collectives");
  if (kind != CalleeKind::copy) {
    if (invoke.queue > collectiveQueue)
      return says("is for copies");
    if (std::ranges::any_of(operands, isOnHost))
      fail(whereIs(number) +
           " touches memory of the host, which only copies may");
    return;
  }
  const bool fromHost = isOnHost(operands[0]), toHost = isOnHost(operands[1]);
  if (fromHost && toHost)
    fail(whereIs(number) + " copies within memory of the host");
  else if (invoke.queue == queueToHost && !toHost)
    says("is for copies to the host");
  else if (invoke.queue == queueFromHost && !fromHost)
    says("is for copies from the host");
}

/// Nobody touches what an instruction beside writes, or writes what it reads.
void SymbolicRun::checkUnderWay(size_t number, const Arguments &arguments) {
  for (const Queue &queue : queues)
    for (const UnderWay &other : queue.underWay)
      for (size_t i = 0; i < arguments.size(); ++i)
        for (size_t j = 0; j < other.arguments->size(); ++j)
          if ((plan.operations[number].writes[i] >= 0 ||
               plan.operations[other.number].writes[j] >= 0) &&
              overlap(arguments[i], (*other.arguments)[j]))
            return fail(whereIs(number) + " touches bytes that " +
                        whereIs(other.number) +
                        ", which is not awaited yet, works on");
}

/// What was started in a queue in this block, but for the last `pending`, is
/// done.
void SymbolicRun::await(size_t number, uint32_t queue, size_t pending) {
  if (!hasQueue(queue))
    return fail(whereIs(number) + " waits for queue " + std::to_string(queue) +
                ", which there is not");
  auto &[underWay, outer] = queues[queue];
  const int64_t moment = 2 * plan.operations[number].begin + 1;
  while (underWay.size() > outer + pending) {
    const UnderWay done = underWay[outer];
    underWay.erase(underWay.begin() + ptrdiff_t(outer));
    const PlannedOperation &operation = plan.operations[done.number];
    for (size_t i = 0; i < done.arguments->size(); ++i) {
      if (operation.reads[i] >= 0)
        checkMoment(number, operation.reads[i], moment);
      if (operation.writes[i] < 0)
        continue;
      checkMoment(number, operation.writes[i], moment);
      memory.set((*done.arguments)[i], operation.writes[i]);
    }
  }
}

/// Reads and writes the arguments of an instruction. What one beside writes is
/// not there before it is awaited.
void SymbolicRun::touch(size_t number, const Arguments &arguments,
                        uint32_t queue) {
  const PlannedOperation &operation = plan.operations[number];
  if (operation.reads.size() != arguments.size() ||
      operation.writes.size() != arguments.size())
    return fail(whereIs(number) + " has " + std::to_string(arguments.size()) +
                " arguments, the plan knows " +
                std::to_string(operation.reads.size()) + " reads and " +
                std::to_string(operation.writes.size()) + " writes");
  checkUnderWay(number, arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (operation.reads[i] < 0 && operation.writes[i] < 0)
      fail(whereIs(number) + ": the plan does not know argument " +
           std::to_string(i));
    if (operation.reads[i] >= 0)
      read(number, arguments[i], operation.reads[i], 2 * operation.begin);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    int32_t value = operation.writes[i];
    if (value < 0)
      continue;
    const Slice &slice = arguments[i];
    if (!isIn(slice, value))
      fail(whereIs(number) + " writes bytes " + std::to_string(slice.offset) +
           " + " + std::to_string(slice.bytes) + ", where " + nameOf(value) +
           " does not lie");
    checkMoment(number, value, 2 * operation.begin + 1);
    for (size_t j = 0; j < arguments.size(); ++j)
      if (j != i && overlap(arguments[j], slice))
        fail(whereIs(number) + " writes " + nameOf(value) +
             " over another of its arguments");
    constexpr int32_t nothing = -1;
    memory.set(slice, queue > 0 ? nothing : value);
  }
  if (queue > 0 && hasQueue(queue))
    queues[queue].underWay.push_back({number, &arguments});
}

/// Until what is known before the condition no longer changes: it only shrinks.
size_t SymbolicRun::runLoop(const Instruction &loop, size_t number) {
  const PlannedOperation &operation = plan.operations[number];
  SymbolicMemory before = memory;
  while (true) {
    memory = before;
    size_t next = runBlock(loop.blocks[0], number + 1);
    handOver(number, 0);
    if (operation.reads.size() != 1 || operation.reads[0] < 0)
      fail(whereIs(number) + ": the plan does not know the predicate");
    if (!error.empty())
      return next;
    read(number, loop.operands[0], operation.reads[0], 2 * operation.end);
    SymbolicMemory after = memory;
    next = runBlock(loop.blocks[1], next);
    handOver(number, 1);
    memory.meet(before);
    if (!error.empty() || memory == before) {
      memory = after;
      return next;
    }
    before = memory;
  }
}

size_t SymbolicRun::runBranches(const Instruction &branches, size_t number) {
  const PlannedOperation &operation = plan.operations[number];
  if (operation.reads.size() != 1 || operation.reads[0] < 0)
    fail(whereIs(number) + ": the plan does not know the selector");
  else
    read(number, branches.operands[0], operation.reads[0], 2 * operation.begin);
  SymbolicMemory before = memory, after = memory;
  size_t next = number + 1;
  for (size_t i = 0; i < branches.blocks.size() && error.empty(); ++i) {
    memory = before;
    next = runBlock(branches.blocks[i], next);
    handOver(number, i);
    if (i == 0)
      after = memory;
    else
      after.meet(memory);
  }
  memory = after;
  return next;
}

size_t SymbolicRun::runBlock(const Block &block, size_t number) {
  int64_t time =
      number < plan.operations.size() ? plan.operations[number].begin : 0;
  std::array<size_t, std::tuple_size_v<decltype(queues)>> around{};
  for (size_t i = 0; i < queues.size(); ++i)
    around[i] = std::exchange(queues[i].outer, queues[i].underWay.size());
  for (const Instruction &instruction : block.instructions) {
    if (number >= plan.operations.size())
      fail("the program has more instructions than the plan's " +
           std::to_string(plan.operations.size()));
    if (!error.empty())
      return number;
    const PlannedOperation &operation = plan.operations[number];
    if (operation.begin < time || operation.end < operation.begin)
      fail(whereIs(number) + " runs at time " +
           std::to_string(operation.begin) + ", before time " +
           std::to_string(time));
    time = operation.end;
    handOver(operation.handovers, "before " + whereIs(number));
    switch (instruction.kind) {
    case InstructionKind::loop:
      number = runLoop(instruction, number);
      break;
    case InstructionKind::branch:
      number = runBranches(instruction, number);
      break;
    case InstructionKind::invoke:
      checkQueue(number, instruction);
      touch(number, instruction.operands, instruction.queue);
      checkCallee(number, index.callees[instruction.callee]);
      ++number;
      break;
    case InstructionKind::wait:
      if (instruction.queue > 0)
        await(number, instruction.queue, instruction.pending);
      ++number;
    }
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    Queue &queue = queues[i];
    if (queue.underWay.size() > queue.outer)
      fail("a block ends before " + whereIs(queue.underWay.back().number) +
           ", which is not awaited");
    queue.outer = around[i];
  }
  return number;
}

std::string SymbolicRun::nameOfStorage(uint32_t storage) const {
  for (const Tensor &tensor : index.tensors) {
    if (std::ranges::find(tensor.held.storages, storage) !=
        tensor.held.storages.end())
      return "'" + tensor.name + "'";
    for (const Holding &copy : tensor.copies)
      if (std::ranges::find(copy.storages, storage) != copy.storages.end())
        return "a copy of '" + tensor.name + "'";
  }
  return "stored tensor " + std::to_string(storage);
}

/// Arguments come first among what is there; the rest are constants.
void SymbolicRun::begin() {
  size_t arguments = entry.arguments.size();
  for (size_t i = 0; i < arguments; ++i)
    if (i >= plan.initial.size() ||
        !isIn(index.storages[entry.arguments[i]].place, plan.initial[i]))
      fail("the plan has argument " + nameOfStorage(entry.arguments[i]) +
           " where users do not put it");
  for (size_t i = 0; i < plan.initial.size() && error.empty(); ++i) {
    int32_t value = plan.initial[i];
    Slice slice = sliceOf(value);
    SegmentKind kind = index.segments[slice.segment].kind;
    if (i >= arguments && kind != SegmentKind::constants)
      fail(nameOf(value) + " is there from the start, but is neither an "
                           "argument nor a constant");
    if (memory.anyIn(slice) >= 0)
      fail(nameOf(value) + " overlaps " + nameOf(memory.anyIn(slice)) +
           " when the step begins");
    memory.set(slice, value);
  }
}

/// Results and new state are where users and the next step find them, and what
/// has no successor is still there.
void SymbolicRun::finish() {
  handOver(plan.end, "at the end of the step");
  auto expect = [&](uint32_t storage, int32_t value) {
    const Slice &place = index.storages[storage].place;
    if (value < 0 || !isIn(place, value))
      fail("the plan has result " + nameOfStorage(storage) +
           " where users do not find it");
    else if (!memory.holds(place, value))
      fail(nameOfStorage(storage) + " is not there when the step ends");
  };
  for (size_t i = 0; i < entry.results.size(); ++i)
    expect(entry.results[i], i < plan.results.size() ? plan.results[i] : -1);
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    if (std::ranges::find(entry.results, entry.arguments[i]) ==
        entry.results.end())
      expect(entry.arguments[i], plan.initial[i]);
}

size_t SymbolicRun::tensors() const {
  std::set<uint32_t> all(entry.arguments.begin(), entry.arguments.end());
  all.insert(entry.results.begin(), entry.results.end());
  return all.size();
}

std::string SymbolicRun::run() {
  begin();
  size_t ran = runBlock(entry.program, 0);
  if (error.empty() && ran != plan.operations.size())
    fail("the program has " + std::to_string(ran) + " instructions, the plan " +
         std::to_string(plan.operations.size()));
  if (error.empty())
    finish();
  return error;
}
