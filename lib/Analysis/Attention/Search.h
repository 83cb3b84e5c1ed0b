//===- Search.h - The search for attention around an exponential ----------===//
//
// Its parts: Softmax.cpp finds the weights, Scores.cpp what they are made of,
// WeightedSum.cpp what they are multiplied with, Gradient.cpp what automatic
// differentiation makes of them, and AttentionPattern.cpp puts them together.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_ATTENTION_SEARCH_H
#define TENON_ANALYSIS_ATTENTION_SEARCH_H

#include "DropoutStep.h"
#include "Product.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Twine.h"

namespace tenon::attention {

std::string textOf(mlir::Type type);

/// Follows the values around one exponential and collects what it finds.
class Search {
public:
  Search(stablehlo::ExponentialOp exponential, std::string &whyNot)
      : exponential(exponential), whyNot(whyNot) {}

  std::optional<AttentionPattern> run();

  /// Adds what makes the scores and weights, whoever reads them; only that of
  /// attention.
  void addScores(llvm::DenseSet<mlir::Operation *> &operations);

private:
  std::nullopt_t decline(const llvm::Twine &reason) {
    whyNot = reason.str();
    return std::nullopt;
  }
  bool fail(const llvm::Twine &reason) {
    whyNot = reason.str();
    return false;
  }

  bool findSoftmax();
  bool findScores();
  bool followScore(LabelledTensor at);
  bool takeProduct(stablehlo::DotGeneralOp dot, llvm::ArrayRef<int64_t> labels);
  bool takeMask(LabelledTensor mask);
  bool findWeightedSum();
  bool findGradient();
  bool findSlopes(mlir::Value &gradientOfWeights, mlir::Value &slopes);
  bool followGradientOfWeights(mlir::Value value);
  bool takeDropout(const DropoutStep &step, AttentionPattern::Dropout &dropout);
  bool hasSameDropout(const AttentionPattern::Dropout &gradient);
  bool followSlopes(mlir::Value value);
  bool takeRoundings();
  std::nullopt_t declineUnmultiplied();
  bool isClosed();
  void rename();

  /// Whether `value` repeats a number per row, `row`, along the keys.
  bool repeatsRow(mlir::Value value, mlir::Value row) const;
  /// The number per row that a sum along the keys of `value` is, if it has a
  /// reader through nothing but reshapes.
  stablehlo::ReduceOp sumAlongKeys(mlir::Value value) const;
  bool reducesKeys(stablehlo::ReduceOp reduce) const;
  bool sumsKeys(stablehlo::ReduceOp reduce) const;
  bool isCausal(LabelledTensor mask) const;
  std::optional<int64_t> countsAlong(LabelledTensor tensor) const;

  Labels scoreLabels() const {
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  void include(mlir::Value value) {
    if (mlir::Operation *op = value.getDefiningOp())
      inside.insert(op);
  }

  stablehlo::ExponentialOp exponential;
  std::string &whyNot;
  AttentionPattern found;
  /// The scores' rank and the dimensions of them that keys and queries run
  /// along.
  int64_t rank = 0, keyDim = 0, queryDim = -1;
  mlir::Value scores, sum, sumRepeated, weights;
  /// What the program rounds to; null for what it does not round.
  mlir::Type roundedWeights, roundedWeightGradients, roundedSlopes;
  /// The weights as products read them.
  LabelledTensor multiplied;
  /// What goes if the operations are put in its place, and the products whose
  /// results they give.
  llvm::SetVector<mlir::Operation *> inside, replaced;
};

} // namespace tenon::attention

#endif // TENON_ANALYSIS_ATTENTION_SEARCH_H
