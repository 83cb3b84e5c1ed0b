//===- PlaceRoundings.cpp - Roundings that know where elements are --------===//
//
// Which way an element is rounded by chance depends on its index in the whole
// tensor. A part of the tensor does not show it; as an operand that is cut like
// any other it does.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/StochasticRounding.h"
#include "tenon/Sharding/Passes.h"

namespace tenon::sharding {
#define GEN_PASS_DEF_PLACEROUNDINGSPASS
#include "tenon/Sharding/Passes.h.inc"
} // namespace tenon::sharding

using namespace mlir;
using namespace tenon;

/// The row-major index of each element, as a sum over the dimensions: each term
/// can be cut along all of them.
static Value indicesOf(OpBuilder &builder, Location at,
                       ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(
      shape, builder.getIntegerType(32, /*isSigned=*/false));
  auto constant = [&](int64_t value) -> Value {
    return stablehlo::ConstantOp::create(
        builder, at, DenseElementsAttr::get(type, APInt(32, value)));
  };
  Value sum;
  int64_t stride = 1;
  for (int64_t dim = int64_t(shape.size()); dim-- > 0; stride *= shape[dim]) {
    if (shape[dim] == 1)
      continue;
    Value term = stablehlo::IotaOp::create(builder, at, type, dim);
    if (stride > 1)
      term = stablehlo::MultiplyOp::create(builder, at, term, constant(stride));
    sum = sum ? stablehlo::AddOp::create(builder, at, term, sum) : term;
  }
  return sum ? sum : constant(0);
}

namespace {

struct PlaceRoundings
    : public sharding::impl::PlaceRoundingsPassBase<PlaceRoundings> {
  void runOnOperation() override {
    getOperation().walk([](step::StochasticRoundOp op) {
      if (op.getIndices())
        return;
      OpBuilder builder(op);
      op.getIndicesMutable().assign(
          indicesOf(builder, op.getLoc(), shapeOf(op.getResult())));
    });
  }
};

} // namespace
