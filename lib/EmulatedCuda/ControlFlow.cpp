//===- ControlFlow.cpp - Where lanes that parted meet again ---------------===//
//
// Post-dominators over single instructions by the usual iteration (Cooper,
// Harvey, Kennedy) on the reversed graph, whose root is the code's end.
// Example:
//
//     0: @p bra 3      parts lanes
//     1: a             ┐ those without p
//     2: bra 4         ┘
//     3: b               those with p
//     4: c               every path comes here: meet(0) = 4
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>

using namespace tenon::emulated;

void tenon::emulated::findMeetingPoints(Function &function) {
  auto &code = function.code;
  const uint32_t end = code.size();
  std::vector<std::vector<uint32_t>> after(end + 1), before(end + 1);
  auto edge = [&](uint32_t from, uint32_t to) {
    after[from].push_back(to);
    before[to].push_back(from);
  };
  for (uint32_t i = 0; i < end; ++i) {
    const Instruction &instruction = code[i];
    bool always = instruction.guard.kind == Operand::None;
    if (instruction.flow == Instruction::Branch)
      edge(i, instruction.target);
    else if (instruction.flow == Instruction::IndexedBranch)
      for (uint32_t target : instruction.targets)
        edge(i, target);
    else if (instruction.flow == Instruction::Exit)
      edge(i, end);
    if (!always || instruction.flow == Instruction::Straight ||
        instruction.flow == Instruction::Barrier)
      edge(i, i + 1);
  }

  // The end first: order in which a walk against the edges leaves the nodes,
  // reversed.
  std::vector<uint32_t> order, place(end + 1, ~0u);
  std::vector<std::pair<uint32_t, size_t>> walk{{end, 0}};
  std::vector<bool> seen(end + 1);
  seen[end] = true;
  while (!walk.empty()) {
    auto &[node, next] = walk.back();
    if (next == before[node].size()) {
      order.push_back(node);
      walk.pop_back();
      continue;
    }
    uint32_t to = before[node][next++];
    if (!seen[to]) {
      seen[to] = true;
      walk.push_back({to, 0});
    }
  }
  std::reverse(order.begin(), order.end());
  for (uint32_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;

  std::vector<uint32_t> meet(end + 1, ~0u);
  meet[end] = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node : order) {
      if (node == end)
        continue;
      uint32_t common = ~0u;
      for (uint32_t next : after[node]) {
        if (meet[next] == ~0u)
          continue;
        if (common == ~0u) {
          common = next;
          continue;
        }
        uint32_t other = next;
        while (common != other) {
          while (place[common] > place[other])
            common = meet[common];
          while (place[other] > place[common])
            other = meet[other];
        }
      }
      if (common != meet[node]) {
        meet[node] = common;
        changed = true;
      }
    }
  }
  for (uint32_t i = 0; i < end; ++i)
    code[i].meet = meet[i] == ~0u ? end : meet[i];
}
