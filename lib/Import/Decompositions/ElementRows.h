//===- ElementRows.h - Tensors as rows of elements ------------------------===//
//
// What loops over single elements are built from: tensors are rows of elements
// in row-major order there, and places are computed as i64.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_ELEMENTROWS_H
#define TENON_LIB_IMPORT_ELEMENTROWS_H

#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon::importer::elements {

using CodeBuilder = mlir::ImplicitLocOpBuilder;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;

using stablehlo::typeOf;

// Numbers of elements, scalars of type i64.

Value number(CodeBuilder &builder, int64_t value);
Value plus(CodeBuilder &builder, Value value, int64_t term);
Value times(CodeBuilder &builder, Value value, int64_t factor);
/// Scalars of type i1.
Value isBelow(CodeBuilder &builder, Value value, int64_t bound);
Value always(CodeBuilder &builder);
/// Whether 0 <= value < bound.
Value isWithin(CodeBuilder &builder, Value value, int64_t bound);
/// The tensor with other elements of the same values.
Value converted(CodeBuilder &builder, Value value, mlir::Type element);
/// The round of a counted loop as a number.
Value wide(CodeBuilder &builder, Value round);

/// A place in a tensor: one number per dimension.
using Place = SmallVector<Value>;
/// The place of element `at` in row-major order.
Place placeOf(CodeBuilder &builder, Value at, ArrayRef<int64_t> shape);
/// The row-major number of the element at a place.
Value numberOf(CodeBuilder &builder, ArrayRef<Value> place,
               ArrayRef<int64_t> shape);

// Rows, tensors of one dimension.

Value row(CodeBuilder &builder, Value tensor);
SmallVector<Value> rows(CodeBuilder &builder, ValueRange tensors);
/// A row of the elements of `type`, all of them the scalar `value`.
Value repeated(CodeBuilder &builder, Value value, RankedTensorType type);
SmallVector<Value> elementsAt(CodeBuilder &builder, ValueRange rows, Value at);
SmallVector<Value> updatedAt(CodeBuilder &builder, ValueRange rows, Value at,
                             ValueRange elements);
/// What a region computes from elements; it may want them in wider types.
SmallVector<Value> computed(CodeBuilder &builder, mlir::Region &region,
                            ArrayRef<Value> elements);
/// What `compute` says where `condition` holds, `otherwise` where it does not.
SmallVector<Value> whereTrue(CodeBuilder &builder, Value condition,
                             ValueRange otherwise,
                             llvm::function_ref<SmallVector<Value>()> compute);

// Owners of a region with a file of their own; their results as rows.

SmallVector<Value> expand(CodeBuilder &builder, stablehlo::ReduceWindowOp op);
SmallVector<Value> expand(CodeBuilder &builder,
                          stablehlo::SelectAndScatterOp op);

} // namespace tenon::importer::elements

#endif // TENON_LIB_IMPORT_ELEMENTROWS_H
