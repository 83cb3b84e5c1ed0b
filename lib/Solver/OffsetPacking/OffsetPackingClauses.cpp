//===- OffsetPackingClauses.cpp - a search that learns who is under whom --===//
//
// Integers: the base of each box, in units of the common divisor of the sizes,
// and for each pair with a common section whether the first is under the
// second. What follows from what:
//
//  - the upper box of a pair lies at least the lower one's size above it;
//  - a pair whose one order has no room has the other;
//  - of each section, what lies under (or over) a box takes its room together;
//  - of each section, boxes that have to lie within a range must fit in it.
//
// When all pairs are decided, every box lies at its lower bound.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingClauses.h"

#include "BoundClauses.h"

#include <algorithm>
#include <numeric>

namespace tenon::solver::packing {

namespace {

/// From left to right and from right to left first: the failures then stay
/// where the search is.
constexpr std::string_view orders[] = {"bL", "EL", "LS", "TLV", "SL", "LV"};
/// What can rest no more than this share of the capacity above the lowest
/// counts as equally low.
constexpr double tolerances[] = {0.01, 0.02};
/// Failures between restarts.
constexpr int64_t failuresPerRound = 150;
/// Learnt clauses of larger problems would need too much memory.
constexpr size_t mostPairs = 60'000;
constexpr size_t mostBodies = 2000;

class PairClauses final : public ClauseSearch, BoundClauses {
public:
  PairClauses(const Model &model, const SortKeys &keys, int64_t capacity,
              int64_t unit);
  SearchOutcome run(int64_t &nodes, Bases &bases) override;

private:
  static constexpr int32_t byOrder = firstOwnKind, byRoom = firstOwnKind + 1;
  /// A side of a pair's integer: the bound that it holds is 1 or, for the
  /// negated side, 0.
  static Bound holds(int32_t order) { return {order, order & 1 ? 0 : 1}; }
  bool isUnder(int32_t order) const { return isTrue(holds(order)); }
  bool isOpen(int32_t order) const {
    return !isUnder(order) && !isUnder(order ^ 1);
  }
  int32_t numBodies() const { return static_cast<int32_t>(sizes.size()); }
  static int32_t baseOf(int32_t body) { return 2 * body; }
  static int32_t negatedBaseOf(int32_t body) { return 2 * body + 1; }
  int32_t topOf(int32_t body) const {
    return sizes[body] - lower[negatedBaseOf(body)];
  }
  /// The lower and the upper body if `order` holds.
  std::pair<int32_t, int32_t> bodiesOf(int32_t order) const {
    auto [first, second] = pairs[order / 2 - numBodies()];
    return order & 1 ? std::pair(second, first) : std::pair(first, second);
  }

  bool follow(int32_t side) override;
  bool followRest(bool &more) override;
  void explain(Bound bound, const Reason &reason,
               std::vector<Bound> &why) const override;
  void undo(int32_t side) override;
  void clearRest() override;

  void touch(int32_t begin, int32_t end);
  bool followSection(int32_t section);
  bool fitRanges(const std::vector<int32_t> &bodies);
  bool liftAbove(int32_t body);
  bool pressBelow(int32_t body);
  bool decideNext();
  void nextRound();

