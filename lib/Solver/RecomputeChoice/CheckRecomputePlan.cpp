//===- CheckRecomputePlan.cpp - replay a recomputation plan ---------------===//
//
// Walks the list of operations forwards for what must be there, and backwards
// for how long it stays; recounts cost and peak.
//
//===----------------------------------------------------------------------===//

#include "CheckRecompute.h"

#include <utility>

using namespace tenon::solver;
using namespace tenon::solver::judge;

namespace {
/// What the chosen rows make of costs and workspaces, by operation.
struct Chosen {
  std::vector<Wide> cost, workspace;

  Chosen(const RecomputeProblem &problem, const std::vector<int32_t> &rows) {
    for (const RecomputeProblem::Node &node : problem.nodes) {
      cost.push_back(node.cost);
      workspace.push_back(node.workspace);
    }
    for (const RecomputeProblem::Variant &variant : problem.variants)
      for (int64_t once : {variant.saveCost, variant.loadCost}) {
        cost.push_back(once);
        workspace.push_back(0);
      }
    for (size_t i = 0; i < rows.size(); ++i) {
      const RecomputeProblem::Loop &loop = problem.loops[i];
      cost[loop.node] += loop.rows[rows[i]].cost;
      workspace[loop.node] += loop.rows[rows[i]].bytes;
    }
  }
};

/// What a run needs because of other runs, by node.
struct Conditions {
  Lists lateReads, overwrites; // values, and places in the problem's list

  explicit Conditions(const RecomputeProblem &problem)
      : lateReads(problem.nodes.size(), late(problem)),
        overwrites(problem.nodes.size(), written(problem)) {}

private:
  using Pairs = std::vector<std::pair<int32_t, int32_t>>;
  static Pairs late(const RecomputeProblem &problem) {
    Pairs pairs;
    for (auto [value, consumer] : problem.lateReads)
      pairs.push_back({consumer, value});
    return pairs;
  }
  static Pairs written(const RecomputeProblem &problem) {
    Pairs pairs;
    for (size_t i = 0; i < problem.overwrites.size(); ++i)
      pairs.push_back({problem.overwrites[i].node, static_cast<int32_t>(i)});
    return pairs;
  }
};
} // namespace

/// Walks the plan forwards: every node there, first runs by id, inputs there in
/// time, transfers one after the other. Adds to `heldAt` positions and what
/// transfers keep in memory there.
static std::optional<std::string>
checkSteps(const Tables &tables, const Chosen &chosen,
           const Conditions &conditions, const std::vector<int32_t> &order,
           Wide &clock, std::vector<std::pair<int32_t, int32_t>> &heldAt) {
  const RecomputeProblem &problem = tables.problem;
  struct Transfer {
    size_t position;
    Wide end;
    int32_t value, copy;
  };
  std::vector<Transfer> transfers;
  std::vector<Wide> starts;
  // Per value and copy: when a load of it ends, and when all transfers from or
  // to it have; per copy, when its save ends.
  // The clock may begin below zero.
  constexpr Wide longAgo = -(Wide(1) << 62);
  std::vector<Wide> there(tables.sizes.size(), longAgo), busy(there),
      saved(problem.variants.size(), -1);
  Wide engine[2] = {0, 0}; // when it is free: out, in
  int32_t fresh = 0;
  clock = 0;
  for (size_t position = 0; position < order.size(); ++position) {
    int32_t operation = order[position];
    std::string where = " at position " + std::to_string(position);
    if (operation < 0 || operation >= problem.operationCount())
      return "operation " + std::to_string(operation) + where +
             " does not exist";
    bool isNode = operation < tables.nodes;
    if (isNode && operation > fresh)
      return "node " + std::to_string(operation) + where +
             " runs before node " + std::to_string(fresh) + " has run";
    if (operation < fresh && problem.runsOnce(operation))
      return "node " + std::to_string(operation) + where +
             " runs again but must run once";
    fresh += operation == fresh;
    // Inputs of nodes have smaller ids, so they have been computed before.
    auto isLoading = [&](int32_t value) {
      return there[value] > clock ? "value " + std::to_string(value) + where +
                                        " is read before its load has ended"
                                  : std::string();
    };
    for (int32_t value : tables.reads[operation])
      if (std::string error = isLoading(value); !error.empty())
        return error;
    if (isNode)
      for (int32_t value : conditions.lateReads[operation])
        if (std::string error = isLoading(value); !error.empty())
          return error;
    for (int32_t value : tables.produces[operation])
      if (busy[value] > clock)
        return "value " + std::to_string(value) + where +
               " is computed while a transfer of it goes on";
    starts.push_back(clock);
    clock += chosen.cost[operation];
    for (int32_t value : tables.produces[operation])
      there[value] = longAgo;
    if (isNode)
      continue;
    size_t index = (operation - tables.nodes) / 2;
    const RecomputeProblem::Variant &variant = problem.variants[index];
    bool load = operation == problem.loadOf(index);
    if (!load && fresh <= problem.producer(variant.value))
      return "variant " + std::to_string(index) + where +
             " is saved before its value is computed";
    if (load && saved[index] < 0)
      return "variant " + std::to_string(index) + where +
             " is loaded before it is saved";
    Wide end = load ? std::max(clock, saved[index]) : clock;
    if (variant.transfer > 0)
      engine[load] = end = std::max(end, engine[load]) + variant.transfer;
    (load ? there[variant.value] : saved[index]) = end;
    auto copy = static_cast<int32_t>(tables.copies + index);
    for (int32_t moved : {variant.value, copy})
      busy[moved] = std::max(busy[moved], end);
    transfers.push_back({position, end, variant.value, copy});
  }
  if (fresh != tables.nodes)
    return "node " + std::to_string(fresh) + " never runs";
  // A transfer keeps both ends until the last operation that starts before its
  // end.
  for (const Transfer &transfer : transfers) {
    auto last = std::lower_bound(starts.begin(), starts.end(), transfer.end);
    if (last > starts.begin() + transfer.position + 1)
      for (int32_t held : {transfer.value, transfer.copy})
        heldAt.push_back(
            {static_cast<int32_t>(last - starts.begin() - 1), held});
  }
  return std::nullopt;
}

