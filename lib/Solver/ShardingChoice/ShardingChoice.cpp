//===- ShardingChoice.cpp - layouts with a bound --------------------------===//
//
// Makes the problem smaller, finds messages and prices, searches with the
// prices, and rounds both to the integers of the certificate.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/ShardingChoice.h"

#include "LargestSum.h"
#include "ShardingChoice/ShardingFold.h"
#include "ShardingChoice/ShardingSearch.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace tenon::solver;

/// The labels that take the fewest bytes, counted over all rows.
static std::vector<int32_t> fewestBytes(const ShardingGroups &groups) {
  std::vector<int32_t> labels;
  for (const ShardingGroups::Group &group : groups.groups) {
    std::vector<double> taken;
    for (const std::vector<ShardingGroups::Run> &runs : group.runs) {
      double &sum = taken.emplace_back(0);
      for (const ShardingGroups::Run &run : runs)
        sum += double(run.bytes) * double(run.end - run.begin);
    }
    labels.push_back(static_cast<int32_t>(
        std::min_element(taken.begin(), taken.end()) - taken.begin()));
  }
  return labels;
}

static int64_t peakOf(const ShardingProblem &problem,
                      const std::vector<int32_t> &strategies) {
  std::map<int64_t, int64_t> changes;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const ShardingProblem::Node &node = problem.nodes[i];
    if (node.begin >= node.end)
      continue;
    changes[node.begin] += node.bytes[strategies[i]];
    changes[node.end] -= node.bytes[strategies[i]];
  }
  int64_t taken = 0, peak = 0;
  for (const auto &[time, change] : changes)
    peak = std::max(peak, taken += change);
  return peak;
}

/// Rounds messages and prices, and sets what they prove.
static void certify(const ShardingGroups &groups, const ShardingBound &bound,
                    ShardingSolution &solution) {
  // As fine as numbers below 2^60 permit: prices of a byte are small.
  double largest = std::fabs(bound.bound()) + 1;
  for (size_t i = 0; i < groups.edges.size(); ++i)
    for (const std::vector<double> &list :
         {bound.toFirst(i), bound.toSecond(i)})
      for (double message : list)
        largest = std::max(largest, std::fabs(message));
  while (solution.scale < (1 << 20) &&
         largest * double(solution.scale) < 0x1p58)
    solution.scale *= 2;
  auto rounded = [&](double value) {
    return static_cast<int64_t>(std::llround(value * double(solution.scale)));
  };

  std::vector<int64_t> prices, sums = {0};
  __int128 total = __int128(groups.constant) * solution.scale;
  for (size_t row = 0; row < groups.rows.size(); ++row) {
    prices.push_back(std::max<int64_t>(0, rounded(bound.prices()[row])));
    sums.push_back(sums.back() + prices.back());
    total -= __int128(prices.back()) * groups.rows[row].capacity;
    if (prices.back())
      solution.prices.push_back({groups.rows[row].time, prices.back()});
  }
  std::vector<std::vector<__int128>> costs;
  for (const ShardingGroups::Group &group : groups.groups) {
    std::vector<__int128> &list = costs.emplace_back();
    for (int32_t label = 0; label < group.size(); ++label) {
      list.push_back(__int128(group.costs[label]) * solution.scale);
      for (const ShardingGroups::Run &run : group.runs[label])
        list.back() += __int128(run.bytes) * (sums[run.end] - sums[run.begin]);
    }
  }
  // Layers share tables: the least of a row says which ones matter.
  std::vector<std::vector<int64_t>> leastOfRows;
  for (const ShardingGroups::Table &table : groups.tables) {
    std::vector<int64_t> &least = leastOfRows.emplace_back();
    for (auto row = table.costs.begin(); row != table.costs.end();
         row += int64_t(table.columns))
      least.push_back(*std::min_element(row, row + int64_t(table.columns)));
  }
  for (size_t i = 0; i < groups.edges.size(); ++i) {
    const ShardingGroups::Edge &edge = groups.edges[i];
    const std::vector<int64_t> &costsOfPairs = groups.tables[edge.table].costs;
    ShardingSolution::Messages messages;
    messages.first = groups.groups[edge.first].lowestNode;
    messages.second = groups.groups[edge.second].lowestNode;
    for (double message : bound.toFirst(i))
      messages.toFirst.push_back(rounded(message));
    for (double message : bound.toSecond(i))
      messages.toSecond.push_back(rounded(message));
    const int64_t most =
        *std::max_element(messages.toSecond.begin(), messages.toSecond.end());
    std::optional<__int128> least;
    for (size_t row = 0; row < messages.toFirst.size(); ++row) {
      costs[edge.first][row] += messages.toFirst[row];
      if (least && __int128(leastOfRows[edge.table][row]) * solution.scale -
                           messages.toFirst[row] - most >=
                       *least)
        continue;
      for (size_t column = 0; column < messages.toSecond.size(); ++column) {
        const __int128 cost =
            __int128(costsOfPairs[row * messages.toSecond.size() + column]) *
                solution.scale -
            messages.toFirst[row] - messages.toSecond[column];
        if (!least || cost < *least)
          least = cost;
      }
    }
    for (size_t column = 0; column < messages.toSecond.size(); ++column)
      costs[edge.second][column] += messages.toSecond[column];
    total += *least;
    solution.messages.push_back(std::move(messages));
  }
  for (const std::vector<__int128> &list : costs)
    total += *std::min_element(list.begin(), list.end());
  // Costs are whole numbers, so the next one above is a bound, too.
  const __int128 up =
      total > 0 ? (total + solution.scale - 1) / solution.scale : __int128(0);
  solution.bound = static_cast<int64_t>(up);
}

