//===- BatchFit.h - The largest batch that fits a budget ------------------===//
//
// Two exports of one step at different batch sizes show how the bytes it needs
// grow: a line through both, once with everything kept, once for the smallest
// plan.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_BATCHFIT_H
#define TENON_LIB_DRIVER_BATCHFIT_H

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::driver {

/// What a step at one batch size needs.
struct StepMemory {
  std::string input;
  /// Shapes of the arguments that are no state, in order.
  std::vector<std::vector<int64_t>> batchShapes;
  int64_t everything = 0; // bytes with everything kept
  int64_t least = 0;      // bytes of the smallest plan
};

/// The extents in which the two steps differ: their batch sizes. Nothing, with
/// a message, if they do not differ in that alone.
std::optional<std::pair<int64_t, int64_t>> batchSizes(const StepMemory &first,
                                                      const StepMemory &second,
                                                      std::string &error);

/// Prints what both need and, with a budget, the largest batch that would fit.
/// False with a message if the two are not one step at two batch sizes.
bool printBatchFit(const StepMemory &first, const StepMemory &second,
                   std::optional<int64_t> budget, llvm::raw_ostream &out,
                   std::string &error);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_BATCHFIT_H
