//===- CheckRecomputeBound.cpp - evaluate a bound's certificate -----------===//
//
// Weak duality, cut by cut and case by case: any flow that respects the limits
// of a cut's network and is conserved proves its bound. RecomputeChoice.h
// states the theorem.
//
// A certificate may hold any numbers. Where their sums and products leave 128
// bits it proves nothing: every condition here asks for what must hold, and a
// number that is not exact fulfils none.
//
//===----------------------------------------------------------------------===//

#include "CheckRecompute.h"

using namespace tenon::solver;
using namespace tenon::solver::judge;
using tenon::CheckedWide;

using Kind = RecomputeCertificate::Kind;

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
using Case = RecomputeCertificate::Case;
using Part = RecomputeCertificate::Part;
using Prices = std::vector<RecomputeCertificate::ValueFlow>;

/// A cut and the time from it to the next, as the checker sees it.
struct Window {
  int32_t cut;
  int32_t until;            // the last node it looks at
  const Prices *prices;     // what holding a value costs on top, or none
  const Prices *nextPrices; // what having it earns: the next cut's, or none
  bool isFirst, isLast;     // of the series
  /// What is known of the time after this cut, an earlier one, is known here.
  int32_t since = -1;
};
struct CutSides {
  std::vector<char> before, after, present;
};
/// Numbers of the whole certificate.
struct Scales {
  int64_t budget;
  bool heldBytes, anyOrder;
  int64_t scale, transferPrice;
};
/// What may flow at most, or nothing if there is no limit.
using Limit = std::optional<CheckedWide>;
/// Limits of one cut, per value or node.
struct CutLimits {
  std::vector<Limit> hold, read, run;
};
/// A node that is known to run again after a cut, or a value that is known to
/// be held there; or not to. The other one is -1.
struct KnownFact {
  int32_t node, value, cut;
  bool holds;
};
} // namespace

static bool isWithin(CheckedWide amount, const Limit &limit) {
  return !limit || isSurelyAtMost(amount, *limit);
}

static bool isRead(const Tables &tables, int32_t value, int32_t node) {
  std::span<const int32_t> reads = tables.reads[node];
  return std::find(reads.begin(), reads.end(), value) != reads.end();
}

/// Checks that the flow of one cut respects its limits and is conserved, and
/// adds it up.
static std::optional<std::string> evaluateFlows(const Tables &tables,
                                                const RecomputeFlow &claim,
                                                const CutSides &sides,
                                                const CutLimits &limits,
                                                CheckedWide &flow) {
  const std::vector<char> &before = sides.before, &present = sides.present;
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
    if (!isWithin(amount, limits.hold[value]))
      return name + " carries " + std::to_string(amount) + ", its limit is " +
             number(*limits.hold[value]);
    valueFlow[value] = amount;
    throughNode[problem.producer(value)] += amount;
  }
  for (auto [value, consumer, amount] : claim.edgeFlows) {
    std::string name = "certificate: edge " + std::to_string(value) + " " +
                       std::to_string(consumer);
    if (value < 0 || value >= problem.valueCount() || consumer < 0 ||
        consumer >= tables.nodes)
      return name + " does not exist";
    if (!isRead(tables, value, consumer) || !before[consumer] || present[value])
      return name + " is not in the network";
    if (amount < 0)
      return std::string("certificate: negative flow");
    intoValue[value] += amount;
    throughNode[consumer] -= amount;
  }
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    // The rest of the flow through a value comes from its readers.
    Wide read = valueFlow[value] - intoValue[value];
    if (read < 0 || !isWithin(read, limits.read[value]))
      return "certificate: flow is not conserved at value " +
             std::to_string(value);
  }
  flow = 0;
  for (int32_t node = 0; node < tables.nodes; ++node) {
    Wide toSink = throughNode[node];
    if (toSink < 0)
      return "certificate: flow is not conserved at node " +
             std::to_string(node);
    if (!isWithin(toSink, limits.run[node]))
      return "certificate: node " + std::to_string(node) + " absorbs " +
             number(toSink) + ", its limit is " + number(*limits.run[node]);
    flow += toSink;
  }
  return std::nullopt;
}

