//===- Rules.h - The library of small rewrites ----------------------------===//
//
// Rules that make a program smaller and never change a bit of what it computes,
// in groups by what they look at. ApplyRules runs them; each group is one file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SIMPLIFY_RULES_H
#define TENON_LIB_SIMPLIFY_RULES_H

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Support/Subnormals.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"

namespace tenon::simplify {

/// Operations on constants (ConstantRules.cpp).
void populateConstantRules(mlir::RewritePatternSet &patterns,
                           Subnormals subnormals);
/// Identities that hold for every float, NaN and signed zeros included
/// (AlgebraRules.cpp).
void populateAlgebraRules(mlir::RewritePatternSet &patterns,
                          Subnormals subnormals);
/// Element-wise operations on repeated or reshaped tensors (MovementRules.cpp).
void populateMovementRules(mlir::RewritePatternSet &patterns);
/// Slices, pads and concatenations (ShapeRules.cpp).
void populateShapeRules(mlir::RewritePatternSet &patterns);
/// Comparisons that ranges decide, slices, gathers and scatters at known
/// places (IndexingRules.cpp).
void populateIndexingRules(mlir::RewritePatternSet &patterns);
/// Reductions of nothing and of one element (ReductionRules.cpp).
void populateReductionRules(mlir::RewritePatternSet &patterns);
/// Dots that add nothing up (ContractionRules.cpp).
void populateContractionRules(mlir::RewritePatternSet &patterns);
/// Branches that are known, barriers nobody reads (ControlRules.cpp).
void populateControlRules(mlir::RewritePatternSet &patterns);

inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

inline bool allAre(llvm::ArrayRef<int64_t> values, int64_t value) {
  return llvm::all_of(values, [&](int64_t v) { return v == value; });
}

/// The constant that defines `value`; null if it is none.
mlir::DenseElementsAttr constantOf(mlir::Value value);
/// The one element of a splat constant; null if `value` is none.
mlir::Attribute splatOf(mlir::Value value);
/// Whether `value` is a splat constant of that number, in any numeric type.
/// Zero means +0; see isNegativeZero.
bool isSplat(mlir::Value value, double number);
bool isNegativeZeroSplat(mlir::Value value);

/// A splat constant of `type`.
mlir::Value makeSplat(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::RankedTensorType type, mlir::Attribute element);

/// Whether a scatter into one tensor adds its updates to what is there.
bool addsUp(stablehlo::ScatterOp op);

/// Whether no element of a float tensor can be -0: sums that start at +0,
/// squares, exponentials, magnitudes, and what only moves them. A sum that is
/// flushed may be: what is flushed keeps its sign.
bool isNeverNegativeZero(mlir::Value value, Subnormals subnormals);

} // namespace tenon::simplify

#endif // TENON_LIB_SIMPLIFY_RULES_H
