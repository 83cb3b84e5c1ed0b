//===- RecomputeVariants.cpp - rows of loops and variants of values -------===//
//
// Writes rows and waits into a problem, replays plans with transfers, and reads
// choices off a cut. See the header for the idea.
//
//===----------------------------------------------------------------------===//

#include "RecomputeVariants.h"

#include <algorithm>
#include <array>
#include <tuple>

using namespace tenon::solver;

namespace {
using Wait = RecomputeChoices::Wait;

/// Nodes to be put between those of the problem.
struct Inserted {
  int32_t before; // the node that follows
  int32_t rank;   // among those before the same node
  size_t wait;
  enum Kind { Saved, Save, Load, Loaded } kind;
};

/// Writes choices into a problem.
class Fixing {
public:
  Fixing(const RecomputeProblem &problem, const RecomputeChoices &choices)
      : problem(problem), choices(choices), base(problem) {}

  std::optional<FixedProblem> run();

private:
  void applyRows();
  bool place();
  void addNodes();
  void addEdges();

  const RecomputeProblem &problem;
  const RecomputeChoices &choices;
  RecomputeProblem base; // with the rows written into it
  std::vector<Inserted> inserted;
  std::vector<int32_t> numberOf;            // old node -> new
  std::vector<std::array<int32_t, 4>> made; // wait -> its nodes, or -1
  FixedProblem result;
};
} // namespace

void Fixing::applyRows() {
  base.loops.clear();
  base.variants.clear();
  for (size_t i = 0; i < problem.loops.size(); ++i) {
    const RecomputeProblem::Loop &loop = problem.loops[i];
    const RecomputeProblem::Loop::Row &row = loop.rows[choices.rows[i]];
    base.nodes[loop.node].cost += row.cost;
    base.nodes[loop.node].workspace += row.bytes;
  }
}

/// Puts saves after their nodes, loads as late as their transfers allow.
bool Fixing::place() {
  auto nodes = static_cast<int32_t>(base.nodes.size());
  // Clocks without what runs again, saves and loads: these only add time
  // between a transfer's begin and its deadline.
  std::vector<int64_t> starts(nodes + 1, 0);
  for (int32_t node = 0; node < nodes; ++node)
    starts[node + 1] = starts[node] + base.nodes[node].cost;
  auto variantOf = [&](size_t wait) -> const RecomputeProblem::Variant & {
    return problem.variants[choices.waits[wait].variant];
  };
  /// The first node that starts at `time` or later.
  auto firstAt = [&](int64_t time) {
    return static_cast<int32_t>(
        std::lower_bound(starts.begin(), starts.end(), time) - starts.begin());
  };
  std::vector<size_t> list(choices.waits.size());
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = i;
  std::sort(list.begin(), list.end(), [&](size_t a, size_t b) {
    return std::pair(choices.waits[a].after, a) <
           std::pair(choices.waits[b].after, b);
  });
  std::vector<int32_t> savedBefore(list.size());
  int64_t free = 0;
  for (size_t wait : list) {
    int32_t next = choices.waits[wait].after + 1;
    inserted.push_back({next, 0, wait, Inserted::Save});
    savedBefore[wait] = next;
    if (int64_t transfer = variantOf(wait).transfer; transfer > 0) {
      free = std::max(free, starts[next]) + transfer;
      savedBefore[wait] = std::max(next, std::min(nodes, firstAt(free)));
      inserted.push_back({savedBefore[wait], 1, wait, Inserted::Saved});
    }
  }
  // Loads from the latest deadline backwards.
  std::sort(list.begin(), list.end(), [&](size_t a, size_t b) {
    return std::pair(choices.waits[a].before, a) >
           std::pair(choices.waits[b].before, b);
  });
  int64_t busyFrom = starts[nodes];
  for (size_t wait : list) {
    int32_t before = choices.waits[wait].before;
    int32_t at = before;
    if (int64_t transfer = variantOf(wait).transfer; transfer > 0) {
      busyFrom = std::min(busyFrom, starts[before]) - transfer;
      // The last node that starts early enough; ranks keep the engine's order.
      at = static_cast<int32_t>(std::upper_bound(starts.begin(),
                                                 starts.begin() + nodes + 1,
                                                 busyFrom) -
                                starts.begin()) -
           1;
      at = std::min(at, before);
      if (busyFrom < 0 || at < savedBefore[wait])
        return false;
      inserted.push_back({before, 2, wait, Inserted::Loaded});
    }
    if (at <= choices.waits[wait].after)
      return false;
    inserted.push_back({at, 3, wait, Inserted::Load});
  }
  std::sort(inserted.begin(), inserted.end(),
            [&](const Inserted &a, const Inserted &b) {
              // Loads of one place in the order of their deadlines.
              auto deadline = [&](const Inserted &one) {
                return one.kind == Inserted::Load
                           ? choices.waits[one.wait].before
                           : 0;
              };
              return std::tuple(a.before, a.rank, deadline(a), a.wait) <
                     std::tuple(b.before, b.rank, deadline(b), b.wait);
            });
  return true;
}

