//===- CheckRecomputeChoice.cpp - judge a recomputation plan --------------===//
//
// Replays the list of nodes, recounts cost and peak, and evaluates the
// certificate by weak duality, cut by cut. It trusts nothing that the solver
// computed and shares no code with it. Sums that could exceed 64 bits are kept
// in 128.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/RecomputeChoice.h"

#include <algorithm>
#include <utility>

using namespace tenon::solver;

namespace {
using Wide = __int128;
using Kind = RecomputeCertificate::Kind;
using Loop = RecomputeProblem::Loop;
using Row = RecomputeProblem::Loop::Row;

/// The problem's edges sorted both ways, without the solver's graph. Beside the
/// nodes there are the saves and loads of variants, beside the values their
/// copies, numbered after the values.
struct Tables {
  const RecomputeProblem &problem;
  int32_t nodes;
  int32_t copies;                              // the first copy
  std::vector<std::vector<int32_t>> reads;     // operation -> values
  std::vector<std::vector<int32_t>> produces;  // operation -> values
  std::vector<std::vector<int32_t>> consumers; // value -> nodes
  std::vector<int64_t> sizes;                  // of values; views have none
  std::vector<int32_t> loopOf;                 // node -> loop or -1
  std::vector<std::vector<int32_t>> variants;  // value -> variants

  explicit Tables(const RecomputeProblem &problem)
      : problem(problem), nodes(static_cast<int32_t>(problem.nodes.size())),
        copies(problem.valueCount()), reads(problem.operationCount()),
        produces(problem.operationCount()), consumers(problem.valueCount()),
        loopOf(nodes, -1), variants(problem.valueCount()) {
    for (int32_t value = 0; value < problem.valueCount(); ++value) {
      produces[problem.producer(value)].push_back(value);
      sizes.push_back(problem.bytes(value));
    }
    // A reader of a view reads what lies under it, down to the bottom.
    std::vector<int32_t> under(problem.valueCount(), -1);
    for (auto [value, base] : problem.aliases) {
      under[value] = base;
      sizes[value] = 0;
    }
    for (auto [value, consumer] : problem.edges)
      for (int32_t read = value; read >= 0; read = under[read])
        reads[consumer].push_back(read);
    for (int32_t node = 0; node < nodes; ++node) {
      std::sort(reads[node].begin(), reads[node].end());
      reads[node].erase(std::unique(reads[node].begin(), reads[node].end()),
                        reads[node].end());
      for (int32_t value : reads[node])
        consumers[value].push_back(node);
    }
    for (size_t i = 0; i < problem.variants.size(); ++i) {
      const RecomputeProblem::Variant &variant = problem.variants[i];
      auto copy = static_cast<int32_t>(copies + i);
      sizes.push_back(variant.bytes);
      variants[variant.value].push_back(static_cast<int32_t>(i));
      reads[problem.saveOf(i)] = produces[problem.loadOf(i)] = {variant.value};
      reads[problem.loadOf(i)] = produces[problem.saveOf(i)] = {copy};
    }
    for (size_t i = 0; i < problem.loops.size(); ++i)
      loopOf[problem.loops[i].forward] = loopOf[problem.loops[i].backward] =
          static_cast<int32_t>(i);
  }

  /// Cost of one run with the given row of the node's loop.
  Wide runCost(int32_t node, const Row &row) const {
    const Loop &loop = problem.loops[loopOf[node]];
    return Wide(problem.nodes[node].cost) +
           (node == loop.forward ? row.forwardCost : row.backwardCost);
  }
  /// The cheapest, or dearest, run of a node over all rows.
  Wide runCost(int32_t node, bool dearest) const {
    if (loopOf[node] < 0)
      return problem.nodes[node].cost;
    const std::vector<Row> &rows = problem.loops[loopOf[node]].rows;
    Wide result = runCost(node, rows[0]);
    for (const Row &row : rows)
      result = dearest ? std::max(result, runCost(node, row))
                       : std::min(result, runCost(node, row));
    return result;
  }

  /// Every node once, each loop in its cheapest row.
  Wide baseCost() const {
    Wide sum = 0;
    for (const RecomputeProblem::Node &node : problem.nodes)
      sum += node.cost;
    for (const Loop &loop : problem.loops)
      sum += cheapest(loop);
    return sum;
  }
  static Wide cheapest(const Loop &loop) {
    Wide least = loop.rows[0].cost();
    for (const Row &row : loop.rows)
      least = std::min(least, Wide(row.cost()));
    return least;
  }

