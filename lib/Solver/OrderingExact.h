//===- OrderingExact.h - orders below a peak, by search -------------------===//
//
// Decides whether an order stays below a peak. A state is the set of operations
// that have run. Three things keep the search small. An operation that does not
// grow the live bytes, and fits now, can run at once: whatever is live later is
// less for it, so no order is lost. So can a chain, in which each waits for the
// one before, that fits and holds least at its end: wherever another order has
// come to in the chain, having run all of it holds less. A weight's gradient
// and its update are one. And a state that failed before fails again.
// What is left to choose is which growing operation runs next.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGEXACT_H
#define TENON_LIB_SOLVER_ORDERINGEXACT_H

#include "OrderingGraph.h"

namespace tenon::solver {

enum class OrderSearch { Found, Exhausted, Stopped };

/// Looks for an order with a peak below `peak`; `rank` says which growing
/// operation to try first. Counts `looks` down, one per operation looked at.
/// Exhausted: there is none, except that sets of operations are told apart by
/// 128-bit sums only.
OrderSearch searchOrder(const OrderingGraph &graph, int64_t peak,
                        std::span<const int32_t> rank, int64_t &looks,
                        std::vector<int32_t> &order);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGEXACT_H
