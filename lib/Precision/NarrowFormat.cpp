//===- NarrowFormat.cpp - The 16-bit format of a policy -------------------===//
//
// See NarrowFormat.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/NarrowFormat.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

FloatType precision::typeOf(NarrowFormat format, MLIRContext *context) {
  if (format == NarrowFormat::bf16)
    return BFloat16Type::get(context);
  return Float16Type::get(context);
}

APFloat precision::nearestIn(NarrowFormat format, const APFloat &number) {
  APFloat rounded = number;
  bool losesInfo;
  rounded.convert(format == NarrowFormat::bf16 ? APFloat::BFloat()
                                               : APFloat::IEEEhalf(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded;
}