void Fixing::addNodes() {
  auto nodes = static_cast<int32_t>(base.nodes.size());
  RecomputeProblem &to = result.problem;
  made.assign(choices.waits.size(), {-1, -1, -1, -1});
  size_t next = 0;
  for (int32_t node = 0; node <= nodes; ++node) {
    for (; next < inserted.size() && inserted[next].before == node; ++next) {
      const Inserted &one = inserted[next];
      int32_t index = choices.waits[one.wait].variant;
      const RecomputeProblem::Variant &variant = problem.variants[index];
      RecomputeProblem::Node added;
      int32_t operation = -1;
      if (one.kind == Inserted::Save) {
        added.cost = variant.saveCost;
        added.bytes = variant.bytes;
        operation = problem.saveOf(index);
      } else if (one.kind == Inserted::Load) {
        added.cost = variant.loadCost;
        added.bytes = base.bytes(variant.value);
        operation = problem.loadOf(index);
      }
      // What transfers must not be moved.
      added.pinned = operation < 0 || variant.transfer > 0;
      made[one.wait][one.kind] = static_cast<int32_t>(to.nodes.size());
      to.nodes.push_back(added);
      result.operations.push_back(operation);
    }
    if (node == nodes)
      break;
    numberOf.push_back(static_cast<int32_t>(to.nodes.size()));
    to.nodes.push_back(base.nodes[node]);
    result.operations.push_back(node);
  }
}

void Fixing::addEdges() {
  RecomputeProblem &to = result.problem;
  const auto oldNodes = static_cast<int32_t>(base.nodes.size());
  const auto newNodes = static_cast<int32_t>(to.nodes.size());
  const RecomputeGraph graph(base); // expands the views
  auto newValue = [&](int32_t value) {
    return value < oldNodes ? numberOf[value] : newNodes + value - oldNodes;
  };
  for (const RecomputeProblem::Output &output : base.extraOutputs)
    to.extraOutputs.push_back({numberOf[output.producer], output.bytes});
  // Readers of views read the bases as well, so views are plain values without
  // bytes.
  for (auto [value, under] : base.aliases)
    (value < oldNodes ? to.nodes[numberOf[value]].bytes
                      : to.extraOutputs[value - oldNodes].bytes) = 0;
  to.loss = base.loss < 0 ? -1 : numberOf[base.loss];
  to.fixedMemory = base.fixedMemory;
  // Where a value is loaded, what waits for its death is left to measuring.
  for (auto [value, consumer] : base.lateReads)
    to.lateReads.push_back({newValue(value), numberOf[consumer]});
  for (auto [value, node, bytes] : base.overwrites)
    to.overwrites.push_back({newValue(value), numberOf[node], bytes});
  to.mayRepeatCollectives = base.mayRepeatCollectives;
  std::vector<std::vector<size_t>> waitsOf(graph.values);
  for (size_t i = 0; i < choices.waits.size(); ++i)
    waitsOf[problem.variants[choices.waits[i].variant].value].push_back(i);
  for (int32_t value = 0; value < graph.values; ++value) {
    std::vector<size_t> &waits = waitsOf[value];
    std::sort(waits.begin(), waits.end(), [&](size_t a, size_t b) {
      return choices.waits[a].before < choices.waits[b].before;
    });
    /// The value that is there when an old node first runs.
    auto current = [&](int32_t node) {
      int32_t there = newValue(value);
      for (size_t wait : waits)
        if (choices.waits[wait].before <= node)
          there = made[wait][Inserted::Load];
      return there;
    };
    for (int32_t user : graph.users(value))
      to.edges.push_back({current(user), numberOf[user]});
    for (size_t wait : waits) {
      auto [saved, save, load, loaded] = made[wait];
      int32_t source = current(choices.waits[wait].after);
      to.edges.push_back({source, save});
      to.edges.push_back({save, load});
      if (saved >= 0) {
        to.edges.push_back({source, saved});
        to.edges.push_back({save, saved});
      }
      if (loaded >= 0) {
        to.edges.push_back({save, loaded});
        to.edges.push_back({load, loaded});
      }
    }
  }
}

