//===- Lanes.cpp - Arithmetic on a number or on a vector of them ----------===//
//
// What is more than one operation; see Lanes.h.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

Value Lanes::constant(TypedAttr scalar) const {
  TypedAttr value = scalar;
  if (shape)
    value = DenseElementsAttr::get(cast<ShapedType>(typeOf(scalar.getType())),
                                   Attribute(scalar));
  return create<arith::ConstantOp>(value);
}

Value Lanes::polynomial(Value x, ArrayRef<float> coefficients) const {
  Value sum = f32(coefficients.back());
  for (float c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, f32(c));
  return sum;
}

Value Lanes::polynomial(Value x, ArrayRef<double> coefficients) const {
  Value sum = f64(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, f64(c));
  return sum;
}

Value Lanes::bits(Value x) const {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  return create<arith::BitcastOp>(typeOf(builder.getIntegerType(width)), x);
}
Value Lanes::fromBits(Value x) const {
  bool wide = getElementTypeOrSelf(x.getType()).isInteger(64);
  Type element = wide ? Type(builder.getF64Type()) : builder.getF32Type();
  return create<arith::BitcastOp>(typeOf(element), x);
}
Value Lanes::shiftLeft(Value a, int64_t by) const {
  bool wide = getElementTypeOrSelf(a.getType()).isInteger(64);
  return create<arith::ShLIOp>(a, wide ? i64(by) : i32(by));
}
Value Lanes::shiftRight(Value a, int64_t by) const {
  bool wide = getElementTypeOrSelf(a.getType()).isInteger(64);
  return create<arith::ShRSIOp>(a, wide ? i64(by) : i32(by));
}

Value Lanes::copySign(Value a, Value b) const {
  if (!instructions.signsFlush || !getElementTypeOrSelf(a.getType()).isF32())
    return create<math::CopySignOp>(a, b);
  // Rounded to f16, the instruction would be one that flushes f16.
  return fromBits(
      either(iand(bits(a), i32(0x7fffffff)), iand(bits(b), i32(INT32_MIN))));
}

Value Lanes::any(Value condition) const {
  if (isScalar())
    return condition;
  return create<vector::ReductionOp>(vector::CombiningKind::OR, condition);
}

} // namespace tenon::codegen
