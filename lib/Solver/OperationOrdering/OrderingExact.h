//===- OrderingExact.h - orders below a peak, by search -------------------===//
//
// Decides whether an order stays below a peak. A state is the set of operations
// that have run. It rests on one fact: what an operation adds to the live bytes
// only shrinks as more of the others have run, since it is then more often the
// last reader of its operands. Four things keep the search small.
//
// - Operations that free nothing wait until they are needed: always if they
//   never do (OrderingDeferral.h), else as long as they do not
//   (OrderingBlocks.h).
// - What fits and does not grow the live bytes runs at once; so does a chain
//   that fits and holds least at its end. A weight's gradient, what scales it in
//   place and its update are one.
// - Valleys. Let the search come from a state S to a state A that holds no more
//   than S, nor than anything in between. Any order from S can then go to A
//   first and leave out later what it has run: after that, it holds no more
//   than before at any point. So what else could be chosen between S and A
//   need not be tried. Anything in between: all sets that lie between S and A
//   and that some order passes through, whatever its peak; the smallest of
//   them is a minimum cut.
//   It is asked when A has failed: then S has.
// - A state that failed before fails again.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGEXACT_H
#define TENON_LIB_SOLVER_ORDERINGEXACT_H

#include "OrderingDeferral.h"

namespace tenon::solver {

enum class OrderSearch { Found, Exhausted, Stopped };

/// Looks for an order with a peak below `peak`; `rank` says which operation to
/// end a block with first. Counts `looks` down, one per operation looked at.
/// Exhausted: there is none, except that sets of operations are told apart by
/// 128-bit sums only.
OrderSearch searchOrder(const OrderingGraph &graph,
                        const OrderingDeferral &deferral, int64_t peak,
                        std::span<const int32_t> rank, int64_t &looks,
                        std::vector<int32_t> &order);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGEXACT_H
