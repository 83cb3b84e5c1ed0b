//===- RecomputeForgery.h - certificates that try to prove too much -------===//
//
// For tests: certificates of recomputation made from nothing, and those of the
// solver with several numbers changed at once, the extremes of 64 bits among
// them. Whatever the checker accepts must be true, and the cheapest plan of a
// small problem says what is: no certificate may prove one unit more than it
// costs, none that there is no plan where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_SOLVER_RECOMPUTEFORGERY_H
#define TENON_TEST_UNIT_SOLVER_RECOMPUTEFORGERY_H

#include "GraphGenerators.h"
#include "RecomputeBruteForce.h"

#include <map>
#include <string>

namespace tenon::solver {

class Forger {
public:
  using Certificate = RecomputeCertificate;

  Forger(const RecomputeProblem &problem, benchmark::Random &random)
      : problem(problem), random(random),
        nodes(static_cast<int32_t>(problem.nodes.size())) {}

  /// A certificate of the given kind. Mostly its flows respect their limits.
  Certificate invent(Certificate::Kind kind) {
    Certificate result;
    result.kind = kind;
    result.cut = node();
    const bool isGiven = kind == Certificate::Kind::GivenOrder;
    const bool isHeldBytes = kind == Certificate::Kind::HeldBytes;
    scale = isHeldBytes ? 1 : std::max<int64_t>(1, amount());
    result.denominator = scale;
    if (!isHeldBytes && random.chance(0.1))
      result.transferNumerator = random.chance(0.5) ? scale / 2 : amount();
    mostPaths = random.between(0, 2);
    inventFlows(result, result.cut);
    if (isHeldBytes)
      result.numerator = 1;
    for (int32_t cut = result.cut; isGiven && random.chance(0.7);) {
      const int32_t before = cut;
      cut += static_cast<int32_t>(random.between(1, 2));
      if (cut >= nodes)
        break;
      Certificate::Cut &later = result.later.emplace_back();
      later.cut = cut;
      inventFlows(later, cut);
      inventPrices(later, before);
    }
    if (isGiven && random.chance(0.5))
      inventCases(result.cases, result.cut,
                  result.later.empty() ? nodes - 1 : result.later[0].cut,
                  result.later.empty());
    if (!result.later.empty() && random.chance(0.3))
      inventCases(result.later.back().cases, result.later.back().cut, nodes - 1,
                  false);
    return result;
  }

  /// Changes some of all numbers, each to anything.
  void change(Certificate &certificate, int64_t count) {
    std::vector<int64_t *> amounts = {&certificate.denominator,
                                      &certificate.transferNumerator};
    std::vector<int32_t *> ids = {&certificate.cut};
    auto flows = [&](RecomputeFlow &flow) {
      amounts.insert(amounts.end(), {&flow.numerator, &flow.unit});
      for (auto &[value, amount] : flow.valueFlows) {
        ids.push_back(&value);
        amounts.push_back(&amount);
      }
      for (auto &[value, consumer, amount] : flow.edgeFlows) {
        ids.insert(ids.end(), {&value, &consumer});
        amounts.push_back(&amount);
      }
    };
    auto part = [&](Certificate::Part &one) {
      flows(one);
      ids.push_back(&one.cut);
      for (auto &[value, amount] : one.prices) {
        ids.push_back(&value);
        amounts.push_back(&amount);
      }
    };
    auto cases = [&](std::vector<Certificate::Case> &list) {
      for (Certificate::Case &one : list) {
        flows(one);
        ids.insert(ids.end(), {&one.split, &one.held, &one.at});
        for (Certificate::Part &joined : one.joined)
          part(joined);
      }
    };
    flows(certificate);
    cases(certificate.cases);
    for (Certificate::Cut &cut : certificate.later) {
      part(cut);
      cases(cut.cases);
    }
    for (; count > 0; --count)
      if (random.chance(0.25)) {
        int32_t *id = ids[random.between(0, int64_t(ids.size()) - 1)];
        *id = random.chance(0.8) ? node() : anyOf({-1, INT32_MAX, INT32_MIN});
      } else {
        int64_t *one = amounts[random.between(0, int64_t(amounts.size()) - 1)];
        *one = random.chance(0.5) ? near(*one) : amount();
      }
  }

