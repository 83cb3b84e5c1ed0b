//===- RowKernel.h - What kernels over rows share -------------------------===//
//
// The passes of Analysis/KernelDescription.h over a row, whoever has it: a
// group of lanes, a warp, or a block of threads. The order of sums, (b) of
// Analysis/ReductionTree.h, has up to 64 places, each of which sums every 64th
// element: element p belongs to place p mod 64.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_ROWKERNEL_H
#define TENON_LIB_CODEGEN_GPU_ROWKERNEL_H

#include "GpuKernelBuilder.h"

#include "tenon/Analysis/SummingKernel.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

namespace tenon::codegen {

/// Whether the few lanes that RowSchedule gives a row hold it in their
/// registers.
bool areHeldByLanes(const KernelSource &source);
/// Whether all reductions are along the last dimension, and along no other, and
/// by one operation, but those lanes cannot hold the rows.
bool hasLongRows(const KernelSource &source);

class RowKernel : public GpuKernelBuilder {
protected:
  RowKernel(const KernelSource &source, mlir::func::FuncOp function,
            const LaunchShape &launch, const GpuInstructions &instructions);

  /// Whether a result has the shape of the space, and whether there is one for
  /// the row.
  bool isFull(unsigned result);
  bool isOfRow(unsigned result);
  /// The index of `value`, which has the space's shape, at a point of the row.
  Indices indicesIn(mlir::Value value, llvm::ArrayRef<IndexExpression> reduced);
  /// What is read and written at a point of the row.
  Element at(mlir::Value value, llvm::ArrayRef<IndexExpression> reduced) {
    return points.at(value, indicesIn(value, reduced));
  }

  /// The reductions of a pass.
  llvm::SmallVector<Combiner> combinersOf(unsigned pass);
  /// The results of the space among `written`, all of which are read before one
  /// of them is stored.
  void storeFull(llvm::ArrayRef<unsigned> written,
                 llvm::ArrayRef<IndexExpression> reduced);
  bool hasResultsOfRow();
  /// Stores the results that there is one of for the row. Other threads that
  /// have the row do not read what they overwrite any more.
  void storeOfRow();

  /// The sums of all places to one value, in all lanes of a group: first those
  /// 16 places apart, then 32, then 8, 4, 2 and 1, by shuffles where they are
  /// in different lanes. Place p is element p mod `lanes` of vector p /
  /// `lanes`; vectors are dealt out to the group in turn, and a lane gives its
  /// own.
  mlir::Value collapse(const Combiner &combiner,
                       llvm::ArrayRef<mlir::Value> sums, int64_t lanes,
                       int64_t group, int64_t places);

  /// Where any order will do: the elements of a vector to one value, and those
  /// of the first lanes of a warp to one in all of them.
  mlir::Value joinOfVector(const Combiner &combiner, mlir::Value vector);
  mlir::Value joinOfWarp(const Combiner &combiner, mlir::Value value,
                         int64_t lanes = threadsOfWarp);

  /// Sums over leading dimensions, and what there is of rows beside them or
  /// without them.
  const std::optional<SummingKernel> summing;
  const KernelDescription &kernel;
  const RowPasses plan;
  const ReductionSpace &space;
  /// Those with a reduction or a result of the space.
  unsigned passes = 0;
  /// The index of the row in the kept dimensions.
  Indices row;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_ROWKERNEL_H
