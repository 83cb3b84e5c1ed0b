//===- VerifySharding.cpp - Shardings against meshes and types ------------===//
//
// Whether a sharding fits the mesh it is bound to and the tensor it is attached
// to, and the `sdy` attributes on functions and operations of other dialects.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sdy;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The axis exists, and a part of one lies inside it and is smaller.
static LogicalResult verifyAxis(AxisRefAttr axis, MeshAttr mesh,
                                EmitError emitError) {
  std::optional<int64_t> size = mesh.getAxisSize(axis.getName());
  if (!size)
    return emitError() << "unknown axis \"" << axis.getName()
                       << "\", expected an axis of the mesh " << mesh;
  SubAxisInfoAttr part = axis.getSubAxisInfo();
  if (!part)
    return success();
  int64_t preSize = part.getPreSize(), partSize = part.getSize();
  if (preSize < 1 || partSize < 2)
    return emitError() << "part (" << preSize << ")" << partSize
                       << " of axis \"" << axis.getName()
                       << "\", expected at least 1 before it and a size of at "
                          "least 2";
  std::optional<int64_t> end = mulChecked(preSize, partSize);
  if (!end || *size % *end != 0)
    return emitError() << "part (" << preSize << ")" << partSize
                       << " of axis \"" << axis.getName()
                       << "\", expected both to divide the axis' size "
                       << *size;
  if (partSize == *size)
    return emitError() << "part (" << preSize << ")" << partSize
                       << " of axis \"" << axis.getName()
                       << "\" is the whole axis, which is written without a "
                          "part";
  return success();
}

/// Whether `second` is the part of an axis right after `first`.
static bool areMergeable(AxisRefAttr first, AxisRefAttr second) {
  SubAxisInfoAttr a = first.getSubAxisInfo(), b = second.getSubAxisInfo();
  return first.getName() == second.getName() && a && b &&
         mulChecked(a.getPreSize(), a.getSize()) == b.getPreSize();
}

/// Order of axes in a mesh: by axis, then by where the part starts.
static bool comesBefore(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh) {
  auto key = [&](AxisRefAttr axis) {
    SubAxisInfoAttr part = axis.getSubAxisInfo();
    return std::pair(*mesh.getAxisIndex(axis.getName()),
                     part ? part.getPreSize() : int64_t(1));
  };
  return key(a) < key(b);
}

/// Each axis against the mesh, and neighbours that should be one.
static LogicalResult verifyAxisList(ArrayRef<AxisRefAttr> axes, MeshAttr mesh,
                                    bool isSorted, EmitError emitError) {
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(verifyAxis(axis, mesh, emitError)))
      return failure();
    if (i == 0)
      continue;
    if (areMergeable(axes[i - 1], axis))
      return emitError() << "parts of axis \"" << axis.getName()
                         << "\" at positions " << i - 1 << " and " << i
                         << " follow each other, expected one part";
    if (isSorted && comesBefore(axis, axes[i - 1], mesh))
      return emitError() << "axis \"" << axis.getName() << "\" at position "
                         << i << " comes before axis \""
                         << axes[i - 1].getName()
                         << "\" in the mesh, expected the mesh's order";
  }
  return success();
}

/// No two axes have a part in common.
static LogicalResult verifyDisjoint(ArrayRef<AxisRefAttr> axes,
                                    EmitError emitError) {
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (axes[i].overlaps(axes[j]))
        return emitError() << "axis \"" << axes[i].getName()
                           << "\" is used twice, expected every axis (or part "
                              "of one) once";
  return success();
}

