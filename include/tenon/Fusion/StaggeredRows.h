//===- StaggeredRows.h - Rows that do not share sets of a cache -----------===//
//
// The set of a cache that a line goes to follows from the low bits of its
// address. Where rows are a multiple of 4 KiB apart, the lines of a column all
// go to one set of a first-level cache, and half of the columns, which is what
// one of two threads reads of a product's weights, to half of the sets of a
// second-level one. Rows that are a cache line longer are spread over all sets:
//
//   1024 columns of f32   0, 4096, 8192, ...   set 0, 0, 0, ...
//   1040                  0, 4160, 8320, ...   set 0, 1, 2, ...
//
// What is behind the end of a row is never read: a slice leaves it out, which a
// library call takes for a stride (StridedView.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_STAGGEREDROWS_H
#define TENON_FUSION_STAGGEREDROWS_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::fusion {

/// Whether the rows of a matrix, or of a stack of them, go to few sets.
bool shareSets(mlir::RankedTensorType type);

/// The type with rows that are a cache line longer.
mlir::RankedTensorType staggered(mlir::RankedTensorType type);

/// The matrix, zeros behind the end of its rows.
mlir::Value withStagger(mlir::ImplicitLocOpBuilder &builder,
                        mlir::Value matrix);

/// What was staggered, as it is without that.
mlir::Value withoutStagger(mlir::ImplicitLocOpBuilder &builder,
                           mlir::Value staggered);

/// Whether a slice does nothing but that.
bool leavesOutStagger(stablehlo::SliceOp slice);

} // namespace tenon::fusion

#endif // TENON_FUSION_STAGGEREDROWS_H
