//===- OffsetPackingPortfolio.cpp - many short searches that learn --------===//
//
// The orders, their budgets and how blame changes them; see the header.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingPortfolio.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace tenon::solver::packing {

/// Chosen to differ: each solves instances that the ones before it do not. For
/// those that prefer late bodies there are ones that prefer early bodies, so
/// that a problem and its mirror image in time are treated alike.
static constexpr std::string_view orders[] = {
    "TLV", "EB", "bS", "OTA", "EC", "TA", "bL", "VD",
    "CT",  "TO", "EA", "eV",  "bA", "Te", "DO", "SL",
};
static constexpr int64_t numOrders = std::size(orders);

/// Where sizes repeat, so do heights: what lies a little lower lies there for a
/// reason. Where they do not, differences in height are accidents.
static constexpr SearchTaste exact = {};
static constexpr SearchTaste tolerant[] = {
    {0.03, 0.03}, {0.04, 0.0625}, {0.016, 0.0625}, {0.002, 0.002}};
/// One pass over the orders out of so many is of the other kind.
static constexpr int64_t otherPass = 4;

/// Nodes of the first searches, per body: room to place each once and to go
/// back a little.
static constexpr int64_t firstNodesPerBody = 2;
/// After this many searches the budget of each grows by half.
static constexpr int64_t roundsPerBudget = 4 * numOrders;
/// Visits of waiting bodies before the search by clauses has its first turn,
/// which is as long; later ones are half as long as those of searches by drops.
static constexpr int64_t firstVisits = 50'000'000;
/// The most blamed body moves forward by this many lengths of the order; the
/// weights take turns.
static constexpr double blameWeights[] = {1, 4};

/// Whether of the larger half of the bodies every other one has a size of its
/// own.
static bool sizesDiffer(const Model &model) {
  std::vector<int64_t> sizes;
  for (const Body &body : model.bodies)
    sizes.push_back(body.height);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.resize((sizes.size() + 1) / 2);
  size_t alone = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    alone += (i == 0 || sizes[i - 1] != sizes[i]) &&
             (i + 1 == sizes.size() || sizes[i + 1] != sizes[i]);
  return 2 * alone >= sizes.size();
}

Portfolio::Portfolio(const Model &model, const SortKeys &keys,
                     int64_t largestCapacity)
    : model(model), keys(keys), search(makeSearch(model, largestCapacity)),
      blame(model.bodies.size(), 0), mostlyTolerant(sizesDiffer(model)) {}

SearchTaste Portfolio::nextTaste() const {
  int64_t pass = round / numOrders;
  if (mostlyTolerant == (pass % otherPass == otherPass - 1))
    return exact;
  return tolerant[(round + pass) % static_cast<int64_t>(std::size(tolerant))];
}

std::vector<int32_t> Portfolio::nextOrder() {
  std::vector<int32_t> order = keys.sorted(orders[round % numOrders]);
  // At first every other order is taken as it is; in the second pass over the
  // orders these are the ones that were changed in the first.
  int64_t pass = round / numOrders;
  bool asItIs = pass < 2 && (round + pass) % 2 == 0;
  int64_t most = *std::max_element(blame.begin(), blame.end());
  if (most == 0 || asItIs)
    return order;
  double blameWeight = blameWeights[pass % std::size(blameWeights)];
  std::vector<std::pair<double, int32_t>> places(order.size());
  double size = static_cast<double>(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    places[i] = {static_cast<double>(i) / size -
                     blameWeight * static_cast<double>(blame[order[i]]) /
                         static_cast<double>(most),
                 static_cast<int32_t>(i)};
  std::sort(places.begin(), places.end());
  std::vector<int32_t> result(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    result[i] = order[places[i].second];
  return result;
}

/// Spends `share` nodes, and what the search under way needs more.
SearchOutcome Portfolio::runDrops(int64_t capacity, int64_t share,
                                  int64_t &nodes, Bases &bases) {
  while (share > 0 && nodes > 0) {
    int64_t granted = std::min(nodes, static_cast<int64_t>(budget));
    int64_t left = granted;
    SearchOutcome outcome =
        search->run(capacity, nextOrder(), nextTaste(), left, bases, blame);
    nodes -= granted - left;
    share -= granted - left;
    if (outcome != SearchOutcome::Stopped)
      return outcome;
    ++round;
    if (++numEqual == roundsPerBudget) {
      budget *= 1.5;
      numEqual = 0;
    }
  }
  return SearchOutcome::Stopped;
}

SearchOutcome Portfolio::run(int64_t capacity, bool withClauses, int64_t &nodes,
                             Bases &bases) {
  if (model.bodies.empty()) {
    bases.clear();
    return SearchOutcome::Found;
  }
  int64_t count = static_cast<int64_t>(model.bodies.size());
  budget = static_cast<double>(firstNodesPerBody * count);
  numEqual = 0;
  std::unique_ptr<ClauseSearch> clauses;
  const int64_t first = firstVisits / count;
  for (int64_t share = first; nodes > 0; share *= 2) {
    SearchOutcome outcome = runDrops(capacity, share, nodes, bases);
    if (outcome != SearchOutcome::Stopped || nodes <= 0)
      return outcome;
    if (withClauses && !clauses)
      clauses = makeClauseSearch(model, keys, capacity);
    if (!clauses)
      continue;
    int64_t granted = std::min(nodes, std::max(first, share / 2));
    int64_t left = granted;
    outcome = clauses->run(left, bases);
    nodes -= granted - left;
    if (outcome != SearchOutcome::Stopped)
      return outcome;
  }
  return SearchOutcome::Stopped;
}

} // namespace tenon::solver::packing