std::optional<FixedProblem> Fixing::run() {
  applyRows();
  if (!place())
    return std::nullopt;
  addNodes();
  addEdges();
  return std::move(result);
}

std::optional<FixedProblem>
tenon::solver::fixChoices(const RecomputeProblem &problem,
                          const RecomputeChoices &choices) {
  return Fixing(problem, choices).run();
}

namespace {
/// A plan of the whole problem, run on a clock.
struct Replay {
  const RecomputeProblem &problem;
  const RecomputeGraph graph; // with the chosen rows
  bool valid = true;
  int64_t cost = 0;
  /// Of each position, the last one that starts before the transfer of the
  /// save or load there has ended; itself where there is none.
  std::vector<size_t> until;

  Replay(const RecomputeProblem &problem, const std::vector<int32_t> &rows,
         const std::vector<int32_t> &order)
      : problem(problem),
        graph(std::move(fixChoices(problem, {rows, {}})->problem)) {
    run(order);
  }

  /// Of an operation, what it reads or makes: values, and behind them a copy
  /// per variant.
  template <typename Visit>
  void forEach(int32_t operation, bool reads, Visit visit) const {
    if (operation < graph.nodes) {
      for (int32_t value :
           reads ? graph.inputs(operation) : graph.outputs(operation))
        visit(value);
      return;
    }
    int32_t variant = variantOf(operation);
    bool load = operation == problem.loadOf(variant);
    visit(load == reads ? graph.values + variant
                        : problem.variants[variant].value);
  }
  int32_t variantOf(int32_t operation) const {
    return (operation - graph.nodes) / 2;
  }

private:
  void run(const std::vector<int32_t> &order);
};
} // namespace

void Replay::run(const std::vector<int32_t> &order) {
  const size_t count = problem.variants.size();
  // The clock may begin below zero.
  constexpr int64_t longAgo = INT64_MIN / 2;
  std::vector<int64_t> starts(order.size()),
      arrives(graph.values + count, longAgo), moving(arrives),
      ends(order.size(), longAgo), saved(count, -1);
  int64_t engine[2] = {0, 0};
  for (size_t position = 0; position < order.size(); ++position) {
    int32_t operation = order[position];
    starts[position] = cost;
    auto arrived = [&](int32_t value) { valid &= arrives[value] <= cost; };
    forEach(operation, true, arrived);
    if (operation < graph.nodes)
      for (int32_t value : graph.lateInputs(operation))
        arrived(value);
    forEach(operation, false,
            [&](int32_t value) { valid &= moving[value] <= cost; });
    if (operation < graph.nodes) {
      cost += graph.cost[operation];
      for (int32_t value : graph.outputs(operation))
        arrives[value] = longAgo;
      continue;
    }
    int32_t index = variantOf(operation);
    const RecomputeProblem::Variant &variant = problem.variants[index];
    bool load = operation == problem.loadOf(index);
    valid &= !load || saved[index] >= 0;
    cost += load ? variant.loadCost : variant.saveCost;
    int64_t end = load ? std::max(cost, saved[index]) : cost;
    if (variant.transfer > 0)
      engine[load] = end = std::max(end, engine[load]) + variant.transfer;
    (load ? arrives[variant.value] : saved[index]) = end;
    for (int32_t moved : {variant.value, graph.values + index})
      moving[moved] = std::max(moving[moved], end);
    ends[position] = end;
  }
  for (size_t position = 0; position < order.size(); ++position) {
    auto next = std::lower_bound(starts.begin(), starts.end(), ends[position]);
    until.push_back(std::max<size_t>(position + 1, next - starts.begin()) - 1);
  }
}

std::vector<size_t>
tenon::solver::transferEnds(const RecomputeProblem &problem,
                            const std::vector<int32_t> &rows,
                            const std::vector<int32_t> &order) {
  return Replay(problem, rows, order).until;
}

