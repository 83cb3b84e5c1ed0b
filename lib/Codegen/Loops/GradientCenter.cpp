//===- GradientCenter.cpp - What the gradient of a softmax takes away -----===//
//
// See GradientCenter.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/GradientCenter.h"

#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace tenon::codegen {

Value largestWeight(OpBuilder &b, Location loc, Value reciprocal) {
  Type type = reciprocal.getType();
  Value isAbove =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, reciprocal,
                            numberOfType(b, loc, type, 0));
  Value none =
      numberOfType(b, loc, type, std::numeric_limits<double>::quiet_NaN());
  return arith::SelectOp::create(b, loc, isAbove, reciprocal, none);
}

SmallVector<Value> addToCenter(OpBuilder &b, Location loc, ValueRange sums,
                               Value weight, Value largest, Value gradient) {
  Value zero = numberOfType(b, loc, weight.getType(), 0),
        one = numberOfType(b, loc, weight.getType(), 1);
  Value isLargest =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, weight, largest);
  auto ifLargest = [&](Value a, Value otherwise) -> Value {
    return arith::SelectOp::create(b, loc, isLargest, a, otherwise);
  };
  Value other = ifLargest(zero, weight);
  Value terms[centerSumCount] = {
      ifLargest(one, zero), ifLargest(gradient, zero), other,
      arith::MulFOp::create(b, loc, other, gradient)};
  SmallVector<Value> next;
  for (auto [sum, term] : llvm::zip_equal(sums, terms))
    next.push_back(arith::AddFOp::create(b, loc, sum, term));
  return next;
}

GradientCenter centerOf(OpBuilder &b, Location loc, ValueRange sums) {
  // No key has the largest weight if sum and maximum are those of another
  // order of sums. Then the pivot is zero.
  Value one = numberOfType(b, loc, sums.front().getType(), 1);
  Value areSeveral =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, sums[0], one);
  Value count = arith::SelectOp::create(b, loc, areSeveral, sums[0], one);
  Value pivot = arith::DivFOp::create(b, loc, sums[1], count);
  Value ofOthers = arith::MulFOp::create(b, loc, pivot, sums[2]);
  return {pivot, arith::SubFOp::create(b, loc, sums[3], ofOthers)};
}

Value fromCenter(OpBuilder &b, Location loc, Value gradient,
                 const GradientCenter &center) {
  Value fromPivot = arith::SubFOp::create(b, loc, gradient, center.pivot);
  return arith::SubFOp::create(b, loc, fromPivot, center.rest);
}

} // namespace tenon::codegen
