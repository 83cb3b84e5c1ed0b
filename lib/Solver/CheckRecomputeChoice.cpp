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

using namespace tenon::solver;

namespace {
using Wide = __int128;
using Kind = RecomputeCertificate::Kind;

/// The problem's edges sorted both ways, without the solver's graph.
struct Tables {
  const RecomputeProblem &problem;
  int32_t nodes;
  std::vector<std::vector<int32_t>> reads;     // node -> values
  std::vector<std::vector<int32_t>> produces;  // node -> values
  std::vector<std::vector<int32_t>> consumers; // value -> nodes
  std::vector<int64_t> sizes;                  // of values; views have none

  explicit Tables(const RecomputeProblem &problem)
      : problem(problem), nodes(static_cast<int32_t>(problem.nodes.size())),
        reads(nodes), produces(nodes), consumers(problem.valueCount()) {
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
  }

  Wide baseCost() const {
    Wide sum = 0;
    for (const RecomputeProblem::Node &node : problem.nodes)
      sum += node.cost;
    return sum;
  }

  /// Bytes that must be there together when `node` runs.
  Wide workingSet(int32_t node) const {
    Wide sum = problem.nodes[node].workspace;
    for (int32_t value : reads[node])
      sum += sizes[value];
    for (int32_t value : produces[node])
      sum += sizes[value];
    return sum;
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

/// Replays the plan: every node there, first runs by id, inputs computed before
/// they are read, cost and peak as claimed.
static std::optional<std::string> checkPlan(const Tables &tables,
                                            const RecomputeSolution &solution) {
  const RecomputeProblem &problem = tables.problem;
  const std::vector<int32_t> &order = solution.order;
  Wide cost = 0;
  int32_t fresh = 0;
  for (size_t position = 0; position < order.size(); ++position) {
    int32_t node = order[position];
    std::string where = " at position " + std::to_string(position);
    if (node < 0 || node >= tables.nodes)
      return "node " + std::to_string(node) + where + " does not exist";
    if (node > fresh)
      return "node " + std::to_string(node) + where + " runs before node " +
             std::to_string(fresh) + " has run";
    if (node < fresh && problem.nodes[node].pinned)
      return "node " + std::to_string(node) + where +
             " runs again but must run once";
    fresh += node == fresh;
    cost += problem.nodes[node].cost;
  }
  // Inputs have smaller ids, so every input has been computed before.
  if (fresh != tables.nodes)
    return "node " + std::to_string(fresh) + " never runs";

  // Walking backwards, a use not yet seen since the last computation met is the
  // last one: the value is live from its computation up to there.
  std::vector<char> wanted(problem.valueCount(), 0);
  Wide live = 0, peak = 0;
  for (size_t position = order.size(); position-- > 0;) {
    int32_t node = order[position];
    Wide during = live + problem.nodes[node].workspace;
    for (int32_t value : tables.produces[node])
      if (!wanted[value])
        during += tables.sizes[value];
    for (int32_t value : tables.reads[node])
      if (!wanted[value]) {
        wanted[value] = 1;
        live += tables.sizes[value];
        during += tables.sizes[value];
      }
    peak = std::max(peak, during);
    for (int32_t value : tables.produces[node])
      if (wanted[value]) {
        wanted[value] = 0;
        live -= tables.sizes[value];
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
    CutLimits limits;
    for (int32_t value = 0; value < problem.valueCount(); ++value) {
      bool needed = false;
      for (int32_t node : tables.consumers[value])
        needed |= after[node] != 0;
      limits.hold.push_back(Wide(claim.numerator) * tables.sizes[value] +
                            prices[value]);
      limits.read.push_back(needed ? -1 : nextPrices[value]);
    }
    for (const RecomputeProblem::Node &node : problem.nodes)
      limits.run.push_back(node.pinned ? -1
                           : heldBytes ? 0
                                       : scale * node.cost);
    if (auto error = evaluateCut(tables, claim, before, present, limits, flow))
      return error;
    room = Wide(budget) - tables.workingSet(claim.cut);
    overhead += flow - claim.numerator * room;
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

/// A claimed lower bound against what its certificate proves.
static std::optional<std::string>
checkBound(const Tables &tables, int64_t budget, bool anyOrder, int64_t bound,
           const RecomputeCertificate &certificate) {
  Wide proved = tables.baseCost();
  if (certificate.kind != Kind::Base) {
    if (certificate.kind != (anyOrder ? Kind::AnyOrder : Kind::GivenOrder))
      return std::string("certificate: of a kind that proves no such bound");
    if (auto error =
            evaluateFlow(tables, budget, anyOrder, certificate, proved))
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
      Wide bytes = tables.workingSet(proof.cut);
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
