//===- Mesh.cpp - Meshes and their axes -----------------------------------===//
//
// What meshes and references to their axes answer, and the constraints that a
// mesh or sharding meets on its own.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sdy;

LogicalResult
MeshAxisAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     StringRef name, int64_t size) {
  if (size < 1)
    return emitError() << "axis \"" << name << "\" has size " << size
                       << ", expected at least 1";
  return success();
}

LogicalResult
MeshAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 ArrayRef<MeshAxisAttr> axes, ArrayRef<int64_t> deviceIds) {
  for (int64_t id : deviceIds)
    if (id < 0)
      return emitError() << "device id " << id << ", expected at least 0";
  if (axes.empty()) {
    if (deviceIds.size() > 1)
      return emitError() << "mesh without axes has " << deviceIds.size()
                         << " device ids, expected none or 1";
    return success();
  }
  std::optional<int64_t> count = 1;
  llvm::SmallDenseSet<StringRef, 8> names;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName()).second)
      return emitError() << "axis \"" << axis.getName()
                         << "\" is given twice, expected distinct names";
    if (count)
      count = mulChecked(*count, axis.getSize());
  }
  if (!count)
    return emitError() << "sizes of the axes multiply to more than "
                          "9223372036854775807 devices";
  if (deviceIds.empty())
    return success();
  if (int64_t(deviceIds.size()) != *count)
    return emitError() << "mesh lists " << deviceIds.size()
                       << " device ids, expected " << *count
                       << ", the product of the sizes of its axes";
  SmallVector<int64_t> sorted(deviceIds);
  llvm::sort(sorted);
  for (auto [i, id] : llvm::enumerate(sorted))
    if (id != int64_t(i))
      return emitError() << "device ids do not count from 0 to " << *count - 1
                         << ": expected " << i << ", found " << id;
  return success();
}

std::optional<size_t> MeshAttr::getAxisIndex(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name)
      return i;
  return std::nullopt;
}

std::optional<int64_t> MeshAttr::getAxisSize(StringRef name) const {
  std::optional<size_t> index = getAxisIndex(name);
  return index ? std::optional(getAxes()[*index].getSize()) : std::nullopt;
}

bool MeshAttr::isMaximal() const {
  return getAxes().empty() && getDeviceIds().size() == 1;
}

std::optional<int64_t> MeshAttr::getDeviceCount() const {
  if (getAxes().empty())
    return int64_t(getDeviceIds().size());
  std::optional<int64_t> count = 1;
  for (MeshAxisAttr axis : getAxes())
    if (count)
      count = mulChecked(*count, axis.getSize());
  return count;
}

int64_t AxisRefAttr::getSize(MeshAttr mesh) const {
  if (SubAxisInfoAttr part = getSubAxisInfo())
    return part.getSize();
  return *mesh.getAxisSize(getName());
}

bool AxisRefAttr::overlaps(AxisRefAttr other) const {
  if (getName() != other.getName())
    return false;
  SubAxisInfoAttr part = getSubAxisInfo(), otherPart = other.getSubAxisInfo();
  if (!part || !otherPart)
    return true;
  // Parts run from pre-size to pre-size times size. A size that overflows
  // reaches beyond any axis.
  auto end = [](SubAxisInfoAttr info) {
    return mulChecked(info.getPreSize(), info.getSize())
        .value_or(std::numeric_limits<int64_t>::max());
  };
  return part.getPreSize() < end(otherPart) &&
         otherPart.getPreSize() < end(part);
}

LogicalResult
TensorShardingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                           Attribute meshOrRef, ArrayRef<DimensionShardingAttr>,
                           ArrayRef<AxisRefAttr>, ArrayRef<AxisRefAttr>,
                           ReductionOp) {
  if (!isa<MeshAttr, FlatSymbolRefAttr>(meshOrRef))
    return emitError() << "sharding is bound to " << meshOrRef
                       << ", expected a mesh or the symbol of one";
  return success();
}

MeshAttr TensorShardingAttr::getMesh(Operation *op) const {
  if (auto mesh = dyn_cast<MeshAttr>(getMeshOrRef()))
    return mesh;
  auto meshOp = SymbolTable::lookupNearestSymbolFrom<MeshOp>(
      op, cast<FlatSymbolRefAttr>(getMeshOrRef()));
  return meshOp ? meshOp.getMesh() : MeshAttr();
}
