//===- RowPlan.h - What a row kernel does in which pass -------------------===//
//
// The space of a row kernel is [kept..., reduced...] in some order, and a row
// is everything at one index of the kept dimensions. Per row:
//
//   pass 0: the reductions that need no other reduction's value
//   pass 1: those that need the results of pass 0, ...
//   the last pass: the results that have the shape of the space
//
// so softmax has three passes (maximum; sum of exponentials; quotients) over a
// row that stays in the cache. Reduced values are scalars; what only they enter
// is computed once per row. A division or a transcendental function that
// several passes need is computed in the first of them and kept: in a result
// that is written later anyway, or in a scratch row. A result that overwrites
// an operand is written in the last pass, when everybody has read it; others in
// the first pass that can.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_ROWPLAN_H
#define TENON_LIB_CODEGEN_CPU_ROWPLAN_H

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/KernelSource.h"

#include <optional>

namespace tenon::codegen {

/// A value of the space kept from one pass for later ones.
struct KeptValue {
  mlir::Value value;
  unsigned pass = 0;
  int result = -1;           // kept where this result will be, or
  int64_t scratchOffset = 0; // in the part's scratch memory
};

struct RowPlan {
  ReductionSpace space;
  unsigned levels = 0;
  /// By level - 1.
  llvm::SmallVector<llvm::SmallVector<stablehlo::ReduceOp>> reductions;
  /// Per result: whether it has the space's shape (or one element per row), and
  /// the pass it is written in if so.
  llvm::SmallVector<bool> isFull;
  llvm::SmallVector<unsigned> passOfResult;
  llvm::SmallVector<KeptValue> kept;
  int64_t scratchPerPart = 0;

  unsigned passes() const;
  int64_t rows() const { return elementCount(space.kept()); }
};

/// The plan of a kernel whose reductions all run over the same dimensions, the
/// last one among them; nothing for any other kernel.
std::optional<RowPlan> planRows(const KernelSource &source);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_ROWPLAN_H