  /// The least that the memory around the first run of `node` costs: `price`
  /// per byte that must be there together, `scale` times what the row of its
  /// loop costs beyond the cheapest.
  Wide workingSet(int32_t node, Wide price, Wide scale) const {
    Wide sum = problem.nodes[node].workspace;
    for (int32_t value : reads[node])
      sum += sizes[value];
    for (int32_t value : produces[node])
      sum += sizes[value];
    if (loopOf[node] < 0)
      return price * sum;
    const Loop &loop = problem.loops[loopOf[node]];
    Wide least = -1;
    for (const Row &row : loop.rows) {
      Wide bytes = sum + row.residualBytes +
                   (node == loop.forward ? row.forwardPeak : row.backwardPeak);
      Wide term = price * bytes + scale * (row.cost() - cheapest(loop));
      least = least < 0 ? term : std::min(least, term);
    }
    return least;
  }
};
} // namespace

static std::string number(Wide value) {
  if (value < 0)
    return "-" + number(-value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + int(value % 10)));
    value /= 10;
  } while (value > 0);
  return digits;
}

static std::string mismatch(const char *what, int64_t claimed, Wide found) {
  return std::string(what) + " " + number(claimed) + " is claimed, found " +
         number(found);
}

namespace {
/// What the chosen rows make of costs, workspaces and sizes.
struct Chosen {
  std::vector<Wide> cost, workspace, bytes;

  Chosen(const Tables &tables, const std::vector<int32_t> &rows)
      : bytes(tables.sizes.begin(), tables.sizes.end()) {
    const RecomputeProblem &problem = tables.problem;
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
      const Loop &loop = problem.loops[i];
      const Row &row = loop.rows[rows[i]];
      bytes[loop.residual] += row.residualBytes;
      cost[loop.forward] += row.forwardCost;
      cost[loop.backward] += row.backwardCost;
      workspace[loop.forward] += row.forwardPeak;
      workspace[loop.backward] += row.backwardPeak;
    }
  }
};
} // namespace

/// Walks the plan forwards: every node there, first runs by id, inputs there in
/// time, transfers one after the other. Adds to `heldAt`, per position, what
/// transfers keep in memory there.
static std::optional<std::string>
checkSteps(const Tables &tables, const Chosen &chosen,
           const std::vector<int32_t> &order, Wide &clock,
           std::vector<std::vector<int32_t>> &heldAt) {
  const RecomputeProblem &problem = tables.problem;
  struct Transfer {
    size_t position;
    Wide end;
    int32_t value, copy;
  };
  std::vector<Transfer> transfers;
  std::vector<Wide> starts;
  // Per value and copy: when a load of it ends, and when the last transfer from
  // or to it does; per copy, when its save ends.
  std::vector<Wide> there(tables.sizes.size(), 0), busy(there),
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
    for (int32_t value : tables.reads[operation])
      if (there[value] > clock)
        return "value " + std::to_string(value) + where +
               " is read before its load has ended";
    for (int32_t value : tables.produces[operation])
      if (busy[value] > clock)
        return "value " + std::to_string(value) + where +
               " is computed while a transfer of it goes on";
    starts.push_back(clock);
    clock += chosen.cost[operation];
    for (int32_t value : tables.produces[operation])
      there[value] = 0;
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
    busy[variant.value] = busy[copy] = end;
    transfers.push_back({position, end, variant.value, copy});
  }
  if (fresh != tables.nodes)
    return "node " + std::to_string(fresh) + " never runs";
  // A transfer keeps both ends until the last operation that starts before its
  // end.
  heldAt.assign(order.size(), {});
  for (const Transfer &transfer : transfers) {
    auto last = std::lower_bound(starts.begin(), starts.end(), transfer.end);
    if (last > starts.begin() + transfer.position + 1)
      for (int32_t held : {transfer.value, transfer.copy})
        heldAt[last - starts.begin() - 1].push_back(held);
  }
  return std::nullopt;
}