std::optional<RecomputeMeasure>
tenon::solver::measureOperations(const RecomputeProblem &problem,
                                 const std::vector<int32_t> &rows,
                                 const std::vector<int32_t> &order) {
  const Replay replay(problem, rows, order);
  if (!replay.valid)
    return std::nullopt;
  const RecomputeGraph &graph = replay.graph;
  // Copies follow the values.
  std::vector<int64_t> bytes = graph.bytes;
  for (const RecomputeProblem::Variant &variant : problem.variants)
    bytes.push_back(variant.bytes);
  std::vector<std::pair<size_t, int32_t>> holds; // until a position, a value
  for (size_t position = 0; position < order.size(); ++position)
    if (replay.until[position] > position) {
      int32_t variant = replay.variantOf(order[position]);
      holds.push_back(
          {replay.until[position], problem.variants[variant].value});
      holds.push_back({replay.until[position], graph.values + variant});
    }
  std::sort(holds.begin(), holds.end());
  std::vector<char> live(bytes.size(), 0);
  const std::vector<char> first = firstRuns(graph.nodes, order);
  RecomputeMeasure result;
  result.cost = replay.cost;
  int64_t held = 0;
  int32_t begun = graph.nodes; // nodes whose first run is before this one
  for (size_t position = order.size(); position-- > 0;) {
    int32_t operation = order[position];
    const bool isNode = operation < graph.nodes;
    begun -= first[position];
    auto enter = [&](int32_t value) {
      held += live[value] ? 0 : bytes[value];
      live[value] = 1;
    };
    // What a transfer reads or makes meanwhile cannot be written over.
    for (; !holds.empty() && holds.back().first == position; holds.pop_back())
      enter(holds.back().second);
    int64_t peak = isNode ? graph.workspace[operation] : 0;
    if (isNode && !first[position])
      peak += graph.again[operation];
    if (isNode)
      for (auto [value, size] : graph.overwrites(operation))
        peak += live[value] ? size : 0;
    int64_t leaving = 0;
    replay.forEach(operation, false, [&](int32_t value) {
      (live[value] ? leaving : peak) += bytes[value];
      live[value] = 0;
    });
    replay.forEach(operation, true, enter);
    if (isNode)
      for (int32_t value : graph.lateInputs(operation))
        if (graph.producer[value] < begun)
          enter(value);
    result.peak = std::max(result.peak, held + peak);
    held -= leaving;
  }
  return result;
}

RecomputeChoices tenon::solver::chooseAtPrice(const RecomputeProblem &problem,
                                              const RecomputeGraph &graph,
                                              int32_t cut,
                                              const std::vector<char> &rerun,
                                              double price) {
  RecomputeChoices result;
  for (const RecomputeProblem::Loop &loop : problem.loops) {
    int32_t best = 0;
    double least = 0;
    for (size_t i = 0; i < loop.rows.size(); ++i) {
      const RecomputeProblem::Loop::Row &row = loop.rows[i];
      // Its bytes are needed only for as long as the loop runs.
      double sum = double(row.cost) + price * (0.01 * double(row.bytes));
      if (i == 0 || sum < least) {
        least = sum;
        best = static_cast<int32_t>(i);
      }
    }
    result.rows.push_back(best);
  }
  std::vector<int32_t> bestOf(graph.values, -1);
  std::vector<double> leastOf(graph.values);
  for (size_t i = 0; i < problem.variants.size(); ++i) {
    const RecomputeProblem::Variant &variant = problem.variants[i];
    int32_t value = variant.value;
    if (bestOf[value] < 0)
      leastOf[value] = price * double(graph.bytes[value]);
    double sum = price * double(variant.bytes) +
                 double(variant.saveCost + variant.loadCost);
    if (sum < leastOf[value]) {
      leastOf[value] = sum;
      bestOf[value] = static_cast<int32_t>(i);
    }
  }
  for (int32_t value = 0; value < graph.values; ++value) {
    int32_t producer = graph.producer[value];
    if (bestOf[value] < 0 || producer >= cut || rerun[producer])
      continue;
    std::span<const int32_t> users = graph.users(value);
    auto next = std::upper_bound(users.begin(), users.end(), cut);
    if (next == users.end())
      continue;
    // A transfer takes time: the sooner it begins, the sooner the value is
    // free.
    bool early = problem.variants[bestOf[value]].transfer > 0;
    int32_t last = early || next == users.begin() ? producer : *(next - 1);
    result.waits.push_back({bestOf[value], last, *next});
  }
  return result;
}
