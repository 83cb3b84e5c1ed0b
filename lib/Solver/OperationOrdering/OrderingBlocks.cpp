//===- OrderingBlocks.cpp - what an order can go on with ------------------===//
//
// Follows growers from what is ready to what becomes ready by them, then tries
// which operands could die with each.
//
//===----------------------------------------------------------------------===//

#include "OrderingBlocks.h"

#include <algorithm>

using namespace tenon::solver;

static void sortOnce(OrderBlock &operations) {
  std::sort(operations.begin(), operations.end());
  operations.erase(std::unique(operations.begin(), operations.end()),
                   operations.end());
}

/// Finds all that could run below the peak after growers alone. If growers that
/// an operation depends on are none any more when they all run, one of them
/// ends a block of its own before: then this operation does not count.
void OrderBlocks::reach(int64_t peak) {
  progress.readyBelow(peak, reached);
  looked.clear();
  for (int32_t operation : reached)
    growers[operation].clear();
  std::vector<int32_t> touched;
  for (size_t i = 0; i < reached.size() && looks > 0; ++i) {
    int32_t operation = reached[i];
    looked.push_back(progress.look(growers[operation], operation));
    mayPrecede[operation] = looked[i].growing && looked[i].grows;
    if (!mayPrecede[operation])
      continue;
    for (int32_t next : deferral.after[operation]) {
      if (reachedBefore[next]++ == 0)
        touched.push_back(next);
      if (reachedBefore[next] < progress.lacks(next) ||
          progress.reaches(peak, next))
        continue;
      OrderBlock &needed = growers[next];
      needed.clear();
      for (int32_t other : deferral.before[next])
        if (!progress.hasRun(other)) {
          needed.insert(needed.end(), growers[other].begin(),
                        growers[other].end());
          needed.push_back(other);
        }
      looks -= static_cast<int64_t>(needed.size());
      sortOnce(needed);
      reached.push_back(next);
    }
  }
  for (int32_t operation : touched)
    reachedBefore[operation] = 0;
}

/// For each operand that could die with the operation: the growers that must
/// have run for that.
std::vector<OrderBlock> OrderBlocks::deaths(int32_t operation) const {
  std::vector<OrderBlock> result;
  for (int32_t value : graph.operands[operation]) {
    if (graph.bytes[value] == 0 || graph.kept[value])
      continue;
    OrderBlock others;
    bool possible = true;
    // A reader that waits is needed by another reader.
    for (int32_t user : graph.users[value]) {
      if (user == operation || progress.hasRun(user) || deferral.waits[user])
        continue;
      possible = mayPrecede[user];
      if (!possible)
        break;
      others.insert(others.end(), growers[user].begin(), growers[user].end());
      others.push_back(user);
    }
    sortOnce(others);
    if (possible && !others.empty() &&
        !std::binary_search(others.begin(), others.end(), operation))
      result.push_back(std::move(others));
  }
  return result;
}

std::vector<OrderBlocks::Next> OrderBlocks::all(int64_t peak) {
  constexpr size_t mostDeaths = 8;
  reach(peak);
  std::vector<Next> result;
  for (size_t i = 0; i < looked.size() && looks > 0; ++i) {
    int32_t operation = reached[i];
    std::vector<OrderBlock> dying = deaths(operation);
    if (dying.size() > mostDeaths) {
      isIncomplete = true;
      dying.resize(mostDeaths);
    }
    std::vector<OrderBlock> tried;
    for (uint32_t subset = 0; subset < 1u << dying.size(); ++subset) {
      OrderBlock block = growers[operation];
      for (size_t death = 0; death < dying.size(); ++death)
        if (subset >> death & 1)
          block.insert(block.end(), dying[death].begin(), dying[death].end());
      looks -= static_cast<int64_t>(block.size());
      sortOnce(block);
      if (std::find(tried.begin(), tried.end(), block) != tried.end())
        continue;
      tried.push_back(block);
      OrderProgress::Look look =
          subset == 0 ? looked[i] : progress.look(block, operation);
      if (!look.growing || look.grows || look.step.during >= peak)
        continue;
      block.push_back(operation);
      result.push_back({std::move(block), look.step.net});
    }
  }
  isIncomplete |= looks <= 0;
  for (int32_t operation : reached)
    mayPrecede[operation] = 0;
  return result;
}
