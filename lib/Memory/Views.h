//===- Views.h - Operations that move no bytes ----------------------------===//
//
// Private to this folder, and the one place that knows which operations are
// views: a view gives its operands other names, and result i lies where operand
// i does. Nothing is run for it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_VIEWS_H
#define TENON_LIB_MEMORY_VIEWS_H

#include "mlir/IR/Operation.h"

namespace tenon::memory {

bool isView(mlir::Operation *op);

/// What a result of a view is another name of; null for any other value.
mlir::Value viewedBy(mlir::Value value);

/// The value behind all views.
mlir::Value storageOf(mlir::Value value);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_VIEWS_H
