//===- XlaClusters.cpp - What XLA computes in one go, predicted -----------===//
//
// See XlaClusters.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/StableHLO/XlaClusters.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

bool codegen::isFusible(Operation *op) {
  switch (classify(op)) {
  case OperationClass::pointwise:
  case OperationClass::indexMap:
  case OperationClass::view:
    return op->getNumResults() == 1;
  default:
    return isa<stablehlo::BitcastConvertOp, chlo::SquareOp>(op);
  }
}

bool codegen::isDotInXla(Operation *op) {
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  if (!dot)
    return false;
  auto left = cast<RankedTensorType>(dot.getLhs().getType());
  stablehlo::DotDimensionNumbersAttr dimensions = dot.getDotDimensionNumbers();
  int64_t batches = 1, summed = 1;
  for (int64_t dimension : dimensions.getLhsBatchingDimensions())
    batches *= left.getDimSize(dimension);
  for (int64_t dimension : dimensions.getLhsContractingDimensions())
    summed *= left.getDimSize(dimension);
  return summed != 1 &&
         cast<RankedTensorType>(dot.getType()).getNumElements() != batches;
}

/// A matrix that dots read the other way round.
static bool isReadTransposed(Operation *op) {
  return isa<stablehlo::TransposeOp>(op) &&
         cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 2 &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<stablehlo::DotGeneralOp>(user);
         });
}

bool XlaClusters::isView(Operation *op) const {
  return isa<stablehlo::ReshapeOp>(op) || isReadTransposed(op) ||
         (isa<stablehlo::OptimizationBarrierOp>(op) &&
          barriers == Barriers::names);
}

/// Whether the operation's fusion may hold what computes that operand.
static bool takesIn(Operation *op, OpOperand &operand) {
  if (isa<stablehlo::DynamicUpdateSliceOp>(op))
    return operand.getOperandNumber() != 0;
  return isFusible(op) || isa<stablehlo::ReduceOp>(op);
}

/// Whether at most one operand is more than a repeated number, so that reading
/// the operand instead of the result costs no more bytes.
static bool isUnary(Operation *op) {
  return llvm::count_if(op->getOperands(), [](Value operand) {
           Operation *writer = operand.getDefiningOp();
           auto type = dyn_cast<RankedTensorType>(operand.getType());
           return !(type && type.getRank() == 0) &&
                  !(writer && (isFreeToClone(writer) ||
                               matchPattern(writer, m_Constant())));
         }) <= 1;
}

/// Values that the operation reads, those of its regions included.
static void forEachRead(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (operand.getParentBlock() == op->getBlock())
        visit(operand);
  });
}

static bool canRepeat(Operation *op) {
  static const llvm::StringSet<> once = {"stablehlo.all_gather",
                                         "stablehlo.all_reduce",
                                         "stablehlo.all_to_all",
                                         "stablehlo.case",
                                         "stablehlo.collective_permute",
                                         "stablehlo.collective_broadcast",
                                         "stablehlo.composite",
                                         "stablehlo.custom_call",
                                         "stablehlo.if",
                                         "stablehlo.optimization_barrier",
                                         "stablehlo.reduce_scatter",
                                         "stablehlo.rng",
                                         "stablehlo.rng_bit_generator",
                                         "stablehlo.while"};
  bool captures = false;
  op->walk([&](Operation *nested) {
    if (nested != op)
      for (Value operand : nested->getOperands())
        captures |= operand.getParentBlock() == op->getBlock();
  });
  return !captures && isMemoryEffectFree(op) &&
         !once.contains(op->getName().getStringRef()) &&
         op->getName().getDialectNamespace() != "sdy";
}

XlaClusters::XlaClusters(Block &block, Barriers barriers) : barriers(barriers) {
  measureDepths(block);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (mayBeTakenIn(&op) && !isView(&op) && liesInMemory(&op))
      stored.insert(&op);
  for (Operation &op : block.without_terminator()) {
    if (matchPattern(&op, m_Constant()))
      continue;
    if (!isView(&op) && (!mayBeTakenIn(&op) || stored.contains(&op)))
      addCluster(&op);
  }
}

