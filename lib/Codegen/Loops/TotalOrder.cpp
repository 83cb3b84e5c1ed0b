//===- TotalOrder.cpp - Which of two elements is larger -------------------===//
//
// See TotalOrder.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/TotalOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {

Value emitIsLarger(LoopNest &k, Type element, Value x, Value y) {
  OpBuilder &b = k.builder;
  if (isa<FloatType>(element)) {
    unsigned width = element.getIntOrFloatBitWidth();
    Type integer = b.getIntegerType(width);
    auto key = [&](Value value) -> Value {
      // Below zero, larger magnitudes come first.
      Value bits = k.create<arith::BitcastOp>(integer, value);
      Value shift =
          k.create<arith::ConstantOp>(b.getIntegerAttr(integer, width - 1));
      Value sign = k.create<arith::ShRSIOp>(bits, shift);
      Value magnitude = k.create<arith::ConstantOp>(
          b.getIntegerAttr(integer, APInt::getSignedMaxValue(width)));
      Value flip = k.create<arith::AndIOp>(sign, magnitude);
      return k.create<arith::XOrIOp>(bits, flip);
    };
    return k.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, key(x), key(y));
  }
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return k.create<arith::CmpIOp>(
      isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x, y);
}

} // namespace tenon::codegen
