//===- VerifyShape.cpp - Constraints of shape operations -----------------===//
//
// The verifiers of operations that move elements without changing them:
// broadcast_in_dim, reshape, transpose, reverse, iota, concatenate and pad.
// Labels are the constraint numbers of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

/// A result quantized per axis: the axis is the operand's, and the parameters
/// of an operand dimension of size 1 are repeated.
static LogicalResult checkBroadcastQuantization(BroadcastInDimOp op) {
  // broadcast_in_dim_c6
  auto from = dyn_cast<quant::UniformQuantizedPerAxisType>(
      elementTypeOf(op.getOperand().getType()));
  auto to = dyn_cast<quant::UniformQuantizedPerAxisType>(
      elementTypeOf(op.getResult().getType()));
  if (!from || !to)
    return success();
  int64_t dimension = from.getQuantizedDimension();
  int64_t expected = op.getBroadcastDimensions()[dimension];
  if (to.getQuantizedDimension() != expected)
    return op.emitOpError()
           << "'result' is quantized along dimension "
           << to.getQuantizedDimension() << ", expected " << expected
           << ", where dimension " << dimension << " of 'operand' goes";
  if (shapeOf(op.getOperand())[dimension] != 1)
    return success();
  for (auto [i, scale, zeroPoint] :
       llvm::enumerate(to.getScales(), to.getZeroPoints()))
    if (scale != from.getScales()[0] || zeroPoint != from.getZeroPoints()[0])
      return op.emitOpError()
             << "'result' has scale " << scale << " and zero point "
             << zeroPoint << " at index " << i << ", expected "
             << from.getScales()[0] << " and " << from.getZeroPoints()[0]
             << ", those of 'operand'";
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  Type operand = getOperand().getType(), result = getResult().getType();
  ArrayRef<int64_t> from = shapeOf(operand), to = shapeOf(result);
  ArrayRef<int64_t> dims = getBroadcastDimensions();
  // broadcast_in_dim_c1
  if (failed(checkSameQuantizableElementType(*this, "operand", operand,
                                             "result", result)))
    return failure();
  // broadcast_in_dim_c2
  if (failed(checkCount(*this, "broadcast_dimensions", dims.size(), from.size(),
                        "one for each dimension of 'operand'")))
    return failure();
  // broadcast_in_dim_c3
  if (failed(checkDimensions(*this, "broadcast_dimensions", dims, "result",
                             to.size())))
    return failure();
  // broadcast_in_dim_c4
  if (failed(checkUnique(*this, "broadcast_dimensions", dims)))
    return failure();
  // broadcast_in_dim_c5
  for (auto [i, size] : llvm::enumerate(from))
    if (size != 1 && !agree(size, to[dims[i]]))
      return emitOpError() << "dimension " << i << " of 'operand' has size "
                           << size << ", expected 1 or the size " << to[dims[i]]
                           << " of dimension " << dims[i] << " of 'result'";
  return checkBroadcastQuantization(*this);
}

