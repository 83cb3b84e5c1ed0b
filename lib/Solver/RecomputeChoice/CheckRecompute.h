//===- CheckRecompute.h - the parts of judging a recomputation plan -------===//
//
// checkRecompute() judges in two steps that know nothing of each other: the
// plan is replayed (CheckRecomputePlan.cpp), and the certificates are evaluated
// by weak duality (CheckRecomputeBound.cpp). Both read the problem from the
// tables here. Nothing is shared with the solver.
//
// Costs and sizes of a valid problem add up to at most 2^60 each, and a list
// has fewer than 2^60 entries, so sums of them and of 64-bit claims fit in 128
// bits: Wide. What a certificate's own numbers are multiplied with may not:
// CheckedWide.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_CHECKRECOMPUTE_H
#define TENON_LIB_SOLVER_CHECKRECOMPUTE_H

#include "tenon/Solver/RecomputeChoice.h"
#include "tenon/Support/CheckedWide.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace tenon::solver::judge {

using Wide = __int128;

/// Lists of numbers, one per key, in one array: ascending, without repetitions.
class Lists {
public:
  Lists(size_t keys, std::vector<std::pair<int32_t, int32_t>> pairs)
      : begin(keys + 1, 0) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    numbers.reserve(pairs.size());
    for (auto [key, number] : pairs) {
      ++begin[key + 1];
      numbers.push_back(number);
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
  }
  std::span<const int32_t> operator[](size_t key) const {
    return std::span(numbers).subspan(begin[key], begin[key + 1] - begin[key]);
  }

private:
  std::vector<uint32_t> begin;
  std::vector<int32_t> numbers;
};

/// The problem's edges sorted both ways, without the solver's graph. Beside the
/// nodes there are the saves and loads of variants, beside the values their
/// copies, numbered after the values.
struct Tables {
  const RecomputeProblem &problem;
  int32_t nodes;
  int32_t copies;             // the first copy
  Lists reads;                // operation -> values
  Lists produces;             // operation -> values
  Lists consumers;            // value -> nodes
  std::vector<int64_t> sizes; // of values; views have none
  Lists variants;             // value -> variants
  // Per node, of one run: over the rows of its loop, where it is one.
  std::vector<int64_t> leastCost, mostCost, leastRowBytes;

  explicit Tables(const RecomputeProblem &problem)
      : problem(problem), nodes(static_cast<int32_t>(problem.nodes.size())),
        copies(problem.valueCount()),
        reads(problem.operationCount(), readsOf(problem, false)),
        produces(problem.operationCount(), productsOf(problem)),
        consumers(problem.valueCount(), readsOf(problem, true)),
        variants(problem.valueCount(), variantsOf(problem)),
        leastRowBytes(nodes, 0) {
    sizes.reserve(copies + problem.variants.size());
    for (int32_t value = 0; value < copies; ++value)
      sizes.push_back(problem.bytes(value));
    for (auto [value, base] : problem.aliases)
      sizes[value] = 0;
    for (const RecomputeProblem::Variant &variant : problem.variants)
      sizes.push_back(variant.bytes);
    for (const RecomputeProblem::Node &node : problem.nodes)
      leastCost.push_back(node.cost);
    mostCost = leastCost;
    for (const RecomputeProblem::Loop &loop : problem.loops) {
      int64_t least = INT64_MAX, most = 0, bytes = INT64_MAX;
      for (auto [rowBytes, rowCost] : loop.rows) {
        least = std::min(least, rowCost);
        most = std::max(most, rowCost);
        bytes = std::min(bytes, rowBytes);
      }
      leastCost[loop.node] += least;
      mostCost[loop.node] += most;
      leastRowBytes[loop.node] = bytes;
    }
  }

  /// Every node once, each loop in its cheapest row.
  Wide baseCost() const {
    return std::accumulate(leastCost.begin(), leastCost.end(), Wide(0));
  }

  /// What must be there together around a run of `node`, beside what the row of
  /// its loop adds.
  Wide bytesBesideRow(int32_t node) const {
    Wide sum = problem.nodes[node].workspace;
    for (int32_t value : reads[node])
      sum += sizes[value];
    for (int32_t value : produces[node])
      sum += sizes[value];
    return sum;
  }
  /// The same with the smallest row.
  Wide workingSet(int32_t node) const {
    return bytesBesideRow(node) + leastRowBytes[node];
  }

private:
  using Pairs = std::vector<std::pair<int32_t, int32_t>>;

  /// What operations read, by operation; or, for nodes alone, by value.
  static Pairs readsOf(const RecomputeProblem &problem, bool byValue) {
    // A reader of a view reads what lies under it, down to the bottom.
    std::vector<int32_t> under(problem.valueCount(), -1);
    for (auto [value, base] : problem.aliases)
      under[value] = base;
    Pairs pairs;
    pairs.reserve(problem.edges.size());
    for (auto [value, consumer] : problem.edges)
      for (int32_t read = value; read >= 0; read = under[read])
        pairs.push_back(byValue ? std::pair(read, consumer)
                                : std::pair(consumer, read));
    for (size_t i = 0; !byValue && i < problem.variants.size(); ++i) {
      pairs.push_back({problem.saveOf(i), problem.variants[i].value});
      pairs.push_back(
          {problem.loadOf(i), static_cast<int32_t>(problem.valueCount() + i)});
    }
    return pairs;
  }
  static Pairs productsOf(const RecomputeProblem &problem) {
    Pairs pairs;
    pairs.reserve(problem.valueCount());
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      pairs.push_back({problem.producer(value), value});
    for (size_t i = 0; i < problem.variants.size(); ++i) {
      pairs.push_back(
          {problem.saveOf(i), static_cast<int32_t>(problem.valueCount() + i)});
      pairs.push_back({problem.loadOf(i), problem.variants[i].value});
    }
    return pairs;
  }
  static Pairs variantsOf(const RecomputeProblem &problem) {
    Pairs pairs;
    for (size_t i = 0; i < problem.variants.size(); ++i)
      pairs.push_back({problem.variants[i].value, static_cast<int32_t>(i)});
    return pairs;
  }
};

inline std::string number(CheckedWide value) {
  std::optional<Wide> exact = value.exact();
  if (!exact)
    return "a number beyond 128 bits";
  // Digits of the negative, which reaches further.
  Wide rest = *exact < 0 ? *exact : -*exact;
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' - int(rest % 10)));
    rest /= 10;
  } while (rest < 0);
  return (*exact < 0 ? "-" : "") + digits;
}

inline std::string mismatch(const char *what, int64_t claimed,
                            CheckedWide found) {
  return std::string(what) + " " + number(claimed) + " is claimed, found " +
         number(found);
}

/// Replays the plan of a solution: its steps, its cost and its peak.
std::optional<std::string> checkPlan(const Tables &tables,
                                     const RecomputeSolution &solution);

/// A claimed lower bound against what its certificate proves.
std::optional<std::string> checkBound(const Tables &tables, int64_t budget,
                                      bool anyOrder, int64_t bound,
                                      const RecomputeCertificate &certificate);

/// The proof of a solution without a plan.
std::optional<std::string> checkInfeasible(const Tables &tables, int64_t budget,
                                           const RecomputeCertificate &proof);

} // namespace tenon::solver::judge

#endif // TENON_LIB_SOLVER_CHECKRECOMPUTE_H
