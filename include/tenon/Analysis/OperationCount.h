//===- OperationCount.h - FLOPs and bytes of operations -------------------===//
//
// The work that dots and convolutions of a step cannot avoid, and the bytes
// operations read and write. The floor that speed is measured against and the
// cost model start from these figures.
//
// A multiply-add counts two FLOPs. A dot of f32[64,256] and f32[256,10] has
// 2 * 64 * 10 * 256 = 327,680.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_OPERATIONCOUNT_H
#define TENON_ANALYSIS_OPERATIONCOUNT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tenon {

/// FLOPs of one run of a stablehlo.dot_general, a stablehlo.convolution, or the
/// products of an attention operation; 0 for every other operation. A
/// convolution is charged for products with padding, as is usual, but not for
/// those with the holes of a dilated input, so that the gradients of a strided
/// convolution cost what the convolution does.
double contractionFlops(mlir::Operation *op);

/// Bytes of the operands and results as they lie in memory.
double operandAndResultBytes(mlir::Operation *op);

/// How often the body of a stablehlo.while runs, if the loop evidently counts:
/// one carried integer starts at a constant, gets a constant added in each
/// round, and the condition compares it with a constant. Looks through
/// step.group. Nothing otherwise, or if the counter would wrap around.
std::optional<int64_t> tripCount(mlir::Operation *loop);

/// The sum of amount(op) over the operations of a region in step form or
/// grouped form, loops and branches and groups included: what a loop runs is
/// multiplied by its trips, and of several branches the largest sum counts.
/// Loops whose trips are not evident count once and are handed to `unknown`.
/// Regions of other operations are not entered.
double sumOverRuns(
    mlir::Region &region, llvm::function_ref<double(mlir::Operation *)> amount,
    llvm::function_ref<void(mlir::Operation *)> unknown =
        [](mlir::Operation *) {});
/// The same for one operation.
double sumOverRuns(
    mlir::Operation *op, llvm::function_ref<double(mlir::Operation *)> amount,
    llvm::function_ref<void(mlir::Operation *)> unknown =
        [](mlir::Operation *) {});
/// `count` such sums in one walk, each as if it were taken alone: `amounts` is
/// given zeros and writes what an operation adds to each of them.
llvm::SmallVector<double> sumsOverRuns(
    mlir::Region &region, size_t count,
    llvm::function_ref<void(mlir::Operation *, llvm::MutableArrayRef<double>)>
        amounts);

struct OperationCount {
  double flops = 0; // of dots and convolutions, loops multiplied out
  double bytes = 0; // their operands and results
  int64_t dots = 0, convolutions = 0; // in the text, not multiplied
  std::vector<mlir::Location> loopsCountedOnce;
};

/// What one run of a region in step form or grouped form does.
OperationCount countOperations(mlir::Region &region);

} // namespace tenon

#endif // TENON_ANALYSIS_OPERATIONCOUNT_H
