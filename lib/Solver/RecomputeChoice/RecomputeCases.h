//===- RecomputeCases.h - the bound of cuts, case by case -----------------===//
//
// The price of a cut lets half a value be held. Where a few large values
// decide, that is far below what any plan costs. RecomputeChoice.h states what
// cases prove; they are found by branch and bound: the case of the least bound
// is split, again and again, and the leaves are the certificate. A node on
// which most time hangs is split first; where the choice is only about what is
// held, a value.
//
// In a series the bounds of the windows add up, so each window has cases of its
// own, and their number is the sum over the windows, not the product. What is
// dropped at one moment and back at the next full one, though, is seen only if
// both are looked at together: such cuts are joined, and each case has prices
// of its own at all of them.
//
// Before cases are told apart, prices are of weights in whole units of bytes
// (RecomputeCertificate::unit): nine and a half values of one size have room
// for nine.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTECASES_H
#define TENON_LIB_SOLVER_RECOMPUTECASES_H

#include "RecomputeGraph.h"
#include "RecomputeSeries.h"

namespace tenon::solver {

/// Looks for cases in the series of `known`, or at one of the `cuts`, with a
/// bound above `known.bound`; done once it is `enough`, at most that of a plan.
/// At most `flows` minimum cuts, or so, and `joinFlows` for cases of several
/// windows; `fullness` is the bytes at each node when everything is kept.
SeriesProof improveByCases(const RecomputeGraph &graph, int64_t budget,
                           std::span<const int64_t> fullness,
                           std::span<const int32_t> cuts, SeriesProof known,
                           int64_t enough, int64_t flows, int64_t joinFlows);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTECASES_H
