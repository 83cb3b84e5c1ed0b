//===- ContractionRules.cpp - Dots that add nothing up --------------------===//
//
// A dot without contracted dimensions, or with contracted extents of 1, has one
// product per element of its result:
//
//   [b, s, l, h] x [1, s, h], batch s and h, contracting nothing
//     [s, h, b, l, 1]: both operands spread over it, multiplied
//
// Exporters write an einsum that repeats a small operand so, a rotary embedding
// for example. As an element-wise product it joins the kernels around it. The
// sum behind it starts at +0, which turns a product of -0 into +0, and the
// product is rounded to the type that dots add in; both are written out, so
// every bit stays.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

bool isFloatOf16To64Bits(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

/// The type in which a dot of `operands` multiplies and adds, if their type
/// converts to it without loss; null for other dots.
Type typeOfSum(Type operands, Type result) {
  // Integers wrap, whatever is done first; of booleans, AND is the product.
  if (operands == result && isa<IntegerType>(result))
    return result;
  if (isa<IntegerType>(operands) && isa<IntegerType>(result))
    return !result.isInteger(1) && operands.getIntOrFloatBitWidth() <
                                       result.getIntOrFloatBitWidth()
               ? result
               : Type();
  if (!isFloatOf16To64Bits(operands) || !isFloatOf16To64Bits(result))
    return {};
  if (result.isF64())
    return result;
  // Products of f64 that are added in f32 are rounded twice.
  return operands.isF64() ? Type() : Float32Type::get(result.getContext());
}

struct DotWithoutSum : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    // Import writes algorithms as plain dots.
    if (op.getAlgorithm())
      return failure();
    auto numbers = op.getDotDimensionNumbers();
    RankedTensorType lhs = tensorTypeOf(op.getLhs());
    if (llvm::any_of(numbers.getLhsContractingDimensions(),
                     [&](int64_t dim) { return lhs.getDimSize(dim) != 1; }))
      return failure();
    auto result = cast<RankedTensorType>(op.getType());
    Type sum = typeOfSum(lhs.getElementType(), result.getElementType());
    if (!sum)
      return failure();
    auto batches = int64_t(numbers.getLhsBatchingDimensions().size());
    int64_t lhsFree = lhs.getRank() - batches -
                      int64_t(numbers.getLhsContractingDimensions().size());
    Location location = op.getLoc();
    RankedTensorType products = result.clone(sum);
    Value left = spread(rewriter, location, op.getLhs(), products,
                        numbers.getLhsBatchingDimensions(),
                        numbers.getLhsContractingDimensions(), batches);
    Value right =
        spread(rewriter, location, op.getRhs(), products,
               numbers.getRhsBatchingDimensions(),
               numbers.getRhsContractingDimensions(), batches + lhsFree);
    Value value = MultiplyOp::create(rewriter, location, left, right);
    if (isa<FloatType>(sum))
      value = AddOp::create(
          rewriter, location, value,
          makeSplat(rewriter, location, products, rewriter.getZeroAttr(sum)));
    if (value.getType() != result)
      value = ConvertOp::create(rewriter, location, result, value);
    rewriter.replaceOp(op, value);
    return success();
  }

  /// An operand in the type and shape of the products: batching dimensions come
  /// first there, the operand's other dimensions from `firstFree` on.
  static Value spread(PatternRewriter &rewriter, Location location,
                      Value operand, RankedTensorType products,
                      ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting,
                      int64_t firstFree) {
    RankedTensorType type = tensorTypeOf(operand);
    SmallVector<int64_t> shape, to;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (llvm::is_contained(contracting, dim))
        continue;
      const int64_t *batch = llvm::find(batching, dim);
      shape.push_back(type.getDimSize(dim));
      to.push_back(batch != batching.end() ? batch - batching.begin()
                                           : firstFree++);
    }
    if (!contracting.empty())
      operand =
          ReshapeOp::create(rewriter, location, type.clone(shape), operand);
    if (type.getElementType() != products.getElementType())
      operand = ConvertOp::create(
          rewriter, location,
          RankedTensorType::get(shape, products.getElementType()), operand);
    return BroadcastInDimOp::create(rewriter, location, products, operand, to);
  }
};

} // namespace

void populateContractionRules(RewritePatternSet &patterns) {
  patterns.add<DotWithoutSum>(patterns.getContext());
}

} // namespace tenon::simplify