/// Groups of a folded problem look alike within so many edges: far, so that
/// most of those that are one have neighbours that are one, too, or less far
/// where ends are much of a problem.
static constexpr int farthestAlike = 12, nearestAlike = 3;

/// With fewer groups of a kind than this, on average, a problem is not folded.
static constexpr size_t leastOfKind = 2;

/// Passes over a folded problem, at most, and over the whole one that goes on
/// from its messages until the bound is so near to what was found.
static constexpr int passesFolded = 96, passesUnfolded = 24;
static constexpr double nearEnough = 0.001;

/// Sets messages, and finds a first choice, from the problem in which all that
/// looks alike is decided once. Nothing where too little is alike or where no
/// choice is found.
static std::optional<ShardingSearch::Choice>
solveFolded(const ShardingGroups &groups, int64_t effort, uint64_t seed,
            ShardingBound &bound) {
  for (int depth = farthestAlike; depth >= nearestAlike; depth /= 2) {
    const ShardingTwins twins(groups, depth);
    if (groups.groups.size() < leastOfKind * size_t(twins.kindCount()))
      continue;
    const ShardingFold fold(groups, twins);
    ShardingBound folded(fold.folded());
    folded.settle(passesFolded);
    ShardingTwins alike(fold.folded());
    ShardingSearch search(fold.folded(), folded, alike, /*isGuided=*/true,
                          seed);
    search.start(folded.decode());
    search.run(effort);
    if (!search.best())
      return std::nullopt;
    bound.start(fold.messages(folded));
    const int64_t cost = search.best()->cost;
    bound.settle(passesUnfolded, (1 - nearEnough) * double(cost));
    return ShardingSearch::Choice{fold.labels(search.best()->labels), cost};
  }
  return std::nullopt;
}

ShardingSolution tenon::solver::solveSharding(const ShardingProblem &problem,
                                              const ShardingOptions &options) {
  ShardingSolution solution;
  ShardingGroups groups;
  if (auto reason = groupShardings(problem, groups)) {
    solution.message = *reason;
    return solution;
  }
  const int64_t effort = options.effort * 1'000'000;
  ShardingBound bound(groups);

  ShardingTwins twins(groups);
  std::optional<ShardingSearch::Choice> first;
  std::vector<int32_t> from;
  if (groups.rows.empty())
    first = solveFolded(groups, effort * 3 / 10, options.seed, bound);
  if (first) {
    from = first->labels;
  } else {
    // A first choice without a bound says how far the bound may be away.
    ShardingSearch search(groups, bound, twins, /*isGuided=*/false,
                          options.seed);
    search.start(fewestBytes(groups));
    search.run(effort / 50);
    first = search.best();
    bound.improve(effort * 2 / 5,
                  first ? std::optional(double(first->cost)) : std::nullopt);
    from = bound.decode();
  }

  ShardingSearch search(groups, bound, twins, /*isGuided=*/true, options.seed);
  search.start(from);
  search.run(effort * 29 / 50);
  const std::optional<ShardingSearch::Choice> &best =
      search.best() && (!first || search.best()->cost <= first->cost)
          ? search.best()
          : first;
  if (!best) {
    solution.message = "found no choice within the limit";
    return solution;
  }
  solution.valid = true;
  solution.cost = best->cost;
  solution.strategies = groups.fixed;
  for (size_t i = 0; i < groups.groups.size(); ++i)
    for (const ShardingGroups::Member &member : groups.groups[i].members)
      solution.strategies[member.node] = member.strategies[best->labels[i]];
  solution.peak = peakOf(problem, solution.strategies);
  certify(groups, bound, solution);
  return solution;
}
