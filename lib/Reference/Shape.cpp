//===- Shape.cpp - Operations that move elements --------------------------===//
//
// Constants, broadcasts, transposes, slices, pads and the like: each element of
// the result comes from one element of an operand.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

/// A result whose element at an index is `elementAt(index)`.
template <typename Function>
Tensor fill(RankedTensorType type, Function elementAt) {
  Tensor result(type);
  if (result.size() == 0)
    return result;
  Index index(type.getRank(), 0);
  int64_t at = 0;
  do
    result.elements[at++] = elementAt(index);
  while (next(index, type.getShape()));
  return result;
}

LogicalResult evaluateConstant(Operation *op, Interpreter &, ArrayRef<Tensor>,
                               Tensors &results) {
  auto value = fromAttribute(cast<stablehlo::ConstantOp>(op).getValue());
  if (!value)
    return op->emitOpError("holds values the interpreter cannot read");
  value->type = resultType(op); // quantized where the value is what stores it
  results.push_back(std::move(*value));
  return success();
}

LogicalResult evaluateIota(Operation *op, Interpreter &, ArrayRef<Tensor>,
                           Tensors &results) {
  int64_t dim = cast<stablehlo::IotaOp>(op).getIotaDimension();
  RankedTensorType type = resultType(op);
  results.push_back(fill(type, [&](const Index &index) {
    return round({double(index[dim]), index[dim]}, type.getElementType());
  }));
  return success();
}

LogicalResult evaluateBroadcast(Operation *op, Interpreter &,
                                ArrayRef<Tensor> operands, Tensors &results) {
  ArrayRef<int64_t> dims =
      cast<stablehlo::BroadcastInDimOp>(op).getBroadcastDimensions();
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from;
    for (auto [dim, extent] : llvm::zip_equal(dims, operands[0].shape()))
      from.push_back(extent == 1 ? 0 : index[dim]);
    return operands[0].at(from);
  }));
  return success();
}

LogicalResult evaluateReshape(Operation *op, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  result.elements = operands[0].elements;
  results.push_back(std::move(result));
  return success();
}

LogicalResult evaluateTranspose(Operation *op, Interpreter &,
                                ArrayRef<Tensor> operands, Tensors &results) {
  ArrayRef<int64_t> permutation =
      cast<stablehlo::TransposeOp>(op).getPermutation();
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from(index.size());
    for (auto [to, dim] : llvm::enumerate(permutation))
      from[dim] = index[to];
    return operands[0].at(from);
  }));
  return success();
}

LogicalResult evaluateSlice(Operation *op, Interpreter &,
                            ArrayRef<Tensor> operands, Tensors &results) {
  auto slice = cast<stablehlo::SliceOp>(op);
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from;
    for (auto [i, start, stride] :
         llvm::zip_equal(index, slice.getStartIndices(), slice.getStrides()))
      from.push_back(start + i * stride);
    return operands[0].at(from);
  }));
  return success();
}

LogicalResult evaluateReverse(Operation *op, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  ArrayRef<int64_t> dims = cast<stablehlo::ReverseOp>(op).getDimensions();
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from(index);
    for (int64_t dim : dims)
      from[dim] = operands[0].shape()[dim] - 1 - from[dim];
    return operands[0].at(from);
  }));
  return success();
}

LogicalResult evaluatePad(Operation *op, Interpreter &,
                          ArrayRef<Tensor> operands, Tensors &results) {
  auto pad = cast<stablehlo::PadOp>(op);
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from;
    for (auto [i, low, interior] : llvm::zip_equal(
             index, pad.getEdgePaddingLow(), pad.getInteriorPadding())) {
      int64_t at = i - low;
      // Between two elements lie `interior` pads.
      from.push_back(at >= 0 && at % (interior + 1) == 0 ? at / (interior + 1)
                                                         : -1);
    }
    return isInside(from, operands[0].shape()) ? operands[0].at(from)
                                               : operands[1].elements.front();
  }));
  return success();
}

LogicalResult evaluateConcatenate(Operation *op, Interpreter &,
                                  ArrayRef<Tensor> operands, Tensors &results) {
  int64_t dim = cast<stablehlo::ConcatenateOp>(op).getDimension();
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from(index);
    size_t operand = 0;
    while (from[dim] >= operands[operand].shape()[dim])
      from[dim] -= operands[operand++].shape()[dim];
    return operands[operand].at(from);
  }));
  return success();
}

/// Start indices of a dynamic slice, moved so that it lies inside.
Index clampedStarts(ArrayRef<Tensor> starts, ArrayRef<int64_t> shape,
                    ArrayRef<int64_t> sizes) {
  Index clamped;
  for (auto [start, extent, size] : llvm::zip_equal(starts, shape, sizes)) {
    int64_t value = start.elements.front().integer;
    if (isUnsigned(start.elementType()) && value < 0)
      value = extent; // beyond 2^63
    clamped.push_back(std::clamp<int64_t>(value, 0, extent - size));
  }
  return clamped;
}

LogicalResult evaluateDynamicSlice(Operation *op, Interpreter &,
                                   ArrayRef<Tensor> operands,
                                   Tensors &results) {
  Index start = clampedStarts(operands.drop_front(1), operands[0].shape(),
                              resultType(op).getShape());
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from;
    for (auto [i, s] : llvm::zip_equal(index, start))
      from.push_back(i + s);
    return operands[0].at(from);
  }));
  return success();
}

LogicalResult evaluateDynamicUpdateSlice(Operation *op, Interpreter &,
                                         ArrayRef<Tensor> operands,
                                         Tensors &results) {
  const Tensor &update = operands[1];
  Index start = clampedStarts(operands.drop_front(2), operands[0].shape(),
                              update.shape());
  results.push_back(fill(resultType(op), [&](const Index &index) {
    Index from;
    for (auto [i, s] : llvm::zip_equal(index, start))
      from.push_back(i - s);
    return isInside(from, update.shape()) ? update.at(from)
                                          : operands[0].at(index);
  }));
  return success();
}

LogicalResult evaluateBarrier(Operation *, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  results.append(operands.begin(), operands.end());
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::shapeEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.broadcast_in_dim", evaluateBroadcast},
      {"stablehlo.concatenate", evaluateConcatenate},
      {"stablehlo.constant", evaluateConstant},
      {"stablehlo.dynamic_slice", evaluateDynamicSlice},
      {"stablehlo.dynamic_update_slice", evaluateDynamicUpdateSlice},
      {"stablehlo.iota", evaluateIota},
      {"stablehlo.optimization_barrier", evaluateBarrier},
      {"stablehlo.pad", evaluatePad},
      {"stablehlo.reshape", evaluateReshape},
      {"stablehlo.reverse", evaluateReverse},
      {"stablehlo.slice", evaluateSlice},
      {"stablehlo.transpose", evaluateTranspose},
      {"step.sharding_constraint", evaluateBarrier},
  };
  return table;
}
