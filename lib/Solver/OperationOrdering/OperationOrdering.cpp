//===- OperationOrdering.cpp - the order with the smallest peak -----------===//
//
// Takes the best of several whole orders, solves windows around the peak
// exactly by dynamic programming over the sets of operations that have run, and
// computes the bytes that every order must hold (OrderingBound.h). If both do
// not meet, a search looks for a smaller peak or shows that there is none.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OperationOrdering.h"

#include "OrderingBound.h"
#include "OrderingExact.h"
#include "OrderingGraph.h"

#include <algorithm>

using namespace tenon::solver;

/// Frontiers are found, and every byte that a search could save is looked for.
static constexpr int32_t mostOperationsToSettle = 4'000;
static constexpr int32_t mostOperationsToSearch = 250'000;
/// In larger problems only, what is less is not looked for: a share of the
/// bound.
static constexpr double smallestGain = 0.001;

/// The best order of order[from, from + count) with everything else in place,
/// by dynamic programming over the sets of operations that have run. Returns
/// whether the peak inside got smaller.
static bool solveWindow(const OrderingGraph &graph, std::vector<int32_t> &order,
                        size_t from, size_t count,
                        std::vector<int32_t> &indexOf) {
  LiveBytes start(graph);
  for (size_t i = 0; i < from; ++i)
    start.run(order[i]);
  std::vector<int32_t> window(order.begin() + from,
                              order.begin() + from + count);
  LiveBytes replay = start;
  int64_t current = 0;
  for (int32_t operation : window)
    current = std::max(current, replay.run(operation));

  // Values that the window touches: bytes, readers inside, reads outside.
  for (size_t i = 0; i < count; ++i)
    indexOf[window[i]] = static_cast<int32_t>(i);
  struct Touched {
    int64_t bytes;
    uint32_t producer; // bit, or 0 when it is there from the start
    uint32_t readers;
    bool stays;
  };
  std::vector<Touched> values;
  std::vector<int32_t> valueIds;
  for (int32_t operation : window) {
    for (int32_t value : graph.results[operation])
      valueIds.push_back(value);
    for (int32_t value : graph.operands[operation])
      valueIds.push_back(value);
  }
  std::sort(valueIds.begin(), valueIds.end());
  valueIds.erase(std::unique(valueIds.begin(), valueIds.end()), valueIds.end());
  int64_t outside = start.live();
  for (int32_t value : valueIds) {
    Touched touched{graph.bytes[value], 0, 0, false};
    int32_t inside = 0;
    for (int32_t user : graph.users[value])
      if (indexOf[user] >= 0) {
        touched.readers |= 1u << indexOf[user];
        ++inside;
      }
    if (indexOf[graph.producer[value]] >= 0)
      touched.producer = 1u << indexOf[graph.producer[value]];
    else
      outside -= touched.bytes;
    touched.stays = start.left(value) > inside;
    values.push_back(touched);
  }
  std::vector<uint32_t> needs(count, 0);
  for (size_t i = 0; i < count; ++i)
    for (int32_t other : graph.before[window[i]])
      if (indexOf[other] >= 0)
        needs[i] |= 1u << indexOf[other];

  uint32_t full = (1u << count) - 1;
  std::vector<int64_t> best(full + 1, INT64_MAX);
  std::vector<int8_t> last(full + 1, -1);
  best[0] = 0;
  for (uint32_t done = 0; done < full; ++done) {
    if (best[done] == INT64_MAX || best[done] >= current)
      continue;
    int64_t live = outside;
    for (const Touched &value : values) {
      bool there = value.producer == 0 || (done & value.producer) != 0;
      if (there && (value.stays || (value.readers & ~done) != 0))
        live += value.bytes;
    }
    for (size_t i = 0; i < count; ++i) {
      uint32_t bit = 1u << i;
      if ((done & bit) != 0 || (needs[i] & ~done) != 0)
        continue;
      int64_t during = live + graph.workspace[window[i]];
      for (int32_t value : graph.results[window[i]])
        during += graph.bytes[value];
      for (const OrderingGraph::Pair &pair : graph.inPlace[window[i]]) {
        size_t at =
            std::lower_bound(valueIds.begin(), valueIds.end(), pair.operand) -
            valueIds.begin();
        if (!values[at].stays && (values[at].readers & ~done) == bit)
          during -= pair.shared;
      }
      int64_t peak = std::max(best[done], during);
      if (peak < best[done | bit]) {
        best[done | bit] = peak;
        last[done | bit] = static_cast<int8_t>(i);
      }
    }
  }
  for (int32_t operation : window)
    indexOf[operation] = -1;
  if (best[full] >= current)
    return false;
  uint32_t done = full;
  for (size_t i = count; i-- > 0;) {
    order[from + i] = window[last[done]];
    done &= ~(1u << last[done]);
  }
  return true;
}

/// Raises the bound by the frontier that forces the most, the peak at best.
static void raiseByFrontiers(const OrderingGraph &graph, int64_t work,
                             OrderingSolution &solution) {
  if (graph.operations > mostOperationsToSettle)
    return;
  int64_t most = solution.peak;
  for (int64_t wanted = most; solution.bound < most && work > 0;
       wanted = most - (most - solution.bound) / 2) {
    Frontier frontier = findFrontier(graph, wanted, work);
    if (frontier.operations.empty()) {
      most = wanted - 1;
      continue;
    }
    solution.bound = frontier.bytes;
    solution.certificate.frontier = std::move(frontier.operations);
  }
}

