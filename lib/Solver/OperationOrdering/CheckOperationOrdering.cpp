//===- CheckOperationOrdering.cpp - judge an order and its bound ----------===//
//
// Replays the order with its own bookkeeping and recomputes the bytes that must
// be live when the first operation of the certificate's frontier runs. Shares
// no code with the solver. All sizes of a valid problem together are at most
// 2^60 bytes, so no sum of them leaves 64 bits.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OperationOrdering.h"

#include <algorithm>
#include <variant>

using namespace tenon::solver;

/// All pairs (before, after) that an order must respect, by operation.
static std::vector<std::vector<int32_t>>
predecessors(const OrderingProblem &problem) {
  std::vector<std::vector<int32_t>> before(problem.operations.size());
  for (auto [value, user] : problem.uses)
    before[user].push_back(problem.producer(value));
  for (auto [first, second] : problem.controls)
    before[second].push_back(first);
  int32_t effect = -1;
  for (size_t i = 0; i < problem.operations.size(); ++i)
    if (problem.operations[i].effect) {
      if (effect >= 0)
        before[i].push_back(effect);
      effect = static_cast<int32_t>(i);
    }
  return before;
}

/// Bytes live in every order while the first operation of the frontier runs;
/// or which operation of it depends on another.
static std::variant<int64_t, int32_t>
forcedBytes(const OrderingProblem &problem,
            const std::vector<std::vector<int32_t>> &before,
            const std::vector<int32_t> &frontier) {
  auto count = static_cast<int32_t>(problem.operations.size());
  // What has not run before the first of the frontier. Ids are a valid order.
  std::vector<char> inFrontier(count, 0), waits(count, 0);
  for (int32_t operation : frontier)
    inFrontier[operation] = waits[operation] = 1;
  for (int32_t i = 0; i < count; ++i)
    for (int32_t other : before[i]) {
      if (waits[other] && inFrontier[i])
        return i;
      waits[i] |= waits[other];
    }
  // What stays live once it was there.
  std::vector<char> needed(problem.valueCount(), 0);
  for (auto [value, user] : problem.uses)
    needed[value] |= waits[user];
  for (int32_t value : problem.kept)
    needed[value] = 1;
  int64_t least = INT64_MAX;
  for (int32_t first : frontier) {
    std::vector<char> ran(count, 0);
    ran[first] = 1;
    for (int32_t i = first; i >= 0; --i)
      if (ran[i])
        for (int32_t other : before[i])
          ran[other] = 1;
    int64_t sum = problem.operations[first].workspace;
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      if (int32_t producer = problem.producer(value);
          producer == first || (ran[producer] && needed[value]))
        sum += problem.bytes(value);
    for (auto [operation, operand, result] : problem.inPlace)
      if (operation == first)
        sum -= std::min(problem.bytes(operand), problem.bytes(result));
    least = std::min(least, sum);
  }
  return least;
}

std::optional<std::string>
tenon::solver::checkOrdering(const OrderingProblem &problem,
                             const OrderingSolution &solution) {
  if (auto error = validateOrderingProblem(problem))
    return "problem: " + *error;
  auto count = static_cast<int32_t>(problem.operations.size());
  if (static_cast<int32_t>(solution.order.size()) != count)
    return "the order holds " + std::to_string(solution.order.size()) +
           " operations, the problem " + std::to_string(count);
  std::vector<int32_t> position(count, -1);
  for (int32_t i = 0; i < count; ++i) {
    int32_t operation = solution.order[i];
    if (operation < 0 || operation >= count)
      return "operation " + std::to_string(operation) + " does not exist";
    if (position[operation] >= 0)
      return "operation " + std::to_string(operation) + " runs twice";
    position[operation] = i;
  }
  std::vector<std::vector<int32_t>> before = predecessors(problem);
  for (int32_t operation = 0; operation < count; ++operation)
    for (int32_t other : before[operation])
      if (position[other] > position[operation])
        return "operation " + std::to_string(operation) +
               " runs before operation " + std::to_string(other) +
               ", which must come first";

  std::vector<int32_t> lastUse(problem.valueCount());
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    lastUse[value] = position[problem.producer(value)];
  for (auto [value, user] : problem.uses)
    lastUse[value] = std::max(lastUse[value], position[user]);
  for (int32_t value : problem.kept)
    lastUse[value] = count;
  // Bytes that appear before and leave after each position.
  std::vector<int64_t> enter(count + 1, 0), leave(count + 1, 0),
      shared(count + 1, 0);
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    enter[position[problem.producer(value)]] += problem.bytes(value);
    leave[lastUse[value]] += problem.bytes(value);
  }
  for (auto [operation, operand, result] : problem.inPlace)
    if (lastUse[operand] == position[operation])
      shared[position[operation]] +=
          std::min(problem.bytes(operand), problem.bytes(result));
  int64_t live = 0, peak = 0;
  for (int32_t i = 0; i < count; ++i) {
    live += enter[i];
    peak = std::max(peak, live - shared[i] +
                              problem.operations[solution.order[i]].workspace);
    live -= leave[i];
  }
  if (peak != solution.peak)
    return "peak " + std::to_string(solution.peak) + " is claimed, found " +
           std::to_string(peak);
  // Whatever the certificate says: the order is there and has that peak.
  for (int64_t bound : {solution.bound, solution.searchedBound})
    if (bound > peak)
      return "bound " + std::to_string(bound) + " exceeds the peak " +
             std::to_string(peak) + " of a valid order";
  for (int32_t operation : solution.certificate.frontier)
    if (operation < 0 || operation >= count)
      return "certificate: operation " + std::to_string(operation) +
             " does not exist";
  if (solution.certificate.frontier.empty()) {
    if (solution.bound > 0)
      return "bound " + std::to_string(solution.bound) +
             " is claimed without a certificate";
    return std::nullopt;
  }
  auto forced = forcedBytes(problem, before, solution.certificate.frontier);
  if (const int32_t *operation = std::get_if<int32_t>(&forced))
    return "certificate: operation " + std::to_string(*operation) +
           " depends on another one of the frontier";
  if (int64_t proved = std::get<int64_t>(forced); solution.bound > proved)
    return "bound " + std::to_string(solution.bound) +
           " is claimed, the certificate proves " + std::to_string(proved);
  return std::nullopt;
}
