//===- IndexMaps.h - Operations that give elements other indices ----------===//
//
// Slices, reshapes, transposes and the like compute nothing: an element of
// their result is one of their operand.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_INDEXMAPS_H
#define TENON_CODEGEN_LOOPS_INDEXMAPS_H

#include "tenon/Codegen/Loops/IndexExpression.h"

namespace tenon::codegen {

/// Whether all elements of the result are elements of the only operand.
bool renamesIndices(mlir::Operation *op);
/// The index in the operand of such an operation of an element of the result.
Indices renamedIndices(IndexAlgebra &algebra, mlir::Operation *op,
                       llvm::ArrayRef<IndexExpression> indices);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_INDEXMAPS_H