/// Elements before, along and after the quantized axis, which a reshape of a
/// tensor quantized per axis keeps.
static LogicalResult checkReshapeQuantization(ReshapeOp op) {
  // reshape_c3
  auto from = dyn_cast<quant::UniformQuantizedPerAxisType>(
      elementTypeOf(op.getOperand().getType()));
  auto to = dyn_cast<quant::UniformQuantizedPerAxisType>(
      elementTypeOf(op.getResult().getType()));
  if (!from || !to)
    return success();
  // Products of sizes of a tensor whose byte size fits in 64 bits, or of a part
  // of the dimensions of an empty one.
  auto multiply = [](ArrayRef<int64_t> sizes) {
    std::optional<int64_t> product = 1;
    for (int64_t size : sizes)
      if (product)
        product = mulChecked(*product, size);
    return product;
  };
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  ArrayRef<int64_t> resultShape = shapeOf(op.getResult());
  size_t axis = from.getQuantizedDimension();
  size_t resultAxis = to.getQuantizedDimension();
  if (multiply(shape.take_front(axis)) !=
          multiply(resultShape.take_front(resultAxis)) ||
      shape[axis] != resultShape[resultAxis] ||
      multiply(shape.drop_front(axis + 1)) !=
          multiply(resultShape.drop_front(resultAxis + 1)))
    return op.emitOpError()
           << "'operand' is quantized along dimension " << axis << " of "
           << op.getOperand().getType() << " and 'result' along dimension "
           << resultAxis << " of " << op.getResult().getType()
           << ", expected the same size there, and as many elements before "
              "and after";
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto operand = cast<ShapedType>(getOperand().getType());
  auto result = cast<ShapedType>(getResult().getType());
  // reshape_c1
  if (failed(checkSameQuantizableElementType(*this, "operand", operand,
                                             "result", result)))
    return failure();
  // reshape_c2
  if (!operand.hasStaticShape() || !result.hasStaticShape())
    return success();
  std::optional<int64_t> before = elementCountOf(operand);
  std::optional<int64_t> after = elementCountOf(result);
  if (before && after && *before != *after)
    return emitOpError() << "'operand' of type " << operand << " has "
                         << *before << " elements but 'result' of type "
                         << result << " has " << *after
                         << ", expected equal numbers";
  return checkReshapeQuantization(*this);
}

LogicalResult TransposeOp::verify() {
  Type operand = getOperand().getType(), result = getResult().getType();
  ArrayRef<int64_t> from = shapeOf(operand);
  ArrayRef<int64_t> permutation = getPermutation();
  // transpose_c1
  if (failed(checkSameQuantizableElementType(*this, "operand", operand,
                                             "result", result)))
    return failure();
  // transpose_c2
  if (failed(checkCount(*this, "permutation", permutation.size(), from.size(),
                        "one for each dimension of 'operand'")) ||
      failed(checkDimensions(*this, "permutation", permutation, "operand",
                             from.size())) ||
      failed(checkUnique(*this, "permutation", permutation)))
    return failure();
  // transpose_c3
  SmallVector<int64_t> expected;
  for (int64_t dimension : permutation)
    expected.push_back(from[dimension]);
  if (failed(checkShape(*this, "result", shapeOf(result), expected,
                        "the dimensions of 'operand' in the order of "
                        "'permutation'")))
    return failure();
  // transpose_c4
  auto fromAxis =
      dyn_cast<quant::UniformQuantizedPerAxisType>(elementTypeOf(operand));
  auto toAxis =
      dyn_cast<quant::UniformQuantizedPerAxisType>(elementTypeOf(result));
  if (fromAxis && toAxis &&
      permutation[toAxis.getQuantizedDimension()] !=
          fromAxis.getQuantizedDimension())
    return emitOpError() << "'result' is quantized along dimension "
                         << toAxis.getQuantizedDimension()
                         << ", which is dimension "
                         << permutation[toAxis.getQuantizedDimension()]
                         << " of 'operand', expected dimension "
                         << fromAxis.getQuantizedDimension();
  return success();
}

LogicalResult ReverseOp::verify() {
  // reverse_c1
  if (failed(checkSameType(*this, "operand", getOperand().getType(), "result",
                           getResult().getType())))
    return failure();
  // reverse_c2
  if (failed(checkUnique(*this, "dimensions", getDimensions())))
    return failure();
  // reverse_c3
  return checkDimensions(*this, "dimensions", getDimensions(), "result",
                         shapeOf(getResult()).size());
}

LogicalResult IotaOp::verify() {
  // iota_c1
  return checkDimension(*this, "iota_dimension", getIotaDimension(), "output",
                        shapeOf(getOutput()).size());
}