/// Replays the plan: its steps, its cost and its peak.
static std::optional<std::string> checkPlan(const Tables &tables,
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
  Chosen chosen(tables, solution.rows);
  Wide cost = 0;
  std::vector<std::vector<int32_t>> heldAt;
  if (auto error = checkSteps(tables, chosen, order, cost, heldAt))
    return error;

  // Walking backwards, a use not yet seen since the last computation met is the
  // last one: the value is live from its computation up to there.
  std::vector<char> wanted(tables.sizes.size(), 0);
  Wide live = 0, peak = 0;
  for (size_t position = order.size(); position-- > 0;) {
    int32_t operation = order[position];
    Wide during = chosen.workspace[operation];
    for (const std::vector<int32_t> *used :
         {&tables.reads[operation], &std::as_const(heldAt[position])})
      for (int32_t value : *used)
        if (!wanted[value]) {
          wanted[value] = 1;
          live += chosen.bytes[value];
        }
    for (int32_t value : tables.produces[operation])
      if (!wanted[value])
        during += chosen.bytes[value];
    peak = std::max(peak, live + during);
    for (int32_t value : tables.produces[operation])
      if (wanted[value]) {
        wanted[value] = 0;
        live -= chosen.bytes[value];
      }
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

/// The nodes that have surely run, and those that surely have not, when the cut
/// node first runs.
static void markSides(const Tables &tables, int32_t cut, bool anyOrder,
                      std::vector<char> &before, std::vector<char> &after) {
  before.assign(tables.nodes, 0);
  after.assign(tables.nodes, 0);
  if (!anyOrder) {
    std::fill(before.begin(), before.begin() + cut, 1);
    std::fill(after.begin() + cut + 1, after.end(), 1);
    return;
  }
  for (int32_t node = cut; node >= 0; --node)
    if (node == cut || before[node])
      for (int32_t value : tables.reads[node])
        before[tables.problem.producer(value)] = 1;
  for (int32_t node = cut + 1; node < tables.nodes; ++node)
    for (int32_t value : tables.reads[node]) {
      int32_t producer = tables.problem.producer(value);
      if (producer == cut || after[producer])
        after[node] = 1;
    }
}

namespace {
/// One cut of a certificate as the checker sees it.
struct CutClaim {
  int32_t cut;
  int32_t until; // the last node it looks at
  int64_t numerator;
  const std::vector<RecomputeCertificate::ValueFlow> &valueFlows;
  const std::vector<RecomputeCertificate::EdgeFlow> &edgeFlows;
};
/// Limits of one cut, per value or node; -1: none.
struct CutLimits {
  std::vector<Wide> hold, read, run;
};
/// A node that is known to run again after the cut, or not to.
struct KnownNode {
  int32_t node;
  bool again;
};
} // namespace

/// Checks that the flow of one cut respects its limits and is conserved, and
/// adds it up.
static std::optional<std::string>
evaluateCut(const Tables &tables, const CutClaim &claim,
            const std::vector<char> &before, const std::vector<char> &present,
            const CutLimits &limits, Wide &flow) {
  const RecomputeProblem &problem = tables.problem;
  std::vector<Wide> valueFlow(problem.valueCount(), 0);
  std::vector<Wide> intoValue(problem.valueCount(), 0);
  std::vector<Wide> throughNode(tables.nodes, 0); // in minus out
  for (auto [value, amount] : claim.valueFlows) {
    if (value < 0 || value >= problem.valueCount())
      return "certificate: value " + std::to_string(value) + " does not exist";
    std::string name = "certificate: value " + std::to_string(value);
    if (!before[problem.producer(value)] || present[value])
      return name + " is not in the network";
    if (amount < 0 || valueFlow[value] != 0)
      return name + " has a negative or a second flow";
    if (amount > limits.hold[value])
      return name + " carries " + std::to_string(amount) + ", its limit is " +
             number(limits.hold[value]);
    valueFlow[value] = amount;
    throughNode[problem.producer(value)] += amount;
  }
  for (auto [value, consumer, amount] : claim.edgeFlows) {
    std::string name = "certificate: edge " + std::to_string(value) + " " +
                       std::to_string(consumer);
    if (value < 0 || value >= problem.valueCount() || consumer < 0 ||
        consumer >= tables.nodes)
      return name + " does not exist";
    const std::vector<int32_t> &reads = tables.reads[consumer];
    if (std::find(reads.begin(), reads.end(), value) == reads.end() ||
        !before[consumer] || present[value])
      return name + " is not in the network";
    if (amount < 0)
      return std::string("certificate: negative flow");
    intoValue[value] += amount;
    throughNode[consumer] -= amount;
  }
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    // The rest of the flow through a value comes from its readers.
    Wide read = valueFlow[value] - intoValue[value];
    if (read < 0 || (limits.read[value] >= 0 && read > limits.read[value]))
      return "certificate: flow is not conserved at value " +
             std::to_string(value);
  }
  flow = 0;
  for (int32_t node = 0; node < tables.nodes; ++node) {
    Wide toSink = throughNode[node];
    if (toSink < 0)
      return "certificate: flow is not conserved at node " +
             std::to_string(node);
    if (limits.run[node] >= 0 && toSink > limits.run[node])
      return "certificate: node " + std::to_string(node) + " absorbs " +
             number(toSink) + ", its limit is " + number(limits.run[node]);
    flow += toSink;
  }
  return std::nullopt;
}

/// The least that having a value at a cut without running its node again costs:
/// `price` per byte in the cheapest form, `once` times what the row of its loop
/// or a save adds, `loads` times what a load does, less the time that a load
/// gives the engine, and the price of that engine's time.
static Wide leastHold(const Tables &tables, int32_t value, Wide price,
                      Wide once, Wide loads, Wide transferPrice) {
  const RecomputeProblem &problem = tables.problem;
  Wide least = price * tables.sizes[value];
  for (int32_t index : tables.variants[value]) {
    const RecomputeProblem::Variant &variant = problem.variants[index];
    least = std::min(least, price * variant.bytes + once * variant.saveCost +
                                (loads - transferPrice) * variant.loadCost +
                                transferPrice * variant.transfer);
  }
  int32_t loop = tables.loopOf[problem.producer(value)];
  if (loop < 0 || problem.loops[loop].residual != value)
    return least;
  Wide rows = -1;
  for (const Row &row : problem.loops[loop].rows) {
    Wide term = price * (Wide(tables.sizes[value]) + row.residualBytes) +
                once * (row.cost() - Tables::cheapest(problem.loops[loop]));
    rows = rows < 0 ? term : std::min(rows, term);
  }
  return rows;
}

/// Evaluates a flow certificate. Sets `proved` to the cost that every plan
/// within the budget reaches; for Kind::HeldBytes to the held bytes that exceed
/// the room, or leaves it empty if they do not.
static std::optional<std::string>
evaluateFlow(const Tables &tables, int64_t budget, bool anyOrder,
             const RecomputeCertificate &certificate, Wide &proved) {
  const RecomputeProblem &problem = tables.problem;
  const bool heldBytes = certificate.kind == Kind::HeldBytes;
  const Wide scale = certificate.denominator;
  if (scale <= 0)
    return std::string("certificate: the multiplier is not a positive number");
  if (heldBytes && (certificate.numerator != 1 || scale != 1))
    return std::string("certificate: held bytes need the multiplier 1 / 1");
  if (!certificate.later.empty() && certificate.kind != Kind::GivenOrder)
    return std::string("certificate: only cuts of the given order form a "
                       "series");
  const Wide transferPrice = certificate.transferNumerator;
  if (transferPrice < 0 || transferPrice > scale ||
      (transferPrice > 0 && (heldBytes || !certificate.later.empty())))
    return std::string("certificate: the price of transfers is not between 0 "
                       "and 1, or not of a single cut");

  std::vector<CutClaim> claims = {
      {certificate.cut, tables.nodes - 1, certificate.numerator,
       certificate.valueFlows, certificate.edgeFlows}};
  for (const RecomputeCertificate::Cut &cut : certificate.later) {
    claims.back().until = cut.cut;
    claims.push_back({cut.cut, tables.nodes - 1, cut.numerator, cut.valueFlows,
                      cut.edgeFlows});
  }
  for (size_t i = 0; i < claims.size(); ++i) {
    int32_t cut = claims[i].cut;
    if (cut < 0 || cut >= tables.nodes)
      return "certificate: cut node " + std::to_string(cut) + " does not exist";
    if (i > 0 && cut <= claims[i - 1].cut)
      return "certificate: cut node " + std::to_string(cut) + " follows " +
             std::to_string(claims[i - 1].cut);
    if (claims[i].numerator < 0)
      return std::string("certificate: the multiplier is negative");
  }

  Wide overhead = 0, flow = 0, room = 0;
  std::vector<Wide> prices(problem.valueCount(), 0), nextPrices;
  for (size_t i = 0; i < claims.size(); ++i) {
    const CutClaim &claim = claims[i];
    std::vector<char> before, after, present(problem.valueCount(), 0);
    markSides(tables, claim.cut, anyOrder, before, after);
    std::fill(after.begin() + claim.until + 1, after.end(), 0);
    for (int32_t value : tables.reads[claim.cut])
      present[value] = 1;
    // What the next cut charges for holding, this one earns.
    nextPrices.assign(problem.valueCount(), 0);
    if (i < certificate.later.size()) {
      const std::vector<int32_t> &next = tables.reads[claims[i + 1].cut];
      for (auto [value, amount] : certificate.later[i].prices) {
        if (value < 0 || value >= problem.valueCount() || amount < 0 ||
            nextPrices[value] != 0 || !before[problem.producer(value)] ||
            present[value] ||
            std::find(next.begin(), next.end(), value) != next.end())
          return "certificate: value " + std::to_string(value) +
                 " cannot have this price";
        nextPrices[value] = amount;
        overhead -= amount;
      }
    }
    // A row or a save counts once in a series: at the first cut. A load surely
    // runs in the window that reads its value.
    const Wide once = heldBytes || i > 0 ? 0 : scale;
    CutLimits limits;
    for (int32_t value = 0; value < problem.valueCount(); ++value) {
      bool needed = false;
      for (int32_t node : tables.consumers[value])
        needed |= after[node] != 0;
      bool loads = !heldBytes && (needed || i + 1 == claims.size());
      limits.hold.push_back(leastHold(tables, value, claim.numerator, once,
                                      loads ? scale : 0, transferPrice) +
                            prices[value]);
      limits.read.push_back(needed ? -1 : nextPrices[value]);
    }
    for (int32_t node = 0; node < tables.nodes; ++node)
      limits.run.push_back(problem.runsOnce(node) ? -1
                           : heldBytes ? 0
                                       : (scale - transferPrice) *
                                             tables.runCost(node, false));
    if (auto error = evaluateCut(tables, claim, before, present, limits, flow))
      return error;
    room = Wide(budget) - tables.workingSet(claim.cut, 1, 0);
    overhead += flow + tables.workingSet(claim.cut, claim.numerator, once) -
                Wide(claim.numerator) * budget;
    // What the engine can bring back while the nodes that may still be to come
    // run; reruns and loads give it more time, so they are charged less above.
    for (int32_t node = 0; transferPrice > 0 && node < tables.nodes; ++node)
      if (!before[node])
        overhead -= transferPrice * tables.runCost(node, true);
    prices.swap(nextPrices);
  }
  if (heldBytes) {
    if (flow <= room)
      return "certificate: " + number(flow) + " bytes must be held and " +
             number(room) + " are free: no contradiction";
    proved = flow;
    return std::nullopt;
  }
  proved = tables.baseCost();
  if (overhead > 0)
    proved += (overhead + scale - 1) / scale;
  return std::nullopt;
}

/// One case of a certificate: the bound of its flow, given what is known.
static std::optional<std::string>
evaluateCase(const Tables &tables, int64_t budget, int32_t cut,
             const RecomputeCertificate::Case &claim,
             const std::vector<KnownNode> &known, Wide &proved) {
  const RecomputeProblem &problem = tables.problem;
  const Wide scale = claim.denominator;
  if (scale <= 0 || claim.numerator < 0)
    return std::string("certificate: the multiplier of a case is negative or "
                       "not a number");
  std::vector<char> before, after, present(problem.valueCount(), 0);
  markSides(tables, cut, false, before, after);
  for (int32_t value : tables.reads[cut])
    present[value] = 1;
  // Who runs again after the cut reads there.
  for (auto [node, again] : known)
    if (again)
      after[node] = 1;
  CutLimits limits;
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    bool needed = false;
    for (int32_t node : tables.consumers[value])
      needed |= after[node] != 0;
    limits.hold.push_back(
        leastHold(tables, value, claim.numerator, scale, scale, 0));
    limits.read.push_back(needed ? -1 : 0);
  }
  for (int32_t node = 0; node < tables.nodes; ++node)
    limits.run.push_back(
        problem.runsOnce(node) ? -1 : scale * tables.runCost(node, false));
  // Who is known to run again pays whatever reads it; who is known not to run
  // again is as good as pinned.
  Wide overhead = 0, flow = 0;
  for (auto [node, again] : known) {
    overhead += again ? limits.run[node] : 0;
    limits.run[node] = again ? 0 : -1;
  }
  CutClaim flows = {cut, tables.nodes - 1, claim.numerator, claim.valueFlows,
                    claim.edgeFlows};
  if (auto error = evaluateCut(tables, flows, before, present, limits, flow))
    return error;
  overhead += flow + tables.workingSet(cut, claim.numerator, scale) -
              Wide(claim.numerator) * budget;
  proved = tables.baseCost();
  if (overhead > 0)
    proved += (overhead + scale - 1) / scale;
  return std::nullopt;
}

