//===- ProductMatrices.cpp - Dots and convolutions as matrices ------------===//
//
// See ProductMatrices.h.
//
//===----------------------------------------------------------------------===//

#include "ProductMatrices.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;

namespace tenon::codegen {

static ProductMatrices ofConvolution(stablehlo::ConvolutionOp convolution,
                                     const Contraction &c) {
  auto numbers = convolution.getDimensionNumbers();
  const int64_t groups =
      convolution.getFeatureGroupCount() * convolution.getBatchGroupCount();
  ProductMatrices matrices;
  matrices.feature = numbers.getOutputFeatureDimension();
  matrices.rows = c.output;
  matrices.rows.erase(matrices.rows.begin() + *matrices.feature);
  matrices.batch = {groups};
  matrices.columns = {c.output[*matrices.feature] / groups};
  return matrices;
}

ProductMatrices ProductMatrices::of(Operation *op, const Contraction &c) {
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return ofConvolution(convolution, c);
  auto numbers = cast<stablehlo::DotGeneralOp>(op).getDotDimensionNumbers();
  const size_t batches = numbers.getLhsBatchingDimensions().size();
  const size_t free = shapeOf(c.left).size() - batches - c.sums.size();
  ArrayRef<int64_t> output = c.output;
  ProductMatrices matrices;
  matrices.batch = llvm::to_vector(output.take_front(batches));
  matrices.rows = llvm::to_vector(output.slice(batches, free));
  matrices.columns = llvm::to_vector(output.drop_front(batches + free));
  return matrices;
}

Indices ProductMatrices::outputAt(const Indices &batchAt, const Indices &rowAt,
                                  const Indices &columnAt) const {
  Indices all;
  if (feature) {
    all = rowAt;
    all.insert(all.begin() + *feature,
               batchAt.front() * columns.front() + columnAt.front());
    return all;
  }
  for (const Indices &some : {batchAt, rowAt, columnAt})
    llvm::append_range(all, some);
  return all;
}

} // namespace tenon::codegen