LogicalResult tenon::sdy::verifyAxes(ArrayRef<AxisRefAttr> axes, MeshAttr mesh,
                                     bool isSorted, EmitError emitError) {
  return failure(failed(verifyAxisList(axes, mesh, isSorted, emitError)) ||
                 failed(verifyDisjoint(axes, emitError)));
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static LogicalResult verifyDimension(DimensionShardingAttr dimension,
                                     size_t index, MeshAttr mesh,
                                     EmitError emitError) {
  if (std::optional<int64_t> priority = dimension.getPriority()) {
    if (*priority < 0)
      return emitError() << "dimension " << index << " has priority "
                         << *priority << ", expected at least 0";
    if (dimension.getAxes().empty() && dimension.getIsClosed())
      return emitError() << "dimension " << index
                         << " is closed, has no axes and a priority; expected "
                            "an axis, '?', or no priority";
  }
  return verifyAxisList(dimension.getAxes(), mesh, /*isSorted=*/false,
                        emitError);
}

/// What the sharding says about a value of type `type`.
static LogicalResult verifyRank(TensorShardingAttr sharding, Type type,
                                EmitError emitError) {
  auto shaped = dyn_cast<ShapedType>(type);
  size_t count = sharding.getDimShardings().size();
  if (!shaped) {
    if (count != 0 || !sharding.getReplicatedAxes().empty())
      return emitError() << "a value of type " << type << " has " << count
                         << " dimension shardings and "
                         << sharding.getReplicatedAxes().size()
                         << " replicated axes, expected none";
    return success();
  }
  if (!shaped.hasRank())
    return emitError() << "type " << type << " has no rank";
  if (int64_t(count) != shaped.getRank())
    return emitError() << "sharding has " << count << " dimensions, expected "
                       << shaped.getRank() << ", the rank of " << type;
  for (auto [i, size, dimension] :
       llvm::enumerate(shaped.getShape(), sharding.getDimShardings()))
    if (size == 0 && !dimension.getAxes().empty())
      return emitError() << "dimension " << i << " of " << type
                         << " is empty and cannot be split";
  return success();
}

LogicalResult tenon::sdy::verifySharding(TensorShardingAttr sharding, Type type,
                                         Operation *op, EmitError emitError) {
  MeshAttr mesh = sharding.getMesh(op);
  if (!mesh)
    return emitError() << "unknown mesh " << sharding.getMeshOrRef()
                       << ", expected an sdy.mesh of that name";
  if (mesh.isMaximal()) {
    if (sharding.getDimShardings().empty() &&
        sharding.getReplicatedAxes().empty() &&
        sharding.getUnreducedAxes().empty())
      return success();
    return emitError() << "sharding on a single device is of rank "
                       << sharding.getDimShardings().size()
                       << ", expected neither dimensions nor axes";
  }
  if (failed(verifyRank(sharding, type, emitError)))
    return failure();
  SmallVector<AxisRefAttr> all;
  for (auto [i, dimension] : llvm::enumerate(sharding.getDimShardings())) {
    if (failed(verifyDimension(dimension, i, mesh, emitError)))
      return failure();
    llvm::append_range(all, dimension.getAxes());
  }
  for (ArrayRef<AxisRefAttr> axes :
       {sharding.getReplicatedAxes(), sharding.getUnreducedAxes()}) {
    if (failed(verifyAxisList(axes, mesh, /*isSorted=*/true, emitError)))
      return failure();
    llvm::append_range(all, axes);
  }
  return verifyDisjoint(all, emitError);
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

/// One tensor's mapping: as many dimensions as the tensor, known factors, none
/// twice, and a size of 1 only for a factor that is alone.
static LogicalResult verifyMapping(TensorMappingAttr mapping, StringRef kind,
                                   size_t index, Type type,
                                   ArrayRef<int64_t> sizes,
                                   EmitError emitError) {
  auto shaped = dyn_cast<ShapedType>(type);
  int64_t rank = shaped && shaped.hasRank() ? shaped.getRank() : 0;
  int64_t count = mapping.getDimMappings().size();
  if (count != rank)
    return emitError() << kind << " #" << index << " is of rank " << count
                       << " in the rule, expected " << rank << ", the rank of "
                       << type;
  llvm::SmallDenseSet<int64_t, 8> seen;
  for (auto [i, dimension] : llvm::enumerate(mapping.getDimMappings())) {
    ArrayRef<int64_t> factors = dimension.getFactorIndices();
    for (int64_t factor : factors) {
      if (factor < 0 || factor >= int64_t(sizes.size()))
        return emitError() << "dimension " << i << " of " << kind << " #"
                           << index << " is mapped to factor " << factor
                           << ", expected less than " << sizes.size();
      if (!seen.insert(factor).second)
        return emitError() << kind << " #" << index << " is mapped to factor "
                           << factor << " twice";
      if (factors.size() > 1 && sizes[factor] == 1)
        return emitError() << "dimension " << i << " of " << kind << " #"
                           << index
                           << " is mapped to several factors of which factor "
                           << factor << " has size 1";
    }
  }
  return success();
}

static LogicalResult verifyRule(OpShardingRuleAttr rule, Operation *op,
                                EmitError emitError) {
  auto verifyMappings = [&](ArrayRef<TensorMappingAttr> mappings,
                            StringRef kind, TypeRange types) -> LogicalResult {
    if (mappings.size() != types.size())
      return emitError() << "rule has " << mappings.size() << " " << kind
                         << " mappings, expected " << types.size();
    for (auto [i, mapping] : llvm::enumerate(mappings))
      if (failed(verifyMapping(mapping, kind, i, types[i],
                               rule.getFactorSizes(), emitError)))
        return failure();
    return success();
  };
  if (rule.getOperandMappings().empty() && rule.getResultMappings().empty())
    return emitError() << "rule has no mappings, expected at least one";
  if (failed(verifyMappings(rule.getOperandMappings(), "operand",
                            op->getOperandTypes())) ||
      failed(verifyMappings(rule.getResultMappings(), "result",
                            op->getResultTypes())))
    return failure();
  int64_t count = rule.getFactorSizes().size();
  llvm::SmallDenseSet<int64_t, 8> mapped;
  for (ArrayRef<TensorMappingAttr> mappings :
       {rule.getOperandMappings(), rule.getResultMappings()})
    for (TensorMappingAttr mapping : mappings)
      for (DimMappingAttr dimension : mapping.getDimMappings())
        mapped.insert_range(dimension.getFactorIndices());
  for (int64_t factor = 0; factor < count; ++factor)
    if (!mapped.contains(factor))
      return emitError() << "rule has factor " << factor
                         << " that no dimension is mapped to";
  llvm::SmallDenseSet<int64_t, 8> seen;
  for (ArrayRef<int64_t> group :
       {rule.getReductionFactors(), rule.getNeedReplicationFactors(),
        rule.getPermutationFactors()})
    for (int64_t factor : group) {
      if (factor < 0 || factor >= count)
        return emitError() << "rule gives factor " << factor
                           << " a type, expected less than " << count;
      if (!seen.insert(factor).second)
        return emitError() << "rule gives factor " << factor
                           << " a type twice, expected once";
    }
  for (int64_t factor : rule.getBlockedPropagationFactors())
    if (factor < 0 || factor >= count)
      return emitError() << "rule blocks factor " << factor
                         << ", expected less than " << count;
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes on other dialects' operations
//===----------------------------------------------------------------------===//

static LogicalResult verifyPerValue(TensorShardingPerValueAttr shardings,
                                    Operation *op, EmitError emitError) {
  TypeRange types = op->getResultTypes();
  ArrayRef<TensorShardingAttr> list = shardings.getShardings();
  // Tuples count their elements.
  SmallVector<Type> flat(types);
  if (flat.size() == 1)
    if (auto tuple = dyn_cast<TupleType>(flat[0]))
      flat.assign(tuple.begin(), tuple.end());
  // What has no results can still be placed on one device.
  if (flat.empty() && list.size() == 1) {
    MeshAttr mesh = list[0].getMesh(op);
    if (mesh && mesh.isMaximal())
      return success();
  }
  if (list.size() != flat.size())
    return emitError() << "has " << list.size()
                       << " shardings, expected one for each of " << flat.size()
                       << " results";
  for (auto [i, sharding] : llvm::enumerate(list))
    if (failed(verifySharding(sharding, flat[i], op, [&, i = i] {
          return emitError() << "of result #" << i << ": ";
        })))
      return failure();
  return success();
}

LogicalResult SdyDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto emitError = [&] {
    return op->emitOpError() << "attribute '" << name << "' ";
  };
  if (name == shardingAttrName) {
    if (isa<FunctionOpInterface>(op))
      return emitError() << "must be on arguments and results of a function";
    auto shardings = dyn_cast<TensorShardingPerValueAttr>(value);
    if (!shardings)
      return emitError() << "is " << value
                         << ", expected #sdy.sharding_per_value";
    return verifyPerValue(shardings, op, emitError);
  }
  if (name == shardingRuleAttrName) {
    auto rule = dyn_cast<OpShardingRuleAttr>(value);
    if (!rule)
      return emitError() << "is " << value
                         << ", expected #sdy.op_sharding_rule";
    return verifyRule(rule, op, emitError);
  }
  return success();
}

/// A sharding on an argument or result of a function.
static LogicalResult verifySignatureSharding(Operation *op,
                                             NamedAttribute attribute,
                                             Type type, StringRef kind,
                                             unsigned index) {
  if (attribute.getName() != shardingAttrName)
    return success();
  auto emitError = [&] {
    return op->emitOpError() << "attribute '" << shardingAttrName << "' of "
                             << kind << " #" << index << ": ";
  };
  auto sharding = dyn_cast<TensorShardingAttr>(attribute.getValue());
  if (!sharding)
    return emitError() << "is " << attribute.getValue()
                       << ", expected #sdy.sharding";
  return verifySharding(sharding, type, op, emitError);
}

LogicalResult SdyDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifySignatureSharding(op, attribute,
                                 function.getArgumentTypes()[argIndex],
                                 "argument", argIndex);
}

LogicalResult SdyDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned resultIndex, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifySignatureSharding(op, attribute,
                                 function.getResultTypes()[resultIndex],
                                 "result", resultIndex);
}
