//===- OrderingBound.h - bytes that every order must hold -----------------===//
//
// The must-live bound, for one operation and for a frontier of operations that
// wait: see OperationOrdering.h. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGBOUND_H
#define TENON_LIB_SOLVER_ORDERINGBOUND_H

#include "OrderingGraph.h"

namespace tenon::solver {

/// The must-live bound, one operation at a time.
class MustLive {
public:
  explicit MustLive(const OrderingGraph &graph)
      : graph(graph), ran(graph.operations, 0), waits(graph.operations, 0) {}

  int64_t at(int32_t operation);
  /// Operations and edges visited so far.
  int64_t work = 0;

private:
  const OrderingGraph &graph;
  std::vector<int32_t> ran, waits; // stamps
  std::vector<int32_t> queue;
  int32_t clock = 0;
};

/// Operations of which none depends on another, such that in every order at
/// least `bytes` are live while the first of them runs.
struct Frontier {
  std::vector<int32_t> operations; ///< in id order; empty: there is none
  int64_t bytes = 0;
};

/// A frontier with `bytes >= wanted` if there is one; among those, the one with
/// the fewest operations before it. `work`, in operations and edges visited, is
/// reduced by what it takes; empty also if it runs out.
Frontier findFrontier(const OrderingGraph &graph, int64_t wanted,
                      int64_t &work);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGBOUND_H