/// The least that having a value at a cut without running its node again costs:
/// `price` per byte in the cheapest form, `once` times what a save adds,
/// `loads` times what a load does, less the time that a load gives the engine,
/// and the price of that engine's time.
static CheckedWide leastHold(const Tables &tables, int32_t value,
                             CheckedWide price, CheckedWide once,
                             CheckedWide loads, CheckedWide transferPrice) {
  const RecomputeProblem &problem = tables.problem;
  CheckedWide least = price * tables.sizes[value];
  for (int32_t index : tables.variants[value]) {
    const RecomputeProblem::Variant &variant = problem.variants[index];
    least = lesser(least, price * variant.bytes + once * variant.saveCost +
                              (loads - transferPrice) * variant.loadCost +
                              transferPrice * variant.transfer);
  }
  return least;
}

/// Bytes as they count against `room` in whole units. Of values that are held
/// whole or not at all, those that fit in the room fit in the rounded room once
/// they are rounded: the function is superadditive (mixed-integer rounding).
/// The result is no further from zero than the bytes and a unit are.
static Wide rounded(Wide bytes, Wide unit, Wide room) {
  const auto rest = [&](Wide number) {
    return ((number % unit) + unit) % unit;
  };
  return (bytes - rest(bytes)) / unit * (unit - rest(room)) +
         std::max<Wide>(0, rest(bytes) - rest(room));
}

/// The prices of a cut per value, which only values that wait at this cut and
/// at the one before have.
static std::optional<std::string> readPrices(const Tables &tables,
                                             const Window &window, int32_t next,
                                             std::vector<int64_t> &prices) {
  prices.assign(tables.problem.valueCount(), 0);
  if (!window.nextPrices)
    return std::nullopt;
  for (auto [value, amount] : *window.nextPrices) {
    if (value < 0 || value >= tables.problem.valueCount() || amount < 0 ||
        prices[value] != 0 || tables.problem.producer(value) >= window.cut ||
        isRead(tables, value, window.cut) || isRead(tables, value, next))
      return "certificate: value " + std::to_string(value) +
             " cannot have this price";
    prices[value] = amount;
  }
  return std::nullopt;
}

