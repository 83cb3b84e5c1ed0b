//===- ScaleExponents.cpp - Where a step is linear in the cotangent -------===//
//
// See ScaleExponents.h.
//
//===----------------------------------------------------------------------===//

#include "ScaleExponents.h"

#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

bool precision::isFloatTensor(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}

namespace {

/// What an operation does to exponents.
enum class ScaleRule { equal, adds, compares, places, needsNone };

bool convertsFloats(Operation *op) {
  return isFloatTensor(op->getOperand(0)) && isFloatTensor(op->getResult(0));
}

/// Whether elements are combined by sums, maxima and minima alone, or replaced.
bool combinesEqualOnes(Region &region) {
  return llvm::all_of(region.front(), [](Operation &op) {
    return isa<stablehlo::AddOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
               stablehlo::ConvertOp, stablehlo::ReturnOp>(op);
  });
}

ScaleRule ruleFor(Operation *op) {
  using namespace stablehlo;
  if (isa<MultiplyOp, DotGeneralOp, ConvolutionOp, DivideOp,
          step::AttentionGradientOp>(op))
    return ScaleRule::adds;
  if (isa<CompareOp>(op))
    return ScaleRule::compares;
  if (isa<ConvertOp>(op))
    return convertsFloats(op) ? ScaleRule::equal : ScaleRule::needsNone;
  if (isa<AbsOp, AddOp, SubtractOp, NegateOp, MaximumOp, MinimumOp, SelectOp,
          ClampOp, ConcatenateOp, PadOp, DynamicUpdateSliceOp, DynamicSliceOp,
          SliceOp, GatherOp, BroadcastInDimOp, ReshapeOp, TransposeOp,
          ReverseOp, ReducePrecisionOp>(op))
    return ScaleRule::equal;
  if (isa<ReduceOp, ReduceWindowOp, ScatterOp>(op))
    return combinesEqualOnes(op->getRegion(0)) ? ScaleRule::equal
                                               : ScaleRule::needsNone;
  if (auto pool = dyn_cast<SelectAndScatterOp>(op))
    return combinesEqualOnes(pool.getScatter()) ? ScaleRule::places
                                                : ScaleRule::needsNone;
  return ScaleRule::needsNone;
}

} // namespace

const ScaleFact &ScaleExponents::of(Value value) const {
  static const ScaleFact unknown{Exponent::none};
  auto found = facts.find(value);
  return found == facts.end() ? unknown : found->second;
}

void ScaleExponents::set(Value value, const ScaleFact &fact) {
  ScaleFact &known = facts[value] = fact;
  if (!entered.contains(value))
    return;
  known = {Exponent::one};
  // What left and enters again is not linear in between.
  known.broken = fact.broken ? fact.broken : fact.left;
}

void ScaleExponents::inherit(ScaleFact &result, const ScaleFact &operand) {
  if (operand.exponent != Exponent::one) {
    result.isForward |= operand.isForward;
    if (!result.left)
      result.left = operand.left;
  }
  if (!result.broken)
    result.broken = operand.broken;
}

void ScaleExponents::leave(OpOperand &operand, ScaleFact &result) {
  leaving.insert(&operand);
  result.left = operand.getOwner();
}

/// Something of the forward pass met something that has left.
void ScaleExponents::settle(ScaleFact &result) {
  if (result.exponent != Exponent::none) {
    result.isForward = false;
    result.left = nullptr;
  } else if (result.isForward && result.left && !result.broken) {
    result.broken = result.left;
  }
}

