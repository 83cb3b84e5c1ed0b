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

/// A dimension of `operand`, the same for all three operations.
static LogicalResult checkFeatureIndex(Operation *op, Value operand,
                                       int64_t feature) {
  return checkDimension(op, "feature_index", feature, "operand",
                        shapeOf(operand).size());
}

/// What normalising in training and in inference have in common: `vectors` are
/// scale, offset, mean and variance.
static LogicalResult checkForward(Operation *op, Value operand, int64_t feature,
                                  ArrayRef<NamedValue> vectors,
                                  const NamedValue &normalized) {
  // batch_norm_training_c1, batch_norm_inference_c1
  if (failed(checkFeatureIndex(op, operand, feature)))
    return failure();
  // batch_norm_training_c2, batch_norm_inference_c2
  if (failed(checkElements(op, operand, vectors)) ||
      failed(checkElements(op, operand, normalized)))
    return failure();
  // batch_norm_training_c3, batch_norm_training_c4, batch_norm_training_c5,
  // batch_norm_training_c6, batch_norm_inference_c3, batch_norm_inference_c4,
  // batch_norm_inference_c5, batch_norm_inference_c6
  for (const NamedValue &vector : vectors)
    if (failed(checkFeatures(op, vector, shapeOf(operand), feature)))
      return failure();
  // batch_norm_training_c7, batch_norm_inference_c7
  return checkSameBaselineType(op, "operand", operand.getType(),
                               normalized.name, normalized.value.getType());
}

LogicalResult BatchNormTrainingOp::verify() {
  return checkForward(*this, getOperand(), getFeatureIndex(),
                      {{"scale", getScale()},
                       {"offset", getOffset()},
                       {"batch_mean", getBatchMean()},
                       {"batch_var", getBatchVar()}},
                      {"output", getOutput()});
}

LogicalResult BatchNormInferenceOp::verify() {
  return checkForward(*this, getOperand(), getFeatureIndex(),
                      {{"scale", getScale()},
                       {"offset", getOffset()},
                       {"mean", getMean()},
                       {"variance", getVariance()}},
                      {"result", getResult()});
}

LogicalResult BatchNormGradOp::verify() {
  // batch_norm_grad_c1
  if (failed(checkFeatureIndex(*this, getOperand(), getFeatureIndex())))
    return failure();
  NamedValue gradOutput{"grad_output", getGradOutput()};
  NamedValue gradOperand{"grad_operand", getGradOperand()};
  NamedValue vectors[] = {{"scale", getScale()},
                          {"mean", getMean()},
                          {"variance", getVariance()},
                          {"grad_scale", getGradScale()},
                          {"grad_offset", getGradOffset()}};
  // batch_norm_grad_c2
  if (failed(checkElements(*this, getOperand(), {gradOutput, gradOperand})) ||
      failed(checkElements(*this, getOperand(), vectors)))
    return failure();
  // batch_norm_grad_c3
  for (const NamedValue &tensor : {gradOutput, gradOperand})
    if (failed(checkSameShape(*this, "operand", getOperand().getType(),
                              tensor.name, tensor.value.getType())))
      return failure();
  // batch_norm_grad_c5
  if (failed(checkFeatures(*this, vectors[0], shapeOf(getOperand()),
                           getFeatureIndex())))
    return failure();
  // batch_norm_grad_c4
  for (const NamedValue &vector : ArrayRef(vectors).drop_front())
    if (failed(checkSameShape(*this, "scale", getScale().getType(), vector.name,
                              vector.value.getType())))
      return failure();
  return success();
}