  /// A small change that may prove more: another price, or more flow.
  void improve(Certificate &certificate) {
    scale = std::max<int64_t>(1, certificate.denominator);
    std::vector<std::pair<RecomputeFlow *, int32_t>> cuts;
    auto cases = [&](std::vector<Certificate::Case> &list, int32_t cut) {
      for (Certificate::Case &one : list) {
        if (one.split >= 0 || one.held >= 0)
          continue;
        cuts.push_back({&one, one.at < 0 ? cut : one.at});
        for (Certificate::Part &joined : one.joined)
          cuts.push_back({&joined, joined.cut});
      }
    };
    if (certificate.cases.empty())
      cuts.push_back({&certificate, certificate.cut});
    cases(certificate.cases, certificate.cut);
    for (Certificate::Cut &cut : certificate.later) {
      if (cut.cases.empty())
        cuts.push_back({&cut, cut.cut});
      cases(cut.cases, cut.cut);
    }
    auto [flow, cut] = cuts[random.between(0, int64_t(cuts.size()) - 1)];
    if (random.chance(0.15))
      return change(certificate, 1);
    // Unsigned, so that what leaves 64 bits wraps.
    const auto price = static_cast<uint64_t>(flow->numerator);
    if (random.chance(0.3))
      flow->numerator =
          anyOf({int64_t(price + 1), int64_t(price - 1),
                 2 * (flow->numerator % (INT64_MAX / 2)), flow->numerator / 2});
    else
      addFlow(*flow, cut);
  }

  /// The same proof in larger numbers: prices and flows times a factor.
  void enlarge(Certificate &certificate) {
    int64_t most = certificate.denominator;
    forAmounts(certificate, [&](int64_t &one) { most = std::max(most, one); });
    const int64_t factor = most > 0 ? random.between(1, INT64_MAX / most) : 1;
    forAmounts(certificate, [&](int64_t &one) {
      one = int64_t(uint64_t(one) * uint64_t(factor));
    });
  }

private:
  template <typename Item>
  Item anyOf(std::initializer_list<Item> items) {
    return items.begin()[random.between(0, int64_t(items.size()) - 1)];
  }
  int32_t node() { return static_cast<int32_t>(random.between(0, nodes - 1)); }

  int64_t amount() {
    if (random.chance(0.7))
      return random.between(0, 4);
    const int64_t power = int64_t(1) << random.between(2, 62);
    const int64_t large =
        anyOf<int64_t>({INT64_MAX, INT64_MAX - 1, INT64_MAX / 2,
                        INT64_MAX / 3 + 1, power, power - 1, power + 1});
    return random.chance(0.9) ? large : anyOf<int64_t>({-1, -large, INT64_MIN});
  }

  /// Beside the number, or where a product with it is about to wrap.
  int64_t near(int64_t number) {
    const auto wide = static_cast<uint64_t>(number);
    const uint64_t divisor = std::max<uint64_t>(1, wide);
    return static_cast<int64_t>(anyOf<uint64_t>(
        {wide + 1, wide - 1, 2 * wide, 2 * wide + 3, wide / 2, wide + wide / 3,
         0 - wide, UINT64_MAX / divisor, UINT64_MAX / divisor + 1,
         uint64_t(INT64_MAX) / divisor + 1}));
  }

  template <typename Visit>
  void forAmounts(Certificate &certificate, const Visit &visit) {
    auto flows = [&](RecomputeFlow &flow) {
      visit(flow.numerator);
      for (auto &one : flow.valueFlows)
        visit(one.amount);
      for (auto &one : flow.edgeFlows)
        visit(one.amount);
    };
    auto part = [&](Certificate::Part &one) {
      flows(one);
      for (auto &price : one.prices)
        visit(price.amount);
    };
    auto cases = [&](std::vector<Certificate::Case> &list) {
      for (Certificate::Case &one : list) {
        flows(one);
        for (Certificate::Part &joined : one.joined)
          part(joined);
      }
    };
    visit(certificate.denominator);
    visit(certificate.transferNumerator);
    flows(certificate);
    cases(certificate.cases);
    for (Certificate::Cut &cut : certificate.later) {
      part(cut);
      cases(cut.cases);
    }
  }

  bool isRead(int32_t value, int32_t consumer) const {
    return std::find(problem.edges.begin(), problem.edges.end(),
                     RecomputeProblem::Edge{value, consumer}) !=
           problem.edges.end();
  }
  /// The lesser of both products, as far as 64 bits hold it.
  static int64_t within(int64_t a, int64_t b, int64_t c, int64_t d) {
    return static_cast<int64_t>(std::min<__int128>(
        {__int128(a) * b, __int128(c) * d, __int128(INT64_MAX)}));
  }