ScaleFact ScaleExponents::joined(ArrayRef<OpOperand *> operands,
                                 ArrayRef<Value> choosers) {
  ScaleFact result;
  bool isScaled = false, isPlain = false, isForeign = false;
  for (OpOperand *operand : operands) {
    const ScaleFact &fact = of(operand->get());
    isScaled |= fact.exponent == Exponent::one;
    if (fact.exponent == Exponent::none) {
      isPlain = true;
      // What depends on no batch is state: a decay, a moment, a bound.
      isForeign |= !fact.isForward;
    }
  }
  result.exponent = isScaled && !isForeign ? Exponent::one
                    : isScaled || isPlain  ? Exponent::none
                                           : Exponent::any;
  for (OpOperand *operand : operands) {
    const ScaleFact &fact = of(operand->get());
    if (result.exponent == Exponent::none && fact.exponent == Exponent::one)
      leave(*operand, result);
    if (result.exponent == Exponent::one && fact.exponent == Exponent::none)
      entering.insert(operand);
    inherit(result, fact);
  }
  for (Value chooser : choosers)
    inherit(result, of(chooser));
  settle(result);
  return result;
}

ScaleFact ScaleExponents::plain(Operation *op) {
  ScaleFact result{Exponent::none};
  for (OpOperand &operand : op->getOpOperands()) {
    const ScaleFact &fact = of(operand.get());
    if (fact.exponent == Exponent::one)
      leave(operand, result);
    inherit(result, fact);
  }
  settle(result);
  return result;
}

ScaleFact ScaleExponents::product(Operation *op) {
  // Of a quotient the numerator may be scaled, of attention's gradients the
  // cotangent; of a product either operand.
  SmallVector<OpOperand *> factors;
  if (auto gradient = dyn_cast<step::AttentionGradientOp>(op)) {
    factors = {&gradient.getOutputGradientMutable()};
  } else if (isa<stablehlo::DivideOp>(op)) {
    factors = {&op->getOpOperand(0)};
  } else {
    for (OpOperand &operand : op->getOpOperands())
      factors.push_back(&operand);
  }
  int scaled = 0;
  bool isZero = false;
  for (OpOperand *factor : factors) {
    scaled += isScaled(factor->get());
    isZero |= of(factor->get()).exponent == Exponent::any;
  }
  bool isOtherScaled =
      llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
        return isScaled(operand.get()) &&
               !llvm::is_contained(factors, &operand);
      });
  if (isZero && !isOtherScaled)
    return ScaleFact();
  if (scaled != 1 || isOtherScaled)
    return plain(op);
  ScaleFact result{Exponent::one};
  for (Value operand : op->getOperands())
    inherit(result, of(operand));
  settle(result);
  return result;
}

/// A truth value is the same for all scales if both operands have them.
ScaleFact ScaleExponents::compared(Operation *op) {
  auto is = [&](Exponent exponent) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return of(operand).exponent == exponent;
    });
  };
  if (!is(Exponent::one) || is(Exponent::none))
    return plain(op);
  ScaleFact result{Exponent::none};
  for (Value operand : op->getOperands())
    inherit(result, of(operand));
  result.left = op;
  settle(result);
  return result;
}

void ScaleExponents::visit(Operation *op) {
  if (isa<stablehlo::WhileOp>(op))
    return visitLoop(op);
  if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
    return visitBranches(op);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    if (isa<func::ReturnOp>(op))
      (void)plain(op);
    return;
  }
  if (matchPattern(op, m_Constant())) {
    bool isZero =
        isFloatTensor(op->getResult(0)) && matchPattern(op, m_AnyZeroFloat());
    return set(op->getResult(0),
               {isZero ? Exponent::any : Exponent::none, false});
  }
  if (isa<stablehlo::OptimizationBarrierOp, step::ShardingConstraintOp>(op)) {
    for (OpResult result : op->getResults())
      set(result, joined({&op->getOpOperand(result.getResultNumber())}, {}));
    return;
  }
  ScaleFact fact;
  switch (ruleFor(op)) {
  case ScaleRule::adds:
    fact = product(op);
    break;
  case ScaleRule::equal: {
    SmallVector<OpOperand *> floats;
    SmallVector<Value> others;
    for (OpOperand &operand : op->getOpOperands())
      if (isFloatTensor(operand.get()))
        floats.push_back(&operand);
      else
        others.push_back(operand.get());
    fact = floats.empty() ? plain(op) : joined(floats, others);
    break;
  }
  case ScaleRule::compares:
    fact = compared(op);
    break;
  case ScaleRule::places:
    // Of what is selected only the order counts.
    fact = isScaled(op->getOperand(0))
               ? plain(op)
               : joined({&op->getOpOperand(1), &op->getOpOperand(2)},
                        op->getOperand(0));
    break;
  case ScaleRule::needsNone:
    fact = plain(op);
    break;
  }
  for (Value result : op->getResults())
    set(result, fact);
}

