//===- RoundSums.h - Products that rounds of a loop can make together -----===//
//
// The backward loop of a recurrent layer adds one small product to each
// weight's gradient in every round. Several rounds together are one product,
// whose contraction runs over these rounds, too:
//
//     %p = dot_general %x, %d, contracting 0 x 0      a round: 32 rows
//     %t = slice (transpose %p)                       movements
//     %n = add %sum, %t                               %sum is carried
//
// It also multiplies what it multiplies there by the weights, for the gradient
// of the layer's input, which is stacked and not read by any round:
//
//     %p = dot_general %d, %w, contracting 1 x 1      %w is from outside
//     %n = dynamic_update_slice %stack, reshape %p, %i
//
// This is where such products are found. ChooseBlocks decides of how many
// rounds one is made, BlockLoops makes it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_ROUNDSUMS_H
#define TENON_FUSION_ROUNDSUMS_H

#include "tenon/Analysis/CountedLoop.h"

#include <optional>

namespace tenon::fusion {

/// Whether the reduction adds up one value, from zero.
bool addsUp(stablehlo::ReduceOp reduce);

/// What a round adds to carried values: a dot or the sum of a reduction, moved
/// in between, with nothing else done to it or to the carried values.
struct RoundSum {
  /// A `dot_general` of two values of the round or a `reduce` of one.
  mlir::Operation *product;
  /// The movements behind it, casts of the compiler's, and the additions, in
  /// the order of the body.
  llvm::SmallVector<mlir::Operation *> behind;
  /// The positions of the carried values.
  llvm::SmallVector<unsigned> positions;

  /// Nothing if `op`, of the loop's body, is none.
  static std::optional<RoundSum> of(const CountedLoop &loop,
                                    mlir::Operation *op);

  /// How many terms of a sum a round has.
  int64_t terms() const;
  /// What all rounds of a block have to be kept of.
  llvm::SmallVector<mlir::Value> operands() const;
};

/// A dot of a value of the round and one from outside of the loop that is
/// written to a stack and not read by any round.
struct StackedProduct {
  stablehlo::DotGeneralOp product;
  stablehlo::ReshapeOp slice;
  stablehlo::DynamicUpdateSliceOp write;
  /// Of the stack, among the carried values.
  unsigned position;
  /// In which direction rounds walk through the stack.
  CountedLoop::Direction direction;

  /// Nothing if `op`, of the loop's body, is none.
  static std::optional<StackedProduct> of(const CountedLoop &loop,
                                          mlir::Operation *op);

  mlir::Value index() const {
    return stablehlo::DynamicUpdateSliceOp(write).getStartIndices().front();
  }
};

/// The rounds of a block as ChooseBlocks has marked what is in the loop's body;
/// 1 if nothing is marked.
int64_t roundsOfBlock(const CountedLoop &loop);

} // namespace tenon::fusion

#endif // TENON_FUSION_ROUNDSUMS_H
