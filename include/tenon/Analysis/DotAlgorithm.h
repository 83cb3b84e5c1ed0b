//===- DotAlgorithm.h - The arithmetic that a dot_general asks for --------===//
//
// A `dot_general` may state how it is computed: each operand is rounded to a
// format, as one number or as a sum of components, some products of components
// are summed in a format, and the sum is rounded to the result. What Tenon
// makes of it is said here once, for the compiler, which writes such a dot as
// plain ones (Import/Decompositions/ExpandDotAlgorithms), and for the
// interpreter. docs/Forms.md lists what is understood.
//
// Example: `bf16_bf16_f32_x3` on f32. x = x0 + x1 with x0 = bf16(x) and
// x1 = bf16(x - x0), y alike, and x y is taken as x1 y0 + x0 y1, then + x0 y0:
// of the four products those three of which at most one factor is small.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_DOTALGORITHM_H
#define TENON_ANALYSIS_DOTALGORITHM_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <optional>
#include <string>
#include <utility>

namespace tenon {

struct DotAlgorithm {
  /// What components of the operands are rounded to.
  mlir::FloatType lhs, rhs;
  /// How many components each operand has.
  int64_t lhsComponents = 1, rhsComponents = 1;
  /// The components whose products count, the smallest products first.
  llvm::SmallVector<std::pair<int64_t, int64_t>> products;
  /// What products are multiplied and summed in: f32, or f64 if that is asked.
  mlir::FloatType sum;
  /// What the sum is rounded to before it is the result: what is asked.
  mlir::FloatType accumulation;

  /// Nothing, and why in `whyNot`, if Tenon does not compute so. `dot` must
  /// have an algorithm.
  static std::optional<DotAlgorithm> of(stablehlo::DotGeneralOp dot,
                                        std::string &whyNot);
};

} // namespace tenon

#endif // TENON_ANALYSIS_DOTALGORITHM_H
