//===- DeviceAxes.cpp - The grid of devices that a body is written for ----===//
//
// See DeviceAxes.h.
//
//===----------------------------------------------------------------------===//

#include "DeviceAxes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::importer;

AxisList importer::axesOf(AxisSet set) {
  AxisList axes;
  for (; set; set &= set - 1)
    axes.push_back(llvm::countr_zero(set));
  return axes;
}

AxisSet importer::setOf(ArrayRef<unsigned> axes) {
  AxisSet set = 0;
  for (unsigned axis : axes)
    set |= AxisSet(1) << axis;
  return set;
}

std::optional<DeviceAxes> DeviceAxes::of(sdy::MeshAttr mesh) {
  if (!mesh || !mesh.getDeviceIds().empty() || mesh.getAxes().empty() ||
      mesh.getAxes().size() >= 32 || !mesh.getDeviceCount())
    return std::nullopt;
  DeviceAxes axes;
  axes.of_ = mesh;
  axes.count = *mesh.getDeviceCount();
  for (sdy::MeshAxisAttr axis : mesh.getAxes())
    axes.sizes.push_back(axis.getSize());
  axes.strides.resize(axes.sizes.size());
  int64_t stride = 1;
  for (size_t axis = axes.sizes.size(); axis-- > 0; stride *= axes.sizes[axis])
    axes.strides[axis] = stride;
  return axes;
}

std::optional<unsigned> DeviceAxes::find(StringRef name) const {
  std::optional<size_t> found = of_.getAxisIndex(name);
  return found ? std::optional<unsigned>(*found) : std::nullopt;
}

int64_t DeviceAxes::coordinate(int64_t device, unsigned axis) const {
  return device / strides[axis] % sizes[axis];
}

int64_t DeviceAxes::product(ArrayRef<unsigned> axes) const {
  int64_t product = 1;
  for (unsigned axis : axes)
    product *= sizes[axis];
  return product;
}

std::optional<AxisList> DeviceAxes::ofTiles(ArrayRef<int64_t> tiles) const {
  // How far apart the parts of neighbours along an axis are.
  auto step = [&](unsigned axis) {
    return sizes[axis] > 1 ? tiles[strides[axis]] : 0;
  };
  AxisList axes;
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
    if (step(axis) > 0)
      axes.push_back(axis);
  llvm::sort(axes, [&](unsigned a, unsigned b) { return step(a) > step(b); });
  for (auto [device, tile] : llvm::enumerate(tiles)) {
    int64_t expected = 0;
    for (unsigned axis : axes)
      expected = expected * sizes[axis] + coordinate(device, axis);
    if (tile != expected)
      return std::nullopt;
  }
  return axes;
}

AxisSet DeviceAxes::ofTable(ArrayRef<int64_t> table) const {
  AxisSet axes = 0;
  for (auto [device, number] : llvm::enumerate(table))
    for (unsigned axis = 0; axis < sizes.size(); ++axis)
      if (number != table[device - coordinate(device, axis) * strides[axis]])
        axes |= AxisSet(1) << axis;
  return axes;
}

std::optional<AxisList>
DeviceAxes::ofGroups(DenseIntElementsAttr groups) const {
  if (groups.getNumElements() == 0)
    return axesOf(all());
  const int64_t width = groups.getType().getDimSize(1);
  SmallVector<int64_t> ids = llvm::to_vector(groups.getValues<int64_t>());
  auto isDevice = [&](int64_t id) { return id >= 0 && id < count; };
  if (!llvm::all_of(ids, isDevice))
    return std::nullopt;
  // Of the first group: the minor axis is the one along which its second device
  // differs, and so on.
  AxisList minorFirst;
  for (int64_t reach = 1; reach < width;) {
    std::optional<unsigned> next;
    for (unsigned axis = 0; axis < sizes.size(); ++axis)
      if (coordinate(ids[0], axis) != coordinate(ids[reach], axis)) {
        if (next)
          return std::nullopt;
        next = axis;
      }
    if (!next || llvm::is_contained(minorFirst, *next))
      return std::nullopt;
    minorFirst.push_back(*next);
    reach *= sizes[*next];
    if (reach > width)
      return std::nullopt;
  }
  // All groups have to be of this kind, and every device in one of them.
  SmallVector<bool> seen(count, false);
  for (auto [at, id] : llvm::enumerate(ids)) {
    int64_t first = ids[at / width * width], digits = at % width;
    int64_t expected = first;
    for (unsigned axis : minorFirst) {
      if (coordinate(first, axis) != 0)
        return std::nullopt;
      expected += digits % sizes[axis] * strides[axis];
      digits /= sizes[axis];
    }
    if (id != expected || seen[id])
      return std::nullopt;
    seen[id] = true;
  }
  if (!llvm::all_of(seen, [](bool one) { return one; }))
    return std::nullopt;
  return AxisList(llvm::reverse(minorFirst));
}

std::optional<Move> DeviceAxes::ofPairs(DenseIntElementsAttr pairs) const {
  SmallVector<int64_t> ids = llvm::to_vector(pairs.getValues<int64_t>());
  SmallVector<int64_t> sourceOf(count, -1);
  std::optional<unsigned> along;
  for (size_t at = 0; at + 1 < ids.size(); at += 2) {
    const int64_t source = ids[at], target = ids[at + 1];
    if (source < 0 || source >= count || target < 0 || target >= count ||
        sourceOf[target] >= 0)
      return std::nullopt;
    sourceOf[target] = source;
    for (unsigned axis = 0; axis < sizes.size(); ++axis)
      if (coordinate(source, axis) != coordinate(target, axis)) {
        if (along && *along != axis)
          return std::nullopt;
        along = axis;
      }
  }
  // Who gets its own value, or none, is alike along some axis as well.
  for (unsigned axis = 0; axis < sizes.size() && !along; ++axis)
    if (sizes[axis] > 1)
      along = axis;
  Move move{along.value_or(0), {}};
  move.sources.resize(sizes[move.axis], -1);
  for (auto [target, source] : llvm::enumerate(sourceOf)) {
    const int64_t from = source < 0 ? -1 : coordinate(source, move.axis);
    int64_t &known = move.sources[coordinate(target, move.axis)];
    const bool isFirst =
        int64_t(target) == coordinate(target, move.axis) * strides[move.axis];
    if (isFirst)
      known = from;
    else if (known != from)
      return std::nullopt;
  }
  return move;
}
