//===- Differences.h - What differs between the devices of an axis --------===//
//
// Which values of a partitioned step may differ between the devices along an
// axis: what is cut along it, and what follows from that, up to collectives
// that make it equal again. It follows from the arguments that are cut, as a
// fixed point over loops.
//
// The number of a device differs, too, but not all that is computed of it:
// which shard along another axis a device has is equal along this one. So
// scalars that the number alone decides are computed for each device.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDING_DIFFERENCES_H
#define TENON_LIB_SHARDING_DIFFERENCES_H

#include "Fold.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tenon::sharding {

/// Finds the values that may differ between the devices along the axis, and
/// refuses what no rank can run for several of them.
class Differences {
public:
  explicit Differences(const Fold &fold) : fold(fold) {}

  mlir::LogicalResult visit(mlir::Block &block);

  void add(mlir::Value value) { differing.insert(value); }
  bool contains(mlir::Value value) const { return differing.contains(value); }

private:
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitCollective(mlir::Operation *op);
  mlir::LogicalResult visitControl(mlir::Operation *op);
  /// Whether the operation reads something that differs, or one in it does.
  bool reads(mlir::Operation *op) const;
  /// The value of such a scalar on each device; empty for anything else.
  std::vector<int64_t> numbersOf(mlir::Operation *op) const;

  const Fold &fold;
  llvm::DenseSet<mlir::Value> differing;
  llvm::DenseMap<mlir::Value, std::vector<int64_t>> numbers; // by device
};

} // namespace tenon::sharding

#endif // TENON_LIB_SHARDING_DIFFERENCES_H
