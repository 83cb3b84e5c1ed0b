//===- RecomputeVariants.h - rows of loops and variants of values ---------===//
//
// A problem with loops and variants becomes one without by choosing a row for
// every loop and the waits: which values are saved after which node and loaded
// before which. A row adds to cost and workspace of its node; a wait adds two
// nodes that run once,
//
//     P  A | B  C        P  A  save | load  B  C
//
// where save reads the value and makes the copy, and load reads the copy and
// makes a second value that B and C read instead. Transfers take time, so the
// load is put early enough, and two further nodes without cost or size hold
// what a transfer reads until it has ended. All of RecomputeChoice then applies
// to what is left, and a plan of it is a plan of the whole problem.
//
// Rows and waits are first chosen by the price that the best cut puts on a
// byte, then improved one by one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTEVARIANTS_H
#define TENON_LIB_SOLVER_RECOMPUTEVARIANTS_H

#include "RecomputeGraph.h"

namespace tenon::solver {

struct RecomputeChoices {
  struct Wait {
    int32_t variant;
    int32_t after;  // saved when this node has run for the first time
    int32_t before; // loaded before this node does
    auto operator<=>(const Wait &) const = default;
  };
  std::vector<int32_t> rows; // per loop
  std::vector<Wait> waits;
  auto operator<=>(const RecomputeChoices &) const = default;
};

/// A problem without loops and variants.
struct FixedProblem {
  RecomputeProblem problem;
  /// What a node of it stands for: an operation of the whole problem, or -1.
  std::vector<int32_t> operations;
};

/// What is left when all is chosen; nothing if a transfer cannot be in time.
std::optional<FixedProblem> fixChoices(const RecomputeProblem &problem,
                                       const RecomputeChoices &choices);

/// Cost and peak of a plan of the whole problem, or nothing if it is not valid.
std::optional<RecomputeMeasure>
measureOperations(const RecomputeProblem &problem,
                  const std::vector<int32_t> &rows,
                  const std::vector<int32_t> &order);

/// The waits across the first run of `cut` and the rows, where a byte costs
/// `price`. Only values that are not run again there (`rerun`, per node) wait.
RecomputeChoices chooseAtPrice(const RecomputeProblem &problem,
                               const RecomputeGraph &graph, int32_t cut,
                               const std::vector<char> &rerun, double price);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEVARIANTS_H
