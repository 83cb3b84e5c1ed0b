//===- RoundSums.h - Products that the rounds of a loop add up ------------===//
//
// The backward loop of a recurrent layer adds one small product to each
// weight's gradient in every round. Several rounds together are one product,
// whose contraction runs over these rounds, too:
//
//     %p = dot_general %x, %d, contracting 0 x 0      a round: 32 rows
//     %t = slice (transpose %p)                       movements
//     %n = add %sum, %t                               %sum is carried
//
// This is where such sums are found. ChooseBlocks decides of how many rounds a
// product is made, BlockLoops makes it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_ROUNDSUMS_H
#define TENON_FUSION_ROUNDSUMS_H

#include "tenon/Analysis/CountedLoop.h"

#include <optional>

namespace tenon::fusion {

/// What a round adds to carried values: a dot or the sum of a reduction, moved
/// in between, with nothing else done to it or to the carried values.
struct RoundSum {
  /// A `dot_general` of two values of the round or a `reduce` of one.
  mlir::Operation *product;
  /// The movements behind it and the additions, in the order of the body.
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

/// The rounds of a block as ChooseBlocks has marked what is in the loop's body;
/// 1 if nothing is marked.
int64_t roundsOfBlock(const CountedLoop &loop);

} // namespace tenon::fusion

#endif // TENON_FUSION_ROUNDSUMS_H