  /// Flow from a value that is needed after the cut to what makes it, or on to
  /// what that reads.
  void inventFlows(RecomputeFlow &flow, int32_t cut) {
    flow.numerator = amount();
    if (random.chance(0.2))
      flow.unit = random.between(1, 12);
    std::map<int32_t, int64_t> values;
    std::map<std::pair<int32_t, int32_t>, int64_t> edges;
    for (int64_t paths = random.between(0, mostPaths); paths > 0; --paths) {
      int32_t value = pick([&](int32_t one) {
        return problem.producer(one) < cut && !isRead(one, cut) &&
               !values.contains(one);
      });
      if (value < 0)
        break;
      const int32_t maker = problem.producer(value);
      int32_t input = pick([&](int32_t one) {
        return isRead(one, maker) && !isRead(one, cut) && !values.contains(one);
      });
      if (random.chance(0.6))
        input = -1;
      const int32_t last = input < 0 ? maker : problem.producer(input);
      int64_t size = within(flow.numerator, problem.bytes(value), scale,
                            problem.nodes[last].cost);
      if (input >= 0)
        size = std::min(
            size, within(flow.numerator, problem.bytes(input), INT64_MAX, 1));
      if (random.chance(0.2))
        size = random.chance(0.5) ? size / 2 : amount();
      values[value] = size;
      if (input >= 0)
        edges[{input, maker}] = values[input] = size;
    }
    for (auto [value, size] : values)
      flow.valueFlows.push_back({value, size});
    for (auto [edge, size] : edges)
      flow.edgeFlows.push_back({edge.first, edge.second, size});
  }

  void addFlow(RecomputeFlow &flow, int32_t cut) {
    int32_t value = pick([&](int32_t one) {
      return problem.producer(one) < cut && !isRead(one, cut);
    });
    if (value < 0)
      return;
    const int64_t whole =
        within(std::max<int64_t>(0, flow.numerator), problem.bytes(value),
               scale, problem.nodes[problem.producer(value)].cost);
    const int64_t size = random.chance(0.3) ? 1 : whole / random.between(1, 4);
    for (;;) {
      auto known = std::find_if(flow.valueFlows.begin(), flow.valueFlows.end(),
                                [&](const RecomputeFlow::ValueFlow &one) {
                                  return one.value == value;
                                });
      if (known == flow.valueFlows.end())
        flow.valueFlows.push_back({value, size});
      else if (__builtin_add_overflow(known->amount, size, &known->amount))
        return;
      const int32_t maker = problem.producer(value);
      const int32_t input = pick(
          [&](int32_t one) { return isRead(one, maker) && !isRead(one, cut); });
      if (input < 0 || random.chance(0.7))
        return;
      flow.edgeFlows.push_back({input, maker, size});
      value = input;
    }
  }

  void inventPrices(Certificate::Part &part, int32_t cutBefore) {
    for (int64_t count = random.between(0, 2); count > 0; --count) {
      int32_t value = pick([&](int32_t one) {
        return problem.producer(one) < cutBefore && !isRead(one, cutBefore) &&
               !isRead(one, part.cut);
      });
      if (value >= 0 || random.chance(0.1))
        part.prices.push_back({value, amount()});
    }
  }

  void inventCases(std::vector<Certificate::Case> &cases, int32_t cut,
                   int32_t until, bool isSingle) {
    const bool isJoined = random.chance(0.4) && cut + 1 < until;
    const bool isView = !isJoined && isSingle && random.chance(0.5);
    for (int64_t open = 1; open > 0; --open) {
      Certificate::Case &one = cases.emplace_back();
      if (open + int64_t(cases.size()) < 7 && random.chance(0.6)) {
        one.at = isJoined && random.chance(0.3) ? cut + 1 : -1;
        const int32_t at = one.at < 0 ? cut : one.at;
        (isView || random.chance(0.5) ? one.split
                                      : one.held) = pick([&](int32_t value) {
          return value < at && !isRead(value, at) && !problem.runsOnce(value);
        });
        open += 2;
        continue;
      }
      one.at = isView && random.chance(0.6)
                   ? static_cast<int32_t>(random.between(cut, nodes))
                   : -1;
      inventFlows(one, one.at < 0 ? cut : one.at);
      if (isJoined) {
        Certificate::Part &joined = one.joined.emplace_back();
        joined.cut = cut + 1;
        inventFlows(joined, cut + 1);
        inventPrices(joined, cut);
      }
    }
  }

  /// A value of which the condition is true, or -1.
  template <typename Condition>
  int32_t pick(const Condition &condition) {
    std::vector<int32_t> all;
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      if (condition(value))
        all.push_back(value);
    return all.empty() ? -1 : all[random.between(0, int64_t(all.size()) - 1)];
  }

