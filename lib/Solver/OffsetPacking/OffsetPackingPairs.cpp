//===- OffsetPackingPairs.cpp - exact search over above-or-below ----------===//
//
// The decisions form a graph of lower limits: "slot a lies above slot b" means
// base(a) >= base(b) + high(b) - low(a), rounded up to what a's body permits.
// The least solution is found by raising bases until nothing changes; a base
// above its upper limit is a contradiction, and so is a cycle, which raises for
// ever.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingPairs.h"

#include <algorithm>

namespace tenon::solver::packing {

namespace {

class PairSearch {
public:
  PairSearch(const Model &model, int64_t capacity, int64_t &nodes)
      : model(model), capacity(capacity), nodes(nodes) {}

  SearchOutcome run(Bases &result);

private:
  struct Pair {
    int32_t bodyA, bodyB;
    /// base(A) >= base(B) + aOverB puts A's slot above B's, and the other way.
    int64_t aOverB, bOverA;
  };
  struct Limit {
    int32_t upper, lower;
    int64_t distance;
  };

  bool raise(int32_t body, int64_t base);
  bool propagate();
  bool addLimit(int32_t upper, int32_t lower, int64_t distance);
  void undo(size_t numLimits, size_t numChanges);
  SearchOutcome descend();

  const Model &model;
  int64_t capacity;
  int64_t &nodes;
  std::vector<Pair> pairs;
  Bases bases, highest;
  std::vector<Limit> limits;
  std::vector<std::vector<int32_t>>
      limitsAbove; ///< of a body, as the lower one
  std::vector<int32_t> queue;
  std::vector<std::pair<int32_t, int64_t>> changes;
};

bool PairSearch::raise(int32_t body, int64_t base) {
  base = model.bodies[body].alignUp(std::max<int64_t>(base, 0));
  if (base <= bases[body])
    return true;
  if (base > highest[body])
    return false;
  changes.push_back({body, bases[body]});
  bases[body] = base;
  queue.push_back(body);
  return true;
}

bool PairSearch::propagate() {
  while (!queue.empty()) {
    int32_t body = queue.back();
    queue.pop_back();
    for (int32_t index : limitsAbove[body])
      if (!raise(limits[index].upper, bases[body] + limits[index].distance)) {
        queue.clear();
        return false;
      }
  }
  return true;
}

bool PairSearch::addLimit(int32_t upper, int32_t lower, int64_t distance) {
  limitsAbove[lower].push_back(static_cast<int32_t>(limits.size()));
  limits.push_back({upper, lower, distance});
  if (!raise(upper, bases[lower] + distance)) {
    queue.clear();
    return false;
  }
  return propagate();
}

void PairSearch::undo(size_t numLimits, size_t numChanges) {
  for (; limits.size() > numLimits; limits.pop_back())
    limitsAbove[limits.back().lower].pop_back();
  for (; changes.size() > numChanges; changes.pop_back())
    bases[changes.back().first] = changes.back().second;
}

SearchOutcome PairSearch::descend() {
  if (nodes <= 0)
    return SearchOutcome::Stopped;
  --nodes;
  // The overlapping pair with the least freedom: where one of the two ways is
  // already impossible, else where the cheaper way costs most.
  const Pair *chosen = nullptr;
  int64_t largest = -1;
  for (const Pair &pair : pairs) {
    int64_t needA = bases[pair.bodyB] + pair.aOverB - bases[pair.bodyA];
    int64_t needB = bases[pair.bodyA] + pair.bOverA - bases[pair.bodyB];
    if (needA <= 0 || needB <= 0)
      continue;
    bool noA = bases[pair.bodyB] + pair.aOverB > highest[pair.bodyA];
    bool noB = bases[pair.bodyA] + pair.bOverA > highest[pair.bodyB];
    if (noA && noB)
      return SearchOutcome::Exhausted;
    int64_t weight = noA || noB ? std::numeric_limits<int64_t>::max()
                                : std::min(needA, needB);
    if (weight > largest) {
      largest = weight;
      chosen = &pair;
    }
  }
  if (!chosen)
    return SearchOutcome::Found;
  const Pair pair = *chosen;
  bool firstA = bases[pair.bodyB] + pair.aOverB - bases[pair.bodyA] <=
                bases[pair.bodyA] + pair.bOverA - bases[pair.bodyB];
  size_t numLimits = limits.size(), numChanges = changes.size();
  for (bool aAbove : {firstA, !firstA}) {
    bool possible = aAbove ? addLimit(pair.bodyA, pair.bodyB, pair.aOverB)
                           : addLimit(pair.bodyB, pair.bodyA, pair.bOverA);
    if (possible) {
      SearchOutcome outcome = descend();
      if (outcome != SearchOutcome::Exhausted)
        return outcome;
    }
    undo(numLimits, numChanges);
  }
  return SearchOutcome::Exhausted;
}

SearchOutcome PairSearch::run(Bases &result) {
  size_t count = model.bodies.size();
  bases.assign(count, 0);
  highest.assign(count, 0);
  limitsAbove.assign(count, {});
  for (size_t i = 0; i < count; ++i) {
    const Body &body = model.bodies[i];
    bases[i] = body.fixed ? body.fixedBase : body.alignUp(0);
    highest[i] = body.fixed ? body.fixedBase : capacity - body.height;
    if (bases[i] > highest[i] || bases[i] + body.height > capacity)
      return SearchOutcome::Exhausted;
  }
  for (size_t i = 0; i < count; ++i)
    for (size_t j = i + 1; j < count; ++j)
      for (const Slot &a : model.slotsOf(model.bodies[i]))
        for (const Slot &b : model.slotsOf(model.bodies[j]))
          if (a.begin < b.end && b.begin < a.end)
            pairs.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j),
                             b.high - a.low, a.high - b.low});
  SearchOutcome outcome = descend();
  if (outcome == SearchOutcome::Found)
    result = bases;
  return outcome;
}

} // namespace

SearchOutcome searchPairs(const Model &model, int64_t capacity, int64_t &nodes,
                          Bases &bases) {
  return PairSearch(model, capacity, nodes).run(bases);
}

Bases firstFit(const Model &model, const std::vector<int32_t> &order) {
  Bases bases(model.bodies.size(), 0);
  std::vector<int32_t> sequence;
  for (bool fixed : {true, false})
    for (int32_t index : order)
      if (model.bodies[index].fixed == fixed)
        sequence.push_back(index);
  struct Placed {
    int32_t begin, end;
    int64_t low, high;
  };
  std::vector<Placed> placed;
  std::vector<std::pair<int64_t, int64_t>> forbidden; // bases, exclusive ends
  for (int32_t index : sequence) {
    const Body &body = model.bodies[index];
    int64_t base = body.fixed ? body.fixedBase : body.alignUp(0);
    if (!body.fixed) {
      forbidden.clear();
      for (const Slot &slot : model.slotsOf(body))
        for (const Placed &other : placed)
          if (slot.begin < other.end && other.begin < slot.end)
            forbidden.push_back({other.low - slot.high, other.high - slot.low});
      std::sort(forbidden.begin(), forbidden.end());
      // Each forbids the bases strictly between its two ends.
      for (auto [low, high] : forbidden)
        if (low < base && base < high)
          base = body.alignUp(high);
    }
    bases[index] = base;
    for (const Slot &slot : model.slotsOf(body))
      placed.push_back(
          {slot.begin, slot.end, base + slot.low, base + slot.high});
  }
  return bases;
}

} // namespace tenon::solver::packing
