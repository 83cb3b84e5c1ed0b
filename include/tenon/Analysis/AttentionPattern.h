//===- AttentionPattern.h - Attention written as many operations ----------===//
//
// Finds attention, and its gradient as automatic differentiation writes it,
// around an exponential. What is found says everything that the operations of
// Dialect/Step/Attention.td need.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_ATTENTIONPATTERN_H
#define TENON_ANALYSIS_ATTENTIONPATTERN_H

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"

#include "llvm/ADT/DenseSet.h"

#include <limits>
#include <optional>
#include <string>

namespace tenon {

/// The label of a dimension of extent 1, which runs over nothing.
inline constexpr int64_t unitDimension = std::numeric_limits<int64_t>::min();

/// A tensor and what each of its dimensions runs over: labels of
/// step::AttentionDimension, batch dimensions, or unitDimension.
struct LabelledTensor {
  mlir::Value value;
  llvm::SmallVector<int64_t> labels;

  explicit operator bool() const { return bool(value); }
};

struct AttentionPattern {
  /// Weights are zero where `kept` is false and times `scale` elsewhere.
  struct Dropout {
    LabelledTensor kept;
    double scale = 1;

    explicit operator bool() const { return kept || scale != 1; }
  };

  LabelledTensor query, key, value, bias, mask;
  Dropout dropout;
  float scale = 1;
  std::optional<float> fill;
  bool causal = false;
  /// What the program rounds to 16 bits: weights and slopes before they are
  /// multiplied, and the product that gives the weights' gradient.
  bool roundsWeights = false, roundsWeightGradients = false,
       roundsSlopes = false;
  /// The number of batch dimensions.
  int64_t batches = 0;

  /// The product with the values; none where only the gradient needs it.
  LabelledTensor output;
  /// What the gradient is made of, and its results; none of an evaluation.
  LabelledTensor outputGradient, queryGradient, keyGradient, valueGradient;

  bool hasGradient() const { return bool(outputGradient); }
};

/// Nothing if `exponential` is not part of attention, with `whyNot` filled in
/// where it is close to it.
std::optional<AttentionPattern>
findAttention(stablehlo::ExponentialOp exponential, std::string &whyNot);

/// The operations of a block that make the scores and weights of attention from
/// queries, keys, bias and mask, whoever reads them; of masks, what only
/// counts.
llvm::DenseSet<mlir::Operation *> attentionScores(mlir::Block &block);

} // namespace tenon

#endif // TENON_ANALYSIS_ATTENTIONPATTERN_H
