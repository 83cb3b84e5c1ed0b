//===- VerifyCollective.cpp - Constraints of collectives -----------------===//
//
// The verifiers of operations that several devices execute together. Labels are
// the constraint numbers of the StableHLO specification. How many devices there
// are is a property of the module; what depends on it is checked if the module
// says it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

/// The ids of a table of groups, all distinct; -1 pads groups of unequal sizes
/// and is left out. Groups given as axes of a mesh have no ids to check.
static LogicalResult readGroups(Operation *op, Attribute groups,
                                SmallVectorImpl<int64_t> &ids) {
  auto table = dyn_cast<DenseIntElementsAttr>(groups);
  if (!table)
    return success();
  // A repeated value cannot be written out: its count is unbounded.
  if (table.isSplat() && table.getNumElements() > 1)
    return op->emitOpError()
           << "'replica_groups' holds " << table.getSplatValue<int64_t>()
           << " more than once, expected distinct values";
  for (int64_t id : table.getValues<int64_t>())
    if (id != -1)
      ids.push_back(id);
  return checkUnique(op, "replica_groups", ids);
}

/// Every id lies below the number of ids: groups take every device once.
static LogicalResult checkGroupMembers(Operation *op, ArrayRef<int64_t> ids) {
  for (int64_t id : ids)
    if (id < 0 || id >= int64_t(ids.size()))
      return op->emitOpError()
             << "'replica_groups' holds " << id
             << ", expected at least 0 and less than " << ids.size()
             << ", the number of devices in the groups";
  return success();
}

/// A count that the module states as an attribute, as exporters do.
static std::optional<int64_t> statedCount(ModuleOp module, StringRef name) {
  auto count = module ? module->getAttrOfType<IntegerAttr>(name) : nullptr;
  return count && count.getType().isSignlessInteger(32)
             ? std::optional(count.getInt())
             : std::nullopt;
}

namespace {

/// What the ids of groups count: replicas, partitions, or both.
enum class Devices { Replicas, Partitions, All };

} // namespace

/// Groups take every device of the module, if it says how many there are. A
/// module for one device says nothing: exporters write that for meshes whose
/// devices are not known yet. No groups at all stand for one of all devices.
static LogicalResult checkDeviceCount(Operation *op, Attribute groups,
                                      ArrayRef<int64_t> ids, Devices kind) {
  auto module = op->getParentOfType<ModuleOp>();
  std::optional<int64_t> replicas = statedCount(module, "mhlo.num_replicas");
  std::optional<int64_t> partitions =
      statedCount(module, "mhlo.num_partitions");
  if (!replicas || !partitions || *replicas * *partitions <= 1 || ids.empty() ||
      !isa<DenseIntElementsAttr>(groups))
    return success();
  int64_t expected = kind == Devices::Replicas     ? *replicas
                     : kind == Devices::Partitions ? *partitions
                                                   : *replicas * *partitions;
  if (int64_t(ids.size()) == expected)
    return success();
  return op->emitOpError() << "'replica_groups' holds " << ids.size()
                           << " devices, expected " << expected
                           << ": the module has " << *replicas
                           << " replicas of " << *partitions << " partitions";
}

/// Whether ids may count partitions: a positive channel says so.
static bool isChannelled(ChannelHandleAttr handle) {
  return handle && handle.getHandle() > 0;
}

static LogicalResult checkChannel(Operation *op, ChannelHandleAttr handle,
                                  bool useGlobalDeviceIds) {
  if (!useGlobalDeviceIds || isChannelled(handle))
    return success();
  return op->emitOpError() << "has 'use_global_device_ids' with channel "
                           << (handle ? handle.getHandle() : 0)
                           << ", expected a positive channel";
}

