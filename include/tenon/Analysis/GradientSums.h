//===- GradientSums.h - Sums over rows beside gradients of attention ------===//
//
// The gradients of the biases of queries, keys and values are sums over all
// rows of the gradients that flow on. The kernel that makes these may add up 64
// rows at a time:
//
//   q, k, v = attention's gradient      [2, 128, 256] each
//   d = q, k and v side by side         [2, 128, 768], stored
//   s = sums of 64 rows of d, widened   [4, 768], from d as [4, 64, 768]
//
// What is left to add up has a 64th of the rows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_GRADIENTSUMS_H
#define TENON_ANALYSIS_GRADIENTSUMS_H

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"

#include <optional>

namespace tenon {

inline constexpr int64_t rowsOfGradientSum = 64;

struct GradientSum {
  stablehlo::ReduceOp reduce; // of [blocks, rowsOfGradientSum, columns]
  mlir::Value summed;         // gradients as they are stored

  /// What `value` is; nothing if it is no such sum. Of what is not said.
  static std::optional<GradientSum> of(mlir::Value value);
  int64_t columns() const;
};

/// The operation whose gradients a value is, alone or joined with others of it;
/// null if it is something else.
step::AttentionGradientOp gradientsOf(mlir::Value value);

/// The operation that makes what is summed, of a kernel's result that is such a
/// sum of gradients of attention; null for any other.
step::AttentionGradientOp summedGradients(mlir::Value result);

} // namespace tenon

#endif // TENON_ANALYSIS_GRADIENTSUMS_H
