//===- HoldState.cpp - State as bf16, written by stochastic rounding ------===//
//
// See HoldState.h. The bits of a rounding come from the seed, the number of the
// argument, the steps that were made, which are counted in hidden state, and
// the place of the element.
//
//===----------------------------------------------------------------------===//

#include "HoldState.h"

#include "FormatClasses.h"
#include "HeldReads.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/StochasticRounding.h"
#include "tenon/Precision/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace tenon::precision {
#define GEN_PASS_DEF_HOLDSTATEPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

/// Whether state of this role is an average or is moved by small updates, which
/// a rounding whose mean is the number leaves as good as they were. Metrics and
/// counters add up, and of state without a name nothing is known.
bool mayBeRounded(step::Role role) {
  return role == step::Role::parameter || role == step::Role::optimizer_state ||
         role == step::Role::buffer;
}

class StateHolder {
public:
  StateHolder(func::FuncOp step, uint64_t seed)
      : step(step), seed(seed), builder(step.getContext()),
        end(step.getBody().front().getTerminator()) {}

  void hold(ArrayRef<BlockArgument> arguments) {
    held.insert(arguments.begin(), arguments.end());
    addCounter();
    for (BlockArgument argument : arguments)
      roundSuccessor(argument);
    for (BlockArgument argument : arguments)
      retype(argument);
    for (BlockArgument argument : arguments)
      replaceReads(argument);
  }

private:
  unsigned successorOf(BlockArgument argument) {
    return unsigned(step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                       step::successorAttrName)
                        .getInt());
  }
  Type word() { return builder.getIntegerType(32, /*isSigned=*/false); }

  void addCounter() {
    auto type = RankedTensorType::get({}, word());
    counter = step::addHiddenState(
        step, "rounding_step",
        mlir::cast<SplatElementsAttr>(
            DenseElementsAttr::get(type, APInt(32, 0))),
        step::Role::counter, "counts the steps for stochastic rounding");
    builder.setInsertionPoint(end);
    Location at = step.getLoc();
    Value one = stablehlo::ConstantOp::create(
        builder, at, DenseElementsAttr::get(type, APInt(32, 1)));
    end->setOperand(end->getNumOperands() - 1,
                    stablehlo::AddOp::create(builder, at, counter, one));
  }

  /// Rounds what replaces the argument; what was held before is handed on.
  void roundSuccessor(BlockArgument argument) {
    unsigned result = successorOf(argument);
    Value next = end->getOperand(result);
    if (auto other = dyn_cast<BlockArgument>(next);
        other && held.contains(other)) {
      handedOn.insert(&end->getOpOperand(result));
      return;
    }
    builder.setInsertionPoint(end);
    auto words = step::roundingKey(seed, argument.getArgNumber());
    Value key = stablehlo::ConstantOp::create(
        builder, next.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({2}, word()),
                               {APInt(32, words[0]), APInt(32, words[1])}));
    end->setOperand(result, step::StochasticRoundOp::create(
                                builder, next.getLoc(),
                                withElements(next, builder.getBF16Type()), next,
                                counter, key, /*indices=*/Value()));
  }

  void retype(BlockArgument argument) {
    unsigned number = argument.getArgNumber(), result = successorOf(argument);
    auto name = step.getArgAttrOfType<StringAttr>(number, step::nameAttrName);
    Attribute mark = step::holdsAttr(
        step.getContext(), {name.getValue(), step::convertedRule, /*part=*/0});
    step.setArgAttr(number, step::holdsAttrName, mark);
    step.setResultAttr(result, step::holdsAttrName, mark);
    Type type = withElements(argument, builder.getBF16Type());
    argument.setType(type);
    SmallVector<Type> arguments(step.getArgumentTypes()),
        results(step.getResultTypes());
    arguments[number] = type;
    results[result] = type;
    step.setFunctionType(
        FunctionType::get(step.getContext(), arguments, results));
  }

  /// What hands the argument on hands on what holds it.
  void replaceReads(BlockArgument argument) {
    SmallVector<OpOperand *> uses = usesOf(argument);
    llvm::erase_if(uses,
                   [&](OpOperand *use) { return handedOn.contains(use); });
    readNarrow(builder, uses, argument);
  }

  func::FuncOp step;
  uint64_t seed;
  OpBuilder builder;
  Operation *end;
  BlockArgument counter;
  llvm::SmallSetVector<BlockArgument, 16> held;
  /// Operands of the end that hand on what was held.
  llvm::SmallPtrSet<OpOperand *, 4> handedOn;
};

struct HoldState : public precision::impl::HoldStatePassBase<HoldState> {
  using HoldStatePassBase::HoldStatePassBase;

  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (step.isDeclaration())
      return;
    std::string error;
    auto said =
        FormatPolicy::parse(policy, "the policy", NarrowFormat::bf16, error);
    if (!said) {
      step.emitError() << error;
      return signalPassFailure();
    }
    SmallVector<BlockArgument> held;
    for (BlockArgument argument : step.getArguments())
      if (canBeHeldInBf16(argument, *said))
        held.push_back(argument);
    if (!held.empty())
      StateHolder(step, seed).hold(held);
  }
};

} // namespace

bool precision::canBeHeldInBf16(BlockArgument argument, FormatPolicy &policy) {
  auto step = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!step || !isF32Tensor(argument))
    return false;
  int64_t elements = elementCount(shapeOf(argument));
  DictionaryAttr attributes = step.getArgAttrDict(argument.getArgNumber());
  if (!attributes || elements <= 1 || elements > step::mostRoundedElements ||
      attributes.contains(step::complexAttrName) ||
      !attributes.contains(step::successorAttrName))
    return false;
  auto role = attributes.getAs<step::RoleAttr>(step::roleAttrName);
  auto name = attributes.getAs<StringAttr>(step::nameAttrName);
  return role && name && mayBeRounded(role.getValue()) &&
         policy.ofArgument(name.getValue()) != Wish::f32;
}
