//===- ExchangeCost.h - Seconds of what ranks exchange --------------------===//
//
// A collective takes a latency for each message that a rank waits for and the
// bytes that it receives, by the slowest link that is on the way:
//
//   all_gather, all_to_all, reduce_scatter   (n - 1) latency + received / rate
//   all_reduce                             2 (n - 1) latency + received / rate
//   collective_permute                               latency + received / rate
//
// Example: 4 ranks sum 1 MiB over a link of 10 us and 1 GB/s. Each receives
// 2 * 3 / 4 MiB, so this takes 60 us + 1573 us.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_EXCHANGECOST_H
#define TENON_COST_EXCHANGECOST_H

#include "tenon/Libraries/Collective.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/Operation.h"

#include <limits>

namespace tenon::cost {

/// What two links that are both on the way are like: the larger latency, the
/// lower rate of a rank and the smaller hidden share.
target::Link slowestOf(const target::Link &a, const target::Link &b);

/// No link at all, which slows nothing.
inline constexpr target::Link noLink{0, std::numeric_limits<double>::infinity(),
                                     1, 1};

/// Of a collective among `ranks`, each of which receives so many bytes.
double exchangeSeconds(libraries::CollectiveKind kind, int64_t ranks,
                       double received, const target::Link &slowest);

struct Exchange {
  double seconds = 0;
  /// Of these, what a rank can compute beside.
  double hideable = 0;
};

/// One run of the collective of a step for several ranks, on links of the
/// target or, if it has none, those that are built in. None for any other
/// operation, and for one without a mesh around it.
std::optional<Exchange> exchangeOf(mlir::Operation *collective,
                                   const target::Target &target);

/// The sizes of the axes of a step for several ranks; empty for one rank.
llvm::SmallVector<int64_t> meshSizes(mlir::Operation *inside);

} // namespace tenon::cost

#endif // TENON_COST_EXCHANGECOST_H
