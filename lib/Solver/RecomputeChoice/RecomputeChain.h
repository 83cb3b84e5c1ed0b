//===- RecomputeChain.h - exact plans for chains --------------------------===//
//
// A chain: every forward node reads the one before, the way back reads the
// forward values in reverse, one per backward node. Between two held values the
// plan is a problem of the same kind: run forward to some value j and hold it,
// solve what lies above j with less memory, then what lies below with all of
// it. The recursion is the one behind the closed form for uniform chains
// (Griewank and Walther, revolve), here with any costs and sizes.
//
// The compiler's steps are no such chains, since updates of the state run once
// and values have several readers; planChain() sees that at once. It is here
// for the problems of tenon-solve: of a chain of 60 nodes that may hold three
// values the search alone finds a plan that costs 17 % more. Tests hold the
// search and the bounds against it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTECHAIN_H
#define TENON_LIB_SOLVER_RECOMPUTECHAIN_H

#include "RecomputeGraph.h"

namespace tenon::solver {

/// The cheapest order in which held values nest, if the problem is a chain and
/// the recursion has at most `states` states; else empty.
std::vector<int32_t> planChain(const RecomputeGraph &graph, int64_t budget,
                               int64_t states);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTECHAIN_H
