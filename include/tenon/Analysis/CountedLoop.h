//===- CountedLoop.h - Loops that run a known number of times -------------===//
//
// A scan is a loop with a counter that runs from 0 to a constant, and stacks:
// carried values of which every round writes one slice. What a round writes and
// what another loop reads at the same index are then the same value, which is
// what planning over loops rests on.
//
//     %r:2 = while(%i = 0, %stack = %start) cond { %i < 12 } do {
//       %v = ...                                            trips = 12
//       %next = dynamic_update_slice %stack, %v, %i, 0      a stack: %v of
//       round return %i + 1, %next                                i lies at
//       index i
//     }
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_COUNTEDLOOP_H
#define TENON_ANALYSIS_COUNTEDLOOP_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tenon {

class CountedLoop {
public:
  /// Nothing if how often the loop runs is not evident, or if it may be never.
  static std::optional<CountedLoop> recognize(stablehlo::WhileOp op);

  /// A carried value of which every round writes another slice along the first
  /// dimension, and all of which is written when the loop ends.
  struct Stack {
    unsigned position = 0; // among the carried values
    mutable stablehlo::DynamicUpdateSliceOp write;

    /// The slice, of extent 1 in the first dimension.
    mlir::Value update() const { return write.getUpdate(); }
    mlir::Value index() const { return write.getStartIndices().front(); }
  };

  stablehlo::WhileOp loop() const { return op; }
  mlir::Block &body() const { return op.getBody().front(); }
  int64_t trips() const { return tripCount; }
  mlir::Value counter() const { return body().getArgument(counterPosition); }

  enum class Direction { upwards, downwards };
  /// In which direction `index` takes every value from 0 to trips() - 1 in the
  /// rounds of the loop, once each; nothing if it does not.
  std::optional<Direction> directionOf(mlir::Value index) const;
  /// Whether it is the counter itself.
  bool isCounter(mlir::Value index) const { return index == counter(); }

  /// Stacks that the loop only writes.
  llvm::SmallVector<Stack> stacks() const;

private:
  CountedLoop(stablehlo::WhileOp op, int64_t trips, unsigned counter)
      : op(op), tripCount(trips), counterPosition(counter) {}

  mutable stablehlo::WhileOp op;
  int64_t tripCount;
  unsigned counterPosition;
};

/// Whether the slice has extent 1 in the first dimension, is whole in all
/// others and starts at 0 there.
bool takesOneOfFirst(stablehlo::DynamicSliceOp slice);

} // namespace tenon

#endif // TENON_ANALYSIS_COUNTEDLOOP_H
