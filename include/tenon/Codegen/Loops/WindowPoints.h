//===- WindowPoints.h - One window of reduce_window and its kin -----------===//
//
// Pooling, its gradient, and cumulative sums. A window's elements are combined
// in row-major order starting at the initial value, places in the padding
// counting as the initial value. A window that covers everything up to its own
// position along one dimension (a cumulative sum or product) is a running
// value; if it covers everything from its position on, it runs backwards from
// the end. 16-bit floats are accumulated in f32 as in other reductions.
//
// select_and_scatter: for each window in row-major order the first region picks
// an element (the earlier one stays while the region holds), then the second
// combines the source into the result there. Dimensions that the window does
// not move along are independent. If the windows cover the operand exactly,
// without overlap, every window is independent and writes its elements once.
//
// What is here is the code for one window, or one element, for any number of
// lanes along a dimension that the windows do not move along. Which loops walk
// them is the schedule's affair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_WINDOWPOINTS_H
#define TENON_CODEGEN_LOOPS_WINDOWPOINTS_H

#include "tenon/Analysis/Windows.h"
#include "tenon/Codegen/Loops/KernelNest.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

namespace tenon::codegen {

/// The results of reduce_window.
class WindowSums {
public:
  WindowSums(KernelNest &k, stablehlo::ReduceWindowOp op);

  struct Running {
    size_t dim;
    bool backwards;
  };
  /// The dimension along which windows are prefixes or suffixes, if the others
  /// are trivial and the initial value is neutral.
  static std::optional<Running> runningDim(stablehlo::ReduceWindowOp op);

  /// Computes and stores the results at an index.
  void emitPoint(const Indices &output);
  /// Computes and stores all results along the running dimension; `rest` is the
  /// index in the others.
  void emitRunning(Running running, const Indices &rest);

private:
  LoopNest::Values start();
  void store(const Indices &output, llvm::ArrayRef<mlir::Value> results);

  KernelNest &k;
  stablehlo::ReduceWindowOp op;
  llvm::SmallVector<Window> windows;
  Combiner combiner;
};

/// The windows of a select_and_scatter and what is independent of what.
struct SelectWindows {
  explicit SelectWindows(stablehlo::SelectAndScatterOp op);

  llvm::SmallVector<Window> windows;
  llvm::ArrayRef<int64_t> shape, sourceShape;
  llvm::SmallVector<size_t> freeDims, movedDims;

  /// Whether every element of the operand is in exactly one window.
  bool tile() const;
  /// Whether windows do not move along the last dimension.
  bool lastIsFree() const {
    return !freeDims.empty() && freeDims.back() + 1 == shape.size();
  }
};

/// The result of select_and_scatter.
class WindowPicks : public SelectWindows {
public:
  WindowPicks(KernelNest &k, stablehlo::SelectAndScatterOp op)
      : SelectWindows(op), k(k), op(op) {}

  /// Computes and stores all elements of the window at an index in the source;
  /// for windows that tile.
  void emitWindow(const Indices &source);
  /// Computes and stores all elements, in the order of the windows, at an index
  /// in the free dimensions.
  void emitAll(const Indices &free);
  /// Computes and stores one element, from all windows that it is in.
  void emitElement(const Indices &place);

private:
  Indices merge(llvm::ArrayRef<IndexExpression> moved);
  llvm::SmallVector<int64_t> extents(llvm::ArrayRef<int64_t> of) const;
  llvm::SmallVector<int64_t> sizes() const;
  /// The operand's index at an offset in a window, and whether it exists.
  Indices placeIn(llvm::ArrayRef<IndexExpression> source,
                  llvm::ArrayRef<IndexExpression> offset,
                  PointEmitter::Guard &guard);
  /// The position of the picked element in the window at `source`, as an i32
  /// per lane.
  mlir::Value pick(llvm::ArrayRef<IndexExpression> source);
  mlir::Value positionOf(const Indices &offset);
  mlir::Value combined(mlir::Value old, Element moved);
  /// Combines the source into the picked element; `alone` if no other window
  /// does so with the window's elements.
  void emitWindow(llvm::ArrayRef<IndexExpression> source, bool alone);
  void splitFree(const Indices &indices, Indices &moved);

  KernelNest &k;
  stablehlo::SelectAndScatterOp op;
  Indices freeIndices;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_WINDOWPOINTS_H
