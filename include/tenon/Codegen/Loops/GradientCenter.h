//===- GradientCenter.h - What the gradient of a softmax takes away -------===//
//
// A slope of attention is a weight times how far a key's gradient lies from the
// mean of the row's gradients, by weight. Where one key has nearly all weight,
// its gradient and that mean are almost equal, and what is left of their
// difference is the rounding of both. So all is measured from the mean gradient
// of the keys that have the row's largest weight, the pivot:
//
//   mean - pivot = sum over the other keys of weight * (gradient - pivot)
//
// which is exact to rounding, however small it is. Scalars and vectors of f32.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_GRADIENTCENTER_H
#define TENON_CODEGEN_LOOPS_GRADIENTCENTER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"

namespace tenon::codegen {

/// What is summed up over the keys of a row, in this order: of those with the
/// largest weight the number and the gradients; of the others the weights, and
/// these times the gradients.
inline constexpr size_t centerSumCount = 4;

/// The largest weight of a row, given the reciprocal of the sum of its
/// exponentials; no number if that is not above 0, so that no weight equals it.
mlir::Value largestWeight(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value reciprocal);

/// `sums` with one more key in each lane, of which a weight and gradient of 0
/// change nothing.
llvm::SmallVector<mlir::Value>
addToCenter(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange sums,
            mlir::Value weight, mlir::Value largest, mlir::Value gradient);

struct GradientCenter {
  mlir::Value pivot, rest; // the mean is pivot + rest
};

GradientCenter centerOf(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::ValueRange sums);

/// gradient - mean.
mlir::Value fromCenter(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value gradient, const GradientCenter &center);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_GRADIENTCENTER_H
