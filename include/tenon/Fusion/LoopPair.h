//===- LoopPair.h - A forward loop and the one that reads its stacks ------===//
//
// A scan and its derivative: each round of the forward loop writes a slice of
// every stack, and the round of the backward loop at the same index reads it.
// Both run the same known number of times and use each index once, so that what
// is read at an index is what the round of that index wrote.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_LOOPPAIR_H
#define TENON_FUSION_LOOPPAIR_H

#include "tenon/Analysis/CountedLoop.h"

#include <optional>

namespace tenon::fusion {

class LoopPair {
public:
  /// A stack and where the backward loop reads it: at `index` each time, in its
  /// body's own block.
  struct Residual {
    CountedLoop::Stack stack;
    llvm::SmallVector<stablehlo::DynamicSliceOp> readers;
  };

  /// The pair whose forward loop this is; none if no other loop of its block
  /// reads its stacks so.
  static std::optional<LoopPair> find(stablehlo::WhileOp loop);

  CountedLoop forward, backward;
  /// The index that a backward round reads at; of the type of the forward
  /// loop's counter.
  mlir::Value index;
  /// At least one.
  llvm::SmallVector<Residual> residuals;

private:
  LoopPair(const CountedLoop &forward, const CountedLoop &backward)
      : forward(forward), backward(backward) {}
  bool collect();
};

} // namespace tenon::fusion

#endif // TENON_FUSION_LOOPPAIR_H
