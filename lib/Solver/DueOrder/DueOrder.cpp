//===- DueOrder.cpp - Operations in order of when they are due -----------===//
//
// See DueOrder.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/DueOrder.h"

#include <cassert>
#include <cstddef>
#include <set>
#include <utility>

namespace tenon::solver {

std::vector<uint32_t> dueOrder(const DueOrderProblem &problem) {
  std::size_t count = problem.operations.size();
  std::vector<uint32_t> waitsFor(count, 0);
  std::vector<uint32_t> remainingReads(problem.values.size(), 0);
  std::vector<std::vector<uint32_t>> readers(problem.values.size());
  for (uint32_t index = 0; index < count; ++index) {
    for (uint32_t waiting : problem.operations[index].before)
      ++waitsFor[waiting];
    for (uint32_t value : problem.operations[index].reads) {
      ++remainingReads[value];
      readers[value].push_back(index);
    }
  }

  std::set<std::pair<uint64_t, uint32_t>> ready; // due, operation
  std::vector<uint32_t> candidates; // ready and perhaps profitable by now
  auto key = [&](uint32_t index) {
    return std::pair(problem.operations[index].due, index);
  };
  auto freesEnough = [&](uint32_t index) {
    const DueOrderProblem::Operation &operation = problem.operations[index];
    int64_t freed = problem.negligibleBytes;
    for (uint32_t value : operation.reads)
      if (remainingReads[value] == 1 && !problem.values[value].stays)
        freed += problem.values[value].bytes;
    return freed >= operation.bytesNeeded;
  };
  auto makeReady = [&](uint32_t index) {
    ready.insert(key(index));
    candidates.push_back(index);
  };
  std::vector<uint32_t> order;
  order.reserve(count);
  auto run = [&](uint32_t index) {
    ready.erase(key(index));
    order.push_back(index);
    for (uint32_t waiting : problem.operations[index].before)
      if (--waitsFor[waiting] == 0)
        makeReady(waiting);
    // Who reads a value last frees it, so it may have become profitable.
    for (uint32_t value : problem.operations[index].reads)
      if (--remainingReads[value] == 1)
        for (uint32_t reader : readers[value])
          if (ready.count(key(reader)))
            candidates.push_back(reader);
  };
  for (uint32_t index = 0; index < count; ++index)
    if (waitsFor[index] == 0)
      makeReady(index);
  while (!ready.empty()) {
    if (candidates.empty()) {
      run(ready.begin()->second);
      continue;
    }
    uint32_t candidate = candidates.back();
    candidates.pop_back();
    if (ready.count(key(candidate)) && freesEnough(candidate))
      run(candidate);
  }
  assert(order.size() == count && "operations wait for each other in a circle");
  return order;
}

} // namespace tenon::solver