/// Evaluates a certificate with cases: they must leave nothing out, and the
/// smallest of their bounds is what is proved.
static std::optional<std::string>
evaluateCases(const Tables &tables, int64_t budget,
              const RecomputeCertificate &certificate, Wide &proved) {
  const int32_t cut = certificate.cut;
  if (certificate.kind != Kind::GivenOrder || !certificate.later.empty() ||
      certificate.transferNumerator != 0)
    return std::string("certificate: only a single cut of the given order has "
                       "cases");
  if (cut < 0 || cut >= tables.nodes)
    return "certificate: cut node " + std::to_string(cut) + " does not exist";
  // The way down to the present case, and of each node on it, whether its
  // second case has begun.
  std::vector<KnownNode> known;
  bool done = false, any = false;
  for (const RecomputeCertificate::Case &one : certificate.cases) {
    if (done)
      return std::string("certificate: cases follow the last one");
    if (one.split >= 0) {
      if (one.split >= cut || tables.problem.runsOnce(one.split))
        return "certificate: node " + std::to_string(one.split) +
               " cannot run again after the cut";
      for (auto [node, again] : known)
        if (node == one.split)
          return "certificate: node " + std::to_string(node) +
                 " is split in a case of its own";
      known.push_back({one.split, true});
      continue;
    }
    Wide least = 0;
    if (auto error = evaluateCase(tables, budget, cut, one, known, least))
      return error;
    proved = any ? std::min(proved, least) : least;
    any = true;
    while (!known.empty() && !known.back().again)
      known.pop_back();
    done = known.empty();
    if (!done)
      known.back().again = false;
  }
  if (!done)
    return std::string("certificate: a case is missing");
  return std::nullopt;
}

