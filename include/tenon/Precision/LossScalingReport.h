//===- LossScalingReport.h - What was decided about a step's loss ---------===//
//
// Whether the loss of a step is scaled, where the scale enters, and what it
// takes that a step with an infinite gradient keeps its state.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_LOSSSCALINGREPORT_H
#define TENON_PRECISION_LOSSSCALINGREPORT_H

#include "mlir/IR/Location.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::precision {

struct LossScalingReport {
  /// Why the loss is not scaled; empty if it is.
  std::string whyNot;
  /// Whether that is because the step scales its loss itself, so that nothing
  /// is known of which values have the scale.
  bool scalesItself = false;
  /// Where the scale enters: once for each loss.
  std::vector<mlir::Location> entries;
  /// The gradients that are looked at before state is replaced, and their
  /// bytes, as they are stored.
  int64_t gradients = 0, gradientBytes = 0;
};

} // namespace tenon::precision

#endif // TENON_PRECISION_LOSSSCALINGREPORT_H
