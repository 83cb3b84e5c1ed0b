//===- Contraction.h - dot_general and convolution as one loop nest -------===//
//
// Both are result[o] = sum over s of left[l(o, s)] * right[r(o, s)] with index
// maps l and r; in a convolution the left element is zero where its index is
// outside. This is that description.
//
// In which order products are summed follows from the operation and its shapes:
//
// - An element has one sum, a chain of fused multiply-adds in row-major order
//   of the summed dimensions, if the operands are contiguous or constant along
//   the last result dimension, or a dot of f32 reads them quickly enough
//   otherwise (chooseLanes of Analysis/ContractionTiling.h).
// - Else, if they are contiguous or constant along the last summed dimension,
//   an element has 16 sums, number j of that dimension in sum j mod 16, which
//   are combined at the end as i and i + 8, i and i + 4, i and i + 2, i and
//   i + 1.
//
// Products of 16-bit floats are exact and summed in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_CONTRACTION_H
#define TENON_CODEGEN_LOOPS_CONTRACTION_H

#include "tenon/Analysis/ContractionTiling.h"
#include "tenon/Codegen/Loops/LoopNest.h"

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

  /// Whether it is a dot of f32, which has code for lanes that lie apart.
  bool mayTurn = false;

  /// How the operands are read along the last dimensions.
  ContractionAccess access() const;
  /// The sums of an element, 1 or 16.
  int64_t sumsPerElement() const;
  /// An element of an operand in the sum's type, zero where there is none.
  Element operand(LoopNest &k, mlir::Value tensor, const Map &map,
                  llvm::ArrayRef<IndexExpression> output,
                  llvm::ArrayRef<IndexExpression> sums) const;
  /// All scalars or all vectors, in the sum's type.
  mlir::Value multiplyAdd(LoopNest &k, mlir::Value a, mlir::Value b,
                          mlir::Value sum) const;
  mlir::Value add(LoopNest &k, mlir::Value a, mlir::Value b) const;

  /// Nothing if `op` is neither.
  static std::optional<Contraction> of(mlir::Operation *op);
};

/// Reports what there is no code for in a dot or a convolution.
mlir::LogicalResult checkContraction(mlir::Operation *op);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_CONTRACTION_H
