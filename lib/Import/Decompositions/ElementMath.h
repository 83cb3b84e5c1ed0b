//===- ElementMath.h - Formulas over tensors ------------------------------===//
//
// Builds element-wise StableHLO on tensors of one type with the look of a
// formula. Used by the files that write CHLO operations out.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_ELEMENTMATH_H
#define TENON_LIB_IMPORT_ELEMENTMATH_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/ArrayRef.h"

namespace tenon::importer {

using mlir::Value;

/// Formulas on tensors of `type`. Constants are rounded to its elements.
class ElementMath {
public:
  ElementMath(mlir::ImplicitLocOpBuilder &builder, mlir::RankedTensorType type)
      : builder(builder), type(type) {}

  mlir::ImplicitLocOpBuilder &builder;
  mlir::RankedTensorType type;

  /// The same shape with other elements.
  ElementMath on(mlir::Type element) const {
    return ElementMath(builder, type.clone(type.getShape(), element));
  }

  Value constant(double value) const;
  Value integer(int64_t value) const;
  Value infinity() const;
  Value nan() const;

  template <typename Op>
  Value unary(Value x) const {
    return Op::create(builder, x);
  }
  Value add(Value a, Value b) const {
    return stablehlo::AddOp::create(builder, a, b);
  }
  Value add(Value a, double b) const { return add(a, constant(b)); }
  Value sub(Value a, Value b) const {
    return stablehlo::SubtractOp::create(builder, a, b);
  }
  Value mul(Value a, Value b) const {
    return stablehlo::MultiplyOp::create(builder, a, b);
  }
  Value mul(Value a, double b) const { return mul(a, constant(b)); }
  Value div(Value a, Value b) const {
    return stablehlo::DivideOp::create(builder, a, b);
  }
  Value neg(Value x) const { return unary<stablehlo::NegateOp>(x); }
  Value abs(Value x) const { return unary<stablehlo::AbsOp>(x); }
  Value exp(Value x) const { return unary<stablehlo::ExponentialOp>(x); }
  Value expm1(Value x) const {
    return unary<stablehlo::ExponentialMinusOneOp>(x);
  }
  Value log(Value x) const { return unary<stablehlo::LogOp>(x); }
  Value log1p(Value x) const { return unary<stablehlo::LogPlusOneOp>(x); }
  Value sqrt(Value x) const { return unary<stablehlo::SqrtOp>(x); }
  Value floor(Value x) const { return unary<stablehlo::FloorOp>(x); }
  Value pow(Value a, Value b) const {
    return stablehlo::PowerOp::create(builder, a, b);
  }
  Value compare(Value a, stablehlo::ComparisonDirection direction,
                Value b) const;
  Value lt(Value a, Value b) const {
    return compare(a, stablehlo::ComparisonDirection::LT, b);
  }
  Value le(Value a, Value b) const {
    return compare(a, stablehlo::ComparisonDirection::LE, b);
  }
  Value eq(Value a, Value b) const {
    return compare(a, stablehlo::ComparisonDirection::EQ, b);
  }
  Value ne(Value a, Value b) const {
    return compare(a, stablehlo::ComparisonDirection::NE, b);
  }
  Value either(Value a, Value b) const {
    return stablehlo::OrOp::create(builder, a, b);
  }
  Value both(Value a, Value b) const {
    return stablehlo::AndOp::create(builder, a, b);
  }
  Value select(Value predicate, Value yes, Value no) const {
    return stablehlo::SelectOp::create(builder, predicate, yes, no);
  }
  Value convert(Value x) const;
  Value bitcast(Value x) const;
};

/// Writes out one operation. `operands` and the result have `math.type`, except
/// where the expansion's table says otherwise. Null if the element type has no
/// expansion.
using Expansion = Value (*)(const ElementMath &math,
                            llvm::ArrayRef<Value> operands);

/// An operation and its formula.
struct ExpansionRow {
  llvm::StringLiteral operation;
  Expansion expand;
  /// 16-bit floats are computed in f32 and rounded once at the end.
  bool widen = true;
};

/// acos, acosh, asin, asinh, atan, atanh, cosh, sinh, tan.
llvm::ArrayRef<ExpansionRow> elementaryExpansions();
/// bessel_i1e, digamma, lgamma, polygamma, zeta.
llvm::ArrayRef<ExpansionRow> specialExpansions();
/// conj, is_inf, is_neg_inf, is_pos_inf, mulhi, next_after, square.
llvm::ArrayRef<ExpansionRow> exactExpansions();

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_ELEMENTMATH_H
