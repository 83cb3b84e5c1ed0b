//===- ElementCode.h - Operations that element regions may hold -----------===//
//
// Code for regions of reductions, scatters, sorts and their like is generated
// in the middle of a kernel. This says of which operations; what else there is
// becomes selections (ExpandBranches.cpp) or takes the region's owner apart
// (ExpandElementLoops.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_ELEMENTCODE_H
#define TENON_LIB_IMPORT_ELEMENTCODE_H

#include "mlir/IR/Operation.h"

namespace tenon::importer {

/// Whether all results are tensors of one element.
bool hasSingleElements(mlir::Operation *op);

/// Whether an operation works on single elements and says the same about them
/// as about whole tensors.
bool isOnElements(mlir::Operation *op);

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_ELEMENTCODE_H
