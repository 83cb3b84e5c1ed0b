//===- WidenToDouble.cpp - The same step in f64 ---------------------------===//
//
// Every f32 becomes f64, in types, constants and regions. What looks at the
// bits of an f32 goes on doing so, between conversions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Passes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Matchers.h"

namespace tenon::precision {
#define GEN_PASS_DEF_WIDENTODOUBLEPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

class WidenToDouble
    : public precision::impl::WidenToDoublePassBase<WidenToDouble> {
  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (step.isDeclaration())
      return;
    if (step.walk([](Operation *op) { return refuse(op); }).wasInterrupted())
      return signalPassFailure();
    for (unsigned index = 0; index < step.getNumArguments(); ++index)
      if (step.getArgAttr(index, step::complexAttrName)) {
        step.emitError() << "argument " << index
                         << " is complex, which is not widened";
        return signalPassFailure();
      }
    SmallVector<Operation *> operations, bits;
    step.walk([&](Operation *op) {
      (isa<stablehlo::BitcastConvertOp, stablehlo::RngOp>(op) ? bits
                                                              : operations)
          .push_back(op);
    });
    for (Operation *op : operations) {
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          argument.setType(widened(argument.getType()));
      if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
        widenConstant(constant);
      else
        for (Value result : op->getResults())
          result.setType(widened(result.getType()));
    }
    llvm::for_each(bits, keepBits);
    // A conversion between f32 and f64 changes nothing any more.
    for (Operation *op : operations)
      if (auto convert = dyn_cast<stablehlo::ConvertOp>(op);
          convert && convert.getOperand().getType() == convert.getType()) {
        convert.replaceAllUsesWith(convert.getOperand());
        convert.erase();
      }
    auto widenAll = [](TypeRange types) {
      return llvm::map_to_vector(types,
                                 [](Type type) { return widened(type); });
    };
    for (unsigned index = 0; index < step.getNumArguments(); ++index)
      if (SplatElementsAttr initial =
              step::initialValueOf(step.getArgAttrDict(index));
          initial && isF32(initial.getType()))
        step.setArgAttr(index, step::initialAttrName, widened(initial));
    step.setFunctionType(FunctionType::get(step.getContext(),
                                           widenAll(step.getArgumentTypes()),
                                           widenAll(step.getResultTypes())));
  }

  static bool isF32(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getElementType().isF32();
  }
  static Type widened(Type type) {
    return isF32(type) ? cast<RankedTensorType>(type).clone(
                             Float64Type::get(type.getContext()))
                       : type;
  }

  static WalkResult refuse(Operation *op) {
    auto touches = [&](auto test) {
      return llvm::any_of(op->getOperandTypes(), test) ||
             llvm::any_of(op->getResultTypes(), test);
    };
    const char *why = nullptr;
    if (isa<stablehlo::CustomCallOp>(op) && touches(isF32))
      why = "a call of a library for f32 has no form in f64";
    else if (isa<step::AttentionOp, step::AttentionGradientOp>(op))
      why = "attention as one operation computes in f32; write it out with "
            "simplify-expand-attention";
    else if (touches([](Type type) {
               auto tensor = dyn_cast<RankedTensorType>(type);
               return tensor && isa<ComplexType>(tensor.getElementType());
             }))
      why = "complex numbers are not widened";
    DenseElementsAttr elements;
    if (isa<stablehlo::ConstantOp>(op) && touches(isF32) &&
        !matchPattern(op, m_Constant(&elements)))
      why = "the elements of the constant are not known";
    if (!why)
      return WalkResult::advance();
    op->emitError() << why;
    return WalkResult::interrupt();
  }

  static void widenConstant(stablehlo::ConstantOp constant) {
    if (!isF32(constant.getType()))
      return;
    DenseElementsAttr elements;
    matchPattern(constant.getOperation(), m_Constant(&elements));
    DenseElementsAttr wide = widened(elements);
    constant.setValueAttr(wide);
    constant.getResult().setType(cast<RankedTensorType>(wide.getType()));
  }

  /// The same numbers in f64.
  static DenseElementsAttr widened(DenseElementsAttr elements) {
    auto type = cast<RankedTensorType>(widened(Type(elements.getType())));
    auto widenNumber = [](APFloat number) {
      bool losesInfo;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      return number;
    };
    SmallVector<APFloat> numbers;
    if (elements.isSplat())
      numbers.push_back(widenNumber(elements.getSplatValue<APFloat>()));
    else
      for (const APFloat &number : elements.getValues<APFloat>())
        numbers.push_back(widenNumber(number));
    return DenseElementsAttr::get(type, numbers);
  }

  /// Converts what the operation reads and makes.
  static void keepBits(Operation *op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      // Nothing was f64 unless the program came with it.
      if (elementOf(operand.get()).isF64() && readsF32(op))
        operand.set(stablehlo::ConvertOp::create(
            builder, op->getLoc(),
            cast<RankedTensorType>(operand.get().getType())
                .clone(builder.getF32Type()),
            operand.get()));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      if (isF32(result.getType())) {
        auto wide = stablehlo::ConvertOp::create(
            builder, op->getLoc(),
            cast<RankedTensorType>(widened(result.getType())), result);
        result.replaceAllUsesExcept(wide.getResult(), wide);
      }
  }

  /// Whether the operation read f32 before its operands were widened: random
  /// numbers are as wide as their bounds, and a bitcast keeps the bits of a
  /// tensor, of which there were half as many.
  static bool readsF32(Operation *op) {
    if (isa<stablehlo::RngOp>(op))
      return isF32(op->getResult(0).getType());
    auto bitsOf = [](Value value) {
      return elementCount(shapeOf(value)) *
             elementOf(value).getIntOrFloatBitWidth();
    };
    return bitsOf(op->getOperand(0)) != bitsOf(op->getResult(0));
  }
};

} // namespace
