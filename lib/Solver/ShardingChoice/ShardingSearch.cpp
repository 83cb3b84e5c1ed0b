//===- ShardingSearch.cpp - improve labels part by part -------------------===//

#include "ShardingChoice/ShardingSearch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tenon::solver;

ShardingSearch::ShardingSearch(const ShardingGroups &groups,
                               const ShardingBound &bound, ShardingTwins &twins,
                               bool isGuided, uint64_t seed)
    : groups(groups), bound(bound), twins(twins), isGuided(isGuided),
      random(seed),
      elimination(groups, bound.edgeTables(), /*keepsDistinct=*/isGuided),
      labelBefore(groups.groups.size(), -1), isIn(groups.groups.size()),
      priced(groups.groups.size()) {
  // Rows without a price get a small weight: they may have one if others do.
  double sum = 0, most = 1;
  for (double price : bound.prices())
    sum += price;
  for (const ShardingGroups::Row &row : groups.rows)
    most = std::max(most, double(row.capacity));
  for (double price : bound.prices())
    weights.push_back(price + 0.01 * sum +
                      0.01 * std::max(1.0, std::fabs(bound.bound())) / most);
  if (!isGuided)
    return;
  for (const std::vector<double> &costs : bound.reducedCosts()) {
    std::vector<int32_t> &order = promising.emplace_back(costs.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return std::pair(costs[a], a) < std::pair(costs[b], b);
    });
  }
}

void ShardingSearch::start(const std::vector<int32_t> &from) {
  labels = from;
  left.clear();
  for (const ShardingGroups::Row &row : groups.rows)
    left.push_back(double(row.capacity));
  for (size_t group = 0; group < labels.size(); ++group)
    for (const ShardingGroups::Run &run :
         groups.groups[group].runs[labels[group]])
      for (int32_t row = run.begin; row < run.end; ++row)
        left[row] -= double(run.bytes);
  cost = costOf(labels);
  pressure = 1;
  measureExcess();
  keepIfCheapest();
}

bool ShardingSearch::fits() const {
  return std::none_of(left.begin(), left.end(),
                      [](double bytes) { return bytes < 0; });
}

void ShardingSearch::keepIfCheapest() {
  if (cost < ShardingProblem::forbidden &&
      (!cheapest || cost < cheapest->cost) && fits())
    cheapest = Choice{labels, static_cast<int64_t>(cost)};
}

/// Anew, so that rounding errors of its changes do not add up.
void ShardingSearch::measureExcess() {
  excess = 0;
  for (size_t row = 0; row < left.size(); ++row)
    excess += weights[row] * std::max(0.0, -left[row]);
}

__int128 ShardingSearch::costOf(const std::vector<int32_t> &labels) const {
  __int128 sum = groups.constant;
  for (size_t group = 0; group < labels.size(); ++group)
    sum += groups.groups[group].costs[labels[group]];
  for (const ShardingGroups::Edge &edge : groups.edges)
    sum += groups.tables[edge.table]
               .costs[labels[edge.first] * groups.groups[edge.second].size() +
                      labels[edge.second]];
  return sum;
}

double ShardingSearch::addRuns(int32_t group, int32_t label, double sign) {
  double change = 0;
  for (const ShardingGroups::Run &run : groups.groups[group].runs[label]) {
    const double bytes = sign * double(run.bytes);
    for (int32_t row = run.begin; row < run.end; ++row) {
      const double before = left[row], after = before + bytes;
      change += weights[row] * (std::max(0.0, -after) - std::max(0.0, -before));
      left[row] = after;
    }
  }
  return change;
}

void ShardingSearch::setLabel(int32_t group, int32_t label) {
  excess += addRuns(group, labels[group], 1);
  excess += addRuns(group, label, -1);
  labels[group] = label;
}

