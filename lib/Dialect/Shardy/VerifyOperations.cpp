//===- VerifyOperations.cpp - Constraints of sdy operations ---------------===//
//
// What each operation of the sdy dialect demands of its shardings, axes, types
// and regions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sdy;

/// `sharding`, called `name`, fits a value of type `type`.
static LogicalResult checkSharding(Operation *op, const Twine &name,
                                   TensorShardingAttr sharding, Type type) {
  return verifySharding(sharding, type, op, [&] {
    return op->emitOpError() << "'" << name << "': ";
  });
}

//===----------------------------------------------------------------------===//
// Constraints and edges
//===----------------------------------------------------------------------===//

LogicalResult ShardingConstraintOp::verifySymbolUses(SymbolTableCollection &) {
  return checkSharding(*this, "sharding", getSharding(), getType());
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  return checkSharding(*this, "sharding", getSharding(), getType());
}

LogicalResult DataFlowEdgeOp::verifySymbolUses(SymbolTableCollection &) {
  Operation *source = getInput().getDefiningOp();
  if (source && isa<SdyDialect>(source->getDialect()))
    return emitOpError() << "'input' is defined by " << source->getName()
                         << ", expected an operation of another dialect";
  std::optional<TensorShardingAttr> sharding = getSharding();
  return sharding ? checkSharding(*this, "sharding", *sharding, getType())
                  : success();
}

