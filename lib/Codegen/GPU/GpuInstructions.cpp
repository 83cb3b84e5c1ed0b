//===- GpuInstructions.cpp - What a GPU offers the emitters ---------------===//
//
// See GpuInstructions.h.
//
//===----------------------------------------------------------------------===//

#include "GpuInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::codegen {

Value GpuInstructions::divideInRange(OpBuilder &builder, Location loc, Value a,
                                     Value b) const {
  Type type = a.getType();
  if (!type.isF32())
    return {};
  auto fma = [&](Value x, Value y, Value z) -> Value {
    return math::FmaOp::create(builder, loc, x, y, z);
  };
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
  Value negative = arith::NegFOp::create(builder, loc, b);
  // Off by a unit in the last place; then by little more than half of one.
  Value reciprocal = NVVM::RcpApproxFtzF32Op::create(builder, loc, type, b);
  reciprocal = fma(fma(negative, reciprocal, one), reciprocal, reciprocal);
  Value quotient = arith::MulFOp::create(builder, loc, a, reciprocal);
  // What is left of `a` is exact. Of a quotient within a unit the second
  // correction is the exact one rounded (Markstein, IBM J. Res. Dev. 34, 1990).
  for (int i = 0; i < 2; ++i)
    quotient = fma(fma(negative, quotient, a), reciprocal, quotient);
  return quotient;
}

} // namespace tenon::codegen
