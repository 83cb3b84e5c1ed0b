//===- ElementTypes.h - Element types between IR and files ---------------===//
//
// MLIR's element types as files, libraries and the runtime name them, and the
// bytes tensors take.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_ELEMENTTYPES_H
#define TENON_ANALYSIS_ELEMENTTYPES_H

#include "tenon/Support/ElementType.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace tenon {

/// Nothing for a type that files do not hold.
std::optional<ElementType> elementTypeOf(mlir::Type type);

/// Bytes a tensor or memref of this type takes in a segment; an `i1` takes one.
int64_t storedBytes(mlir::Type type);

} // namespace tenon

#endif // TENON_ANALYSIS_ELEMENTTYPES_H
