//===- NarrowConversions.h - Conversions between f32 and 16 bits ----------===//
//
// What products and what is around them are told by: the conversions that widen
// floats of 16 bits to f32 and round f32 to them, a user's or the compiler's
// own.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_NARROWCONVERSIONS_H
#define TENON_FUSION_NARROWCONVERSIONS_H

#include "tenon/Dialect/StableHLO/ElementKinds.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/TypeUtilities.h"

namespace tenon::fusion {

inline bool widens(stablehlo::ConvertOp convert) {
  return stablehlo::isFloatOf16Bits(
             mlir::getElementTypeOrSelf(convert.getOperand())) &&
         mlir::getElementTypeOrSelf(convert.getType()).isF32();
}

inline bool rounds(stablehlo::ConvertOp convert) {
  return mlir::getElementTypeOrSelf(convert.getOperand()).isF32() &&
         stablehlo::isFloatOf16Bits(
             mlir::getElementTypeOrSelf(convert.getType()));
}

} // namespace tenon::fusion

#endif // TENON_FUSION_NARROWCONVERSIONS_H