/// What the labels cost more than those in `undo`.
__int128 ShardingSearch::costChange() {
  for (const auto &[group, label] : undo)
    labelBefore[group] = label;
  __int128 change = 0;
  for (const auto &[index, before] : undo) {
    const ShardingGroups::Group &group = groups.groups[index];
    change += __int128(group.costs[labels[index]]) - group.costs[before];
    for (const ShardingGroups::Link &link : group.links) {
      const bool moves = labelBefore[link.other] >= 0;
      if (moves && link.other < index)
        continue;
      const int32_t to = labels[link.other];
      const int32_t from = moves ? labelBefore[link.other] : to;
      const std::vector<int64_t> &costs =
          groups.tables[groups.edges[link.edge].table].costs;
      auto at = [&](int32_t own, int32_t other) {
        return link.isFirst
                   ? costs[own * groups.groups[link.other].size() + other]
                   : costs[other * group.size() + own];
      };
      change += __int128(at(labels[index], to)) - at(before, from);
    }
  }
  for (const auto &[group, label] : undo)
    labelBefore[group] = -1;
  return change;
}

/// A few groups that hang together, many, or all of a smaller problem.
std::vector<int32_t> ShardingSearch::drawRegion() {
  const auto count = static_cast<int64_t>(groups.groups.size());
  const double kind = random.unit();
  int64_t size = kind < 0.5    ? 2 + random.below(12)
                 : kind < 0.8  ? 10 + random.below(40)
                 : kind < 0.95 ? 50 + random.below(100)
                               : 400;
  size = std::min(size, count);
  std::vector<int32_t> region, border;
  auto reach = [&](int32_t group) {
    if (!isIn[group])
      border.push_back(group);
    isIn[group] = true;
  };
  while (static_cast<int64_t>(region.size()) < size) {
    if (border.empty()) {
      reach(static_cast<int32_t>(random.below(count)));
      continue;
    }
    std::swap(border[random.below(static_cast<int64_t>(border.size()))],
              border.back());
    const int32_t group = border.back();
    border.pop_back();
    region.push_back(group);
    for (const ShardingGroups::Link &link : groups.groups[group].links)
      reach(link.other);
  }
  for (const std::vector<int32_t> *list : {&region, &border})
    for (int32_t group : *list)
      isIn[group] = false;
  return region;
}

/// All labels, or few of each group: tables are far smaller then.
void ShardingSearch::drawLabels(ShardingElimination::Region &region) {
  const bool isNarrow = !promising.empty() && random.unit() < 0.6;
  const size_t most = isNarrow ? size_t(4) << random.below(4) : SIZE_MAX;
  if (region.labels.size() < region.groups.size())
    region.labels.resize(region.groups.size());
  for (size_t i = 0; i < region.groups.size(); ++i) {
    const int32_t group = region.groups[i];
    std::vector<int32_t> &list = region.labels[i];
    if (const size_t count = groups.groups[group].costs.size(); count <= most) {
      list.resize(count);
      std::iota(list.begin(), list.end(), 0);
      continue;
    }
    list.assign(promising[group].begin(),
                promising[group].begin() + int64_t(most));
    if (std::find(list.begin(), list.end(), labels[group]) == list.end())
      list.push_back(labels[group]);
  }
}

/// Prices of rows are the bound's, more or less, and higher where there is no
/// room now; where there is much, they are lower.
void ShardingSearch::priceRegion(const std::vector<int32_t> &region) {
  const double share = random.unit() < 0.2 ? 0 : 2 * random.unit();
  const double penalty = 2 * random.unit() * pressure;
  const bool isUneven = random.unit() < 0.2;
  const double rise = random.unit() * random.unit() * pressure;
  double most = 1;
  for (const ShardingGroups::Row &row : groups.rows)
    most = std::max(most, double(row.capacity));
  std::vector<double> sums = {0};
  for (size_t row = 0; row < left.size(); ++row) {
    double price = share * bound.prices()[row];
    if (left[row] < 0)
      price += penalty * weights[row];
    else if (left[row] > 0.05 * most)
      price *= 0.3;
    // Prices alone do not lead to every choice: some moves change them, and
    // give prices to rows without one.
    if (isUneven)
      price = 2 * random.unit() * (price + rise * weights[row]);
    sums.push_back(sums.back() + price);
  }
  for (int32_t group : region) {
    const ShardingGroups::Group &source = groups.groups[group];
    priced[group].assign(source.costs.begin(), source.costs.end());
    for (int32_t label = 0; label < source.size(); ++label)
      for (const ShardingGroups::Run &run : source.runs[label])
        priced[group][label] +=
            double(run.bytes) * (sums[run.end] - sums[run.begin]);
  }
}

