//===- PointwiseEmission.h - One application of an element-wise operation -===//
//
// What a rule of PointwiseOperations.cpp is given, and the rules that live in
// PointwiseConversions.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_LOOPS_POINTWISEEMISSION_H
#define TENON_LIB_CODEGEN_LOOPS_POINTWISEEMISSION_H

#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "tenon/Analysis/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tenon::codegen {

struct Point {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Operation *op;
  llvm::ArrayRef<mlir::Value> operands;
  /// The operands' element type, as the language has it (16-bit floats already
  /// widened), and the result's.
  mlir::Type elementType;
  mlir::Type resultType;
  const Instructions &instructions;

  /// Whether the operation takes and gives zeros for subnormal numbers.
  bool flushes() const {
    return instructions.flushes(elementType) && isFloatArithmetic(op);
  }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  bool isBoolean() const { return elementType.isInteger(1); }
  bool isUnsigned() const { return elementType.isUnsignedInteger(); }

  /// A number of the first operand's type.
  mlir::Value number(double value) const {
    return numberOfType(b, loc, operands.front().getType(), value);
  }
  mlir::Value integer(mlir::Type type, const llvm::APInt &value) const;
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x,
                      mlir::Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y) const {
    return mlir::arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x,
                     mlir::Value y) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value math(MathFunction function) const {
    return emitMath(b, loc, function, operands, instructions);
  }

  template <typename Op, typename... Arguments>
  mlir::Value create(const Arguments &...arguments) const {
    return Op::create(b, loc, arguments...);
  }
};

mlir::Value convert(const Point &p);
/// A float that is compared, flushed where it was bits or a choice: the code
/// generator compares bits with those of zero, as if nothing were flushed.
mlir::Value flushedIfBits(const Point &p, mlir::Value x);
mlir::Value bitcast(const Point &p);
mlir::Value reducePrecision(const Point &p);
mlir::Value floatRemainder(const Point &p);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_LOOPS_POINTWISEEMISSION_H
