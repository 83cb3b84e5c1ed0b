//===- SummingKernel.h - Sums over rows beside what a kernel has of them --===//
//
// A kernel of elements or rows may also sum over leading dimensions what it has
// of each element, for nobody but its results: the gradient of a bias, or of a
// norm's factors, beside the gradient that flows on. Any commutative operation
// is called a sum here.
//
//   d = dy * gelu'(h)     [32, 1024, 3072]  element-wise
//   s = sum of d          [1024, 3072]      over the 32, by the same kernel
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_SUMMINGKERNEL_H
#define TENON_ANALYSIS_SUMMINGKERNEL_H

#include "tenon/Analysis/KernelDescription.h"

namespace tenon {

struct SummingKernel {
  /// What is computed without the sums, element-wise or in rows. Its results
  /// are the other results, in order, and behind them what is summed.
  KernelDescription inner;
  /// At least one, all of the same space, that of the elements or rows.
  llvm::SmallVector<stablehlo::ReduceOp, 2> sums;

  /// What a kernel is; nothing if it sums nothing beside elements or rows.
  static std::optional<SummingKernel> of(const KernelDescription &kernel);

  bool isInRows() const { return inner.kernelClass() == KernelClass::row; }
  /// Whether this is the result of a sum.
  bool isSum(mlir::Value result) const;
  /// The pass of a row in which the sum's element is known.
  unsigned passOf(stablehlo::ReduceOp sum) const {
    return inner.level(sum.getInputs().front());
  }
  /// As KernelDescription::mayReplace, of elements, too, and with a result of
  /// the whole kernel.
  bool mayReplace(mlir::Value read, mlir::Value result) const;
};

} // namespace tenon

#endif // TENON_ANALYSIS_SUMMINGKERNEL_H
