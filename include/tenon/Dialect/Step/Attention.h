//===- Attention.h - Attention as one operation --------------------------===//
//
// The operations of Attention.td and their extents. They are raised by the
// stage `simplify`, become groups of their own, and have kernels that keep no
// scores (docs/Rationale/Attention.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_ATTENTION_H
#define TENON_DIALECT_STEP_ATTENTION_H

#include "tenon/Dialect/Step/Step.h"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/AttentionOps.h.inc"

namespace tenon::step {

/// Whether it is attention or its gradient; false for null.
inline bool isAttention(mlir::Operation *op) {
  return mlir::isa_and_nonnull<AttentionOp, AttentionGradientOp>(op);
}

/// What a dimension runs over, if not over a batch dimension of its number.
enum AttentionDimension : int64_t {
  queryPositions = -1,
  keyPositions = -2,
  queryFeatures = -3,
  valueFeatures = -4,
};

/// Keys take part in groups of this many: what `causal` leaves out counts with
/// weight 0 up to the end of the group in which the last key lies that is not.
inline constexpr int64_t attentionKeyGroup = 16;
/// The same where products are computed by tiles of bf16.
inline constexpr int64_t tileKeyGroup = 32;

/// More keys than this are taken in blocks of as many, each with a maximum of
/// its own, in order, unless weights are rounded: that needs their sum first.
inline constexpr int64_t attentionKeyBlock = 512;

/// What both operations say of a problem.
struct AttentionProblem {
  mlir::Value query, key, value, bias, mask, factor; // the last three or null
  llvm::ArrayRef<int64_t> queryDims, keyDims, valueDims, biasDims, maskDims,
      factorDims;
  float scale = 1;
  std::optional<float> fill;
  bool causal = false, roundsWeights = false;
  bool roundsWeightGradients = false, roundsSlopes = false; // the gradient's

  llvm::SmallVector<int64_t> batch; // extents of the query's, by number
  int64_t queries = 1, keys = 1, features = 1, valueFeatures = 1;

  explicit AttentionProblem(AttentionOp op);
  explicit AttentionProblem(AttentionGradientOp op);

  /// Whether keys and values have that batch dimension.
  bool isShared(int64_t dimension) const {
    return !llvm::is_contained(keyDims, dimension);
  }
  int64_t extentOf(int64_t dimension) const;

  /// The keys that have a maximum of their own.
  int64_t keysPerBlock() const {
    return roundsWeights ? keys : std::min(keys, attentionKeyBlock);
  }

  /// Pairs of a query and a key that take part in one batch.
  int64_t pairs() const;

  /// Whether tiles of bf16 are not mostly empty.
  bool fillsTiles() const;

private:
  template <typename Op>
  void read(Op op);
};

/// The problem of an operation that is one of the two.
std::optional<AttentionProblem> attentionProblemOf(mlir::Operation *op);

/// Pairs of a query and a key in all batches, and the pieces that the work can
/// be cut into: batches of the output, or of the gradients of keys. 0 for null
/// and for every other operation.
int64_t attentionPairs(mlir::Operation *op);
int64_t attentionUnits(mlir::Operation *op);

/// Whether it is attention, or its gradient, that processors with tiles of bf16
/// compute by them: all that is multiplied is bf16, since operands are and what
/// is computed is rounded.
bool multipliesTiles(mlir::Operation *op);

/// FLOPs of the products of one run, a multiply-add counting two; 0 for every
/// other operation. What `causal` leaves out is not counted.
double attentionFlops(mlir::Operation *op);

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_ATTENTION_H
