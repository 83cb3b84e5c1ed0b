//===- VerifyCollective.cpp - Constraints of collectives -----------------===//
//
// The verifiers of operations that several devices execute together. Labels are
// the constraint numbers of the StableHLO specification. How many devices there
// are is known to the module, not to the operation, so what depends on that is
// not checked here.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tenon::stablehlo;

/// The ids of a table of groups; -1 pads groups of unequal sizes and is left
/// out. Groups given as axes of a mesh have no ids to check.
static LogicalResult readGroups(Operation *op, Attribute groups,
                                SmallVectorImpl<int64_t> &ids) {
  auto table = dyn_cast<DenseIntElementsAttr>(groups);
  if (!table)
    return success();
  if (table.getType().getRank() != 2)
    return op->emitOpError()
           << "'replica_groups' has rank " << table.getType().getRank()
           << ", expected 2 (groups, members)";
  if (!table.getElementType().isInteger(64))
    return op->emitOpError() << "'replica_groups' has element type "
                             << table.getElementType() << ", expected i64";
  // A repeated value cannot be written out: its count is unbounded.
  if (table.isSplat() && table.getNumElements() > 1)
    return op->emitOpError()
           << "'replica_groups' holds " << table.getSplatValue<int64_t>()
           << " more than once, expected distinct values";
  for (int64_t id : table.getValues<int64_t>())
    if (id != -1)
      ids.push_back(id);
  return success();
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

LogicalResult AllReduceOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  SmallVector<int64_t> ids;
  if (failed(readGroups(op, getReplicaGroups(), ids)))
    return failure();
  // all_reduce_c1
  if (failed(checkUnique(op, "replica_groups", ids)))
    return failure();
  // all_reduce_c3
  if (failed(checkGroupMembers(op, ids)))
    return failure();
  // all_reduce_c4
  int64_t channel =
      getChannelHandleAttr() ? getChannelHandleAttr().getHandle() : 0;
  if (getUseGlobalDeviceIds() && channel <= 0)
    return emitOpError() << "has 'use_global_device_ids' with channel "
                         << channel << ", expected a positive channel";
  // all_reduce_c5
  SmallVector<Type> elementTypes, accumulators;
  int64_t count = getOperands().size();
  if (failed(checkCount(op, "results", getNumResults(), count,
                        "one for each of 'operands'")))
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    Type operand = getOperands()[i].getType();
    Type result = getResult(i).getType();
    accumulators.clear();
    if (failed(checkReducer(op, "computation", getComputation(),
                            {elementTypeOf(operand)}, accumulators)))
      return failure();
    // all_reduce_c6
    if (failed(checkSameShape(op, {"operands", i}, operand, {"results", i},
                              result)))
      return failure();
    // all_reduce_c7
    if (elementTypeOf(result) != accumulators[0])
      return emitOpError() << "'results' #" << i << " has element type "
                           << elementTypeOf(result) << ", expected "
                           << accumulators[0]
                           << ", which 'computation' returns";
  }
  return success();
}