/// A claimed lower bound against what its certificate proves.
static std::optional<std::string>
checkBound(const Tables &tables, int64_t budget, bool anyOrder, int64_t bound,
           const RecomputeCertificate &certificate) {
  Wide proved = tables.baseCost();
  if (certificate.kind != Kind::Base) {
    if (certificate.kind != (anyOrder ? Kind::AnyOrder : Kind::GivenOrder))
      return std::string("certificate: of a kind that proves no such bound");
    auto error =
        certificate.cases.empty()
            ? evaluateFlow(tables, budget, anyOrder, certificate, proved)
            : evaluateCases(tables, budget, certificate, proved);
    if (error)
      return error;
  }
  if (bound > proved)
    return mismatch("bound", bound, proved) + " in the certificate";
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::checkRecompute(const RecomputeProblem &problem,
                              const RecomputeSolution &solution) {
  if (auto error = validateRecomputeProblem(problem))
    return "problem: " + *error;
  Tables tables(problem);
  switch (solution.status) {
  case RecomputeStatus::Invalid:
    return std::string("an invalid problem has no solution to check");
  case RecomputeStatus::Solved:
    if (auto error = checkPlan(tables, solution))
      return error;
    break;
  case RecomputeStatus::Infeasible: {
    if (!solution.order.empty())
      return std::string("an infeasible problem has no plan");
    const RecomputeCertificate &proof = solution.certificate;
    if (proof.kind == Kind::WorkingSet) {
      if (proof.cut < 0 || proof.cut >= tables.nodes)
        return "certificate: node " + std::to_string(proof.cut) +
               " does not exist";
      Wide bytes = tables.workingSet(proof.cut, 1, 0);
      if (bytes <= solution.budget)
        return "certificate: node " + std::to_string(proof.cut) + " needs " +
               number(bytes) + ", which fits the budget " +
               std::to_string(solution.budget);
      return std::nullopt;
    }
    if (proof.kind != Kind::HeldBytes)
      return std::string("certificate: of a kind that proves nothing "
                         "infeasible");
    Wide proved;
    return evaluateFlow(tables, solution.budget, false, proof, proved);
  }
  case RecomputeStatus::Undecided:
    if (!solution.order.empty())
      return std::string("an undecided problem has no plan");
    break;
  }
  if (auto error = checkBound(tables, solution.budget, false, solution.bound,
                              solution.certificate))
    return error;
  return checkBound(tables, solution.budget, true, solution.anyOrderBound,
                    solution.anyOrderCertificate);
}
