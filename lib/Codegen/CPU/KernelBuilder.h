//===- KernelBuilder.h - A kernel function under construction -------------===//
//
// What the CPU's templates share: the function with its buffers, the split of
// the work into parts, and rows walked in vectors with a masked tail.
//
// A kernel is a list of units of work, numbered from 0; part p of P does units
// n p / P up to n (p + 1) / P. What a unit computes never depends on P.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_KERNELBUILDER_H
#define TENON_LIB_CODEGEN_CPU_KERNELBUILDER_H

#include "tenon/Codegen/CPU/VectorSchedules.h"
#include "tenon/Codegen/Loops/KernelNest.h"
#include "tenon/Target/Target.h"

namespace tenon::codegen {

/// No launch uses more parts than this.
inline constexpr int64_t maximumParts = target::LaunchLimits().mostParts;

class KernelBuilder : public KernelNest {
public:
  /// Stands at the end of `function`, of createKernelFunction with part and
  /// parts as further arguments. `scratchParts` is the number of parts there is
  /// scratch memory for, 0 for a kernel without; more parts have nothing to do.
  KernelBuilder(const KernelSource &source, mlir::func::FuncOp function,
                int64_t scratchParts, const Instructions &instructions);

  int64_t scratchParts;
  mlir::Value part, parts;
  /// An estimate of the kernel's work, in simple instructions.
  double cost() const;

  /// The first of this part's share of `count` units, and the one behind the
  /// last.
  std::pair<mlir::Value, mlir::Value> unitBounds(int64_t count);
  /// This part's share of `count` units.
  void forUnits(int64_t count, Body body);
  /// One of the blocks of `size` that `count` items are cut into: the body is
  /// emitted once for whole blocks and once for the rest, if there is one.
  void forBlock(
      const IndexExpression &block, int64_t count, int64_t size,
      llvm::function_ref<void(const IndexExpression &first, int64_t length)>
          body);
  /// A row of `extent` points, 16 at a time, the last ones masked.
  void forLanes(int64_t extent, Body body);
  /// Points block * length to (block + 1) * length of it, where the length is a
  /// multiple of 16.
  void forLanes(int64_t extent, const IndexExpression &block, int64_t length,
                Body body);
  /// The rest of a row after its last whole vector, masked; `first` is where it
  /// starts, less than 16 from `extent`.
  void tail(int64_t first, int64_t extent, Body body);
  /// The same with values carried through.
  Values carryingTail(int64_t first, int64_t extent,
                      llvm::function_ref<Values(const IndexExpression &)> body);
};

/// Neighbouring points in vectors, the last one masked if it is short.
class MaskedVectors {
public:
  MaskedVectors(KernelBuilder &k, int64_t points);

  int64_t count() const { return whole + (tailMask ? 1 : 0); }
  /// Runs the body for each vector under its mask.
  void forEach(llvm::function_ref<void(int64_t vector)> body) const;

private:
  KernelBuilder &k;
  int64_t whole;
  mlir::Value tailMask;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_KERNELBUILDER_H
