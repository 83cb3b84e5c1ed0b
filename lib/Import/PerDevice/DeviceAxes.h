//===- DeviceAxes.h - The grid of devices that a body is written for ------===//
//
// Which axes of a mesh tell apart the devices of a group of a collective, of
// the pairs of a permutation, or the values of a table with one per device. A
// set of axes has a bit for each of them, in the order of the mesh.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_PERDEVICE_DEVICEAXES_H
#define TENON_LIB_IMPORT_PERDEVICE_DEVICEAXES_H

#include "tenon/Dialect/Shardy/Shardy.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/bit.h"

#include <optional>

namespace tenon::importer {

/// Axes of a mesh, the major one the lowest bit.
using AxisSet = uint32_t;

/// Axes in an order, by their place in the mesh.
using AxisList = llvm::SmallVector<unsigned>;

/// The axes of a set, the major one first.
AxisList axesOf(AxisSet set);
AxisSet setOf(llvm::ArrayRef<unsigned> axes);
inline bool isAxisOf(AxisSet set, unsigned axis) { return set >> axis & 1; }
/// The place of an axis among those of a set.
inline int64_t placeOf(unsigned axis, AxisSet set) {
  return llvm::popcount(set & ((AxisSet(1) << axis) - 1));
}

/// A permutation that moves values along one axis.
struct Move {
  unsigned axis = 0;
  /// For each device along the axis the one whose value it gets; -1 for none.
  llvm::SmallVector<int64_t> sources;
};

/// The devices of a mesh, which are numbered in row-major order.
class DeviceAxes {
public:
  /// Nothing for more than 32 axes, devices in an order of their own, or a mesh
  /// without axes.
  static std::optional<DeviceAxes> of(sdy::MeshAttr mesh);

  sdy::MeshAttr mesh() const { return of_; }
  int64_t devices() const { return count; }
  int64_t size(unsigned axis) const { return sizes[axis]; }
  llvm::StringRef name(unsigned axis) const {
    return of_.getAxes()[axis].getName();
  }
  std::optional<unsigned> find(llvm::StringRef name) const;
  AxisSet all() const { return AxisSet((uint64_t(1) << sizes.size()) - 1); }
  int64_t coordinate(int64_t device, unsigned axis) const;
  /// The product of sizes.
  int64_t product(llvm::ArrayRef<unsigned> axes) const;

  /// The axes along which the devices of each group follow each other, the
  /// major one first; nothing if no axes describe the groups. No groups are one
  /// of all devices.
  std::optional<AxisList> ofGroups(mlir::DenseIntElementsAttr groups) const;

  /// Nothing if pairs of source and target do not move values along one axis,
  /// everywhere alike.
  std::optional<Move> ofPairs(mlir::DenseIntElementsAttr pairs) const;

  /// The axes that cut a dimension, the major one first, of which a table says
  /// which part each device has; nothing if no axes describe the table.
  std::optional<AxisList> ofTiles(llvm::ArrayRef<int64_t> tiles) const;

  /// The axes along which a table with a number per device changes.
  AxisSet ofTable(llvm::ArrayRef<int64_t> table) const;

private:
  sdy::MeshAttr of_;
  llvm::SmallVector<int64_t> sizes, strides;
  int64_t count = 1;
};

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_PERDEVICE_DEVICEAXES_H
