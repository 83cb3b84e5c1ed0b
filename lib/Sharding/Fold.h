//===- Fold.h - Devices of an axis, and the ranks that run them -----------===//
//
// What the files share that have each rank run several devices of a partitioned
// step (tenon/Sharding/FoldDevices.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDING_FOLD_H
#define TENON_LIB_SHARDING_FOLD_H

#include "tenon/Sharding/Layout.h"

#include "mlir/IR/Operation.h"

namespace tenon::sharding {

/// The devices of a mesh along one axis, and the ranks that run them.
struct Fold {
  Mesh devices, ranks;
  AxisPart axis; // of `devices`
  int64_t each;  // devices of a rank

  AxisPart rankAxis() const {
    return {axis.axis, 1, ranks.axes[axis.axis].size};
  }
  int64_t coordinate(int64_t device) const {
    return devices.coordinate(device, axis);
  }
  llvm::StringRef name() const { return devices.axes[axis.axis].name; }

  /// The rank at `place` along the axis, and elsewhere where the device is.
  int64_t rankAt(int64_t device, int64_t place) const {
    const int64_t stride = devices.stride(axis);
    const int64_t before = device / (stride * axis.size);
    return (before * rankAxis().size + place) * stride + device % stride;
  }
};

/// Among which devices a collective exchanges.
enum class Along { others, axis, both };

Along alongOf(mlir::Operation *op, const Fold &fold);

/// Has a collective exchange between the ranks at each place along the axis as
/// the devices of `op` do, or along the axis.
void setGroups(mlir::Operation *made, mlir::Operation *op, const Fold &fold);

} // namespace tenon::sharding

#endif // TENON_LIB_SHARDING_FOLD_H
