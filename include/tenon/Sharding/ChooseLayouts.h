//===- ChooseLayouts.h - The layouts that make a step quick ---------------===//
//
// Decides how every value of a step lies on a mesh, and along which factors
// every operation is cut, so that the step takes little time: by the prices of
// Prices.h, as a problem for Solver/ShardingChoice. What a user asked for
// binds, everything else is open; no plan that people know is tried or
// preferred.
//
// The problem has two kinds of nodes. An *operation* has a strategy for each
// way to cut its factors along whole axes; it costs the time of its local
// shapes. A *value* has a strategy for each layout that it may have behind its
// operation and for each second layout, a *copy*, in which several readers may
// share it; it costs the time to move it into the copy. Edges say what the rest
// takes:
//
//   operation -> its result   finishing what it leaves pending, as a whole
//                             (all-reduce) or cut (reduce-scatter); every other
//                             layout than the one in which it comes is
//                             forbidden
//   value -> its reader       moving it, or its copy, to where the reader wants
//                             it, times the rounds of the reader's loop
//
// A value that a loop carries or a branch returns is one node; a state argument
// is read by what replaces it, which has to come back to where it lies. A
// parameter that several operations read is one node with several edges.
//
// Bytes are those of the parts of a value and of its copy, from the operation
// that makes it to its last reader; state and batches are there all the time.
// What replaces state takes the place of the old one. Temporaries of
// collectives are not counted, nor what fusion does not store, so bytes are an
// estimate; what a rank really needs is planned later.
//
// Example: the product of x, [8, 16], and w, [16, 4], on the axis data=2 can be
// cut along 8, 16 or 4 or not at all. If it is cut along 16 it leaves a sum
// pending, and its result is [-, -] by an all-reduce, or [data, -] or [-, data]
// by a reduce-scatter; if it is cut along 8, its result is [data, -].
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_CHOOSELAYOUTS_H
#define TENON_SHARDING_CHOOSELAYOUTS_H

#include "tenon/Sharding/Prices.h"
#include "tenon/Sharding/Propagate.h"
#include "tenon/Solver/ShardingChoice.h"

namespace tenon::sharding {

/// Why an argument lies as it does: what other layouts would cost if everything
/// else stayed as it is.
struct ArgumentReason {
  double moving = 0; // seconds to bring it to its readers
  bool isAsked = false;
  /// The cheapest other layout, and by how many seconds the step takes longer;
  /// nothing if there is no other.
  std::optional<std::pair<Layout, double>> nextBest;
};

inline constexpr double picosecondsPerSecond = 1e12;

struct LayoutChoice {
  LayoutPlan plan;
  /// By number of argument.
  std::vector<ArgumentReason> reasons;
  solver::ShardingProblem problem;
  /// Its costs are in picoseconds, or larger units where they would be too
  /// large together.
  double costsPerSecond = picosecondsPerSecond;
  solver::ShardingSolution solution;
  /// Whether the estimated bytes of a rank are within the limit.
  bool isWithinLimit = true;
};

/// What the parts of all values may take on a rank, by the estimate.
struct ByteLimit {
  int64_t bytes = 0;
  /// Whether to look twelve times as long where nothing is found within it, or
  /// nothing near the bound.
  bool searchesLonger = false;
};

/// The choice for a function of step form; null, with a diagnostic, if the
/// mesh and what is asked for permit none. The same on every machine and for
/// any number of threads.
std::optional<LayoutChoice> chooseLayouts(mlir::func::FuncOp main,
                                          const Mesh &mesh,
                                          const AskedLayouts &asked,
                                          const Prices &prices,
                                          std::optional<ByteLimit> limit);

/// The most bytes of the parts of all values at any time, by the same estimate,
/// for which a rank needs room with layouts that were not chosen, beside copies
/// in other layouts.
int64_t leastPeakBytes(mlir::func::FuncOp main, const ValueLayouts &layouts);

} // namespace tenon::sharding

#endif // TENON_SHARDING_CHOOSELAYOUTS_H
