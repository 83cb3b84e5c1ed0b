//===- VerifyBatchNorm.cpp - Constraints of batch normalisation ----------===//
//
// The verifiers of batch_norm_training, batch_norm_inference and
// batch_norm_grad. Labels are the constraint numbers of the StableHLO
// specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace {

/// A tensor of the operation and what messages call it.
struct NamedValue {
  Subject name;
  Value value;
};

} // namespace

/// All have the baseline element type of `operand`.
static LogicalResult checkElements(Operation *op, Value operand,
                                   ArrayRef<NamedValue> others) {
  for (const NamedValue &other : others)
    if (failed(checkSameBaselineElementType(op, "operand", operand.getType(),
                                            other.name, other.value.getType())))
      return failure();
  return success();
}

/// A vector with one element per feature.
static LogicalResult checkFeatures(Operation *op, const NamedValue &vector,
                                   ArrayRef<int64_t> shape, int64_t feature) {
  return checkShape(op, vector.name, shapeOf(vector.value), shape[feature],
                    "one element for each feature of 'operand'");
}

LogicalResult BatchNormTrainingOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t feature = getFeatureIndex();
  // batch_norm_training_c1
  if (failed(checkDimension(op, "feature_index", feature, "operand",
                            shape.size())))
    return failure();
  NamedValue scale{"scale", getScale()}, offset{"offset", getOffset()};
  NamedValue mean{"batch_mean", getBatchMean()};
  NamedValue variance{"batch_var", getBatchVar()};
  // batch_norm_training_c2
  if (failed(checkElements(
          op, getOperand(),
          {scale, offset, mean, variance, {"output", getOutput()}})))
    return failure();
  // batch_norm_training_c3
  if (failed(checkFeatures(op, scale, shape, feature)))
    return failure();
  // batch_norm_training_c4
  if (failed(checkFeatures(op, offset, shape, feature)))
    return failure();
  // batch_norm_training_c5
  if (failed(checkFeatures(op, mean, shape, feature)))
    return failure();
  // batch_norm_training_c6
  if (failed(checkFeatures(op, variance, shape, feature)))
    return failure();
  // batch_norm_training_c7
  return checkSameBaselineType(op, "output", getOutput().getType(), "operand",
                               getOperand().getType());
}

LogicalResult BatchNormInferenceOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t feature = getFeatureIndex();
  // batch_norm_inference_c1
  if (failed(checkDimension(op, "feature_index", feature, "operand",
                            shape.size())))
    return failure();
  NamedValue scale{"scale", getScale()}, offset{"offset", getOffset()};
  NamedValue mean{"mean", getMean()}, variance{"variance", getVariance()};
  // batch_norm_inference_c2
  if (failed(checkElements(
          op, getOperand(),
          {scale, offset, mean, variance, {"result", getResult()}})))
    return failure();
  // batch_norm_inference_c3
  if (failed(checkFeatures(op, scale, shape, feature)))
    return failure();
  // batch_norm_inference_c4
  if (failed(checkFeatures(op, offset, shape, feature)))
    return failure();
  // batch_norm_inference_c5
  if (failed(checkFeatures(op, mean, shape, feature)))
    return failure();
  // batch_norm_inference_c6
  if (failed(checkFeatures(op, variance, shape, feature)))
    return failure();
  // batch_norm_inference_c7
  return checkSameBaselineType(op, "operand", getOperand().getType(), "result",
                               getResult().getType());
}

LogicalResult BatchNormGradOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t feature = getFeatureIndex();
  // batch_norm_grad_c1
  if (failed(checkDimension(op, "feature_index", feature, "operand",
                            shape.size())))
    return failure();
  NamedValue gradOutput{"grad_output", getGradOutput()};
  NamedValue gradOperand{"grad_operand", getGradOperand()};
  NamedValue vectors[] = {{"scale", getScale()},
                          {"mean", getMean()},
                          {"variance", getVariance()},
                          {"grad_scale", getGradScale()},
                          {"grad_offset", getGradOffset()}};
  // batch_norm_grad_c2
  if (failed(checkElements(op, getOperand(), {gradOutput, gradOperand})) ||
      failed(checkElements(op, getOperand(), vectors)))
    return failure();
  // batch_norm_grad_c3
  for (const NamedValue &tensor : {gradOutput, gradOperand})
    if (failed(checkSameShape(op, "operand", getOperand().getType(),
                              tensor.name, tensor.value.getType())))
      return failure();
  // batch_norm_grad_c5
  if (failed(checkFeatures(op, vectors[0], shape, feature)))
    return failure();
  // batch_norm_grad_c4
  for (const NamedValue &vector : ArrayRef(vectors).drop_front())
    if (failed(checkSameShape(op, "scale", getScale().getType(), vector.name,
                              vector.value.getType())))
      return failure();
  return success();
}