/// The overhead that the flow of one window proves, given what is known; `flow`
/// is its part alone.
static std::optional<std::string>
evaluateWindow(const Tables &tables, const Scales &scales, const Window &window,
               const RecomputeFlow &claim, const std::vector<KnownFact> &known,
               CheckedWide &overhead, CheckedWide &flow) {
  const RecomputeProblem &problem = tables.problem;
  const int64_t scale = scales.scale, transferPrice = scales.transferPrice;
  if (claim.numerator < 0)
    return std::string("certificate: the multiplier is negative");
  const bool isRounded = claim.unit != 1;
  if (claim.unit < 1 ||
      (isRounded && (scales.heldBytes || problem.hasChoices())))
    return "certificate: the unit " + std::to_string(claim.unit) +
           " is below 1, or not of a bound without variants and loops";
  const Wide room = Wide(scales.budget) - tables.workingSet(window.cut);
  CutSides sides;
  markSides(tables, window.cut, scales.anyOrder, sides.before, sides.after);
  std::fill(sides.after.begin() + window.until + 1, sides.after.end(), 0);
  sides.present.assign(problem.valueCount(), 0);
  for (int32_t value : tables.reads[window.cut])
    sides.present[value] = 1;
  // What the next cut charges for holding, this one earns.
  std::vector<int64_t> nextPrices;
  if (auto error = readPrices(tables, window, window.until, nextPrices))
    return error;
  // Who runs again after the cut reads there.
  std::vector<char> reads = sides.after;
  for (const KnownFact &fact : known)
    if (fact.cut == window.cut && fact.node >= 0 && fact.holds)
      reads[fact.node] = 1;
  // A save counts once in a series: at the first cut. A load surely runs in the
  // window that reads its value.
  const int64_t once = scales.heldBytes || !window.isFirst ? 0 : scale;
  CutLimits limits;
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    bool needed = false;
    for (int32_t node : tables.consumers[value])
      needed |= reads[node] != 0;
    bool loads = !scales.heldBytes && (needed || window.isLast);
    limits.hold.push_back(
        isRounded ? CheckedWide(claim.numerator) *
                        rounded(tables.sizes[value], claim.unit, room)
                  : leastHold(tables, value, claim.numerator, once,
                              loads ? scale : 0, transferPrice));
    limits.read.push_back(needed ? Limit() : nextPrices[value]);
  }
  overhead = 0;
  for (int64_t price : nextPrices)
    overhead -= price;
  if (window.prices)
    for (auto [value, amount] : *window.prices)
      *limits.hold[value] += amount;
  const CheckedWide rerunPrice =
      scales.heldBytes ? 0 : CheckedWide(scale) - transferPrice;
  for (int32_t node = 0; node < tables.nodes; ++node)
    limits.run.push_back(
        problem.runsOnce(node) ? Limit() : rerunPrice * tables.leastCost[node]);
  // What is known to be is paid for whatever reads it; what is known not to be
  // absorbs any flow.
  for (auto [node, value, cut, holds] : known) {
    if (cut != window.cut && (cut != window.since || node < 0))
      continue;
    Limit &limit = node >= 0 ? limits.run[node] : limits.hold[value];
    overhead += holds ? *limit : 0;
    limit = holds ? Limit(0) : Limit();
  }
  if (auto error = evaluateFlows(tables, claim, sides, limits, flow))
    return error;
  overhead += flow;
  overhead -= CheckedWide(claim.numerator) *
              (isRounded ? rounded(room, claim.unit, room) : room);
  // What the engine can bring back while the nodes that may still be to come
  // run; reruns and loads give it more time, so they are charged less above.
  for (int32_t node = 0; transferPrice > 0 && node < tables.nodes; ++node)
    if (!sides.before[node])
      overhead -= CheckedWide(transferPrice) * tables.mostCost[node];
  return std::nullopt;
}

/// The overhead that one case proves of a window and those joined to it.
static std::optional<std::string>
evaluateCase(const Tables &tables, const Scales &scales, const Window &whole,
             const Case &one, const std::vector<KnownFact> &known,
             CheckedWide &overhead) {
  overhead = 0;
  Window window = whole;
  if (one.at >= 0) {
    if (one.at <= whole.cut || one.at >= tables.nodes || !whole.isFirst ||
        !whole.isLast || !one.joined.empty())
      return "certificate: a case at node " + std::to_string(one.at) +
             " does not belong to a single cut before it";
    window.cut = one.at;
    window.since = whole.cut;
  }
  for (size_t i = 0; i <= one.joined.size(); ++i) {
    const Part *next = i < one.joined.size() ? &one.joined[i] : nullptr;
    window.until = next ? next->cut : whole.until;
    window.nextPrices = next ? &next->prices : whole.nextPrices;
    window.isLast = !next && whole.isLast;
    CheckedWide found, flow;
    const RecomputeFlow &claim =
        i == 0 ? static_cast<const RecomputeFlow &>(one) : one.joined[i - 1];
    auto error =
        evaluateWindow(tables, scales, window, claim, known, found, flow);
    if (error)
      return error;
    overhead += found;
    if (next) {
      window.cut = next->cut;
      window.prices = &next->prices;
      window.isFirst = false;
    }
  }
  return std::nullopt;
}