  const RecomputeProblem &problem;
  benchmark::Random &random;
  int32_t nodes;
  int64_t scale = 1;
  int64_t mostPaths = 0; // of flow at one cut
};

/// What certificates were accepted; the first false one, if any.
struct Forgeries {
  int64_t tried = 0;
  std::map<std::string, int64_t> accepted; // by what they hold
  std::optional<std::string> wrong;
};

namespace forgery {
/// Costs and sizes times powers of two, so that their sums stay below 2^60;
/// what a plan costs grows alike.
inline void stretch(RecomputeProblem &problem, int64_t cost, int64_t bytes) {
  for (RecomputeProblem::Node &node : problem.nodes) {
    node.cost *= cost;
    for (int64_t *size : {&node.bytes, &node.workspace, &node.again})
      *size *= bytes;
  }
  for (RecomputeProblem::Output &output : problem.extraOutputs)
    output.bytes *= bytes;
  for (RecomputeProblem::Overwrite &entry : problem.overwrites)
    entry.bytes *= bytes;
  for (RecomputeProblem::Variant &variant : problem.variants) {
    variant.bytes *= bytes;
    variant.saveCost *= cost;
    variant.loadCost *= cost;
  }
  for (RecomputeProblem::Loop &loop : problem.loops)
    for (RecomputeProblem::Loop::Row &row : loop.rows) {
      row.bytes *= bytes;
      row.cost *= cost;
    }
}

/// The problem with its nodes in another valid order, which it was not asked
/// for; only for problems of nodes and edges alone.
inline RecomputeProblem reordered(const RecomputeProblem &problem,
                                  benchmark::Random &random) {
  RecomputeProblem result;
  const size_t nodes = problem.nodes.size();
  std::vector<int32_t> number(nodes, -1);
  while (result.nodes.size() < nodes) {
    const auto node =
        static_cast<int32_t>(random.between(0, int64_t(nodes) - 1));
    bool isReady = number[node] < 0;
    for (auto [value, consumer] : problem.edges)
      isReady &= consumer != node || number[value] >= 0;
    if (!isReady)
      continue;
    number[node] = static_cast<int32_t>(result.nodes.size());
    result.nodes.push_back(problem.nodes[node]);
  }
  for (auto [value, consumer] : problem.edges)
    result.edges.push_back({number[value], number[consumer]});
  return result;
}

/// What an accepted certificate holds, for the tally.
inline void count(const RecomputeCertificate &certificate, Forgeries &tally) {
  using Kind = RecomputeCertificate::Kind;
  switch (certificate.kind) {
  case Kind::Base:
    return;
  case Kind::GivenOrder:
    ++tally.accepted["given order"];
    break;
  case Kind::AnyOrder:
    ++tally.accepted["any order"];
    break;
  case Kind::WorkingSet:
    ++tally.accepted["working set"];
    break;
  case Kind::HeldBytes:
    ++tally.accepted["held bytes"];
    break;
  }
  tally.accepted["series"] += !certificate.later.empty();
  tally.accepted["transfer price"] += certificate.transferNumerator > 0;
  bool isWhole = certificate.unit > 1, isHeld = false, isView = false;
  bool isJoined = false, isTied = false;
  auto cases = [&](const std::vector<RecomputeCertificate::Case> &list) {
    for (const RecomputeCertificate::Case &one : list) {
      const bool isLeaf = one.split < 0 && one.held < 0;
      isWhole |= one.unit > 1;
      isHeld |= one.held >= 0;
      isView |= isLeaf && one.at >= 0;
      isJoined |= !one.joined.empty();
    }
  };
  cases(certificate.cases);
  bool anyCases = !certificate.cases.empty();
  for (const RecomputeCertificate::Cut &cut : certificate.later) {
    cases(cut.cases);
    anyCases |= !cut.cases.empty();
    isTied |= !cut.prices.empty();
    isWhole |= cut.unit > 1;
  }
  tally.accepted["cases"] += anyCases;
  tally.accepted["held values"] += isHeld;
  tally.accepted["views"] += isView;
  tally.accepted["joined cuts"] += isJoined;
  tally.accepted["prices of values"] += isTied;
  tally.accepted["units"] += isWhole;
}
} // namespace forgery

/// Forges certificates for one problem.
inline Forgeries forgeCertificates(uint64_t seed, int64_t mostNodes,
                                   int64_t attempts) {
  using Kind = RecomputeCertificate::Kind;
  benchmark::Random random(seed * 131 + 7);
  auto size = static_cast<int32_t>(random.between(
      4, seed % 3 == 2 ? std::min<int64_t>(mostNodes, 8) : mostNodes));
  RecomputeProblem problem =
      seed % 3 == 2 ? benchmark::anyGraphWithChoices(size, 0.3, seed)
                    : benchmark::anyGraph(size, 0.3, seed % 3 == 1, seed);
  bool anyTransfer = false;
  for (const RecomputeProblem::Variant &variant : problem.variants)
    anyTransfer |= variant.transfer > 0;
  if (random.chance(0.5)) {
    // The brute force wants transfers to be short.
    RecomputeProblem large = problem;
    forgery::stretch(large,
                     anyTransfer ? 1 : int64_t(1) << random.between(0, 50),
                     int64_t(1) << random.between(0, 50));
    if (!validateRecomputeProblem(large))
      problem = std::move(large);
  }
  RecomputeOptions options;
  options.moves = 5'000;
  const int64_t peak = solveRecompute(problem, int64_t(1) << 61, options).peak;
  Forgeries tally;
  std::vector<int64_t> budgets = {peak / 100 * random.between(40, 95) +
                                      peak % 100 * random.between(40, 95) / 100,
                                  INT64_MAX};
  for (int64_t budget : budgets) {
    const int64_t best = cheapestPlan(problem, budget);
    int64_t bestAnyOrder = best;
    for (int order = 0; order < 4 && seed % 3 == 0; ++order) {
      int64_t other = cheapestPlan(forgery::reordered(problem, random), budget);
      if (other >= 0 && (bestAnyOrder < 0 || other < bestAnyOrder))
        bestAnyOrder = other;
    }
    RecomputeSolution solution = solveRecompute(problem, budget, options);
    Forger forger(problem, random);
    // Without a plan, so that only the certificate speaks.
    RecomputeSolution claim;
    claim.budget = budget;
    const int64_t base = problem.baseCost();
    auto judge = [&] {
      ++tally.tried;
      const std::optional<std::string> refused = checkRecompute(problem, claim);
      if (!refused) {
        forgery::count(claim.certificate, tally);
        forgery::count(claim.anyOrderCertificate, tally);
      }
      return !refused;
    };
    auto blame = [&] {
      if (!tally.wrong)
        tally.wrong = "the cheapest plan costs " + std::to_string(best) +
                      ", in any order " + std::to_string(bestAnyOrder) + "\n" +
                      printRecomputeProblem(problem) +
                      printRecomputeSolution(claim);
    };
    for (int64_t i = 0; i < attempts; ++i) {
      claim.status = RecomputeStatus::Undecided;
      claim.certificate = claim.anyOrderCertificate = {};
      claim.bound = claim.anyOrderBound = base;
      const bool anyOrder = random.chance(0.25);
      RecomputeCertificate &certificate =
          anyOrder ? claim.anyOrderCertificate : claim.certificate;
      const bool isInfeasible = random.chance(0.15);
      if (isInfeasible) {
        claim.status = RecomputeStatus::Infeasible;
        const bool isFound = solution.status == RecomputeStatus::Infeasible;
        claim.certificate =
            isFound && random.chance(0.5)
                ? solution.certificate
                : forger.invent(random.chance(0.7) ? Kind::HeldBytes
                                                   : Kind::WorkingSet);
        if (random.chance(0.5))
          forger.change(claim.certificate, random.between(1, 6));
        if (judge() && best >= 0)
          blame();
        continue;
      }
      const bool isFound =
          solution.status != RecomputeStatus::Infeasible && random.chance(0.5);
      if (isFound)
        certificate =
            anyOrder ? solution.anyOrderCertificate : solution.certificate;
      if (certificate.kind == Kind::Base)
        certificate =
            forger.invent(anyOrder ? Kind::AnyOrder : Kind::GivenOrder);
      else if (random.chance(0.5))
        forger.enlarge(certificate);
      if (random.chance(0.7))
        forger.change(certificate, random.between(1, 6));
      // Does it stand at all, and does it prove too much? If not, what is
      // changed so that it proves no less may yet.
      int64_t &bound = anyOrder ? claim.anyOrderBound : claim.bound;
      const int64_t most = anyOrder ? bestAnyOrder : best;
      bool isStanding = judge();
      for (int step = 0; step < 20 && isStanding && most >= 0; ++step) {
        const RecomputeCertificate before = certificate;
        forger.improve(certificate);
        ++bound;
        if (judge())
          continue;
        --bound;
        if (judge())
          continue;
        certificate = before;
      }
      bound = std::max(bound, most + 1);
      if (most >= 0 && judge())
        blame();
    }
  }
  return tally;
}

} // namespace tenon::solver

#endif // TENON_TEST_UNIT_SOLVER_RECOMPUTEFORGERY_H
