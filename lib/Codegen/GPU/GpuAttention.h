//===- GpuAttention.h - What kernels of attention on GPUs share -----------===//
//
// Attention and its gradient, on tensor cores and with fused multiply-adds:
// where elements of the operands are, and how a product becomes a score.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_GPUATTENTION_H
#define TENON_LIB_CODEGEN_GPU_GPUATTENTION_H

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Attention.h"

#include <limits>

namespace tenon::codegen {

/// The launches of a gradient: blocks of queries, for their gradient and for
/// what blocks of keys need of them, which they leave in scratch memory as
/// `numbersOfQuery` f32 for each; then blocks of keys. The gradient of the
/// values alone needs it, too, or does not (`ofValues`).
template <typename Queries, typename Keys>
llvm::SmallVector<GpuLaunch>
launchesOfGradient(const KernelSource &source, step::AttentionGradientOp op,
                   LaunchShape queries, LaunchShape keys,
                   int64_t numbersOfQuery, bool ofValues) {
  auto makes = [&](mlir::Value result) {
    return source.indexOfResult(result) >= 0;
  };
  const bool makesKeys = makes(op.getKeyGradient()),
             makesValues = makes(op.getValueGradient()),
             leavesNumbers = makesKeys || (makesValues && ofValues);
  const step::AttentionProblem problem(op);
  if (leavesNumbers)
    queries.scratchBytes = keys.scratchBytes =
        elementCount(problem.batch) * problem.queries * numbersOfQuery * 4;
  llvm::SmallVector<GpuLaunch> launches;
  if (makes(op.getQueryGradient()) || leavesNumbers)
    launches.push_back(launchOf<Queries>(queries));
  if (makesKeys || makesValues)
    launches.push_back(launchOf<Keys>(keys));
  return launches;
}

/// Whether features, of queries or of values, are the last dimension.
bool hasFeaturesLast(llvm::ArrayRef<int64_t> dims);

class GpuAttentionKernel : protected GpuKernelBuilder {
protected:
  GpuAttentionKernel(const KernelSource &source, mlir::func::FuncOp function,
                     const LaunchShape &launch,
                     const GpuInstructions &instructions,
                     const step::AttentionProblem &problem)
      : GpuKernelBuilder(source, function, launch, instructions),
        problem(problem) {}

  mlir::Value number(double value);
  static constexpr float nothing = -std::numeric_limits<float>::infinity();
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value negative(mlir::Value value);
  mlir::Value larger(mlir::Value a, mlir::Value b);
  mlir::Value exponential(mlir::Value a, mlir::Value b); // of a - b
  /// Rounded to the element type of `like`, and f32 again, if `isRounded`.
  mlir::Value rounded(mlir::Value value, bool isRounded, mlir::Value like);

  Indices indices(llvm::ArrayRef<int64_t> dims, const IndexExpression &query,
                  const IndexExpression &key, const IndexExpression &feature);
  /// An element of bias, mask or factor, a float as f32.
  mlir::Value besides(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                      const IndexExpression &query, const IndexExpression &key);
  /// A product with scale, bias and mask.
  mlir::Value scoreAt(mlir::Value product, const IndexExpression &query,
                      const IndexExpression &key);
  /// Both within the extents: what there is not has another element's.
  IndexExpression someQuery(const IndexExpression &query) {
    return algebra.clamped(query, {0, problem.queries - 1});
  }
  IndexExpression someKey(const IndexExpression &key) {
    return algebra.clamped(key, {0, problem.keys - 1});
  }
  /// Replaces `value` where the key does not take part for the query, or there
  /// is no such key.
  mlir::Value whereTaken(mlir::Value value, const IndexExpression &query,
                         const IndexExpression &key, double otherwise);
  /// Replaces `value` where `index` is not below `extent`.
  mlir::Value whereBelow(mlir::Value value, const IndexExpression &index,
                         int64_t extent, mlir::Value otherwise);
  mlir::Value whereBelow(mlir::Value value, const IndexExpression &index,
                         int64_t extent, double otherwise) {
    return whereBelow(value, index, extent, number(otherwise));
  }
  /// The element for a query of a tensor with the batch dimensions and queries,
  /// as f32.
  mlir::Value statisticOf(mlir::Value tensor, const IndexExpression &query);
  /// Where scratch memory has f32 `number` of the `numbers` that are kept of
  /// each query, for a query of the batch.
  mlir::Value addressInScratch(const IndexExpression &query, int64_t numbers,
                               int64_t number = 0);
  /// Sets the batch to these indices of the dimensions that keys have, and of
  /// those that they lack; the latter 0 if there are none.
  void setBatch(const Indices &own, const Indices &shared);
  /// Extents of the batch dimensions that keys lack, or of those they have.
  llvm::SmallVector<int64_t> batchExtents(bool areShared) const;

  const step::AttentionProblem problem;
  Indices batch;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_GPUATTENTION_H