/// Searches below the best peak until nothing is there, or the effort is spent:
/// just below it, and half way down to what is known to be out of reach, in
/// turns. A search just below the peak may be too hard where one farther down
/// is not: then all that is shown is that no order gets that far.
static void searchBelow(const OrderingGraph &graph, int64_t looks,
                        OrderingSolution &solution) {
  const bool isLarge = graph.operations > mostOperationsToSettle;
  const double least =
      isLarge ? smallestGain * static_cast<double>(solution.bound) : 0;
  if (graph.operations > mostOperationsToSearch ||
      static_cast<double>(solution.peak - solution.bound) <= least)
    return;
  const OrderingDeferral deferral(graph);
  // What is found in a large problem takes few looks per operation.
  const int64_t each = looks / (isLarge ? 6 : 3);
  int stops = 0;
  int64_t low = solution.bound, tooHard = INT64_MAX;
  bool fromTop = true;
  while (low < solution.peak && looks > 0) {
    int64_t high = std::min(solution.peak, tooHard);
    int64_t target = fromTop ? solution.peak : low + (high - low + 1) / 2;
    std::vector<int32_t> rank(graph.operations), order;
    for (int32_t i = 0; i < graph.operations; ++i)
      rank[solution.order[i]] = i;
    int64_t some = std::min(looks, each);
    looks -= some;
    OrderSearch outcome =
        searchOrder(graph, deferral, target, rank, some, order);
    looks += some;
    switch (outcome) {
    case OrderSearch::Found:
      solution.peak = peakOf(graph, order);
      solution.order = std::move(order);
      solution.method = "search";
      fromTop = !fromTop;
      break;
    case OrderSearch::Exhausted:
      low = solution.searchedBound = target;
      fromTop = tooHard == INT64_MAX;
      break;
    case OrderSearch::Stopped:
      if (target <= low + 1 || (isLarge && ++stops == 2))
        return;
      tooHard = target;
      fromTop = false;
      break;
    }
  }
}

OrderingSolution tenon::solver::solveOrdering(const OrderingProblem &problem,
                                              const OrderingOptions &options) {
  OrderingSolution solution;
  if (auto error = validateOrderingProblem(problem)) {
    solution.message = *error;
    return solution;
  }
  solution.valid = true;
  solution.method = "given";
  OrderingGraph graph(problem);
  solution.order.resize(graph.operations);
  for (int32_t i = 0; i < graph.operations; ++i)
    solution.order[i] = i;
  solution.givenPeak = solution.peak = peakOf(graph, solution.order);
  if (graph.operations == 0)
    return solution;

  MustLive mustLive(graph);
  auto raise = [&](int32_t operation) {
    int64_t bytes = mustLive.at(operation);
    if (solution.certificate.frontier.empty() || bytes > solution.bound) {
      solution.bound = bytes;
      solution.certificate.frontier = {operation};
    }
  };
  // The fullest operations of an order, spread out.
  auto raiseAlong = [&](const std::vector<int32_t> &order, int64_t work) {
    LiveBytes state(graph);
    std::vector<std::pair<int64_t, int32_t>> levels;
    for (int32_t operation : order)
      levels.push_back({-state.run(operation), operation});
    if (levels.empty())
      return;
    raise(std::min_element(levels.begin(), levels.end())->second);
    std::sort(levels.begin(), levels.end());
    int64_t end = mustLive.work + work;
    // Half of the tries on the fullest, half evenly over the order.
    for (size_t i = 0; i < levels.size() && mustLive.work < end; ++i) {
      raise(levels[i].second);
      if (mustLive.work < end)
        raise(order[(i * 0x9E3779B1u) % order.size()]);
      if (solution.bound >= solution.peak)
        return;
    }
  };
  raiseAlong(solution.order, options.boundWork / 8);

  auto offer = [&](std::vector<int32_t> order, const char *method) {
    int64_t peak = peakOf(graph, order);
    if (peak >= solution.peak)
      return;
    solution.peak = peak;
    solution.order = std::move(order);
    solution.method = method;
  };
  struct Candidate {
    ListRule rule;
    const char *name;
  };
  constexpr Candidate lists[] = {{ListRule::GivenClosing, "given-closing"},
                                 {ListRule::GivenLazy, "given-lazy"},
                                 {ListRule::FreesMost, "frees-most"},
                                 {ListRule::SmallestPeak, "smallest-peak"},
                                 {ListRule::BreadthFirst, "breadth-first"}};
  for (const Candidate &candidate : lists)
    if (solution.peak > solution.bound)
      offer(listOrder(graph, candidate.rule), candidate.name);
  for (bool byUsers : {false, true})
    if (solution.peak > solution.bound)
      offer(depthFirstOrder(graph, byUsers), "depth-first");
  // Windows around the peak, shifted until none helps.
  size_t size =
      std::min<size_t>(std::clamp(options.windowSize, 2, 16), graph.operations);
  std::vector<int32_t> indexOf(graph.operations, -1);
  int32_t windows = static_cast<int32_t>(
      std::min<int64_t>(options.windows, 20'000'000 / (graph.operations + 1)));
  while (windows > 0 && solution.peak > solution.bound) {
    LiveBytes state(graph);
    size_t at = 0;
    while (state.run(solution.order[at]) < solution.peak)
      ++at;
    bool better = false;
    for (size_t before : {size / 2, size - 1, size_t(0), size / 4}) {
      if (windows-- <= 0 || better)
        break;
      size_t from = at > before ? at - before : 0;
      from = std::min(from, graph.operations - size);
      better = solveWindow(graph, solution.order, from, size, indexOf);
    }
    if (!better)
      break;
    int64_t peak = peakOf(graph, solution.order);
    if (peak < solution.peak)
      solution.method += "+window";
    solution.peak = peak;
  }
  if (solution.peak > solution.bound)
    raiseAlong(solution.order, options.boundWork);
  raiseByFrontiers(graph, options.boundWork, solution);

  searchBelow(graph, options.searchLooks, solution);
  return solution;
}
