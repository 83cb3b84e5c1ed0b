//===- CheckRecomputeBound.cpp - evaluate a bound's certificate -----------===//
//
// Weak duality, cut by cut and case by case: any flow that respects the limits
// of a cut's network and is conserved proves its bound.
//
//===----------------------------------------------------------------------===//

#include "CheckRecompute.h"

using namespace tenon::solver;
using namespace tenon::solver::judge;

using Kind = RecomputeCertificate::Kind;
using Row = Tables::Row;

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
    std::span<const int32_t> reads = tables.reads[consumer];
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
      std::span<const int32_t> next = tables.reads[claims[i + 1].cut];
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

std::optional<std::string>
judge::checkBound(const Tables &tables, int64_t budget, bool anyOrder,
                  int64_t bound, const RecomputeCertificate &certificate) {
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
judge::checkInfeasible(const Tables &tables, int64_t budget,
                       const RecomputeCertificate &proof) {
  if (proof.kind == Kind::WorkingSet) {
    if (proof.cut < 0 || proof.cut >= tables.nodes)
      return "certificate: node " + std::to_string(proof.cut) +
             " does not exist";
    Wide bytes = tables.workingSet(proof.cut, 1, 0);
    if (bytes <= budget)
      return "certificate: node " + std::to_string(proof.cut) + " needs " +
             number(bytes) + ", which fits the budget " +
             std::to_string(budget);
    return std::nullopt;
  }
  if (proof.kind != Kind::HeldBytes)
    return std::string("certificate: of a kind that proves nothing "
                       "infeasible");
  Wide proved;
  return evaluateFlow(tables, budget, false, proof, proved);
}