LogicalResult ConcatenateOp::verify() {
  // concatenate_c3
  if (getInputs().empty())
    return emitOpError("has no inputs, expected at least one");
  Type first = getInputs()[0].getType();
  ArrayRef<int64_t> shape = shapeOf(first);
  int64_t dimension = getDimension();
  // concatenate_c4
  if (failed(checkDimension(*this, "dimension", dimension, {"inputs", 0},
                            shape.size())))
    return failure();
  SmallVector<int64_t> expected(shape);
  for (int64_t i = 1, e = getInputs().size(); i < e; ++i) {
    Type input = getInputs()[i].getType();
    // concatenate_c1
    if (failed(checkSameElementType(*this, {"inputs", 0}, first, {"inputs", i},
                                    input)))
      return failure();
    // concatenate_c2
    ArrayRef<int64_t> sizes = shapeOf(input);
    SmallVector<int64_t> wanted(shape);
    if (sizes.size() == wanted.size())
      wanted[dimension] = sizes[dimension];
    if (failed(checkShape(*this, {"inputs", i}, sizes, wanted,
                          "that of 'inputs' #0 except for 'dimension'")))
      return failure();
    std::optional<int64_t> sum =
        addChecked(expected[dimension], sizes[dimension]);
    if (ShapedType::isDynamic(expected[dimension]) ||
        ShapedType::isDynamic(sizes[dimension]))
      sum = ShapedType::kDynamic;
    if (!sum)
      return emitOpError() << "sizes of dimension " << dimension
                           << " of 'inputs' #0 to #" << i
                           << " add up to more than 9223372036854775807";
    expected[dimension] = *sum;
  }
  // concatenate_c5
  if (failed(checkSameElementType(*this, {"inputs", 0}, first, "result",
                                  getResult().getType())))
    return failure();
  // concatenate_c6
  return checkShape(*this, "result", shapeOf(getResult()), expected,
                    "the sum of the inputs' sizes in 'dimension'");
}

/// shape + low + max(shape - 1, 0) * interior + high of one dimension.
static std::optional<int64_t> paddedSize(int64_t size, int64_t low,
                                         int64_t high, int64_t interior) {
  std::optional<int64_t> inside =
      mulChecked(std::max<int64_t>(size - 1, 0), interior);
  if (inside)
    inside = addChecked(*inside, size);
  if (inside)
    inside = addChecked(*inside, low);
  return inside ? addChecked(*inside, high) : std::nullopt;
}

LogicalResult PadOp::verify() {
  Type operand = getOperand().getType();
  // pad_c1
  if (failed(checkSameElementType(*this, "operand", operand, "padding_value",
                                  getPaddingValue().getType())) ||
      failed(checkSameElementType(*this, "operand", operand, "result",
                                  getResult().getType())))
    return failure();
  // pad_i2
  if (failed(checkScalar(*this, "padding_value", getPaddingValue().getType())))
    return failure();
  // pad_c2
  ArrayRef<int64_t> shape = shapeOf(operand);
  ArrayRef<int64_t> low = getEdgePaddingLow(), high = getEdgePaddingHigh();
  ArrayRef<int64_t> interior = getInteriorPadding();
  int64_t rank = shape.size();
  StringRef perDimension = "one for each dimension of 'operand'";
  if (failed(checkCount(*this, "edge_padding_low", low.size(), rank,
                        perDimension)) ||
      failed(checkCount(*this, "edge_padding_high", high.size(), rank,
                        perDimension)) ||
      failed(checkCount(*this, "interior_padding", interior.size(), rank,
                        perDimension)))
    return failure();
  // pad_c3
  if (failed(checkAtLeast(*this, "interior_padding", interior, 0)))
    return failure();
  // pad_c4
  SmallVector<int64_t> expected;
  for (int64_t i = 0; i < rank; ++i) {
    if (ShapedType::isDynamic(shape[i])) {
      expected.push_back(ShapedType::kDynamic);
      continue;
    }
    std::optional<int64_t> size =
        paddedSize(shape[i], low[i], high[i], interior[i]);
    if (!size || *size < 0)
      return emitOpError() << "padding of dimension " << i << " of size "
                           << shape[i] << " by " << low[i] << " and " << high[i]
                           << " with " << interior[i]
                           << " between elements gives a size that is "
                           << (size ? "negative" : "above 9223372036854775807")
                           << ", expected at least 0";
    expected.push_back(*size);
  }
  return checkShape(*this, "result", shapeOf(getResult()), expected,
                    "the padded shape of 'operand'");
}
