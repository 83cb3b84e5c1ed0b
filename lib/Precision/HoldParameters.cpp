//===- HoldParameters.cpp - Parameters as a bf16 and an i16 ---------------===//
//
// See HoldParameters.h, and Format/Holding.h for the rule. All is done on bits,
// by operations on whole numbers that are element-wise (HeldReads.h), so that
// they ride in the kernel of the update.
//
//===----------------------------------------------------------------------===//

#include "HoldParameters.h"

#include "FormatClasses.h"
#include "HeldReads.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Precision/Passes.h"
#include "tenon/Precision/PrecisionRules.h"

#include "llvm/ADT/StringSet.h"

namespace tenon::precision {
#define GEN_PASS_DEF_HOLDPARAMETERSPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

bool isProduct(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op);
}

/// Follows the readers of a parameter through what moves its elements.
class Readers {
public:
  explicit Readers(bool narrowProductsOnly)
      : narrowProductsOnly(narrowProductsOnly) {}

  /// Whether all of them may read parts.
  bool areFine(Value value) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *op = use.getOwner();
      if (roundsToBf16(op)) {
        isMultiplied |= llvm::any_of(op->getUsers(), [](Operation *reader) {
          return isProduct(reader) || movesElements(reader);
        });
        return true;
      }
      if (isProduct(op)) {
        isMultiplied = true;
        return !narrowProductsOnly;
      }
      if (movesHeld(use))
        return areFine(op->getResult(0));
      return isa<func::ReturnOp>(op) || isComputedBeside(op);
    });
  }
  bool isMultiplied = false;

private:
  static bool movesElements(Operation *op) {
    return isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op) &&
           llvm::any_of(op->getUsers(), [](Operation *reader) {
             return isProduct(reader) || movesElements(reader);
           });
  }

  /// Whether the operation computes with elements in the kernel that reads
  /// them.
  static bool isComputedBeside(Operation *op) {
    OperationClass which = classify(op);
    return which == OperationClass::pointwise ||
           which == OperationClass::reduction;
  }

  bool narrowProductsOnly;
};

class Holder {
public:
  Holder(func::FuncOp step, bool inside)
      : step(step), inside(inside), builder(step.getContext()),
        end(step.getBody().front().getTerminator()) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (auto name = step.getArgAttrOfType<StringAttr>(i, step::nameAttrName))
        names.insert(name.getValue());
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (auto name =
              step.getResultAttrOfType<StringAttr>(i, step::nameAttrName))
        names.insert(name.getValue());
  }

  void hold(BlockArgument argument) {
    auto result =
        unsigned(step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                    step::successorAttrName)
                     .getInt());
    if (inside) {
      SmallVector<OpOperand *> uses = usesOf(argument);
      builder.setInsertionPointToStart(&step.getBody().front());
      readInParts(builder, uses,
                  BitOperations(builder, argument.getLoc()).split(argument));
      return;
    }
    Value next = end->getOperand(result);
    Parts now = addArgument(argument, result), then = now;
    if (next != argument) {
      builder.setInsertionPoint(end);
      then = BitOperations(builder, next.getLoc()).split(next);
    }
    end->setOperand(result, then.high);
    end->insertOperands(end->getNumOperands(), then.low);
    SmallVector<OpOperand *> uses = usesOf(argument);
    // What is handed on stays in parts.
    llvm::erase(uses, &end->getOpOperand(result));
    readInParts(builder, uses, now);
  }

private:
  /// Turns the argument into the high part and adds the low one behind all
  /// arguments, and likewise their results.
  Parts addArgument(BlockArgument argument, unsigned result) {
    unsigned number = argument.getArgNumber();
    MLIRContext *context = builder.getContext();
    StringRef tensor =
        step.getArgAttrOfType<StringAttr>(number, step::nameAttrName)
            .getValue();
    StringAttr lowName = newName(tensor);
    auto mark = [&](int64_t part) {
      return step::holdsAttr(context, {tensor, step::highAndLowRule, part});
    };
    NamedAttrList ofLow, ofLowResult;
    for (StringRef kept :
         {step::roleAttrName, step::roleReasonAttrName, step::donatedAttrName})
      if (Attribute value = step.getArgAttr(number, kept))
        ofLow.set(kept, value);
    for (NamedAttrList *list : {&ofLow, &ofLowResult}) {
      list->set(step::nameAttrName, lowName);
      list->set(step::aliasesAttrName, builder.getArrayAttr({}));
      list->set(step::holdsAttrName, mark(1));
    }
    ofLow.set(step::successorAttrName,
              builder.getI64IntegerAttr(step.getNumResults()));
    step.setArgAttr(number, step::holdsAttrName, mark(0));
    step.setResultAttr(result, step::holdsAttrName, mark(0));
    auto highType = withElements(argument, builder.getBF16Type()),
         lowType = withElements(argument, builder.getIntegerType(16));
    // What leaves the step is set by whoever called.
    (void)step.insertArgument(step.getNumArguments(), lowType,
                              ofLow.getDictionary(context), argument.getLoc());
    (void)step.insertResult(step.getNumResults(), lowType,
                            ofLowResult.getDictionary(context));
    argument.setType(highType);
    SmallVector<Type> arguments(step.getArgumentTypes()),
        results(step.getResultTypes());
    arguments[number] = highType;
    results[result] = highType;
    step.setFunctionType(FunctionType::get(context, arguments, results));
    return {argument, step.getArguments().back()};
  }

  /// A name that no other argument or result has.
  StringAttr newName(StringRef tensor) {
    std::string name = (tensor + ".low").str();
    while (!names.insert(name).second)
      name += '_';
    return builder.getStringAttr(name);
  }

  func::FuncOp step;
  bool inside;
  OpBuilder builder;
  Operation *end;
  llvm::StringSet<> names;
};

struct HoldParameters
    : public precision::impl::HoldParametersPassBase<HoldParameters> {
  using HoldParametersPassBase::HoldParametersPassBase;

  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (step.isDeclaration())
      return;
    SmallVector<BlockArgument> held;
    for (BlockArgument argument : step.getArguments())
      if (canBeHeldInParts(argument, /*narrowProductsOnly=*/true))
        held.push_back(argument);
    Holder holder(step, inside);
    for (BlockArgument argument : held)
      holder.hold(argument);
  }
};

} // namespace

bool precision::canBeHeldInParts(BlockArgument argument,
                                 bool narrowProductsOnly) {
  auto step = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!step || !isF32Tensor(argument))
    return false;
  unsigned number = argument.getArgNumber();
  auto role = step.getArgAttrOfType<step::RoleAttr>(number, step::roleAttrName);
  auto successor =
      step.getArgAttrOfType<IntegerAttr>(number, step::successorAttrName);
  DictionaryAttr attributes = step.getArgAttrDict(number);
  if (!role || role.getValue() != step::Role::parameter || !successor ||
      !attributes.contains(step::nameAttrName) ||
      attributes.contains(step::complexAttrName))
    return false;
  Readers readers(narrowProductsOnly);
  return readers.areFine(argument) && readers.isMultiplied;
}
