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
  using Loop = RecomputeProblem::Loop;
  using Row = Loop::Row;

  const RecomputeProblem &problem;
  int32_t nodes;
  int32_t copies;              // the first copy
  Lists reads;                 // operation -> values
  Lists produces;              // operation -> values
  Lists consumers;             // value -> nodes
  std::vector<int64_t> sizes;  // of values; views have none
  std::vector<int32_t> loopOf; // node -> loop or -1
  Lists variants;              // value -> variants

  explicit Tables(const RecomputeProblem &problem)
      : problem(problem), nodes(static_cast<int32_t>(problem.nodes.size())),
        copies(problem.valueCount()),
        reads(problem.operationCount(), readsOf(problem, false)),
        produces(problem.operationCount(), productsOf(problem)),
        consumers(problem.valueCount(), readsOf(problem, true)),
        loopOf(nodes, -1), variants(problem.valueCount(), variantsOf(problem)) {
    sizes.reserve(copies + problem.variants.size());
    for (int32_t value = 0; value < copies; ++value)
      sizes.push_back(problem.bytes(value));
    for (auto [value, base] : problem.aliases)
      sizes[value] = 0;
    for (const RecomputeProblem::Variant &variant : problem.variants)
      sizes.push_back(variant.bytes);
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

  /// What must be there together around a run of `node`, with one row of its
  /// loop or without loop.
  Wide runBytes(int32_t node) const {
    Wide sum = problem.nodes[node].workspace;
    for (int32_t value : reads[node])
      sum += sizes[value];
    for (int32_t value : produces[node])
      sum += sizes[value];
    return sum;
  }
  Wide runBytes(int32_t node, const Row &row) const {
    const Loop &loop = problem.loops[loopOf[node]];
    return runBytes(node) + row.residualBytes +
           (node == loop.forward ? row.forwardPeak : row.backwardPeak);
  }

  /// The least that the memory around the first run of `node` costs: `price`
  /// per byte that must be there together, `scale` times what the row of its
  /// loop costs beyond the cheapest.
  CheckedWide workingSet(int32_t node, int64_t price, int64_t scale) const {
    if (loopOf[node] < 0)
      return CheckedWide(price) * runBytes(node);
    const Loop &loop = problem.loops[loopOf[node]];
    std::optional<CheckedWide> least;
    for (const Row &row : loop.rows) {
      CheckedWide term = CheckedWide(price) * runBytes(node, row) +
                         CheckedWide(scale) * (row.cost() - cheapest(loop));
      least = least ? lesser(*least, term) : term;
    }
    return *least;
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
