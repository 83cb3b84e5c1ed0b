//===- HoldParameters.cpp - Parameters as a bf16 and an i16 ---------------===//
//
// See HoldParameters.h, and Format/Holding.h for the rule. All is done on bits,
// by operations on whole numbers that are element-wise, so that they ride in
// the kernel of the update:
//
//   high = (bits + 0x8000) >> 16      low = bits mod 2^16
//   bits = (high << 16) + low, where low is signed
//
//===----------------------------------------------------------------------===//

#include "HoldParameters.h"

#include "FormatClasses.h"
#include "ReadPerBlock.h"

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

/// What moves elements of its first operand only, and may do so to each part of
/// them.
bool movesParts(OpOperand &use) {
  return use.getOperandNumber() == 0 &&
         isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::SliceOp,
             stablehlo::DynamicSliceOp, stablehlo::GatherOp,
             stablehlo::ReverseOp>(use.getOwner());
}

bool isRounding(Operation *op) {
  return isa<stablehlo::ConvertOp>(op) && step::isCompilerCast(op);
}

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
      if (isRounding(op)) {
        isMultiplied |= llvm::any_of(op->getUsers(), [](Operation *reader) {
          return isProduct(reader) || movesElements(reader);
        });
        return true;
      }
      if (isProduct(op)) {
        isMultiplied = true;
        return !narrowProductsOnly;
      }
      if (movesParts(use))
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

struct Parts {
  Value high, low;
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
      replace(uses, split(argument, argument.getLoc()));
      return;
    }
    Value next = end->getOperand(result);
    Parts now = addArgument(argument, result), then = now;
    if (next != argument) {
      builder.setInsertionPoint(end);
      then = split(next, next.getLoc());
    }
    end->setOperand(result, then.high);
    end->insertOperands(end->getNumOperands(), then.low);
    SmallVector<OpOperand *> uses = usesOf(argument);
    // What is handed on stays in parts.
    llvm::erase(uses, &end->getOpOperand(result));
    replace(uses, now);
  }

private:
  static SmallVector<OpOperand *> usesOf(Value value) {
    return llvm::map_to_vector(value.getUses(),
                               [](OpOperand &use) { return &use; });
  }
  static RankedTensorType withElements(Value value, Type element) {
    return mlir::cast<RankedTensorType>(value.getType()).clone(element);
  }
  Type bits(unsigned width) {
    return IntegerType::get(builder.getContext(), width, IntegerType::Unsigned);
  }
  template <typename Op>
  Value convert(Value value, Type element, Location at) {
    return Op::create(builder, at, withElements(value, element), value);
  }
  Value constant(Value like, uint64_t number, Location at) {
    auto type = withElements(like, bits(32));
    return stablehlo::ConstantOp::create(
        builder, at, DenseElementsAttr::get(type, APInt(32, number)));
  }

  Parts split(Value whole, Location at) {
    using namespace stablehlo;
    Value all = convert<BitcastConvertOp>(whole, bits(32), at);
    Value rounded =
        AddOp::create(builder, at, all, constant(whole, 0x8000, at));
    Value upper = ShiftRightLogicalOp::create(builder, at, rounded,
                                              constant(whole, 16, at));
    Value lower = AndOp::create(builder, at, all, constant(whole, 0xffff, at));
    auto half = [&](Value value, Type element) {
      return convert<BitcastConvertOp>(convert<ConvertOp>(value, bits(16), at),
                                       element, at);
    };
    return {half(upper, builder.getBF16Type()),
            half(lower, builder.getIntegerType(16))};
  }

  Value join(Parts parts, Location at) {
    using namespace stablehlo;
    Value upper = convert<ConvertOp>(
        convert<BitcastConvertOp>(parts.high, bits(16), at), bits(32), at);
    upper =
        ShiftLeftOp::create(builder, at, upper, constant(parts.high, 16, at));
    Value lower = convert<BitcastConvertOp>(
        convert<ConvertOp>(parts.low, builder.getI32Type(), at), bits(32), at);
    return convert<BitcastConvertOp>(AddOp::create(builder, at, upper, lower),
                                     builder.getF32Type(), at);
  }

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

  /// Has the uses read parts: roundings the high one, what moves elements moves
  /// both, everything else what they make together.
  void replace(ArrayRef<OpOperand *> uses, Parts parts) {
    SmallVector<OpOperand *> readers;
    for (OpOperand *use : uses) {
      Operation *op = use->getOwner();
      if (isRounding(op)) {
        op->getResult(0).replaceAllUsesWith(parts.high);
        op->erase();
      } else if (movesParts(*use)) {
        move(op, parts);
      } else {
        readers.push_back(use);
      }
    }
    readPerBlock(builder, readers,
                 [&] { return join(parts, parts.high.getLoc()); });
  }

  void move(Operation *op, Parts parts) {
    builder.setInsertionPoint(op);
    Value result = op->getResult(0);
    auto moved = [&](Value part) {
      Operation *copy = builder.clone(*op);
      copy->setOperand(0, part);
      copy->getResult(0).setType(withElements(
          result,
          mlir::cast<RankedTensorType>(part.getType()).getElementType()));
      return copy->getResult(0);
    };
    SmallVector<OpOperand *> uses = usesOf(result);
    Parts both = {moved(parts.high), moved(parts.low)};
    replace(uses, both);
    op->erase();
    if (both.low.use_empty())
      both.low.getDefiningOp()->erase();
    if (both.high.use_empty())
      both.high.getDefiningOp()->erase();
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
