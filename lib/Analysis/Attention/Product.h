//===- Product.h - A product with labelled dimensions ---------------------===//
//
// The dimensions of a dot_general by what they run over, and the products that
// are reached from scores and weights.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_ATTENTION_PRODUCT_H
#define TENON_ANALYSIS_ATTENTION_PRODUCT_H

#include "LabelledTensors.h"

namespace tenon::attention {

/// The dimensions of a product, one of whose sides or whose result is labelled.
struct Product {
  stablehlo::DotGeneralOp op;
  stablehlo::DotDimensionNumbersAttr numbers;

  explicit Product(stablehlo::DotGeneralOp op)
      : op(op), numbers(op.getDotDimensionNumbers()) {}

  mlir::Value side(bool left) const { return op->getOperand(left ? 0 : 1); }
  llvm::ArrayRef<int64_t> batching(bool left) const {
    return left ? numbers.getLhsBatchingDimensions()
                : numbers.getRhsBatchingDimensions();
  }
  llvm::ArrayRef<int64_t> contracting(bool left) const {
    return left ? numbers.getLhsContractingDimensions()
                : numbers.getRhsContractingDimensions();
  }
  Labels freeDims(bool left) const;

  /// Those of them of extent other than 1.
  Labels realFreeDims(bool left) const;

  /// The labels of a side from those of the result, with `feature` for the one
  /// summed dimension.
  std::optional<Labels> sideLabels(bool left, llvm::ArrayRef<int64_t> result,
                                   int64_t feature) const;

  /// Those of the other side and of the result from those of one side, with
  /// `feature` for the other's one free dimension that is not given in
  /// `contracted`. Sums run over what contracts.
  struct Others {
    Labels side, result;
  };
  std::optional<Others> othersOf(bool left, llvm::ArrayRef<int64_t> labels,
                                 int64_t feature) const;
};

/// The labels that a product sums over, of a side with `labels`.
Labels summedLabels(const Product &product, bool left,
                    llvm::ArrayRef<int64_t> labels);

/// The product that is reached through what scores are made of.
stablehlo::DotGeneralOp productBehind(mlir::Value value, int depth = 0);

bool comesFromProduct(mlir::Value value);

/// Whether a product is reached through what changes elements alone.
bool reachesProduct(mlir::Value value, int depth = 0);

} // namespace tenon::attention

#endif // TENON_ANALYSIS_ATTENTION_PRODUCT_H