/// The cuts of a group: the one that has the cases, and those joined to it.
static std::optional<std::string> groupCuts(const Window &whole,
                                            const std::vector<Case> &cases,
                                            std::vector<int32_t> &cuts) {
  cuts = {whole.cut};
  bool any = false;
  for (const Case &one : cases) {
    if (one.split >= 0 || one.held >= 0)
      continue;
    for (size_t i = 0; !any && i < one.joined.size(); ++i) {
      if (one.joined[i].cut <= cuts.back() || one.joined[i].cut >= whole.until)
        return "certificate: cut node " + std::to_string(one.joined[i].cut) +
               " cannot be joined to " + std::to_string(cuts.back());
      cuts.push_back(one.joined[i].cut);
    }
    any = true;
    bool same = one.joined.size() + 1 == cuts.size();
    for (size_t i = 0; same && i < one.joined.size(); ++i)
      same = one.joined[i].cut == cuts[i + 1];
    if (!same)
      return std::string("certificate: cases with other joined cuts");
  }
  return std::nullopt;
}

/// The least overhead that the cases of one cut prove; none may be missing.
static std::optional<std::string>
evaluateCases(const Tables &tables, const Scales &scales, const Window &window,
              const std::vector<Case> &cases, CheckedWide &overhead) {
  const RecomputeProblem &problem = tables.problem;
  std::vector<int32_t> cuts;
  if (auto error = groupCuts(window, cases, cuts))
    return error;
  // The way down to the present case, and of each fact on it, whether its
  // second case has begun.
  std::vector<KnownFact> known;
  bool done = false, any = false;
  for (const Case &one : cases) {
    if (done)
      return std::string("certificate: cases follow the last one");
    if (one.split >= 0 || one.held >= 0) {
      const int32_t cut = one.at < 0 ? window.cut : one.at;
      if (one.split >= 0 && one.held >= 0)
        return std::string("certificate: a node and a value are split at once");
      if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end())
        return "certificate: node " + std::to_string(cut) +
               " is not a cut of these cases";
      if (one.split >= 0 && (one.split >= cut || problem.runsOnce(one.split)))
        return "certificate: node " + std::to_string(one.split) +
               " cannot run again after the cut";
      if (one.held >= 0 &&
          (one.held >= problem.valueCount() ||
           problem.producer(one.held) >= cut || isRead(tables, one.held, cut)))
        return "certificate: value " + std::to_string(one.held) +
               " is not in the network";
      for (const KnownFact &fact : known)
        if (fact.node == one.split && fact.value == one.held && fact.cut == cut)
          return "certificate: " +
                 (one.split >= 0 ? "node " + std::to_string(one.split)
                                 : "value " + std::to_string(one.held)) +
                 " is split in a case of its own";
      known.push_back({one.split, one.held, cut, true});
      continue;
    }
    CheckedWide found;
    if (auto error = evaluateCase(tables, scales, window, one, known, found))
      return error;
    overhead = any ? lesser(overhead, found) : found;
    any = true;
    while (!known.empty() && !known.back().holds)
      known.pop_back();
    done = known.empty();
    if (!done)
      known.back().holds = false;
  }
  if (!done)
    return std::string("certificate: a case is missing");
  return std::nullopt;
}