/// The groups of an operation whose ids count all devices or replicas: distinct
/// (all_reduce_c1), all there (c2), in range (c3), with a channel where they
/// need one (c4).
template <typename Op>
static LogicalResult checkReplicaGroups(Op op) {
  SmallVector<int64_t> ids;
  if (failed(readGroups(op, op.getReplicaGroups(), ids)) ||
      failed(checkDeviceCount(
          op, op.getReplicaGroups(), ids,
          op.getUseGlobalDeviceIds() ? Devices::All : Devices::Replicas)) ||
      failed(checkGroupMembers(op, ids)))
    return failure();
  return checkChannel(op, op.getChannelHandleAttr(),
                      op.getUseGlobalDeviceIds());
}

namespace {

/// How many devices a group has, and whether that is exact: where a group takes
/// every partition of its replicas, their number comes from the module and only
/// a divisor is known. Nothing for axes of a mesh.
struct GroupSize {
  int64_t size;
  bool isExact;
};

} // namespace

template <typename Op>
static std::optional<GroupSize> groupSize(Op op) {
  auto table = dyn_cast<DenseIntElementsAttr>(op.getReplicaGroups());
  if (!table || table.getType().getDimSize(1) == 0)
    return std::nullopt;
  return GroupSize{table.getType().getDimSize(1),
                   op.getUseGlobalDeviceIds() ||
                       !isChannelled(op.getChannelHandleAttr())};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() {
  // all_reduce_c1, all_reduce_c2, all_reduce_c3, all_reduce_c4
  if (failed(checkReplicaGroups(*this)))
    return failure();
  int64_t count = getOperands().size();
  if (failed(checkCount(*this, "results", getNumResults(), count,
                        "one for each of 'operands'")))
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    Type operand = getOperands()[i].getType();
    Type result = getResult(i).getType();
    // all_reduce_c5
    SmallVector<Type> accumulators;
    if (failed(checkReducer(*this, "computation", getComputation(),
                            elementTypeOf(operand), accumulators)))
      return failure();
    // all_reduce_c6
    if (failed(checkSameShape(*this, {"operands", i}, operand, {"results", i},
                              result)))
      return failure();
    // all_reduce_c7
    if (failed(checkAccumulated(*this, {"results", i}, result, accumulators[0],
                                "computation")))
      return failure();
  }
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t dimension = getScatterDimension();
  // reduce_scatter_c2
  if (failed(checkDimension(*this, "scatter_dimension", dimension, "operand",
                            shape.size())))
    return failure();
  // reduce_scatter_c3, reduce_scatter_c4, reduce_scatter_c5, reduce_scatter_c6
  if (failed(checkReplicaGroups(*this)))
    return failure();
  // reduce_scatter_c1
  std::optional<GroupSize> group = groupSize(*this);
  int64_t size = shape[dimension];
  if (group && !ShapedType::isDynamic(size) && size % group->size != 0)
    return emitOpError() << "dimension " << dimension
                         << " of 'operand' has size " << size
                         << ", expected a multiple of the " << group->size
                         << " devices of a group";
  // reduce_scatter_c7
  SmallVector<Type> accumulators;
  if (failed(checkReducer(*this, "computation", getComputation(),
                          elementTypeOf(getOperand().getType()), accumulators)))
    return failure();
  // reduce_scatter_c8
  ArrayRef<int64_t> result = shapeOf(getResult());
  SmallVector<int64_t> expected(shape);
  if (group && group->isExact && !ShapedType::isDynamic(size))
    expected[dimension] = size / group->size;
  else if (result.size() == shape.size())
    expected[dimension] = result[dimension];
  if (failed(checkShape(*this, "result", result, expected,
                        "that of 'operand' with 'scatter_dimension' divided "
                        "among a group")))
    return failure();
  // reduce_scatter_c9
  return checkAccumulated(*this, "result", getResult().getType(),
                          accumulators[0], "computation");
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  int64_t dimension = getAllGatherDim();
  // all_gather_c1
  for (int64_t i = 0, e = getOperands().size(); i < e; ++i)
    if (failed(checkDimension(*this, "all_gather_dim", dimension,
                              {"operands", i},
                              shapeOf(getOperands()[i]).size())))
      return failure();
  // all_gather_c2, all_gather_c3, all_gather_c4, all_gather_c5
  if (failed(checkReplicaGroups(*this)))
    return failure();
  // all_gather_c6
  if (failed(checkCount(*this, "results", getNumResults(), getOperands().size(),
                        "one for each of 'operands'")))
    return failure();
  std::optional<GroupSize> group = groupSize(*this);
  for (int64_t i = 0, e = getOperands().size(); i < e; ++i) {
    ArrayRef<int64_t> shape = shapeOf(getOperands()[i]);
    ArrayRef<int64_t> result = shapeOf(getResult(i));
    SmallVector<int64_t> expected(shape);
    std::optional<int64_t> joined = shape[dimension];
    if (ShapedType::isDynamic(shape[dimension]))
      joined = ShapedType::kDynamic;
    else if (group && group->isExact)
      joined = mulChecked(shape[dimension], group->size);
    else if (result.size() == shape.size())
      joined = result[dimension];
    if (!joined)
      return emitOpError() << "dimension " << dimension << " of size "
                           << shape[dimension] << " times " << group->size
                           << " devices is more than 9223372036854775807";
    expected[dimension] = *joined;
    if (failed(checkShape(*this, {"results", i}, result, expected,
                          "that of 'operands' with 'all_gather_dim' times the "
                          "devices of a group")) ||
        failed(checkSameElementType(*this, {"operands", i},
                                    getOperands()[i].getType(), {"results", i},
                                    getResult(i).getType())))
      return failure();
  }
  return success();
}

