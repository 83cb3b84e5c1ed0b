//===- KernelCost.cpp - Seconds and bytes of operations as one kernel -----===//
//
// See KernelCost.h. The constants are estimates that relate a kernel to the
// rates of a Target; what differs between machines is in the Target.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/KernelCost.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"

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

double elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? double(tensor.getNumElements()) : 0;
}

} // namespace

KernelBytes cost::bytesOf(const KernelDescription &kernel,
                          llvm::function_ref<Value(Value)> sameAs) {
  KernelBytes bytes;
  for (const KernelRead &read : kernel.reads())
    bytes.operands[sameAs(read.value)] += double(
        read.isWhole || isa_and_nonnull<stablehlo::ScatterOp>(read.update)
            ? storedBytes(read.value.getType())
            : read.pickedBytes);
  for (auto &[operand, touched] : bytes.operands)
    touched = std::min(double(storedBytes(operand.getType())), touched);
  for (Value result : kernel.results()) {
    auto update = result.getDefiningOp<stablehlo::DynamicUpdateSliceOp>();
    bytes.results.push_back(double(
        storedBytes((update ? update->getOperand(1) : result).getType())));
  }
  return bytes;
}

double KernelBytes::total() const {
  double total = 0;
  for (auto &[operand, touched] : operands)
    total += touched;
  for (double written : results)
    total += written;
  return total;
}

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
  // Beside its products, attention takes the exponential of each score.
  if (int64_t pairs = step::attentionPairs(op))
    return double(pairs) * expensiveOperation;
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

KernelWork cost::workOf(const KernelDescription &kernel,
                        llvm::function_ref<Value(Value)> sameAs) {
  KernelWork work;
  RowPasses passes;
  if (kernel.space()) {
    work.units = kernel.units();
    if (kernel.space()->reducesLast())
      passes = kernel.passes();
  }
  if (int64_t units = step::attentionUnits(kernel.root()))
    work.units = units;
  for (Operation *op : kernel.operations()) {
    work.flops += contractionFlops(op);
    work.operations +=
        elementOperations(op) * std::max(1u, passes.times.lookup(op));
  }
  work.bytes = bytesOf(kernel, sameAs).total();
  work.elements = kernel.touchedElements();
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
