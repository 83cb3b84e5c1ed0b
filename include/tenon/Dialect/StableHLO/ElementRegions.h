//===- ElementRegions.h - Regions that work on elements ------------------===//
//
// Reductions, scatters, sorts and their like hold a region that combines single
// elements. It is a function of its arguments: what code is generated from it
// sees nothing outside. Rewriting shares constants between regions; this file
// restores the rule at the end of passes that rewrite.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_ELEMENTREGIONS_H
#define TENON_DIALECT_STABLEHLO_ELEMENTREGIONS_H

#include "mlir/IR/Operation.h"

namespace tenon::stablehlo {

/// Whether the regions of `op` work on elements; those of loops and branches do
/// not.
bool hasElementRegions(mlir::Operation *op);

/// Clones constants from outside into the element regions below `root` that
/// read them.
void closeElementRegions(mlir::Operation *root);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_ELEMENTREGIONS_H