LogicalResult AllToAllOp::verify() {
  int64_t split = getSplitDimension(), concat = getConcatDimension();
  int64_t parts = getSplitCount();
  // all_to_all_c4
  if (failed(checkAtLeast(*this, "split_count", parts, 1)))
    return failure();
  SmallVector<int64_t> ids;
  // all_to_all_c5
  if (failed(readGroups(*this, getReplicaGroups(), ids)))
    return failure();
  // all_to_all_c6
  if (failed(checkDeviceCount(*this, getReplicaGroups(), ids,
                              isChannelled(getChannelHandleAttr())
                                  ? Devices::Partitions
                                  : Devices::Replicas)))
    return failure();
  // all_to_all_c7
  if (failed(checkGroupMembers(*this, ids)))
    return failure();
  // all_to_all_c8
  if (auto table = dyn_cast<DenseIntElementsAttr>(getReplicaGroups()))
    if (table.getType().getDimSize(1) != parts)
      return emitOpError() << "groups have " << table.getType().getDimSize(1)
                           << " devices, expected 'split_count' = " << parts;
  // all_to_all_c9
  if (failed(checkCount(*this, "results", getNumResults(), getOperands().size(),
                        "one for each of 'operands'")))
    return failure();
  for (int64_t i = 0, e = getOperands().size(); i < e; ++i) {
    ArrayRef<int64_t> shape = shapeOf(getOperands()[i]);
    // all_to_all_c1
    if (failed(checkDimension(*this, "split_dimension", split, {"operands", i},
                              shape.size())))
      return failure();
    // all_to_all_c3
    if (failed(checkDimension(*this, "concat_dimension", concat,
                              {"operands", i}, shape.size())))
      return failure();
    // all_to_all_c2
    if (!ShapedType::isDynamic(shape[split]) && shape[split] % parts != 0)
      return emitOpError() << "dimension " << split << " of 'operands' #" << i
                           << " has size " << shape[split]
                           << ", expected a multiple of 'split_count' = "
                           << parts;
    SmallVector<int64_t> expected(shape);
    if (split != concat) {
      if (!ShapedType::isDynamic(shape[split]))
        expected[split] = shape[split] / parts;
      std::optional<int64_t> joined = ShapedType::isDynamic(shape[concat])
                                          ? ShapedType::kDynamic
                                          : mulChecked(shape[concat], parts);
      if (!joined)
        return emitOpError()
               << "dimension " << concat << " of size " << shape[concat]
               << " times 'split_count' = " << parts
               << " is more than 9223372036854775807";
      expected[concat] = *joined;
    }
    if (failed(checkShape(*this, {"results", i}, shapeOf(getResult(i)),
                          expected, "that of 'operands' split and joined")) ||
        failed(checkSameElementType(*this, {"operands", i},
                                    getOperands()[i].getType(), {"results", i},
                                    getResult(i).getType())))
      return failure();
  }
  return success();
}

