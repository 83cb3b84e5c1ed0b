//===- OffloadPlan.h - What waiting in the host's memory would save ------===//
//
// On a device with memory of its own, a value may wait in the host's memory
// instead of being computed again (RecomputeModel::addVariants). Here such
// plans are priced and proved for a row of sizes of temporaries, on any machine
// with a link; steps for GPUs are compiled with them (`--offload`).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_OFFLOADPLAN_H
#define TENON_MEMORY_OFFLOADPLAN_H

#include "tenon/Memory/RecomputeModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::memory {

/// Times in nanoseconds, sizes in bytes of temporaries as RecomputeModel counts
/// them.
struct OffloadPoint {
  int64_t budget = 0;
  int64_t baseTime = 0;  // everything kept
  int64_t time = 0;      // the best plan found
  int64_t timeBound = 0; // no plan takes less, for these kernels in this order
  int64_t copies = 0;    // values that wait, each time
  int64_t copiedBytes = 0;
  int64_t repeated = 0; // nodes that run again
  /// Without the link, if a plan was found.
  std::optional<int64_t> timeWithout;
};

/// Plans for `count` budgets, evenly spaced from the smallest with a plan to
/// keeping everything. `main` is in grouped form, ordered, with times; it is
/// left as it is but for the order of names. Nothing with `error` filled in if
/// the checker refuses a plan.
std::optional<std::vector<OffloadPoint>> planOffload(mlir::func::FuncOp main,
                                                     const HostLink &link,
                                                     int32_t count,
                                                     std::string &error);

} // namespace tenon::memory

#endif // TENON_MEMORY_OFFLOADPLAN_H
