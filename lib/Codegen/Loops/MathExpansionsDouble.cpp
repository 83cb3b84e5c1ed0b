//===- MathExpansionsDouble.cpp - The functions of f64 --------------------===//
//
// Training steps compute in f32; f64 is rare and its speed does not matter. C's
// functions are called, lane by lane, or expanded for a target without them;
// what C lacks is made of what it has.
//
//===----------------------------------------------------------------------===//

#include "Coefficients.h"
#include "Expansions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;

namespace tenon::codegen {

/// Declares the function of f64 that C calls `name` where the module lacks it.
/// Which of them there are is the target's affair.
static Value callScalar(OpBuilder &b, Location loc, StringRef name,
                        ValueRange operands) {
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<func::FuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    callee = func::FuncOp::create(
        b, loc, name,
        b.getFunctionType(operands.getTypes(), TypeRange(b.getF64Type())));
    callee.setPrivate();
  }
  return func::CallOp::create(b, loc, callee, operands).getResult(0);
}

/// A function that C has, of operands, lane by lane.
static Value callLibrary(const Lanes &lanes, MathFunction function,
                         ValueRange operands) {
  if (!lanes.target().hasMathLibrary)
    return expandDouble(lanes, function, operands);
  OpBuilder &b = lanes.builder;
  // The names are those of C.
  auto call = [&](ValueRange scalars) {
    return callScalar(b, lanes.loc, describe(function).name, scalars);
  };
  if (lanes.isScalar())
    return call(operands);
  SmallVector<Value> results;
  for (int64_t lane = 0; lane < lanes.count(); ++lane)
    results.push_back(call(llvm::map_to_vector(operands, [&](Value v) -> Value {
      return vector::ExtractOp::create(b, lanes.loc, v, lane);
    })));
  return vector::FromElementsOp::create(
      b, lanes.loc, cast<VectorType>(operands[0].getType()), results);
}

static Value logistic(const Lanes &lanes, Value x) {
  Value one = lanes.f64(1.0);
  Value e = callLibrary(lanes, MathFunction::exp, lanes.neg(lanes.abs(x)));
  Value numerator = lanes.select(lanes.less(x, lanes.f64(0.0)), e, one);
  return lanes.div(numerator, lanes.add(e, one));
}

/// A polynomial with f32 coefficients, evaluated in f64.
static Value widePolynomial(const Lanes &lanes, Value x,
                            ArrayRef<float> coefficients) {
  return lanes.polynomial(
      x, SmallVector<double>(coefficients.begin(), coefficients.end()));
}

/// Starts from the f32 polynomials, or close to 1 from the first term of the
/// asymptotic series of erfc, and solves erf(y) = x by two steps of third
/// order.
static Value erfInv(const Lanes &lanes, Value x) {
  static constexpr double halfRootPi = 0.88622692545275801365;
  Value one = lanes.f64(1.0);
  Value a = lanes.abs(x);
  Value below = lanes.sub(one, a);
  Value w = lanes.neg(callLibrary(lanes, MathFunction::log,
                                  lanes.mul(below, lanes.add(one, a))));
  Value root = lanes.sqrt(w);
  Value y = lanes.mul(a, widePolynomial(lanes, lanes.sub(w, lanes.f64(2.5)),
                                        coefficients::erfInvCentral));
  Value tail =
      lanes.mul(a, widePolynomial(lanes, lanes.sub(root, lanes.f64(3.0)),
                                  coefficients::erfInvTail));
  Value far = lanes.sqrt(
      lanes.sub(w, callLibrary(lanes, MathFunction::log,
                               lanes.mul(root, lanes.f64(halfRootPi)))));
  y = lanes.select(lanes.less(w, lanes.f64(5.0)), y, tail);
  y = lanes.select(lanes.less(w, lanes.f64(16.0)), y, far);
  for (int i = 0; i < 2; ++i) {
    Value central = lanes.sub(a, callLibrary(lanes, MathFunction::erf, y));
    Value outer = lanes.sub(callLibrary(lanes, MathFunction::erfc, y), below);
    Value difference =
        lanes.select(lanes.less(a, lanes.f64(0.5)), central, outer);
    Value slope =
        lanes.mul(lanes.f64(halfRootPi),
                  callLibrary(lanes, MathFunction::exp, lanes.mul(y, y)));
    Value step = lanes.mul(difference, slope);
    y = lanes.add(y, lanes.div(step, lanes.sub(one, lanes.mul(step, y))));
  }
  // So small that the first term of the series is the whole; differences of
  // such numbers may be flushed.
  y = lanes.select(lanes.less(a, lanes.f64(0x1p-30)),
                   lanes.mul(a, lanes.f64(halfRootPi)), y);
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  y = lanes.select(lanes.equal(a, one), lanes.f64(infinity), y);
  y = lanes.select(lanes.lessOrEqual(a, one), y, lanes.f64(nan));
  return lanes.copySign(y, x);
}

Value emitDoubleMath(const Lanes &lanes, MathFunction function,
                     ValueRange operands) {
  switch (function) {
  case MathFunction::logistic:
    return logistic(lanes, operands[0]);
  case MathFunction::erfInv:
    return erfInv(lanes, operands[0]);
  case MathFunction::sqrt:
    return lanes.sqrt(operands[0]);
  case MathFunction::rsqrt:
    return lanes.div(lanes.f64(1.0), lanes.sqrt(operands[0]));
  default:
    return callLibrary(lanes, function, operands);
  }
}

} // namespace tenon::codegen
