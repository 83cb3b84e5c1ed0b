//===- EmptyTensors.h - Operations on no elements -------------------------===//
//
// Tensors with an extent of zero hold nothing to compute. Their rewrites are
// part of CanonicalizeSpelling.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_EMPTYTENSORS_H
#define TENON_LIB_IMPORT_EMPTYTENSORS_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace tenon::importer {

/// Adds rewrites after which results without elements are constants, and no
/// operation that has elements reads a tensor that has none.
void populateEmptyTensors(mlir::RewritePatternSet &patterns);

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_EMPTYTENSORS_H