  struct Neighbour {
    int32_t body;
    int32_t order; ///< the side that this one is under the neighbour
  };
  const Model &model;
  const SortKeys &keys;
  int64_t unit;
  int32_t capacity;
  std::vector<int32_t> sizes;
  /// Of each body, the sections from its first window to its last.
  std::vector<std::pair<int32_t, int32_t>> ranges;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  std::vector<std::vector<Neighbour>> neighbours;
  std::vector<int32_t> orderOf; ///< of two bodies: the first under the second
  std::vector<int32_t> numOpen; ///< undecided pairs of each body
  std::vector<std::vector<int32_t>> bodiesIn; ///< of each section
  std::vector<char> isDirty;
  std::vector<int32_t> dirty; ///< sections to look at, from dirtyHead on
  size_t dirtyHead = 0;
  // Of the section that is looked at: bodies by descending base and ascending
  // top, and what these were when they were sorted.
  std::vector<int32_t> byBase, byTop, oldBase, oldTop;
  std::vector<Bound> why;
  std::vector<int32_t> order;
  int32_t tolerance = 0;
  int64_t round = 0, failuresLeft = 0;
  bool contradicts = false; ///< without any decision
};

bool haveCommonSection(const Model &model, int32_t first, int32_t second) {
  for (const Slot &a : model.slotsOf(model.bodies[first]))
    for (const Slot &b : model.slotsOf(model.bodies[second]))
      if (a.begin < b.end && b.begin < a.end)
        return true;
  return false;
}

PairClauses::PairClauses(const Model &model, const SortKeys &keys,
                         int64_t wanted, int64_t unit)
    : model(model), keys(keys), unit(unit),
      capacity(static_cast<int32_t>(wanted / unit)) {
  int32_t count = static_cast<int32_t>(model.bodies.size());
  neighbours.resize(count);
  orderOf.assign(size_t(count) * count, -1);
  numOpen.assign(count, 0);
  oldBase.resize(count);
  oldTop.resize(count);
  bodiesIn.resize(model.numSections);
  isDirty.assign(model.numSections, 0);
  shiftedSides = 2 * count;
  for (int32_t i = 0; i < count; ++i) {
    const Body &body = model.bodies[i];
    sizes.push_back(static_cast<int32_t>(body.height / unit));
    std::pair<int32_t, int32_t> range = {model.numSections, 0};
    for (const Slot &slot : model.slotsOf(body)) {
      range.first = std::min(range.first, slot.begin);
      range.second = std::max(range.second, slot.end);
      for (int32_t s = slot.begin; s < slot.end; ++s)
        bodiesIn[s].push_back(i);
    }
    ranges.push_back(range);
    addVariable(0, capacity - sizes.back());
  }
  for (int32_t i = 0; i < count; ++i)
    for (int32_t j = i + 1; j < count; ++j) {
      if (!haveCommonSection(model, i, j))
        continue;
      pairs.push_back({i, j});
      int32_t side = addVariable(0, 1);
      orderOf[size_t(i) * count + j] = side;
      orderOf[size_t(j) * count + i] = side ^ 1;
      neighbours[i].push_back({j, side});
      neighbours[j].push_back({i, side ^ 1});
      ++numOpen[i];
      ++numOpen[j];
    }
  touch(0, model.numSections);
  for (int32_t side = 0; side < 2 * count && !contradicts; ++side)
    contradicts = !follow(side);
  nextRound();
}

void PairClauses::touch(int32_t begin, int32_t end) {
  for (int32_t s = begin; s < end; ++s)
    if (!isDirty[s]) {
      isDirty[s] = 1;
      dirty.push_back(s);
    }
}

void PairClauses::clearRest() {
  for (; dirtyHead < dirty.size(); ++dirtyHead)
    isDirty[dirty[dirtyHead]] = 0;
  dirty.clear();
  dirtyHead = 0;
}

void PairClauses::undo(int32_t side) {
  if (side < 2 * numBodies())
    return;
  auto [low, high] = bodiesOf(side);
  ++numOpen[low];
  ++numOpen[high];
}

bool PairClauses::follow(int32_t side) {
  if (side >= 2 * numBodies()) {
    auto [low, high] = bodiesOf(side);
    --numOpen[low];
    --numOpen[high];
    touch(std::max(ranges[low].first, ranges[high].first),
          std::min(ranges[low].second, ranges[high].second));
    return raise({baseOf(high), lower[baseOf(low)] + sizes[low]},
                 {byOrder, side, 0}) &&
           raise({negatedBaseOf(low), lower[negatedBaseOf(high)] + sizes[low]},
                 {byOrder, side, 0});
  }
  int32_t body = side / 2;
  touch(ranges[body].first, ranges[body].second);
  visits += static_cast<int64_t>(neighbours[body].size());
  bool risen = side == baseOf(body);
  for (auto [other, under] : neighbours[body]) {
    // The order that would pass the change on, and its two bodies.
    int32_t passing = risen ? under : under ^ 1;
    int32_t low = risen ? body : other, high = risen ? other : body;
    if (isUnder(passing)) {
      int32_t to = risen ? baseOf(other) : negatedBaseOf(other);
      if (!raise({to, lower[side] + sizes[low]}, {byOrder, passing, 0}))
        return false;
    } else if (isOpen(passing) &&
               lower[baseOf(low)] + sizes[low] + lower[negatedBaseOf(high)] >
                   0) {
      if (!raise(holds(passing ^ 1), {byRoom, lower[baseOf(low)], 0}))
        return false;
    }
  }
  return true;
}

void PairClauses::explain(Bound bound, const Reason &reason,
                          std::vector<Bound> &reasons) const {
  if (reason.kind == byOrder) {
    auto [low, high] = bodiesOf(reason.first);
    int32_t from = bound.side & 1 ? negatedBaseOf(high) : baseOf(low);
    reasons.push_back(holds(reason.first));
    reasons.push_back({from, bound.value - sizes[low]});
    return;
  }
  // There is no room for the opposite order.
  auto [low, high] = bodiesOf(bound.side ^ 1);
  reasons.push_back({baseOf(low), reason.first});
  reasons.push_back({negatedBaseOf(high), 1 - sizes[low] - reason.first});
}

bool PairClauses::followRest(bool &more) {
  if (dirty.empty())
    return true;
  // In turn: what changes a section often changes its neighbours at once.
  int32_t section = dirty[dirtyHead++];
  if (dirtyHead == dirty.size()) {
    dirty.clear();
    dirtyHead = 0;
  }
  isDirty[section] = 0;
  more = true;
  return followSection(section);
}

bool PairClauses::followSection(int32_t section) {
  const std::vector<int32_t> &bodies = bodiesIn[section];
  visits += static_cast<int64_t>(bodies.size() * bodies.size() / 2);
  for (int32_t body : bodies) {
    oldBase[body] = lower[baseOf(body)];
    oldTop[body] = topOf(body);
  }
  byBase = byTop = bodies;
  std::sort(byBase.begin(), byBase.end(), [&](int32_t a, int32_t b) {
    return oldBase[a] != oldBase[b] ? oldBase[a] > oldBase[b] : a < b;
  });
  std::sort(byTop.begin(), byTop.end(), [&](int32_t a, int32_t b) {
    return oldTop[a] != oldTop[b] ? oldTop[a] < oldTop[b] : a < b;
  });
  if (!fitRanges(bodies))
    return false;
  return std::all_of(bodies.begin(), bodies.end(), [&](int32_t body) {
    return liftAbove(body) && pressBelow(body);
  });
}

/// All that has to lie between a base and a top must fit there.
bool PairClauses::fitRanges(const std::vector<int32_t> &bodies) {
  for (size_t i = 0; i < byTop.size(); ++i) {
    int32_t top = oldTop[byTop[i]];
    if (i + 1 < byTop.size() && oldTop[byTop[i + 1]] == top)
      continue;
    int32_t sum = 0;
    for (int32_t body : byBase) {
      if (oldTop[body] > top)
        continue;
      sum += sizes[body];
      int32_t base = oldBase[body];
      if (base + sum <= top)
        continue;
      // Not even below a higher top.
      int32_t limit = base + sum - 1;
      conflict.clear();
      for (int32_t other : bodies) {
        if (oldTop[other] > top || oldBase[other] < base)
          continue;
        conflict.push_back({baseOf(other), base});
        conflict.push_back({negatedBaseOf(other), sizes[other] - limit});
      }
      return false;
    }
  }
  return true;
}

/// What lies under a body in this section lies there together.
bool PairClauses::liftAbove(int32_t body) {
  const int32_t *over = &orderOf[size_t(body) * numBodies()];
  auto isBelow = [&](int32_t other) {
    return other != body && isUnder(over[other] ^ 1);
  };
  int32_t sum = 0, highest = 0, from = 0;
  for (int32_t other : byBase) {
    if (!isBelow(other))
      continue;
    sum += sizes[other];
    if (oldBase[other] + sum > highest) {
      highest = oldBase[other] + sum;
      from = oldBase[other];
    }
  }
  if (highest <= lower[baseOf(body)])
    return true;
  why.clear();
  for (int32_t other : byBase)
    if (oldBase[other] >= from && isBelow(other)) {
      why.push_back(holds(over[other] ^ 1));
      why.push_back({baseOf(other), from});
    }
  return raise({baseOf(body), highest}, why);
}

/// The same for what lies over it.
bool PairClauses::pressBelow(int32_t body) {
  const int32_t *under = &orderOf[size_t(body) * numBodies()];
  auto isAbove = [&](int32_t other) {
    return other != body && isUnder(under[other]);
  };
  int32_t sum = 0, lowest = capacity, from = capacity;
  for (int32_t other : byTop) {
    if (!isAbove(other))
      continue;
    sum += sizes[other];
    if (oldTop[other] - sum < lowest) {
      lowest = oldTop[other] - sum;
      from = oldTop[other];
    }
  }
  if (lowest >= topOf(body))
    return true;
  why.clear();
  for (int32_t other : byTop)
    if (oldTop[other] <= from && isAbove(other)) {
      why.push_back(holds(under[other]));
      why.push_back({negatedBaseOf(other), sizes[other] - from});
    }
  return raise({negatedBaseOf(body), sizes[body] - lowest}, why);
}

/// False if everything is decided.
bool PairClauses::decideNext() {
  int32_t lowest = capacity;
  for (int32_t body : order)
    if (numOpen[body] > 0)
      lowest = std::min(lowest, lower[baseOf(body)]);
  visits += numBodies();
  for (int32_t body : order) {
    if (numOpen[body] == 0 || lower[baseOf(body)] > lowest + tolerance)
      continue;
    const Neighbour *next = nullptr;
    for (const Neighbour &neighbour : neighbours[body])
      if (isOpen(neighbour.order) &&
          (!next || lower[baseOf(neighbour.body)] < lower[baseOf(next->body)]))
        next = &neighbour;
    visits += static_cast<int64_t>(neighbours[body].size());
    decide(holds(next->order));
    return true;
  }
  return false;
}

void PairClauses::nextRound() {
  order = keys.sorted(orders[round % std::size(orders)]);
  size_t pass = round / std::size(orders);
  tolerance =
      static_cast<int32_t>(tolerances[pass % std::size(tolerances)] * capacity);
  failuresLeft = failuresPerRound;
  ++round;
}

SearchOutcome PairClauses::run(int64_t &nodes, Bases &bases) {
  int64_t start = visits, granted = nodes * numBodies();
  auto finish = [&](SearchOutcome outcome) {
    nodes -= std::min((visits - start) / numBodies(), nodes);
    return outcome;
  };
  while (!contradicts && visits - start < granted) {
    if (!propagate()) {
      contradicts = !learn();
      --failuresLeft;
    } else if (failuresLeft <= 0) {
      restart();
      nextRound();
    } else if (!decideNext()) {
      bases.resize(model.bodies.size());
      for (int32_t i = 0; i < numBodies(); ++i)
        bases[i] = lower[baseOf(i)] * unit;
      return finish(SearchOutcome::Found);
    }
  }
  return finish(contradicts ? SearchOutcome::Exhausted
                            : SearchOutcome::Stopped);
}

} // namespace

std::unique_ptr<ClauseSearch>
makeClauseSearch(const Model &model, const SortKeys &keys, int64_t capacity) {
  if (!model.canBeDropped || model.bodies.empty() ||
      model.bodies.size() > mostBodies)
    return nullptr;
  int64_t unit = 0;
  for (const Body &body : model.bodies) {
    // As high in all of its windows.
    for (const Slot &slot : model.slotsOf(body))
      if (slot.high != body.height)
        return nullptr;
    unit = std::gcd(unit, body.height);
  }
  unit = std::max<int64_t>(unit, 1);
  for (const Body &body : model.bodies)
    if (body.residue != 0 || unit % body.alignment != 0 ||
        body.height > capacity)
      return nullptr;
  if (capacity / unit > std::numeric_limits<int32_t>::max() / 4)
    return nullptr;
  // Each section adds the pairs of its bodies with those that begin there.
  size_t numPairs = 0;
  std::vector<size_t> begins(model.numSections + 1), live(begins);
  for (const Slot &slot : model.slots) {
    ++begins[slot.begin];
    for (int32_t s = slot.begin; s < slot.end; ++s)
      ++live[s];
  }
  for (size_t s = 0; s < live.size(); ++s)
    numPairs += begins[s] * live[s];
  if (numPairs > mostPairs)
    return nullptr;
  return std::make_unique<PairClauses>(model, keys, capacity, unit);
}

} // namespace tenon::solver::packing
