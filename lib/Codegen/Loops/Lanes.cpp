//===- Lanes.cpp - Arithmetic on a number or on a vector of them ----------===//
//
// Each function is one operation; see Lanes.h.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

Value Lanes::constant(TypedAttr scalar) const {
  TypedAttr value = scalar;
  if (shape)
    value = DenseElementsAttr::get(cast<ShapedType>(typeOf(scalar.getType())),
                                   Attribute(scalar));
  return arith::ConstantOp::create(builder, loc, value);
}

Value Lanes::f32(float value) const {
  return constant(builder.getF32FloatAttr(value));
}
Value Lanes::f64(double value) const {
  return constant(builder.getF64FloatAttr(value));
}
Value Lanes::i32(int32_t value) const {
  return constant(builder.getI32IntegerAttr(value));
}
Value Lanes::i64(int64_t value) const {
  return constant(builder.getI64IntegerAttr(value));
}

Value Lanes::add(Value a, Value b) const {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value Lanes::sub(Value a, Value b) const {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value Lanes::mul(Value a, Value b) const {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value Lanes::div(Value a, Value b) const {
  return arith::DivFOp::create(builder, loc, a, b);
}
Value Lanes::neg(Value a) const {
  return arith::NegFOp::create(builder, loc, a);
}
Value Lanes::abs(Value a) const {
  return math::AbsFOp::create(builder, loc, a);
}
Value Lanes::sqrt(Value a) const {
  return math::SqrtOp::create(builder, loc, a);
}
Value Lanes::roundEven(Value a) const {
  return math::RoundEvenOp::create(builder, loc, a);
}
Value Lanes::copySign(Value magnitude, Value sign) const {
  return math::CopySignOp::create(builder, loc, magnitude, sign);
}
Value Lanes::fma(Value a, Value b, Value c) const {
  return math::FmaOp::create(builder, loc, a, b, c);
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

Value Lanes::compare(arith::CmpFPredicate predicate, Value a, Value b) const {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value Lanes::less(Value a, Value b) const {
  return compare(arith::CmpFPredicate::OLT, a, b);
}
Value Lanes::lessOrEqual(Value a, Value b) const {
  return compare(arith::CmpFPredicate::OLE, a, b);
}
Value Lanes::equal(Value a, Value b) const {
  return compare(arith::CmpFPredicate::OEQ, a, b);
}
Value Lanes::unordered(Value a, Value b) const {
  return compare(arith::CmpFPredicate::UNO, a, b);
}
Value Lanes::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value Lanes::both(Value a, Value b) const {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value Lanes::either(Value a, Value b) const {
  return arith::OrIOp::create(builder, loc, a, b);
}
Value Lanes::negate(Value condition) const {
  return arith::XOrIOp::create(builder, loc, condition,
                               constant(builder.getBoolAttr(true)));
}
Value Lanes::atMost(Value x, Value limit) const {
  return select(less(limit, x), limit, x);
}
Value Lanes::atLeast(Value x, Value limit) const {
  return select(less(x, limit), limit, x);
}

Value Lanes::bits(Value x) const {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  return arith::BitcastOp::create(builder, loc,
                                  typeOf(builder.getIntegerType(width)), x);
}
Value Lanes::fromBits(Value x) const {
  bool wide = getElementTypeOrSelf(x.getType()).isInteger(64);
  Type element = wide ? Type(builder.getF64Type()) : builder.getF32Type();
  return arith::BitcastOp::create(builder, loc, typeOf(element), x);
}
Value Lanes::iadd(Value a, Value b) const {
  return arith::AddIOp::create(builder, loc, a, b);
}
Value Lanes::isub(Value a, Value b) const {
  return arith::SubIOp::create(builder, loc, a, b);
}
Value Lanes::iand(Value a, Value b) const {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value Lanes::ixor(Value a, Value b) const {
  return arith::XOrIOp::create(builder, loc, a, b);
}
Value Lanes::shiftLeft(Value a, int64_t by) const {
  bool wide = getElementTypeOrSelf(a.getType()).isInteger(64);
  return arith::ShLIOp::create(builder, loc, a, wide ? i64(by) : i32(by));
}
Value Lanes::shiftRight(Value a, int64_t by) const {
  bool wide = getElementTypeOrSelf(a.getType()).isInteger(64);
  return arith::ShRSIOp::create(builder, loc, a, wide ? i64(by) : i32(by));
}
Value Lanes::iequal(Value a, Value b) const {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
}
Value Lanes::iless(Value a, Value b) const {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value Lanes::toDouble(Value x) const {
  return arith::ExtFOp::create(builder, loc, typeOf(builder.getF64Type()), x);
}
Value Lanes::toSingle(Value x) const {
  return arith::TruncFOp::create(builder, loc, typeOf(builder.getF32Type()), x);
}
Value Lanes::intToFloat(Value x) const {
  return arith::SIToFPOp::create(builder, loc, typeOf(builder.getF32Type()), x);
}
Value Lanes::floatToInt(Value x) const {
  return arith::FPToSIOp::create(builder, loc, typeOf(builder.getI32Type()), x);
}
Value Lanes::lowHalf(Value x) const {
  return arith::TruncIOp::create(builder, loc, typeOf(builder.getI32Type()), x);
}

Value Lanes::any(Value condition) const {
  if (isScalar())
    return condition;
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR,
                                     condition);
}

} // namespace tenon::codegen
