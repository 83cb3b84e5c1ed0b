//===- OperationClass.cpp - How elements of a result are computed --------===//
//
// The table behind OperationClass.h: one line per operation that needs no
// kernel of its own.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/OperationClass.h"

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/Casts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tenon;

namespace {

struct OperationTrait {
  OperationClass operationClass;
  bool expensive;
};

/// One line per operation that is not `generic`.
const llvm::StringMap<OperationTrait> &operationTable() {
  using enum OperationClass;
  static const llvm::StringMap<OperationTrait> table = {
      {"stablehlo.abs", {pointwise, false}},
      {"stablehlo.add", {pointwise, false}},
      {"stablehlo.and", {pointwise, false}},
      {"stablehlo.atan2", {pointwise, true}},
      {"stablehlo.cbrt", {pointwise, true}},
      {"stablehlo.ceil", {pointwise, false}},
      {"stablehlo.clamp", {pointwise, false}},
      {"stablehlo.compare", {pointwise, false}},
      {"stablehlo.convert", {pointwise, false}},
      {"stablehlo.cosine", {pointwise, true}},
      {"stablehlo.count_leading_zeros", {pointwise, false}},
      {"stablehlo.divide", {pointwise, true}},
      {"stablehlo.exponential", {pointwise, true}},
      {"stablehlo.exponential_minus_one", {pointwise, true}},
      {"stablehlo.floor", {pointwise, false}},
      {"stablehlo.is_finite", {pointwise, false}},
      {"stablehlo.log", {pointwise, true}},
      {"stablehlo.log_plus_one", {pointwise, true}},
      {"stablehlo.logistic", {pointwise, true}},
      {"stablehlo.maximum", {pointwise, false}},
      {"stablehlo.minimum", {pointwise, false}},
      {"stablehlo.multiply", {pointwise, false}},
      {"stablehlo.negate", {pointwise, false}},
      {"stablehlo.not", {pointwise, false}},
      {"stablehlo.or", {pointwise, false}},
      {"stablehlo.popcnt", {pointwise, false}},
      {"stablehlo.power", {pointwise, true}},
      {"stablehlo.reduce_precision", {pointwise, false}},
      {"stablehlo.remainder", {pointwise, true}},
      {"stablehlo.round_nearest_afz", {pointwise, false}},
      {"stablehlo.round_nearest_even", {pointwise, false}},
      {"stablehlo.rsqrt", {pointwise, true}},
      {"stablehlo.select", {pointwise, false}},
      {"stablehlo.shift_left", {pointwise, false}},
      {"stablehlo.shift_right_arithmetic", {pointwise, false}},
      {"stablehlo.shift_right_logical", {pointwise, false}},
      {"stablehlo.sign", {pointwise, false}},
      {"stablehlo.sine", {pointwise, true}},
      {"stablehlo.sqrt", {pointwise, true}},
      {"stablehlo.subtract", {pointwise, false}},
      {"stablehlo.tan", {pointwise, true}},
      {"stablehlo.tanh", {pointwise, true}},
      {"stablehlo.xor", {pointwise, false}},
      {"chlo.erf", {pointwise, true}},
      {"chlo.erfc", {pointwise, true}},
      {"chlo.erf_inv", {pointwise, true}},
      {"step.stochastic_round", {pointwise, true}},
      {"stablehlo.broadcast_in_dim", {indexMap, false}},
      {"stablehlo.concatenate", {indexMap, false}},
      {"stablehlo.dynamic_slice", {indexMap, false}},
      {"stablehlo.gather", {indexMap, false}},
      {"stablehlo.iota", {indexMap, false}},
      {"stablehlo.pad", {indexMap, false}},
      {"stablehlo.reverse", {indexMap, false}},
      {"stablehlo.slice", {indexMap, false}},
      {"stablehlo.transpose", {indexMap, false}},
      {"stablehlo.reshape", {view, false}},
      {"step.sharding_constraint", {view, false}},
      {"stablehlo.constant", {ungrouped, false}},
      {"stablehlo.while", {ungrouped, false}},
      {"stablehlo.case", {ungrouped, false}},
      {"stablehlo.if", {ungrouped, false}},
      {"stablehlo.optimization_barrier", {ungrouped, false}},
      {"stablehlo.return", {ungrouped, false}},
      {"func.return", {ungrouped, false}},
      {"step.group", {ungrouped, false}},
  };
  return table;
}

/// Whether the reduction's region is element-wise operations on its two
/// arguments, which every template can emit.
bool hasElementwiseBody(stablehlo::ReduceOp reduce) {
  Block &body = reduce.getBody().front();
  if (body.getNumArguments() != 2)
    return false;
  for (Operation &op : body.without_terminator())
    if (classify(&op) != OperationClass::pointwise &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return false;
  return true;
}

} // namespace

std::optional<ReducedDimensions> tenon::reducedDimensions(Operation *op) {
  auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
  if (!reduce || reduce.getInputs().size() != 1 || !hasElementwiseBody(reduce))
    return std::nullopt;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(reduce.getInputs().front().getType()).getShape();
  SmallVector<bool> reduced(shape.size(), false);
  for (int64_t dim : reduce.getDimensions())
    reduced[dim] = true;
  int64_t rank = shape.size();
  int64_t count = llvm::count(reduced, true);
  if (count == 0)
    return std::nullopt;
  if (llvm::all_of(llvm::seq<int64_t>(rank - count, rank),
                   [&](int64_t dim) { return reduced[dim]; }))
    return ReducedDimensions{true, rank - count};
  if (llvm::all_of(llvm::seq<int64_t>(0, count),
                   [&](int64_t dim) { return reduced[dim]; }))
    return ReducedDimensions{false, count};
  return std::nullopt;
}

/// The operation's line of the table; null if it has none. Grouping asks this
/// millions of times, so each thread remembers what it found by type.
static const OperationTrait *traitOf(Operation *op) {
  auto find = [&]() -> const OperationTrait * {
    auto entry = operationTable().find(op->getName().getStringRef());
    return entry == operationTable().end() ? nullptr : &entry->second;
  };
  if (!op->isRegistered())
    return find();
  thread_local llvm::DenseMap<TypeID, const OperationTrait *> known;
  auto [entry, isNew] = known.try_emplace(op->getName().getTypeID());
  if (isNew)
    entry->second = find();
  return entry->second;
}

/// Only between types of one width is there an element for each.
static bool convertsEachElement(Operation *op) {
  return isa<stablehlo::BitcastConvertOp>(op) &&
         cast<RankedTensorType>(op->getOperand(0).getType()).getShape() ==
             cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}

OperationClass tenon::classify(Operation *op) {
  if (const OperationTrait *trait = traitOf(op))
    return trait->operationClass;
  if (convertsEachElement(op))
    return OperationClass::pointwise;
  if (reducedDimensions(op))
    return OperationClass::reduction;
  return OperationClass::generic;
}

bool tenon::isExpensive(Operation *op) {
  const OperationTrait *trait = traitOf(op);
  return trait ? trait->expensive : !convertsEachElement(op);
}

bool tenon::isPointOperation(Operation *op) {
  OperationClass operationClass = classify(op);
  return operationClass == OperationClass::pointwise ||
         operationClass == OperationClass::indexMap ||
         operationClass == OperationClass::view ||
         op->hasTrait<OpTrait::ConstantLike>() ||
         isa<stablehlo::BitcastConvertOp, stablehlo::DynamicUpdateSliceOp,
             chlo::SquareOp>(op) ||
         (isa<stablehlo::ReduceOp>(op) && !reducesSomething(op));
}

bool tenon::widensStored(Operation *op) {
  return isa<stablehlo::ConvertOp>(op) && step::isCompilerCast(op) &&
         getElementTypeOrSelf(op->getResult(0)).isF32();
}

bool tenon::canWidenOperands(Operation *op) {
  return isa<stablehlo::ReduceWindowOp, stablehlo::SelectAndScatterOp>(op) ||
         step::isAttention(op);
}

bool tenon::isFreeToClone(Operation *op) {
  if (isa<stablehlo::BroadcastInDimOp, stablehlo::IotaOp>(op))
    return true;
  if (widensStored(op))
    return true;
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
    return llvm::all_of(slice.getStrides(), [](int64_t s) { return s == 1; });
  auto constant = dyn_cast<stablehlo::ConstantOp>(op);
  auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  return value && value.isSplat();
}
