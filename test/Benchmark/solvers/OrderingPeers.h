//===- OrderingPeers.h - other systems' schedulers, written anew ----------===//
//
// The rules by which XLA and PyTorch Inductor order operations for memory, as
// peers for the benchmark. Each is written from the description of its rule,
// plainly, and shares no code with the solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_BENCHMARK_SOLVERS_ORDERINGPEERS_H
#define TENON_TEST_BENCHMARK_SOLVERS_ORDERINGPEERS_H

#include "tenon/Solver/OperationOrdering.h"

namespace tenon::benchmark {

struct OrderingPeer {
  const char *name;
  std::vector<int32_t> (*order)(const solver::OrderingProblem &problem);
};

/// XLA: list, depth-first, post-order. Inductor: least peak memory first,
/// breadth-first, depth-first.
const std::vector<OrderingPeer> &orderingPeers();

/// The peak of an order by a plain replay; -1 if it is not valid.
int64_t replayPeak(const solver::OrderingProblem &problem,
                   const std::vector<int32_t> &order);

} // namespace tenon::benchmark

#endif // TENON_TEST_BENCHMARK_SOLVERS_ORDERINGPEERS_H