LogicalResult CollectiveBroadcastOp::verify() {
  SmallVector<int64_t> ids;
  // collective_broadcast_c1
  if (failed(readGroups(*this, getReplicaGroups(), ids)))
    return failure();
  // collective_broadcast_c2
  if (failed(checkAtLeast(*this, "replica_groups", ids, 0)))
    return failure();
  bool hasRoot = getHasDynamicRoot();
  int64_t count = int64_t(getOperands().size()) - hasRoot;
  if (count < 1)
    return emitOpError() << "has "
                         << counted(getOperands().size(), "operand", "operands")
                         << ", expected at least " << 1 + hasRoot;
  // collective_broadcast_c5
  if (failed(checkCount(*this, "results", getNumResults(), count,
                        "one for each tensor to send")))
    return failure();
  // collective_broadcast_c3
  for (int64_t i = 0; i < count; ++i)
    if (failed(checkSameType(*this, {"operands", i}, getOperands()[i].getType(),
                             {"results", i}, getResult(i).getType())))
      return failure();
  // collective_broadcast_c4
  if (!hasRoot)
    return success();
  Type root = RankedTensorType::get(count, IntegerType::get(getContext(), 32));
  if (!agree(getOperands().back().getType(), root))
    return emitOpError() << "the root has type "
                         << getOperands().back().getType() << ", expected "
                         << root;
  // collective_broadcast_c6
  DenseIntElementsAttr roots;
  auto table = dyn_cast<DenseIntElementsAttr>(getReplicaGroups());
  if (!table || !matchPattern(getOperands().back(), m_Constant(&roots)))
    return success();
  int64_t members = table.getType().getDimSize(1);
  for (const APInt &index : roots.getValues<APInt>())
    if (index.isNegative() || index.getSExtValue() >= members)
      return emitOpError()
             << "the root is member " << index.getSExtValue()
             << " of its group, expected at least 0 and less than " << members;
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  // collective_permute_c1
  DenseIntElementsAttr pairs = getSourceTargetPairs();
  ArrayRef<int64_t> shape = pairs.getType().getShape();
  if (shape.size() != 2 || shape[1] != 2)
    return emitOpError() << "'source_target_pairs' has type " << pairs.getType()
                         << ", expected two columns";
  SmallVector<int64_t> sources, targets;
  if (pairs.isSplat() && shape[0] > 1)
    return emitOpError() << "'source_target_pairs' holds "
                         << pairs.getSplatValue<int64_t>()
                         << " throughout, expected distinct devices";
  for (auto [i, id] : llvm::enumerate(pairs.getValues<int64_t>()))
    (i % 2 == 0 ? sources : targets).push_back(id);
  // collective_permute_c2
  if (failed(checkUnique(*this, "source_target_pairs[:, 0]", sources)))
    return failure();
  // collective_permute_c3
  if (failed(checkUnique(*this, "source_target_pairs[:, 1]", targets)))
    return failure();
  // collective_permute_c4
  if (failed(checkAtLeast(*this, "source_target_pairs[:, 0]", sources, 0)) ||
      failed(checkAtLeast(*this, "source_target_pairs[:, 1]", targets, 0)))
    return failure();
  // collective_permute_c5
  return checkSameType(*this, "operand", getOperand().getType(), "result",
                       getResult().getType());
}
