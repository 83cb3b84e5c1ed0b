//===- Contraction.h - dot_general and convolution as one loop nest -------===//
//
// Both are result[o] = sum over s of left[l(o, s)] * right[r(o, s)] with index
// maps l and r; in a convolution the left element is zero where its index is
// outside. This is that description.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_CONTRACTION_H
#define TENON_LIB_CODEGEN_CPU_CONTRACTION_H

#include "KernelBuilder.h"

#include <functional>
#include <optional>

namespace tenon::codegen {

/// An element of an operand, present if 0 <= expression < extent for each of
/// `inside` and expression == 0 for each of `zero`.
struct OperandElement {
  Indices indices;
  llvm::SmallVector<std::pair<IndexExpression, int64_t>> inside;
  llvm::SmallVector<IndexExpression> zero;
};

struct Contraction {
  mlir::Value left, right;
  llvm::SmallVector<int64_t> output; // the result's shape
  llvm::SmallVector<int64_t> sums;   // extents summed over, outermost first
  /// The type in which elements are multiplied and summed.
  mlir::Type sumType;

  using Map = std::function<OperandElement(
      IndexAlgebra &, llvm::ArrayRef<IndexExpression> output,
      llvm::ArrayRef<IndexExpression> sums)>;
  Map leftAt, rightAt;

  /// Nothing if `op` is neither.
  static std::optional<Contraction> of(mlir::Operation *op);
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_CONTRACTION_H
