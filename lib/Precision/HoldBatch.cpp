//===- HoldBatch.cpp - Hold batch tensors in 16 bits ----------------------===//
//
// See HoldBatch.h.
//
//===----------------------------------------------------------------------===//

#include "HoldBatch.h"

#include "FormatClasses.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Precision/Passes.h"

namespace tenon::precision {
#define GEN_PASS_DEF_HOLDBATCHPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

/// What moves elements of the batch alone, and may move those of 16 bits.
static bool movesBatch(OpOperand &use) {
  return use.getOperandNumber() == 0 &&
         isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::SliceOp,
             stablehlo::ReverseOp>(use.getOwner());
}

static bool roundsTo(NarrowFormat format, Operation *op) {
  return isa<stablehlo::ConvertOp>(op) && step::isCompilerCast(op) &&
         getElementTypeOrSelf(op->getResult(0)) ==
             typeOf(format, op->getContext());
}

/// Whether the value is read, and by nothing that needs its f32.
static bool isReadNarrow(Value value, NarrowFormat format,
                         bool narrowProductsOnly) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           Operation *op = use.getOwner();
           if (movesBatch(use))
             return isReadNarrow(op->getResult(0), format, narrowProductsOnly);
           if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op))
             return !narrowProductsOnly;
           return roundsTo(format, op);
         });
}

/// Gives the readers of what was an f32 the same numbers in 16 bits.
static void retypeReads(Value value) {
  Type narrow = getElementTypeOrSelf(value);
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *op = use.getOwner();
    Value result = op->getResult(0);
    if (isa<stablehlo::ConvertOp>(op)) {
      result.replaceAllUsesWith(value);
      op->erase();
      continue;
    }
    result.setType(cast<RankedTensorType>(result.getType()).clone(narrow));
    retypeReads(result);
  }
}

static void hold(func::FuncOp step, BlockArgument argument,
                 NarrowFormat format) {
  unsigned number = argument.getArgNumber();
  auto name = step.getArgAttrOfType<StringAttr>(number, step::nameAttrName);
  step.setArgAttr(
      number, step::holdsAttrName,
      step::holdsAttr(step.getContext(),
                      {name.getValue(), step::convertedRule, /*part=*/0}));
  Type type = cast<RankedTensorType>(argument.getType())
                  .clone(typeOf(format, step.getContext()));
  argument.setType(type);
  SmallVector<Type> arguments(step.getArgumentTypes());
  arguments[number] = type;
  step.setFunctionType(
      FunctionType::get(step.getContext(), arguments, step.getResultTypes()));
  retypeReads(argument);
}

namespace {

struct HoldBatch : public precision::impl::HoldBatchPassBase<HoldBatch> {
  using HoldBatchPassBase::HoldBatchPassBase;

  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (step.isDeclaration())
      return;
    std::string error;
    auto said = FormatPolicy::parse(policy, "the policy", format, error);
    if (!said) {
      step.emitError() << error;
      return signalPassFailure();
    }
    for (BlockArgument argument : step.getArguments())
      if (canBatchBeHeld(argument, *said, format, /*narrowProductsOnly=*/true))
        hold(step, argument, format);
  }
};

} // namespace

bool precision::canBatchBeHeld(BlockArgument argument, FormatPolicy &policy,
                               NarrowFormat format, bool narrowProductsOnly) {
  auto step = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!step || !isF32Tensor(argument) || elementCount(shapeOf(argument)) <= 1)
    return false;
  DictionaryAttr attributes = step.getArgAttrDict(argument.getArgNumber());
  if (!attributes || attributes.contains(step::complexAttrName) ||
      attributes.contains(step::elementTypeAttrName) ||
      attributes.contains(step::successorAttrName))
    return false;
  auto role = attributes.getAs<step::RoleAttr>(step::roleAttrName);
  auto name = attributes.getAs<StringAttr>(step::nameAttrName);
  return role && name && role.getValue() == step::Role::batch &&
         policy.ofArgument(name.getValue()) != Wish::f32 &&
         isReadNarrow(argument, format, narrowProductsOnly);
}
