//===- WidenDots.cpp - Dots of unsupported types in f32 ------------------===//
//
// Rewrites dots and convolutions whose element types the library cannot run so
// that it runs them in f32. Runs before FormLibraryGroups.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Libraries/Library.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_WIDENDOTSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

bool isNarrowFloat(Type type) { return type.isF16() || type.isBF16(); }

struct WidenDots : public fusion::impl::WidenDotsPassBase<WidenDots> {
  using WidenDotsPassBase::WidenDotsPassBase;

  /// Whether the library multiplies these types as they are.
  bool isDirect(Operation *op, target::Isa target) {
    Type lhs = elementType(op->getOperand(0)),
         rhs = elementType(op->getOperand(1)),
         result = elementType(op->getResult(0));
    auto from = elementTypeOf(lhs), to = elementTypeOf(result);
    if (lhs != rhs || !from || !to)
      return false;
    using namespace libraries;
    return isa<stablehlo::ConvolutionOp>(op)
               ? libraryOf(ConvolutionDescription())
                     .convolves(*from, *to, target)
               : libraryOf(MatmulDescription()).multiplies(*from, *to, target);
  }

  void runOnOperation() override {
    auto target = isaOfOption(getOperation(), cpu);
    if (failed(target))
      return signalPassFailure();
    SmallVector<Operation *> dots;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op))
        dots.push_back(op);
    });
    for (Operation *op : dots) {
      bool narrow = llvm::any_of(op->getOperands(), [&](Value operand) {
        return isNarrowFloat(elementType(operand));
      });
      bool widens = llvm::all_of(op->getOperands(), [&](Value operand) {
        Type type = elementType(operand);
        return isNarrowFloat(type) || type.isF32();
      });
      if (narrow && widens && !isDirect(op, *target))
        widen(op);
    }
  }

private:
  static Type elementType(Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  }

  void widen(Operation *op) {
    OpBuilder builder(op);
    Type f32 = builder.getF32Type();
    auto convert = [&](Value value, Type element) -> Value {
      auto type = cast<RankedTensorType>(value.getType());
      if (type.getElementType() == element)
        return value;
      return stablehlo::ConvertOp::create(builder, op->getLoc(),
                                          type.clone(element), value);
    };
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Operation *wide = builder.clone(*op);
    for (OpOperand &operand : wide->getOpOperands()) {
      builder.setInsertionPoint(wide);
      operand.set(convert(operand.get(), f32));
    }
    wide->getResult(0).setType(type.clone(f32));
    builder.setInsertionPointAfter(wide);
    op->getResult(0).replaceAllUsesWith(
        convert(wide->getResult(0), type.getElementType()));
    op->erase();
  }
};

} // namespace
