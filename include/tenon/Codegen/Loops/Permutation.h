//===- Permutation.h - A transpose with as few dimensions as it has -------===//
//
// Dimensions of extent 1 are dropped and neighbours that stay neighbours are
// merged. Schedules of tiles walk the operand's last dimension ("rows") and the
// result's ("columns"); all others take no part.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_PERMUTATION_H
#define TENON_CODEGEN_LOOPS_PERMUTATION_H

#include "tenon/Codegen/Loops/IndexExpression.h"
#include "tenon/Codegen/Loops/KernelSource.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon::codegen {

struct Permutation {
  llvm::SmallVector<int64_t> shape; // of the operand
  /// The operand's dimension of each result dimension.
  llvm::SmallVector<size_t> order;

  explicit Permutation(stablehlo::TransposeOp op);

  bool movesLast() const {
    return !order.empty() && order.back() + 1 != order.size();
  }
  llvm::SmallVector<int64_t> resultShape() const;
  /// Extents of the result's dimensions other than its last and the operand's
  /// last.
  llvm::SmallVector<int64_t> others() const;
  int64_t columns() const { return shape[order.back()]; } // along the result
  int64_t rows() const { return shape.back(); }           // along the operand

  /// An element's index in the operand and in the result, for one of the last
  /// dimensions and of each of the others.
  Indices inOperand(const IndexExpression &row, const IndexExpression &column,
                    llvm::ArrayRef<IndexExpression> others) const;
  Indices inResult(const IndexExpression &row, const IndexExpression &column,
                   llvm::ArrayRef<IndexExpression> others) const;
};

/// The transpose of a kernel that is done in tiles: of an operand that it does
/// not compute or overwrite, with another last dimension, of a matrix that is
/// not narrow, of which most of a tile would be empty. Null if there is none.
stablehlo::TransposeOp tiledTransposeOf(const KernelSource &source);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_PERMUTATION_H