/// Evaluates a flow certificate. Sets `proved` to the cost that every plan
/// within the budget reaches; for Kind::HeldBytes to the held bytes that exceed
/// the room, or leaves it empty if they do not.
static std::optional<std::string>
evaluateFlow(const Tables &tables, int64_t budget, bool anyOrder,
             const RecomputeCertificate &certificate, CheckedWide &proved) {
  const bool heldBytes = certificate.kind == Kind::HeldBytes;
  const int64_t scale = certificate.denominator;
  if (scale <= 0)
    return std::string("certificate: the multiplier is not a positive number");
  if (heldBytes && (certificate.numerator != 1 || scale != 1))
    return std::string("certificate: held bytes need the multiplier 1 / 1");
  if (!certificate.later.empty() && certificate.kind != Kind::GivenOrder)
    return std::string("certificate: only cuts of the given order form a "
                       "series");
  const int64_t transferPrice = certificate.transferNumerator;
  if (transferPrice < 0 || transferPrice > scale ||
      (transferPrice > 0 && (heldBytes || !certificate.later.empty())))
    return std::string("certificate: the price of transfers is not between 0 "
                       "and 1, or not of a single cut");

  struct Claim {
    Window window;
    const RecomputeFlow &flows;
    const std::vector<Case> &cases;
  };
  std::vector<Claim> claims;
  auto claim = [&](const auto &cut, const Prices *prices) {
    claims.push_back(
        {{cut.cut, tables.nodes - 1, prices, nullptr, claims.empty(), true},
         cut,
         cut.cases});
  };
  claim(certificate, nullptr);
  for (const RecomputeCertificate::Cut &cut : certificate.later) {
    claims.back().window.until = cut.cut;
    claims.back().window.nextPrices = &cut.prices;
    claims.back().window.isLast = false;
    claim(cut, &cut.prices);
  }
  for (size_t i = 0; i < claims.size(); ++i) {
    int32_t cut = claims[i].window.cut;
    if (cut < 0 || cut >= tables.nodes)
      return "certificate: cut node " + std::to_string(cut) + " does not exist";
    if (i > 0 && cut <= claims[i - 1].window.cut)
      return "certificate: cut node " + std::to_string(cut) + " follows " +
             std::to_string(claims[i - 1].window.cut);
    if (!claims[i].cases.empty() &&
        (certificate.kind != Kind::GivenOrder || transferPrice != 0))
      return std::string("certificate: only cuts of the given order have "
                         "cases");
  }

  const Scales scales = {budget, heldBytes, anyOrder, scale, transferPrice};
  CheckedWide overhead, flow;
  for (const auto &[window, flows, cases] : claims) {
    CheckedWide found;
    auto error =
        cases.empty()
            ? evaluateWindow(tables, scales, window, flows, {}, found, flow)
            : evaluateCases(tables, scales, window, cases, found);
    if (error)
      return error;
    overhead += found;
  }
  if (heldBytes) {
    const Wide room = Wide(budget) - tables.workingSet(certificate.cut);
    if (!isSurelyLess(room, flow))
      return "certificate: " + number(flow) + " bytes must be held and " +
             number(room) + " are free: no contradiction";
    proved = flow;
    return std::nullopt;
  }
  proved = tables.baseCost();
  if (!isSurelyAtMost(overhead, 0))
    proved += dividedUp(overhead, scale);
  return std::nullopt;
}

std::optional<std::string>
judge::checkBound(const Tables &tables, int64_t budget, bool anyOrder,
                  int64_t bound, const RecomputeCertificate &certificate) {
  CheckedWide proved = tables.baseCost();
  if (certificate.kind != Kind::Base) {
    if (certificate.kind != (anyOrder ? Kind::AnyOrder : Kind::GivenOrder))
      return std::string("certificate: of a kind that proves no such bound");
    if (auto error =
            evaluateFlow(tables, budget, anyOrder, certificate, proved))
      return error;
  }
  if (!proved.exact())
    return std::string("certificate: its numbers add up to more than 128 bits "
                       "hold, so it proves nothing");
  if (!isSurelyAtMost(bound, proved))
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
    const Wide bytes = tables.workingSet(proof.cut);
    if (bytes <= budget)
      return "certificate: node " + std::to_string(proof.cut) + " needs " +
             number(bytes) + ", which fits the budget " +
             std::to_string(budget);
    return std::nullopt;
  }
  if (proof.kind != Kind::HeldBytes)
    return std::string("certificate: of a kind that proves nothing "
                       "infeasible");
  CheckedWide proved;
  return evaluateFlow(tables, budget, false, proof, proved);
}
