//===- OverflowRisk.h - Values that f16 may be too small for --------------===//
//
// An f16 ends at 65504. Gradients that go beyond it are what the scale of the
// loss is halved for. A value of the forward pass that does spoils the loss,
// and no scale helps, so the report names those for which nothing rules it out.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_OVERFLOWRISK_H
#define TENON_LIB_PRECISION_OVERFLOWRISK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tenon::precision {

/// Whether a value is a constant with infinite elements, or repeats one.
bool repeatsInfinity(mlir::Value value);

class OverflowRisk {
public:
  /// `step` is an f32 step; of one whose loss is scaled, what the scale is in
  /// is no risk.
  explicit OverflowRisk(mlir::func::FuncOp step);

  bool mayOverflow(mlir::Value value) const;

private:
  llvm::DenseSet<mlir::Value> scaled;
};

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_OVERFLOWRISK_H
