//===- Lanes.h - Arithmetic on a number or on a vector of them ------------===//
//
// What the expansions are written in: short names for operations on values that
// are a scalar or a vector, the same either way. Comparisons are false when an
// operand is NaN, so `select(less(limit, x), limit, x)` limits x and lets NaN
// pass (and is one instruction).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_LOOPS_LANES_H
#define TENON_LIB_CODEGEN_LOOPS_LANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tenon/Codegen/Loops/Instructions.h"

namespace tenon::codegen {

namespace arith = mlir::arith;
namespace math = mlir::math;

class Lanes {
public:
  using Value = mlir::Value;

  /// `like` has the shape all values here have: a scalar or a vector of rank 1.
  Lanes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type like,
        const Instructions &instructions)
      : builder(builder), loc(loc),
        shape(mlir::dyn_cast<mlir::VectorType>(like)),
        instructions(instructions) {
    assert((!shape || shape.getRank() == 1) &&
           "a mathematical function takes a scalar or a vector of rank 1");
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;

  /// `element`, or a vector of it.
  mlir::Type typeOf(mlir::Type element) const {
    return shape ? mlir::VectorType::get(shape.getShape(), element) : element;
  }
  int64_t count() const { return shape ? shape.getNumElements() : 1; }
  bool isScalar() const { return !shape; }
  const Instructions &target() const { return instructions; }

  // Constants in all lanes.
  Value f32(float value) const {
    return constant(builder.getF32FloatAttr(value));
  }
  Value f64(double value) const {
    return constant(builder.getF64FloatAttr(value));
  }
  Value i32(int32_t value) const {
    return constant(builder.getI32IntegerAttr(value));
  }
  Value i64(int64_t value) const {
    return constant(builder.getI64IntegerAttr(value));
  }

  // Floating point.
  Value add(Value a, Value b) const { return create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) const { return create<arith::DivFOp>(a, b); }
  /// See Instructions.
  Value divInRange(Value a, Value b) const {
    Value quotient = instructions.divideInRange(builder, loc, a, b);
    return quotient ? quotient : div(a, b);
  }
  Value neg(Value a) const { return create<arith::NegFOp>(a); }
  Value abs(Value a) const { return create<math::AbsFOp>(a); }
  Value sqrt(Value a) const { return create<math::SqrtOp>(a); }
  Value roundEven(Value a) const { return create<math::RoundEvenOp>(a); }
  /// The magnitude of the first with the sign of the second.
  Value copySign(Value a, Value b) const;
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) const {
    return create<math::FmaOp>(a, b, c);
  }
  /// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
  Value polynomial(Value x, llvm::ArrayRef<float> coefficients) const;
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) const;

  // Comparisons, false on NaN, and what follows from them.
  Value less(Value a, Value b) const {
    return compare(arith::CmpFPredicate::OLT, a, b);
  }
  Value lessOrEqual(Value a, Value b) const {
    return compare(arith::CmpFPredicate::OLE, a, b);
  }
  Value equal(Value a, Value b) const {
    return compare(arith::CmpFPredicate::OEQ, a, b);
  }
  Value unordered(Value a, Value b) const {
    return compare(arith::CmpFPredicate::UNO, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return create<arith::SelectOp>(condition, a, b);
  }
  Value both(Value a, Value b) const { return create<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) const { return create<arith::OrIOp>(a, b); }
  Value negate(Value condition) const {
    return create<arith::XOrIOp>(condition,
                                 constant(builder.getBoolAttr(true)));
  }
  /// x, but at most (at least) `limit`; NaN stays NaN.
  Value atMost(Value x, Value limit) const {
    return select(less(limit, x), limit, x);
  }
  Value atLeast(Value x, Value limit) const {
    return select(less(x, limit), limit, x);
  }

  /// The lesser one, or the other one of a NaN.
  Value minimumNumber(Value a, Value b) const {
    return create<arith::MinNumFOp>(a, b);
  }

  // Integers and bits.
  Value bits(Value x) const;
  Value fromBits(Value x) const;
  Value iadd(Value a, Value b) const { return create<arith::AddIOp>(a, b); }
  Value isub(Value a, Value b) const { return create<arith::SubIOp>(a, b); }
  Value iand(Value a, Value b) const { return create<arith::AndIOp>(a, b); }
  Value ixor(Value a, Value b) const { return create<arith::XOrIOp>(a, b); }
  Value shiftLeft(Value a, int64_t by) const;
  Value shiftRight(Value a, int64_t by) const; ///< keeps the sign
  Value iequal(Value a, Value b) const {
    return create<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
  }
  /// Signed.
  Value iless(Value a, Value b) const {
    return create<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
  }

  // Conversions.
  /// From f32 to f64.
  Value toDouble(Value x) const {
    return create<arith::ExtFOp>(typeOf(builder.getF64Type()), x);
  }
  /// From f64 to f32.
  Value toSingle(Value x) const {
    return create<arith::TruncFOp>(typeOf(builder.getF32Type()), x);
  }
  /// From i32 to f32, rounded.
  Value intToFloat(Value x) const {
    return create<arith::SIToFPOp>(typeOf(builder.getF32Type()), x);
  }
  /// From f32 to i32; x must be in range.
  Value floatToInt(Value x) const {
    return create<arith::FPToSIOp>(typeOf(builder.getI32Type()), x);
  }
  /// From i64 to i32.
  Value lowHalf(Value x) const {
    return create<arith::TruncIOp>(typeOf(builder.getI32Type()), x);
  }

  /// Whether `condition` holds in any lane, an i1.
  Value any(Value condition) const;

private:
  template <typename Op, typename... Arguments>
  Value create(Arguments... arguments) const {
    return Op::create(builder, loc, arguments...);
  }
  Value constant(mlir::TypedAttr scalar) const;
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return create<arith::CmpFOp>(predicate, a, b);
  }
  mlir::VectorType shape;
  const Instructions &instructions;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_LOOPS_LANES_H