/// Takes other labels if these cost at most so much more with what exceeds the
/// limit, which `allowed` is asked for where labels differ. `undo` has those
/// before.
template <typename Allowed>
bool ShardingSearch::take(
    const std::vector<ShardingElimination::Change> &changes, Allowed allowed) {
  const double before = double(cost) + pressure * excess;
  undo.clear();
  for (const auto &[group, label] : changes) {
    if (labels[group] == label)
      continue;
    undo.push_back({group, labels[group]});
    setLabel(group, label);
  }
  if (undo.empty())
    return false;
  const __int128 change = costChange();
  if (double(cost + change) + pressure * excess > before + allowed()) {
    for (const auto &[group, label] : undo)
      setLabel(group, label);
    return false;
  }
  cost += change;
  keepIfCheapest();
  return true;
}

/// What a step of a walk takes, about, in numbers of tables.
static constexpr int64_t effortOfStep = 50;

/// Labels of a region made it cheaper; its twins may become so, too.
void ShardingSearch::repeatElsewhere(const std::vector<int32_t> &region) {
  if (twins.like(region.front()).size() < 2)
    return;
  const ShardingTwins::Walk walk = twins.walk(region);
  std::vector<ShardingElimination::Change> changes;
  for (int32_t group : walk.groups)
    changes.push_back({group, labels[group]});
  for (int32_t twin : twins.like(region.front())) {
    elimination.effort += effortOfStep * int64_t(changes.size());
    const std::vector<int32_t> reached = twins.follow(walk, twin);
    if (twin == region.front() || reached.empty())
      continue;
    for (size_t i = 0; i < reached.size(); ++i)
      changes[i].group = reached[i];
    take(changes, [] { return 0.0; });
  }
}

/// Of the bound.
static constexpr double closeEnough = 1e-6;

void ShardingSearch::run(int64_t effort) {
  if (groups.groups.empty())
    return;
  const int64_t begin = elimination.effort;
  // What a move takes beside its tables, about.
  const auto besides = static_cast<int64_t>(groups.rows.size()) + 100;
  int fitting = 0, exceeding = 0;
  ShardingElimination::Region region;
  for (int64_t spent = 0; spent < effort; spent = elimination.effort - begin) {
    // Costs are whole numbers: none can be between. What is left of a bound is
    // often nothing but rounding.
    if (cheapest &&
        double(cheapest->cost) <
            bound.bound() + std::max(0.99, closeEnough * bound.bound()))
      return;
    elimination.effort += besides;
    region.groups = drawRegion();
    drawLabels(region);
    priceRegion(region.groups);
    // Large tables find more, small ones are looked at sooner.
    const int64_t largest = int64_t(1000) << random.below(9);
    const double before = double(cost) + pressure * excess;
    auto allowed = [&] {
      const double heat = 1 - double(spent) / double(effort);
      return 0.002 * std::fabs(bound.bound()) * heat * heat * random.unit() *
             random.unit();
    };
    if (take(elimination.solve(region, labels, priced, largest, random),
             allowed) &&
        isGuided && double(cost) + pressure * excess < before)
      repeatElsewhere(region.groups);
    ++(fits() ? fitting : exceeding);
    if (fitting + exceeding == 60) {
      if (fitting == 0)
        pressure *= 1.2;
      else if (exceeding == 0)
        pressure = std::max(0.05, pressure * 0.85);
      fitting = exceeding = 0;
      measureExcess();
    }
  }
}
