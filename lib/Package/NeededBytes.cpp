//===- NeededBytes.cpp - What a program needs at its fullest moment ------===//
//
// See NeededBytes.h.
//
//===----------------------------------------------------------------------===//

#include "NeededBytes.h"

#include "tenon/Format/PinnedMemory.h"

#include <ranges>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::package;

NeededBytes::NeededBytes(const Index &index, const ProgramOrder &program)
    : plan(program.plan), program(program),
      bufferBytes(plan.buffers.size(), 0) {
  // A buffer is as large as what the program puts there, whatever the plan says
  // of values that it never touches.
  auto touch = [&](int32_t value) {
    if (value < 0)
      return;
    uint32_t buffer = plan.values[value].buffer;
    if (hasTemporaries(index, index.segments[plan.buffers[buffer].segment]))
      bufferBytes[buffer] =
          std::max(bufferBytes[buffer], placedBytes(plan.values[value].bytes));
  };
  for (const PlannedOperation &operation : plan.operations) {
    std::ranges::for_each(operation.reads, touch);
    std::ranges::for_each(operation.writes, touch);
  }
}

void NeededBytes::add(Needed &needed, int32_t value) const {
  if (value < 0 || needed.states[value] == Needed::never)
    return;
  uint32_t buffer = plan.values[value].buffer;
  if (needed.states[value] == Needed::no && needed.users[buffer]++ == 0)
    needed.bytes += bufferBytes[buffer];
  needed.states[value] = Needed::before;
}

void NeededBytes::remove(Needed &needed, int32_t value) const {
  if (value < 0 || needed.states[value] != Needed::before)
    return;
  needed.states[value] = Needed::now;
  needed.written.push_back(value);
}

void NeededBytes::goTo(Needed &needed, int64_t time) const {
  if (needed.time == time)
    return;
  needed.time = time;
  for (int32_t value : needed.written) {
    uint32_t buffer = plan.values[value].buffer;
    if (needed.states[value] != Needed::now)
      continue;
    needed.states[value] = Needed::no;
    if (--needed.users[buffer] == 0)
      needed.bytes -= bufferBytes[buffer];
  }
  needed.written.clear();
}

void NeededBytes::unite(Needed &into, const Needed &from) const {
  for (size_t value = 0; value < from.states.size(); ++value)
    if (from.states[value] == Needed::before)
      add(into, int32_t(value));
}

/// What took over the place of another needed that one.
void NeededBytes::handOver(const Handovers &handovers, Needed &needed) const {
  for (size_t i = handovers.size(); i >= 2; i -= 2) {
    remove(needed, handovers[i - 1]);
    add(needed, handovers[i - 2]);
  }
}

void NeededBytes::handOver(size_t number, size_t block, Needed &needed) const {
  const std::vector<Handovers> &ends = plan.operations[number].regionEnds;
  if (block < ends.size())
    handOver(ends[block], needed);
}

/// What the next round or what follows the loop reads is needed when a round
/// ends, and so on until nothing is added.
void NeededBytes::walkLoop(size_t number, Needed &needed) {
  const PlannedOperation &operation = plan.operations[number];
  const std::vector<ProgramOrder::Numbers> &blocks =
      program.entries[number].blocks;
  const Needed after = needed;
  Needed roundEnd = needed;
  goTo(roundEnd, operation.end);
  for (int32_t predicate : operation.reads)
    add(roundEnd, predicate);
  note(roundEnd);
  for (int64_t before = -1;
       before != std::ranges::count(roundEnd.states, Needed::before);) {
    before = std::ranges::count(roundEnd.states, Needed::before);
    needed = roundEnd;
    handOver(number, 1, needed);
    walk(blocks[1], needed);
    unite(needed, after);
    handOver(number, 0, needed);
    walk(blocks[0], needed);
    unite(roundEnd, needed);
  }
}

void NeededBytes::walkBranches(size_t number, Needed &needed) {
  const PlannedOperation &operation = plan.operations[number];
  const std::vector<ProgramOrder::Numbers> &blocks =
      program.entries[number].blocks;
  const Needed after = needed;
  for (size_t i = 0; i < blocks.size(); ++i) {
    Needed branch = after;
    handOver(number, i, branch);
    walk(blocks[i], branch);
    if (i == 0)
      needed = std::move(branch);
    else
      unite(needed, branch);
  }
  goTo(needed, operation.begin);
  for (int32_t selector : operation.reads)
    add(needed, selector);
  note(needed);
}

void NeededBytes::walk(const ProgramOrder::Numbers &numbers, Needed &needed) {
  for (size_t number : std::views::reverse(numbers)) {
    const PlannedOperation &operation = plan.operations[number];
    InstructionKind kind = program.entries[number].instruction->kind;
    if (kind == InstructionKind::loop) {
      walkLoop(number, needed);
    } else if (kind == InstructionKind::branch) {
      walkBranches(number, needed);
    } else {
      goTo(needed, operation.begin);
      for (int32_t value : operation.writes)
        add(needed, value);
      for (int32_t value : operation.writes)
        remove(needed, value);
      for (int32_t value : operation.reads)
        add(needed, value);
      note(needed);
    }
    handOver(operation.handovers, needed);
  }
}

int64_t NeededBytes::most(const ProgramOrder::Numbers &instructions,
                          const std::set<int32_t> &after,
                          const std::set<int32_t> &without) {
  Needed needed;
  needed.states.assign(plan.values.size(), Needed::no);
  needed.users.assign(plan.buffers.size(), 0);
  for (int32_t value : without)
    needed.states[value] = Needed::never;
  for (int32_t value : after)
    add(needed, value);
  fullest = needed.bytes;
  walk(instructions, needed);
  return fullest;
}
