//===- StochasticRounding.cpp - Rounding up or down by chance ------------===//
//
// See StochasticRounding.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/StochasticRounding.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/StochasticRoundingOps.cpp.inc"

using namespace mlir;
using namespace tenon;
using namespace tenon::step;

/// Whether the operation's regions are on single elements: all of StableHLO's
/// are, but those of loops and branches.
static bool combinesElements(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name.consume_front("stablehlo.") && name != "while" &&
         name != "case" && name != "if";
}

LogicalResult StochasticRoundOp::verify() {
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  RankedTensorType value = typeOf(getValue()), result = typeOf(getResult());
  auto isWord = [](Type type) { return type.isUnsignedInteger(32); };
  if (!value.getElementType().isF32() || !result.getElementType().isBF16() ||
      value.getShape() != result.getShape())
    return emitOpError() << "rounds " << value << " to " << result
                         << ", expected an f32 and a bf16 of one shape";
  if (!value.hasStaticShape() || value.getNumElements() > mostRoundedElements)
    return emitOpError() << "rounds " << value
                         << ", expected a static shape of at most "
                         << mostRoundedElements << " elements";
  RankedTensorType step = typeOf(getStep()), key = typeOf(getKey());
  if (!isWord(step.getElementType()) || step.getRank() != 0)
    return emitOpError() << "has a step of type " << step
                         << ", expected tensor<ui32>";
  if (!isWord(key.getElementType()) || key.getShape() != ArrayRef<int64_t>{2})
    return emitOpError() << "has a key of type " << key
                         << ", expected tensor<2xui32>";
  if (Value indices = getIndices();
      indices && (!isWord(typeOf(indices).getElementType()) ||
                  typeOf(indices).getShape() != value.getShape()))
    return emitOpError() << "has indices of type " << indices.getType()
                         << ", expected a ui32 for each element of " << value;
  if (Operation *parent = (*this)->getParentOp(); combinesElements(parent))
    return emitOpError() << "stands in a region of '" << parent->getName()
                         << "', where elements have no index; round the "
                            "operation's result instead";
  return success();
}