LogicalResult PropagationBarrierOp::verify() {
  if (getAllowedDirection() == PropagationDirection::BOTH)
    return emitOpError("'allowed_direction' is BOTH, which is no barrier; "
                       "expected NONE, FORWARD or BACKWARD");
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// What region operations share: as many values outside as inside.
static LogicalResult checkCount(Operation *op, StringRef what, size_t found,
                                size_t expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << "has " << found << " " << what << ", expected "
                           << expected;
}

/// The operands of the terminator; an error if there is none.
static FailureOr<OperandRange> returnedValues(Operation *op, Region &region) {
  Block &block = region.front();
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return op->emitOpError("region must end with sdy.return");
  return OperandRange(block.back().getOperands());
}

/// Every sharding fits the value outside.
static LogicalResult checkShardings(Operation *op, StringRef name,
                                    TensorShardingPerValueAttr shardings,
                                    TypeRange types) {
  if (failed(
          checkCount(op, name, shardings.getShardings().size(), types.size())))
    return failure();
  for (auto [i, sharding] : llvm::enumerate(shardings.getShardings()))
    if (failed(checkSharding(op, name + " #" + Twine(i), sharding, types[i])))
      return failure();
  return success();
}

LogicalResult NamedComputationOp::verifySymbolUses(SymbolTableCollection &) {
  Operation *op = getOperation();
  FailureOr<OperandRange> returned = returnedValues(op, getBody());
  if (failed(returned) ||
      failed(checkCount(op, "block arguments", getBody().getNumArguments(),
                        getNumOperands())) ||
      failed(
          checkCount(op, "returned values", returned->size(), getNumResults())))
    return failure();
  auto checkTypes = [&](StringRef what, TypeRange inside,
                        TypeRange outside) -> LogicalResult {
    for (auto [i, found, expected] : llvm::enumerate(inside, outside))
      if (found != expected)
        return emitOpError() << what << " #" << i << " has type " << found
                             << ", expected " << expected;
    return success();
  };
  if (failed(checkTypes("block argument", getBody().getArgumentTypes(),
                        getOperandTypes())) ||
      failed(
          checkTypes("returned value", returned->getTypes(), getResultTypes())))
    return failure();
  if (std::optional<TensorShardingPerValueAttr> in = getInShardings())
    if (failed(checkShardings(op, "in_shardings", *in, getOperandTypes())))
      return failure();
  if (std::optional<TensorShardingPerValueAttr> out = getOutShardings())
    return checkShardings(op, "out_shardings", *out, getResultTypes());
  return success();
}

namespace {

/// One side of a manual computation: what is outside and what a device sees.
struct ManualSide {
  StringRef shardingsName;
  StringRef valueName;
  StringRef valuesName;
  TensorShardingPerValueAttr shardings;
  TypeRange global;
  TypeRange local;
};

} // namespace

/// The size of a dimension on one device: divided by its manual axes, which
/// come before all others.
static FailureOr<int64_t> localSize(ManualComputationOp op, StringRef what,
                                    size_t dimension, int64_t size,
                                    DimensionShardingAttr sharding,
                                    MeshAttr mesh) {
  ArrayRef<StringAttr> manual = op.getManualAxes().getValue();
  std::optional<int64_t> parts = 1;
  AxisRefAttr free;
  for (AxisRefAttr axis : sharding.getAxes()) {
    bool isManual = llvm::any_of(manual, [&](StringAttr name) {
      return name.getValue() == axis.getName();
    });
    if (!isManual) {
      free = axis;
      continue;
    }
    if (free)
      return op.emitOpError()
             << what << ": dimension " << dimension << " has free axis \""
             << free.getName() << "\" before manual axis \"" << axis.getName()
             << "\", expected manual axes first";
    if (parts)
      parts = mulChecked(*parts, axis.getSize(mesh));
  }
  if (ShapedType::isDynamic(size))
    return size;
  if (!parts || size % *parts != 0)
    return op.emitOpError()
           << what << ": dimension " << dimension << " has size " << size
           << ", expected a multiple of the "
           << parts.value_or(std::numeric_limits<int64_t>::max())
           << " devices along its manual axes";
  return size / *parts;
}

static LogicalResult checkManualSide(ManualComputationOp op,
                                     const ManualSide &side) {
  if (failed(checkCount(op, side.valuesName, side.local.size(),
                        side.global.size())) ||
      failed(
          checkShardings(op, side.shardingsName, side.shardings, side.global)))
    return failure();
  for (size_t i = 0; i < side.global.size(); ++i) {
    auto global = dyn_cast<RankedTensorType>(side.global[i]);
    if (!global) {
      if (side.global[i] == side.local[i])
        continue;
      return op.emitOpError()
             << side.valueName << " #" << i << " has type " << side.local[i]
             << ", expected " << side.global[i];
    }
    TensorShardingAttr sharding = side.shardings.getShardings()[i];
    MeshAttr mesh = sharding.getMesh(op);
    SmallVector<int64_t> shape(global.getShape());
    std::string what = (side.shardingsName + " #" + Twine(i)).str();
    for (auto [d, dimension] : llvm::enumerate(sharding.getDimShardings())) {
      FailureOr<int64_t> size =
          localSize(op, what, d, shape[d], dimension, mesh);
      if (failed(size))
        return failure();
      shape[d] = *size;
    }
    auto expected = RankedTensorType::get(shape, global.getElementType(),
                                          global.getEncoding());
    auto local = dyn_cast<RankedTensorType>(side.local[i]);
    if (local != expected)
      return op.emitOpError() << side.valueName << " #" << i << " has type "
                              << side.local[i] << ", expected " << expected
                              << ", what one device holds of " << global;
  }
  return success();
}

LogicalResult ManualComputationOp::verifySymbolUses(SymbolTableCollection &) {
  Operation *op = getOperation();
  FailureOr<OperandRange> returned = returnedValues(op, getBody());
  if (failed(returned))
    return failure();
  llvm::SmallDenseSet<StringRef, 4> seen;
  for (StringAttr name : getManualAxes().getValue())
    if (!seen.insert(name.getValue()).second)
      return emitOpError() << "'manual_axes' holds " << name
                           << " twice, expected distinct axes";
  if (failed(checkManualSide(*this, {"in_shardings", "block argument",
                                     "block arguments", getInShardings(),
                                     getOperandTypes(),
                                     getBody().getArgumentTypes()})) ||
      failed(checkManualSide(*this, {"out_shardings", "returned value",
                                     "returned values", getOutShardings(),
                                     getResultTypes(), returned->getTypes()})))
    return failure();
  // All shardings have passed, so that their meshes exist.
  MeshAttr mesh;
  for (TensorShardingPerValueAttr shardings :
       {getInShardings(), getOutShardings()})
    for (TensorShardingAttr sharding : shardings.getShardings()) {
      MeshAttr each = sharding.getMesh(op);
      if (mesh && mesh != each)
        return emitOpError() << "shardings are bound to the meshes " << mesh
                             << " and " << each << ", expected one mesh";
      mesh = each;
    }
  if (mesh)
    for (StringAttr name : getManualAxes().getValue())
      if (!mesh.getAxisIndex(name.getValue()))
        return emitOpError() << "'manual_axes' holds unknown axis " << name
                             << ", expected an axis of the mesh " << mesh;
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// `out_sharding` fits the result, and `lists` has an entry per dimension whose
/// axes are axes of its mesh.
static LogicalResult checkCollective(Operation *op, TensorShardingAttr out,
                                     StringRef name,
                                     ListOfAxisRefListsAttr lists) {
  auto type = cast<ShapedType>(op->getResult(0).getType());
  if (failed(checkSharding(op, "out_sharding", out, type)))
    return failure();
  int64_t rank = type.hasRank() ? type.getRank() : 0;
  if (int64_t(lists.getValue().size()) != rank)
    return op->emitOpError()
           << "'" << name << "' is of size " << lists.getValue().size()
           << ", expected " << rank << ", one entry for each dimension";
  MeshAttr mesh = out.getMesh(op);
  SmallVector<AxisRefAttr> all;
  for (AxisRefListAttr list : lists.getValue())
    llvm::append_range(all, list.getValue());
  if (all.empty())
    return op->emitOpError() << "'" << name << "' has no axes, expected one";
  return verifyAxes(all, mesh, /*isSorted=*/false,
                    [&] { return op->emitOpError() << "'" << name << "': "; });
}

static LogicalResult checkCollective(Operation *op, TensorShardingAttr out,
                                     StringRef name, AxisRefListAttr axes) {
  if (failed(
          checkSharding(op, "out_sharding", out, op->getResult(0).getType())))
    return failure();
  if (axes.getValue().empty())
    return op->emitOpError() << "'" << name << "' has no axes, expected one";
  return verifyAxes(axes.getValue(), out.getMesh(op), /*isSorted=*/true,
                    [&] { return op->emitOpError() << "'" << name << "': "; });
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCollective(*this, getOutSharding(), "gathering_axes",
                         getGatheringAxes());
}

LogicalResult AllSliceOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCollective(*this, getOutSharding(), "slicing_axes",
                         getSlicingAxes());
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCollective(*this, getOutSharding(), "reduce_scatter_axes",
                         getReduceScatterAxes());
}

LogicalResult ShardedToUnreducedOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCollective(*this, getOutSharding(), "axes", getAxes());
}

