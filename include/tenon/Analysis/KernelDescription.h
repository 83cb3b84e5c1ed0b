//===- KernelDescription.h - What a kernel runs over and computes ---------===//
//
// The one description of operations that become a kernel. Fusion decides by it
// what a kernel may hold, the cost model what it costs, planning what scratch
// memory it takes, and the schedules of every target write its loops by it.
//
// A kernel with reductions has a *space*, the shape of what is reduced without
// dimensions of extent 1. A value has a *level*: how many reductions, one after
// the other, it needs. Where the last dimension is reduced, the kernel runs
// over rows, everything at one index of the kept dimensions. Per row:
//
//   pass 0: the reductions of level 1
//   pass 1: those of level 2, ...
//   and in the pass of its level each result that has the shape of the space
//
// so softmax has three passes (maximum; sum of exponentials; quotients) over a
// row that stays in the cache. What only reduced values enter is computed once
// per row, everything else again in each pass that needs it. But a division or
// a transcendental function that several passes need is computed in the first
// of them and *kept*: in a result that is written later anyway, or apart.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_KERNELDESCRIPTION_H
#define TENON_ANALYSIS_KERNELDESCRIPTION_H

#include "tenon/Analysis/ReductionTree.h"

#include <optional>

namespace tenon {

/// Which loops compute a kernel.
enum class KernelClass {
  elementwise, // one pass over points: the elements of the results, which
               // have one shape, or of what is stored in place in some of them
  row,         // passes over rows
  column,      // the last dimension is kept: an accumulator per result element
  root,        // whatever its one operation that is no point operation asks for
  none,        // several kernels
};

/// A value of the space kept from one pass for later ones.
struct KeptValue {
  mlir::Value value;
  unsigned pass = 0;
  int result = -1; // kept where this result will be, -1 for apart
};

/// The passes over a row.
struct RowPasses {
  /// By level - 1.
  llvm::SmallVector<llvm::SmallVector<stablehlo::ReduceOp>> reductions;
  /// In program order.
  llvm::SmallVector<KeptValue> kept;
  /// In how many passes an operation is computed; one if it is not here.
  llvm::SmallDenseMap<mlir::Operation *, unsigned, 8> times;
  /// The last pass that reads a value which the kernel does not compute.
  llvm::SmallDenseMap<mlir::Value, unsigned, 8> lastRead;
};

/// How a kernel reads a value that it does not compute.
struct KernelRead {
  mlir::Value value;
  /// Whether something looks at any of its elements.
  bool isWhole = false;
  /// What slices and gathers pick from it, or more if they overlap.
  int64_t pickedBytes = 0;
  /// What replaces a part of it and is a result: in place, as a rule. Null for
  /// none.
  mlir::Operation *update = nullptr;
};

class KernelDescription {
public:
  /// Of operations in program order, of which `results` are written to memory.
  KernelDescription(llvm::ArrayRef<mlir::Operation *> operations,
                    llvm::ArrayRef<mlir::Value> results);
  /// Of a body that ends in the results.
  explicit KernelDescription(mlir::Block &body);

  llvm::ArrayRef<mlir::Operation *> operations() const { return computed; }
  llvm::ArrayRef<mlir::Value> results() const { return written; }
  /// Those over a dimension of extent other than 1.
  llvm::ArrayRef<stablehlo::ReduceOp> reductions() const { return reduced; }

  bool reduces(mlir::Operation *op) const;

  llvm::SmallVector<KernelRead> reads() const;
  /// The elements of the largest tensor that is read or written, those left out
  /// of which the kernel only picks or replaces some. A target cuts a launch by
  /// it (LaunchLimits in Target/Target.h). `inPlace` has the block argument
  /// that each result is written over, or -1; without it all updates are in
  /// place.
  ///
  /// Worked example, in a round of a loop: tanh of f32[32,64] touches 2048
  /// elements; a slice of 2048 elements out of a stack of a million does, too.
  int64_t touchedElements(
      std::optional<llvm::ArrayRef<int64_t>> inPlace = std::nullopt) const;

  /// The space, if all reductions have the same.
  const std::optional<ReductionSpace> &space() const { return common; }
  /// The levels of reductions that a value needs, 0 for what is only read.
  unsigned level(mlir::Value value) const;
  /// Whether a value has the shape of the space, or that of its kept
  /// dimensions.
  bool isFull(mlir::Value value) const;
  bool isKept(mlir::Value value) const;
  RowPasses passes() const;
  /// Whether a kernel over rows may write the result over a value of the space
  /// that it reads at the index it computes: no later pass than the first that
  /// writes there reads it.
  bool mayReplace(mlir::Value read, unsigned result) const;

  KernelClass kernelClass() const;
  /// The operation whose results (all or some of them) are the kernel's, if
  /// all others are point operations; null if there is none.
  mlir::Operation *root() const;

  /// Pieces that the reductions let the work be cut into: rows, or blocks of
  /// columns whose sums one core keeps in registers.
  int64_t units() const;
  int64_t columnsPerUnit() const;

  /// The update that a result is if the kernel has several: it is in place, and
  /// what is stored at a point is an element of the update. Null for any other
  /// result.
  stablehlo::DynamicUpdateSliceOp joinedUpdate(size_t result) const;
  /// What is computed at a point for a result: the result, or its joined update.
  mlir::Value computedFor(size_t result) const;
  /// Of an element-wise kernel: the shape of its points. Joined updates may have
  /// other dimensions of extent 1.
  llvm::ArrayRef<int64_t> points() const;
  /// Whether all results are computed at such points.
  bool havePoints() const;

  /// Whether the kernel is left to obvious loops, one element at a time, which
  /// no care was taken to make fast.
  bool isFallback() const;

private:
  llvm::SmallVector<mlir::Operation *> computed;
  llvm::SmallVector<mlir::Value> written;
  llvm::SmallVector<stablehlo::ReduceOp, 2> reduced;
  std::optional<ReductionSpace> common;
  llvm::SmallDenseMap<mlir::Operation *, unsigned, 32> levels;
};

} // namespace tenon

#endif // TENON_ANALYSIS_KERNELDESCRIPTION_H
