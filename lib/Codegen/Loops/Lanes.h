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
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tenon/Codegen/Loops/Instructions.h"

namespace tenon::codegen {

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
  Value f32(float value) const;
  Value f64(double value) const;
  Value i32(int32_t value) const;
  Value i64(int64_t value) const;

  // Floating point.
  Value add(Value a, Value b) const;
  Value sub(Value a, Value b) const;
  Value mul(Value a, Value b) const;
  Value div(Value a, Value b) const;
  Value neg(Value a) const;
  Value abs(Value a) const;
  Value sqrt(Value a) const;
  Value roundEven(Value a) const;
  Value copySign(Value magnitude, Value sign) const;
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) const;
  /// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
  Value polynomial(Value x, llvm::ArrayRef<float> coefficients) const;
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) const;

  // Comparisons, false on NaN, and what follows from them.
  Value less(Value a, Value b) const;
  Value lessOrEqual(Value a, Value b) const;
  Value equal(Value a, Value b) const;
  Value unordered(Value a, Value b) const;
  Value select(Value condition, Value a, Value b) const;
  Value both(Value a, Value b) const;
  Value either(Value a, Value b) const;
  Value negate(Value condition) const;
  /// x, but at most (at least) `limit`; NaN stays NaN.
  Value atMost(Value x, Value limit) const;
  Value atLeast(Value x, Value limit) const;

  // Integers and bits.
  Value bits(Value x) const;
  Value fromBits(Value x) const;
  Value iadd(Value a, Value b) const;
  Value isub(Value a, Value b) const;
  Value iand(Value a, Value b) const;
  Value ixor(Value a, Value b) const;
  Value shiftLeft(Value a, int64_t by) const;
  Value shiftRight(Value a, int64_t by) const; ///< keeps the sign
  Value iequal(Value a, Value b) const;
  Value iless(Value a, Value b) const; ///< signed

  // Conversions.
  Value toDouble(Value x) const;   ///< f32 to f64
  Value toSingle(Value x) const;   ///< f64 to f32
  Value intToFloat(Value x) const; ///< i32 to f32, rounded
  Value floatToInt(Value x) const; ///< f32 to i32; x must be in range
  Value lowHalf(Value x) const;    ///< i64 to i32

  /// Whether `condition` holds in any lane, an i1.
  Value any(Value condition) const;

private:
  Value constant(mlir::TypedAttr scalar) const;
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) const;
  mlir::VectorType shape;
  const Instructions &instructions;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_LOOPS_LANES_H