bool XlaClusters::mayBeTakenIn(Operation *op) const {
  if (isFusible(op))
    return true;
  // A tie becomes part of its only reader.
  if (barriers != Barriers::names || !isa<stablehlo::DynamicUpdateSliceOp>(op))
    return false;
  Value name = op->getResult(0);
  while (name.hasOneUse() && isView(*name.user_begin())) {
    OpOperand &use = *name.use_begin();
    // A view has one operand, a barrier as many as results.
    name = use.getOwner()->getResult(use.getOperandNumber());
  }
  return name.hasOneUse() && isFusible(*name.user_begin());
}

void XlaClusters::measureDepths(Block &block) {
  for (Operation &op : block) {
    int32_t depth = 0;
    forEachRead(&op, [&](Value value) {
      if (Operation *writer = value.getDefiningOp())
        depth = std::max(depth, depths.lookup(writer) + !isFusible(writer));
    });
    depths[&op] = depth;
  }
}

bool XlaClusters::liesInMemory(Operation *op) const {
  // Readers, with reshapes looked through.
  llvm::SmallPtrSet<Operation *, 8> readers;
  SmallVector<Value> names = {op->getResult(0)};
  while (!names.empty()) {
    Value name = names.pop_back_val();
    for (OpOperand &use : name.getUses()) {
      Operation *reader = use.getOwner();
      if (reader->getBlock() != op->getBlock())
        return true; // captured by a region
      if (isa<stablehlo::OptimizationBarrierOp>(reader)) {
        if (barriers == Barriers::wait)
          return true;
        names.push_back(reader->getResult(use.getOperandNumber()));
      } else if (isView(reader)) {
        names.push_back(reader->getResult(0));
      } else if (!takesIn(reader, use)) {
        return true;
      } else {
        readers.insert(reader);
      }
    }
  }
  if (readers.size() <= 1)
    return false;
  if (isFreeToClone(op))
    return false;
  if (isExpensive(op) && !isa<stablehlo::BitcastConvertOp, chlo::SquareOp>(op))
    return true;
  return !isUnary(op) && llvm::any_of(readers, [&](Operation *reader) {
    return depths.lookup(reader) > depths.lookup(op);
  });
}

Value XlaClusters::storageOf(Value value) const {
  Operation *writer = value.getDefiningOp();
  while (writer && isView(writer)) {
    value = isa<stablehlo::OptimizationBarrierOp>(writer)
                ? writer->getOperand(cast<OpResult>(value).getResultNumber())
                : writer->getOperand(0);
    writer = value.getDefiningOp();
  }
  return value;
}

std::optional<int32_t> XlaClusters::writerOf(Value value) const {
  Operation *writer = storageOf(value).getDefiningOp();
  auto entry = writer ? clusterOf.find(writer) : clusterOf.end();
  return entry == clusterOf.end() ? std::nullopt : std::optional(entry->second);
}

llvm::BitVector XlaClusters::ancestors(int32_t cluster) const {
  llvm::BitVector found(all.size());
  SmallVector<int32_t> pending = {cluster};
  found.set(cluster);
  while (!pending.empty())
    for (Value read : all[pending.pop_back_val()].reads)
      if (auto writer = writerOf(read); writer && !found.test(*writer)) {
        found.set(*writer);
        pending.push_back(*writer);
      }
  return found;
}

void XlaClusters::addCluster(Operation *root) {
  XlaCluster cluster;
  cluster.mayRepeat = canRepeat(root);
  llvm::SetVector<Value> reads;
  llvm::SetVector<Operation *> inside;
  SmallVector<Operation *> pending = {root};
  // Through a view to what it is a view of, past other results of a barrier.
  auto follow = [&](Value value) {
    value = storageOf(value);
    Operation *writer = value.getDefiningOp();
    if (!writer || clusterOf.contains(writer))
      reads.insert(value);
    else
      pending.push_back(writer);
  };
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!inside.insert(op))
      continue;
    forEachRead(op, [&](Value value) {
      Operation *writer = value.getDefiningOp();
      if (!writer || clusterOf.contains(writer))
        reads.insert(value);
      else if (isView(writer) && barriers == Barriers::names)
        follow(value);
      else
        pending.push_back(writer); // constants and views included
    });
  }
  cluster.operations = inside.takeVector();
  llvm::sort(cluster.operations,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  cluster.reads = reads.takeVector();
  clusterOf[root] = all.size();
  all.push_back(std::move(cluster));
}
