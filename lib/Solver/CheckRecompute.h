//===- CheckRecompute.h - the parts of judging a recomputation plan -------===//
//
// checkRecompute() judges in two steps that know nothing of each other: the
// plan is replayed (CheckRecomputePlan.cpp), and the certificates are evaluated
// by weak duality (CheckRecomputeBound.cpp). Both read the problem from the
// tables here. Nothing is shared with the solver. Sums that could exceed 64
// bits are kept in 128.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_CHECKRECOMPUTE_H
#define TENON_LIB_SOLVER_CHECKRECOMPUTE_H

#include "tenon/Solver/RecomputeChoice.h"

#include <algorithm>

namespace tenon::solver::judge {

using Wide = __int128;

/// The problem's edges sorted both ways, without the solver's graph. Beside the
/// nodes there are the saves and loads of variants, beside the values their
/// copies, numbered after the values.
struct Tables {
  using Loop = RecomputeProblem::Loop;
  using Row = Loop::Row;

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
  Wide workingSet(int32_t node, Wide price, Wide scale) const {
    if (loopOf[node] < 0)
      return price * runBytes(node);
    const Loop &loop = problem.loops[loopOf[node]];
    Wide least = -1;
    for (const Row &row : loop.rows) {
      Wide term =
          price * runBytes(node, row) + scale * (row.cost() - cheapest(loop));
      least = least < 0 ? term : std::min(least, term);
    }
    return least;
  }
};

inline std::string number(Wide value) {
  if (value < 0)
    return "-" + number(-value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + int(value % 10)));
    value /= 10;
  } while (value > 0);
  return digits;
}

inline std::string mismatch(const char *what, int64_t claimed, Wide found) {
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
