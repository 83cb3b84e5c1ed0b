//===- MathExpansions.cpp - Mathematical functions as arithmetic ----------===//
//
// The table of functions: name, operands, error and expansion. The names are
// those of C where C has the function.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/MathExpansions.h"
#include "Expansions.h"

#include "mlir/IR/TypeUtilities.h"
#include "tenon/Codegen/Loops/PointwiseOperations.h"

using namespace mlir;

namespace tenon::codegen {

namespace {

using Unary = Value (*)(const Lanes &, Value);
using Binary = Value (*)(const Lanes &, Value, Value);

struct Row {
  MathFunctionInfo info;
  Unary unary = nullptr;
  Binary binary = nullptr;
};

} // namespace

using F = MathFunction;

/// The errors are those measured over all or every 29th f32, rounded up; the
/// unit test holds every function to them.
static const Row rows[] = {
    {{F::exp, "exp", 1, 1.1}, expandExp},
    {{F::expm1, "expm1", 1, 1.4}, expandExpm1},
    {{F::log, "log", 1, 0.95}, expandLog},
    {{F::log1p, "log1p", 1, 1.7}, expandLog1p},
    {{F::tanh, "tanh", 1, 1.5}, expandTanh},
    {{F::logistic, "logistic", 1, 2.0}, expandLogistic},
    {{F::erf, "erf", 1, 1.1}, expandErf},
    {{F::erfc, "erfc", 1, 3.4}, expandErfc},
    {{F::erfInv, "erf_inv", 1, 2.9}, expandErfInv},
    {{F::sqrt, "sqrt", 1, 0.5}, expandSqrt},
    {{F::rsqrt, "rsqrt", 1, 1.5}, expandRsqrt},
    {{F::cbrt, "cbrt", 1, 0.6}, expandCbrt},
    {{F::sin, "sin", 1, 1.6}, expandSin},
    {{F::cos, "cos", 1, 1.6}, expandCos},
    {{F::tan, "tan", 1, 2.6}, expandTan},
    {{F::atan, "atan", 1, 1.4}, expandAtan},
    {{F::pow, "pow", 2, 1.0}, nullptr, expandPow},
    {{F::atan2, "atan2", 2, 3.0}, nullptr, expandAtan2},
};
static_assert(std::size(rows) == mathFunctionCount);

static const Row &rowOf(MathFunction function) {
  const Row &row = rows[static_cast<size_t>(function)];
  assert(row.info.function == function && "the table is in order");
  return row;
}

const MathFunctionInfo &describe(MathFunction function) {
  return rowOf(function).info;
}

Value emitMath(OpBuilder &builder, Location loc, MathFunction function,
               ValueRange operands, const Instructions &instructions) {
  const Row &row = rowOf(function);
  assert(operands.size() == row.info.operands && "wrong number of operands");
  Type type = operands[0].getType();
  Lanes lanes(builder, loc, type, instructions);
  Type element = getElementTypeOrSelf(type);
  assert((element.isF32() || element.isF64()) &&
         "extend 16-bit operands to f32");
  if (element.isF64()) {
    if (!instructions.flushes(element))
      return emitDoubleMath(lanes, function, operands);
    // libm looks at bits.
    SmallVector<Value> flushed;
    for (Value operand : operands)
      flushed.push_back(flushSubnormals(builder, loc, operand));
    return flushSubnormals(builder, loc,
                           emitDoubleMath(lanes, function, flushed));
  }
  return row.unary ? row.unary(lanes, operands[0])
                   : row.binary(lanes, operands[0], operands[1]);
}

Value emitCoarseExp2(OpBuilder &builder, Location loc, Value shifted,
                     const Instructions &instructions) {
  return expandCoarseExp2(Lanes(builder, loc, shifted.getType(), instructions),
                          shifted);
}

} // namespace tenon::codegen
