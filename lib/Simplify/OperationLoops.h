//===- OperationLoops.h - Which elements follow from which ----------------===//
//
// An operation is seen as loops: every dimension of an operand or result runs
// over one of them, or is read or written whole in every round. Computed for
// some rounds only, it is the same operation on slices of its operands. Of
// operands that are zero in parts it says in which rounds nothing but zeros is
// added up or written.
//
// Example: dot_general of tensor<8x65x16xf32> and tensor<16x4xf32> has the
// loops 8, 65, 4 of its result and 16 of its sum. If the left operand is zero
// but in [0, 1) of its second dimension, so is the result.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SIMPLIFY_OPERATIONLOOPS_H
#define TENON_LIB_SIMPLIFY_OPERATIONLOOPS_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <optional>

namespace tenon::simplify {

/// Indices from `start` to in front of `limit`.
struct Interval {
  int64_t start = 0;
  int64_t limit = 0;

  bool operator==(const Interval &) const = default;
  int64_t size() const { return limit - start; }
  bool isEmpty() const { return limit <= start; }
  Interval shifted(int64_t by) const { return {start + by, limit + by}; }
  Interval within(Interval other) const {
    return {std::max(start, other.start), std::min(limit, other.limit)};
  }
  Interval joined(Interval other) const {
    return {std::min(start, other.start), std::max(limit, other.limit)};
  }
};

/// An interval per dimension, or per loop.
using Box = llvm::SmallVector<Interval, 4>;

Box wholeOf(llvm::ArrayRef<int64_t> extents);
Box wholeOf(mlir::Value tensor);

struct LoopDimension {
  static constexpr int64_t wholeInEveryRound = -1;
  int64_t loop = wholeInEveryRound;
  /// The index of the loop's first round.
  int64_t offset = 0;

  bool isWhole() const { return loop == wholeInEveryRound; }
};

struct OperationLoops {
  llvm::SmallVector<int64_t, 6> extents;
  llvm::SmallVector<llvm::SmallVector<LoopDimension, 4>, 3> operands;
  llvm::SmallVector<llvm::SmallVector<LoopDimension, 4>, 1> results;

  bool hasLoop(unsigned result, unsigned loop) const {
    return llvm::any_of(results[result], [&](LoopDimension dim) {
      return dim.loop == int64_t(loop);
    });
  }
};

/// Nothing for an operation that cannot be computed for some rounds only.
std::optional<OperationLoops> loopsOf(mlir::Operation *op);

/// What `rounds` reads of an operand.
Box operandPart(const OperationLoops &loops, unsigned operand,
                llvm::ArrayRef<Interval> rounds, mlir::Value tensor);
/// What `rounds` writes of a result.
Box resultPart(const OperationLoops &loops, unsigned result,
               llvm::ArrayRef<Interval> rounds, mlir::Value tensor);

/// From the first to the last element that a slice reads.
Box boxOf(stablehlo::SliceOp slice);

/// The part of a tensor outside of which all is zero; null if that is not
/// known.
using NonZeroPart = llvm::function_ref<const Box *(mlir::Value)>;

/// The rounds outside of which an operation adds up nothing but zeros, and
/// writes nothing else; nothing if these are all or none. A product with zero
/// counts as zero whatever the other factor, and so does zero divided by any
/// float.
std::optional<Box> nonZeroRounds(mlir::Operation *op,
                                 const OperationLoops &loops,
                                 NonZeroPart nonZeroPart);

} // namespace tenon::simplify

#endif // TENON_LIB_SIMPLIFY_OPERATIONLOOPS_H