LogicalResult
ReplicatedToUnreducedOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCollective(*this, getOutSharding(), "axes", getAxes());
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  return checkCollective(*this, getOutSharding(), "reduction_axes",
                         getReductionAxes());
}

LogicalResult CollectivePermuteOp::verifySymbolUses(SymbolTableCollection &) {
  return checkSharding(*this, "out_sharding", getOutSharding(), getType());
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  Operation *op = getOperation();
  if (failed(checkSharding(op, "out_sharding", getOutSharding(), getType())))
    return failure();
  ArrayRef<AllToAllParamAttr> params = getParams().getValue();
  if (params.empty())
    return emitOpError("'params' is empty, expected at least one move");
  auto type = cast<ShapedType>(getType());
  int64_t rank = type.hasRank() ? type.getRank() : 0;
  llvm::SmallDenseSet<int64_t, 8> seen;
  int64_t previous = -1;
  for (auto [i, param] : llvm::enumerate(params)) {
    if (failed(verifyAxes(param.getAxes(), getOutSharding().getMesh(op),
                          /*isSorted=*/false, [&, i = i] {
                            return emitOpError() << "'params' #" << i << ": ";
                          })))
      return failure();
    for (int64_t dimension : {param.getSrcDim(), param.getTgtDim()}) {
      if (dimension < 0 || dimension >= rank)
        return emitOpError() << "'params' #" << i << " names dimension "
                             << dimension << ", expected at least 0 and less "
                             << "than the rank " << rank;
      if (!seen.insert(dimension).second)
        return emitOpError()
               << "'params' #" << i << " names dimension " << dimension
               << " again, expected every dimension once";
    }
    if (param.getSrcDim() <= previous)
      return emitOpError() << "'params' #" << i << " has source dimension "
                           << param.getSrcDim() << " after " << previous
                           << ", expected ascending order";
    previous = param.getSrcDim();
  }
  return success();
}
