//===- Layout.h - How a tensor is spread over a mesh ----------------------===//
//
// A mesh is a grid of devices with named axes; devices are numbered in
// row-major order. A layout says along which axes each dimension of a tensor is
// cut, from major to minor, and along which axes every device holds a part of a
// reduction that is still to be done. Along all other axes the tensor is
// replicated. What the stage Sharding decides, plans and checks is layouts.
//
// An axis may be cut itself: of an axis of size n, seen as the grid
// [before, size, n / (before * size)], a part is the middle dimension.
//
// Text: `[data, -]` cuts dimension 0 along the axis `data` and not dimension 1;
// `[model:(2)4 data]` cuts dimension 0 along the part of `model` with
// before = 2 and size = 4, and then along `data`; `[-] sum(model)` is a tensor
// of rank 1 of which the devices along `model` hold terms of a sum.
//
// Uneven sizes: a dimension of extent d that is cut into p shards has shards of
// c = ceil(d / p) elements on every device. Shard i holds the elements i * c to
// min(d, (i + 1) * c) - 1; what is behind them, the tail, has unspecified
// values, and so may whole shards at the end. Whoever combines elements along
// the dimension masks the tail first.
//
// Example: on the mesh data=2,model=2 (devices 0 to 3, `data` major) a
// tensor<5x4xf32> with the layout [model, data] has local tensors of 3x2:
// device 1 (data 0, model 1) holds rows 3 and 4 and one row of tail, of columns
// 0 and 1. With [data model, -] local tensors are 2x4: device 2 holds row 4
// and a row of tail, device 3 holds tail alone.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_LAYOUT_H
#define TENON_SHARDING_LAYOUT_H

#include "tenon/Format/Mesh.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tenon::sharding {

using Axis = format::MeshAxis;

/// A part of the axis with this number; the whole axis if `before` is 1 and
/// `size` is the axis's.
struct AxisPart {
  unsigned axis = 0;
  int64_t before = 1;
  int64_t size = 1;

  bool operator==(const AxisPart &) const = default;
  auto operator<=>(const AxisPart &) const = default;
  /// Whether the two have something of an axis in common.
  bool overlaps(const AxisPart &other) const {
    return axis == other.axis && before < other.before * other.size &&
           other.before < before * size;
  }
};

using AxisParts = llvm::SmallVector<AxisPart, 2>;

struct Mesh {
  llvm::SmallVector<Axis, 3> axes;
  /// Of which axis ranks run several devices each (FoldDevices.h), if of any.
  /// Where layouts are chosen, and in plans between them, it cuts dimensions
  /// evenly and behind all other axes, and nothing is exchanged along it and
  /// another axis at once.
  std::optional<unsigned> apart = std::nullopt;

  int64_t devices() const;
  /// Of the axes.
  llvm::SmallVector<int64_t> sizes() const;
  std::optional<unsigned> find(llvm::StringRef name) const;
  /// The number of devices between neighbours along a part.
  int64_t stride(const AxisPart &part) const;
  int64_t coordinate(int64_t device, const AxisPart &part) const {
    return device / stride(part) % part.size;
  }
  /// The number of a device among those that differ along `parts`, major first.
  int64_t indexAlong(int64_t device, llvm::ArrayRef<AxisPart> parts) const;
  /// The devices that differ along `parts` alone, group by group, each in the
  /// order of `indexAlong`.
  llvm::SmallVector<llvm::SmallVector<int64_t>>
  groupsAlong(llvm::ArrayRef<AxisPart> parts) const;

  /// `data=2,model=4`.
  std::string text() const;
  /// As format::parseMesh().
  static std::optional<Mesh> parse(llvm::StringRef text, std::string &error);
  /// What an attribute of the module, step.mesh or step.logical_shards, says of
  /// axes; nothing, and a reason in `error`, without one.
  static std::optional<Mesh> of(mlir::ModuleOp module,
                                llvm::StringRef attribute, std::string &error);
};

/// How the parts of a pending reduction are combined. On booleans `max` is "or"
/// and `min` is "and".
enum class Reduction { sum, max, min };

struct Layout {
  std::vector<AxisParts> dims; // major part first
  AxisParts pending;
  Reduction reduction = Reduction::sum; // of what is pending

  static Layout replicated(int64_t rank) {
    Layout layout;
    layout.dims.resize(rank);
    return layout;
  }
  bool operator==(const Layout &other) const {
    return dims == other.dims && pending == other.pending &&
           (pending.empty() || reduction == other.reduction);
  }
  bool isReplicated() const;
  /// Whether a dimension is cut, or a reduction pending, along something of
  /// `part`.
  bool uses(const AxisPart &part) const;

  llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> shape) const;

  std::string text(const Mesh &mesh) const;
  /// Nothing, and what is wrong in `error`, for other text, for axes that the
  /// mesh does not have, and for an axis that is used twice.
  static std::optional<Layout> parse(llvm::StringRef text, const Mesh &mesh,
                                     std::string &error);
};

/// How many shards these make.
inline int64_t countOf(llvm::ArrayRef<AxisPart> parts) {
  int64_t count = 1;
  for (const AxisPart &part : parts)
    count *= part.size;
  return count;
}

/// The extent of each of `count` shards.
inline int64_t shardExtent(int64_t extent, int64_t count) {
  return (extent + count - 1) / count;
}

/// Whether the elements that are in one shard of `outer` shards are in
/// `inner / outer` neighbours of `inner` shards, so that the layouts turn into
/// each other within a group.
inline bool nests(int64_t extent, int64_t outer, int64_t inner) {
  return outer == 1 || shardExtent(extent, outer) ==
                           shardExtent(extent, inner) * (inner / outer);
}

/// Whether the parts that cut a dimension have the axis that is apart, if
/// there is one, as a whole, behind all others, and all shards are full.
bool cutsApart(const Mesh &mesh, llvm::ArrayRef<AxisPart> parts,
               int64_t extent);

/// The same cut with neighbours that make up one part of an axis joined.
AxisParts joined(llvm::ArrayRef<AxisPart> parts);

/// The first parts that make exactly `count` shards, the last one cut if need
/// be, and the rest. Fewer shards if the parts cannot be cut so.
std::pair<AxisParts, AxisParts> cutAt(llvm::ArrayRef<AxisPart> parts,
                                      int64_t count);

} // namespace tenon::sharding

#endif // TENON_SHARDING_LAYOUT_H