void ScaleExponents::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void ScaleExponents::visitLoop(Operation *op) {
  auto loop = cast<stablehlo::WhileOp>(op);
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  Operation *end = body.getTerminator();
  unsigned count = op->getNumOperands();
  SmallVector<ScaleFact> carried;
  for (Value operand : op->getOperands())
    carried.push_back(of(operand));
  // What is plain once stays so, and facts only grow: there is an end.
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < count; ++i) {
      set(condition.getArgument(i), carried[i]);
      set(body.getArgument(i), carried[i]);
    }
    visit(condition);
    visit(body);
    for (unsigned i = 0; i < count; ++i) {
      const ScaleFact &first = of(op->getOperand(i)),
                      &next = of(end->getOperand(i));
      ScaleFact joint = carried[i];
      auto lift = [&](Exponent to) {
        if (joint.exponent == Exponent::any)
          joint.exponent = to;
        else if (joint.exponent != to && to != Exponent::any)
          joint.exponent = Exponent::none;
      };
      lift(first.exponent);
      lift(next.exponent);
      inherit(joint, first);
      inherit(joint, next);
      if (joint.exponent == Exponent::none &&
          (first.exponent == Exponent::one || next.exponent == Exponent::one) &&
          !joint.left)
        joint.left = op;
      settle(joint);
      changed |= !(joint == carried[i]);
      carried[i] = joint;
    }
  }
  // What was noted on the way is of facts that have changed since.
  auto isInside = [&](OpOperand *operand) {
    return op->isProperAncestor(operand->getOwner());
  };
  entering.remove_if(isInside);
  leaving.remove_if(isInside);
  visit(condition);
  visit(body);
  for (unsigned i = 0; i < count; ++i) {
    for (OpOperand *edge : {&op->getOpOperand(i), &end->getOpOperand(i)}) {
      if (carried[i].exponent == Exponent::none && isScaled(edge->get()))
        leaving.insert(edge);
    }
    set(op->getResult(i), carried[i]);
  }
}

void ScaleExponents::visitBranches(Operation *op) {
  for (Region &region : op->getRegions())
    visit(region.front());
  for (OpResult result : op->getResults()) {
    SmallVector<OpOperand *> yielded;
    for (Region &region : op->getRegions())
      yielded.push_back(&region.front().getTerminator()->getOpOperand(
          result.getResultNumber()));
    ScaleFact fact = joined(yielded, op->getOperand(0));
    if (!isFloatTensor(result))
      fact.exponent = Exponent::none;
    set(result, fact);
  }
}

ScaleExponents::ScaleExponents(func::FuncOp step, ArrayRef<Value> seeds)
    : entered(seeds.begin(), seeds.end()) {
  for (BlockArgument argument : step.getArguments()) {
    auto role = step.getArgAttrOfType<step::RoleAttr>(argument.getArgNumber(),
                                                      step::roleAttrName);
    bool isBatch = role && (role.getValue() == step::Role::batch ||
                            role.getValue() == step::Role::rng);
    set(argument, {Exponent::none, isBatch});
  }
  visit(step.getBody().front());
  step.walk([&](Operation *op) {
    if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp,
            step::AttentionGradientOp>(op))
      products += llvm::any_of(op->getOperands(), [&](Value operand) {
        return isScaled(operand) && isScaled(op->getResult(0));
      });
  });
}