std::optional<std::string> judge::checkPlan(const Tables &tables,
                                            const RecomputeSolution &solution) {
  const std::vector<int32_t> &order = solution.order;
  if (solution.rows.size() != tables.problem.loops.size())
    return std::to_string(solution.rows.size()) + " rows are chosen for " +
           std::to_string(tables.problem.loops.size()) + " loops";
  for (size_t i = 0; i < solution.rows.size(); ++i)
    if (solution.rows[i] < 0 ||
        solution.rows[i] >= int32_t(tables.problem.loops[i].rows.size()))
      return "loop " + std::to_string(i) + " has no row " +
             std::to_string(solution.rows[i]);
  const Chosen chosen(tables.problem, solution.rows);
  Wide cost = 0;
  std::vector<std::pair<int32_t, int32_t>> transfers;
  const Conditions conditions(tables.problem);
  if (auto error =
          checkSteps(tables, chosen, conditions, order, cost, transfers))
    return error;
  const Lists heldAt(order.size(), std::move(transfers));

  // Walking backwards, a use not yet seen since the last computation met is the
  // last one: the value is live from its computation up to there.
  std::vector<char> wanted(tables.sizes.size(), 0);
  Wide live = 0, peak = 0;
  auto use = [&](int32_t value) {
    if (!wanted[value])
      live += tables.sizes[value];
    wanted[value] = 1;
  };
  std::vector<size_t> firstAt(tables.nodes);
  for (size_t position = order.size(); position-- > 0;)
    if (order[position] < tables.nodes)
      firstAt[order[position]] = position;
  for (size_t position = order.size(); position-- > 0;) {
    int32_t operation = order[position];
    // What a transfer reads or makes meanwhile cannot be written over.
    for (int32_t value : heldAt[position])
      use(value);
    Wide during = chosen.workspace[operation];
    if (operation < tables.nodes) {
      const bool isFirst = firstAt[operation] == position;
      during += isFirst ? 0 : tables.problem.nodes[operation].again;
      for (size_t i : conditions.overwrites[operation]) {
        const RecomputeProblem::Overwrite &entry = tables.problem.overwrites[i];
        during += wanted[entry.value] ? entry.bytes : 0;
      }
    }
    Wide leaving = 0;
    for (int32_t value : tables.produces[operation]) {
      (wanted[value] ? leaving : during) += tables.sizes[value];
      wanted[value] = 0;
    }
    for (int32_t value : tables.reads[operation])
      use(value);
    if (operation < tables.nodes)
      for (int32_t value : conditions.lateReads[operation])
        if (firstAt[tables.problem.producer(value)] < position)
          use(value);
    peak = std::max(peak, live + during);
    live -= leaving;
  }
  if (cost != solution.cost)
    return mismatch("cost", solution.cost, cost);
  if (peak != solution.peak)
    return mismatch("peak", solution.peak, peak);
  if (peak > solution.budget)
    return "peak " + number(peak) + " exceeds the budget " +
           std::to_string(solution.budget);
  return std::nullopt;
}
