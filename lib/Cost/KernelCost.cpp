//===- KernelCost.cpp - Seconds and bytes of operations as one kernel -----===//
//
// See KernelCost.h. The constants are estimates that relate a kernel to the
// rates of a Target; what differs between machines is in the Target.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/KernelCost.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/TouchedElements.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <bit>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

/// Simple operations that a division or transcendental function takes as long
/// as: a polynomial of a dozen steps and its special cases.
constexpr double expensiveOperation = 16;

/// A kernel that is smaller than this share of the last-level cache finds its
/// operands there.
constexpr double cachedShare = 0.5;

/// Columns whose sums one core keeps in registers.
constexpr int64_t columnsPerUnit = 128;

double elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? double(tensor.getNumElements()) : 0;
}

bool reducesRows(Operation *op) {
  auto dimensions = reducedDimensions(op);
  return dimensions && dimensions->trailing;
}

/// How often an operation of a row kernel runs: a row is passed over once per
/// level of reductions and once for the results, and what several passes need
/// is computed in each of them unless it is expensive, then it is kept.
using Times = llvm::SmallDenseMap<Operation *, int, 32>;
Times timesComputed(ArrayRef<Operation *> operations, ArrayRef<Value> results) {
  llvm::SmallDenseMap<Value, unsigned, 32> levels;
  for (Operation *op : operations) {
    unsigned level = 0;
    for (Value operand : op->getOperands())
      level = std::max(level, levels.lookup(operand));
    for (Value result : op->getResults())
      levels[result] = level + reducesRows(op);
  }
  auto pass = [](unsigned level) {
    return uint32_t(1) << std::min(level, 31u);
  };
  llvm::SmallDenseMap<Operation *, uint32_t, 32> passes;
  for (Value result : results)
    if (levels.contains(result) && !reducesRows(result.getDefiningOp()))
      passes[result.getDefiningOp()] |= pass(levels.lookup(result));
  Times times;
  for (Operation *op : llvm::reverse(operations)) {
    uint32_t needed = passes.lookup(op);
    if (reducesRows(op))
      needed = pass(levels.lookup(op->getResult(0)) - 1);
    else if (isExpensive(op))
      needed &= -needed; // the first of them
    times[op] = std::max(1, std::popcount(needed));
    for (Value operand : op->getOperands())
      if (levels.contains(operand) && !reducesRows(operand.getDefiningOp()))
        passes[operand.getDefiningOp()] |= needed;
  }
  return times;
}

/// Rows, blocks of columns, or nothing that bounds the parts.
int64_t unitsOf(ArrayRef<Operation *> operations) {
  int64_t units = std::numeric_limits<int64_t>::max();
  for (Operation *op : operations) {
    auto dimensions = reducedDimensions(op);
    if (!dimensions)
      continue;
    int64_t kept =
        cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
    units = std::min(units, dimensions->trailing
                                ? kept
                                : (kept + columnsPerUnit - 1) / columnsPerUnit);
  }
  return units;
}

/// Of a table that is only gathered from, or a tensor of which a slice is read
/// or replaced in place, only the touched elements move.
double bytesOf(ArrayRef<Operation *> operations, ArrayRef<Value> results,
               llvm::function_ref<Value(Value)> sameAs) {
  llvm::SmallPtrSet<Operation *, 32> inside(operations.begin(),
                                            operations.end());
  llvm::SmallMapVector<Value, double, 16> reads;
  auto read = [&](Operation *user, unsigned index, Value operand) {
    if (operand.getDefiningOp() && inside.contains(operand.getDefiningOp()))
      return;
    double &touched = reads[sameAs(operand)];
    if (index == 0 &&
        isa<stablehlo::GatherOp, stablehlo::DynamicSliceOp, stablehlo::SliceOp>(
            user))
      touched += double(storedBytes(user->getResult(0).getType()));
    else if (index != 0 || !isa<stablehlo::DynamicUpdateSliceOp>(user))
      touched = double(storedBytes(operand.getType()));
  };
  for (Operation *op : operations)
    for (OpOperand &operand : op->getOpOperands())
      read(op, operand.getOperandNumber(), operand.get());
  double bytes = 0;
  for (auto &[operand, touched] : reads)
    bytes += std::min(double(storedBytes(operand.getType())), touched);
  for (Value result : results) {
    auto update = result.getDefiningOp<stablehlo::DynamicUpdateSliceOp>();
    bytes += double(
        storedBytes((update ? update->getOperand(1) : result).getType()));
  }
  return bytes;
}

} // namespace

double cost::elementOperations(Operation *op) {
  switch (classify(op)) {
  case OperationClass::view:
  case OperationClass::ungrouped:
    return 0;
  case OperationClass::pointwise:
    return elementsOf(op->getResult(0).getType()) *
           (isExpensive(op) ? expensiveOperation : 1);
  case OperationClass::indexMap:
    return elementsOf(op->getResult(0).getType());
  case OperationClass::reduction:
    return elementsOf(op->getOperand(0).getType());
  case OperationClass::generic:
    break;
  }
  if (contractionFlops(op) > 0)
    return 0;
  // In place, as bytesOf() counts it.
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return elementsOf(update.getUpdate().getType());
  double elements = 0;
  for (Type type : op->getOperandTypes())
    elements = std::max(elements, elementsOf(type));
  for (Type type : op->getResultTypes())
    elements = std::max(elements, elementsOf(type));
  return elements;
}

KernelWork cost::workOf(ArrayRef<Operation *> operations,
                        ArrayRef<Value> results,
                        llvm::function_ref<Value(Value)> sameAs) {
  KernelWork work;
  bool hasRows = llvm::any_of(operations, reducesRows);
  Times times;
  if (hasRows)
    times = timesComputed(operations, results);
  for (Operation *op : operations) {
    work.flops += contractionFlops(op);
    work.operations += elementOperations(op) * (hasRows ? times.lookup(op) : 1);
  }
  work.bytes = bytesOf(operations, results, sameAs);
  work.units = unitsOf(operations);
  work.elements = touchedElements(operations, results);
  return work;
}

int64_t KernelWork::parts(const target::Target &target) const {
  return std::clamp<int64_t>(units, 1, target.launches.partsFor(elements));
}

const target::Rate &cost::bandwidthOf(double bytes,
                                      const target::Target &target) {
  return bytes < cachedShare * double(target.caches.last())
             ? target.memory.cachedCopy
             : target.memory.copy;
}

double cost::arithmeticSeconds(double operations, int64_t cores,
                               const target::Target &target) {
  // One operation per lane where the rate counts a multiplication and an
  // addition.
  return 2 * operations / target.compute.f32.of(cores, target.cores);
}

double cost::startSeconds(int64_t parts, const target::Target &target) {
  return target.overheads.launch + (parts > 1 ? target.overheads.barrier : 0);
}

double cost::secondsOf(const KernelWork &work, const target::Rate &bandwidth,
                       const target::Target &target) {
  const int64_t parts = work.parts(target);
  int64_t cores = std::min(parts, target.cores);
  return std::max(arithmeticSeconds(work.operations, cores, target),
                  work.bytes / bandwidth.of(cores, target.cores)) +
         startSeconds(parts, target);
}
