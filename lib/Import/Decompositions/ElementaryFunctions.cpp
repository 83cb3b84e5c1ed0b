//===- ElementaryFunctions.cpp - Inverse and hyperbolic functions ---------===//
//
// Formulas that keep relative accuracy where the textbook ones lose it: near
// zero, where terms cancel, and near overflow, where an intermediate value is
// infinite before the result is. Real elements only.
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

#include <numbers>

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {
namespace {

Value atan2(const ElementMath &m, Value y, Value x) {
  return Atan2Op::create(m.builder, y, x);
}

/// sqrt((1 - x) (1 + x)): the two factors are exact near their zeros, where
/// 1 - x^2 is not.
Value complement(const ElementMath &m, Value x) {
  Value one = m.constant(1);
  return m.sqrt(m.mul(m.sub(one, x), m.add(one, x)));
}

Value asin(const ElementMath &m, ArrayRef<Value> x) {
  return atan2(m, x[0], complement(m, x[0]));
}

Value acos(const ElementMath &m, ArrayRef<Value> x) {
  return atan2(m, complement(m, x[0]), x[0]);
}

Value atan(const ElementMath &m, ArrayRef<Value> x) {
  return atan2(m, x[0], m.constant(1));
}

Value tan(const ElementMath &m, ArrayRef<Value> x) {
  return m.unary<TanOp>(x[0]);
}

/// e^x / 2 and e^-x / 2 with e^(x/2) squared, so that neither is infinite
/// before the result is.
std::pair<Value, Value> halfExponentials(const ElementMath &m, Value x) {
  Value root = m.exp(m.mul(x, 0.5));
  Value half = m.constant(0.5);
  return {m.mul(m.mul(half, root), root), m.div(m.div(half, root), root)};
}

Value cosh(const ElementMath &m, ArrayRef<Value> x) {
  auto [up, down] = halfExponentials(m, x[0]);
  return m.add(up, down);
}

/// Below 1 the exponentials nearly cancel; with t = e^x - 1,
/// sinh x = (t + t / (t + 1)) / 2.
Value sinh(const ElementMath &m, ArrayRef<Value> x) {
  Value t = m.expm1(x[0]);
  Value small = m.mul(m.add(t, m.div(t, m.add(t, 1.0))), 0.5);
  auto [up, down] = halfExponentials(m, x[0]);
  return m.select(m.lt(m.abs(x[0]), m.constant(1)), small, m.sub(up, down));
}

/// Elements from here on have x^2 + 1 = x^2.
Value large(const ElementMath &m) {
  bool wide = m.type.getElementType().isF64();
  return m.constant(wide ? 0x1p27 : 0x1p12);
}

/// sign(x) log1p(a + a^2 / (1 + sqrt(a^2 + 1))), a = |x|.
Value asinh(const ElementMath &m, ArrayRef<Value> x) {
  Value a = m.abs(x[0]), square = m.mul(a, a), one = m.constant(1);
  Value small =
      m.log1p(m.add(a, m.div(square, m.add(one, m.sqrt(m.add(square, one))))));
  Value big = m.add(m.log(a), std::numbers::ln2);
  return m.mul(m.unary<SignOp>(x[0]), m.select(m.le(large(m), a), big, small));
}

/// log1p(t + sqrt(t (t + 2))), t = x - 1; NaN below 1.
Value acosh(const ElementMath &m, ArrayRef<Value> x) {
  Value t = m.sub(x[0], m.constant(1));
  Value small = m.log1p(m.add(t, m.sqrt(m.mul(t, m.add(t, 2.0)))));
  Value big = m.add(m.log(x[0]), std::numbers::ln2);
  Value inside = m.select(m.le(large(m), x[0]), big, small);
  return m.select(m.lt(x[0], m.constant(1)), m.nan(), inside);
}

/// (log1p(x) - log1p(-x)) / 2: both terms are near x for small x, and of
/// opposite sign, so that nothing cancels.
Value atanh(const ElementMath &m, ArrayRef<Value> x) {
  return m.mul(m.sub(m.log1p(x[0]), m.log1p(m.neg(x[0]))), 0.5);
}

} // namespace

ArrayRef<ExpansionRow> elementaryExpansions() {
  static const ExpansionRow rows[] = {
      {"chlo.acos", acos},   {"chlo.acosh", acosh}, {"chlo.asin", asin},
      {"chlo.asinh", asinh}, {"chlo.atan", atan},   {"chlo.atanh", atanh},
      {"chlo.cosh", cosh},   {"chlo.sinh", sinh},   {"chlo.tan", tan},
  };
  return rows;
}

} // namespace tenon::importer
