//===- HoldParameters.h - Which parameters can be held in two parts -------===//
//
// Held `high_and_low` a parameter is two arguments and two results of the step:
// the nearest bf16, which products read as it is, and an i16 with the rest of
// the f32's bits, which the update reads and writes beside it. Nothing else may
// read the parameter but what is computed in the kernel of its reader, where
// the f32 is put together: a kernel that only puts it together would take more
// memory than is saved.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_HOLDPARAMETERS_H
#define TENON_LIB_PRECISION_HOLDPARAMETERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::precision {

/// Whether an argument may be held in two parts: an f32 parameter of
/// any size that the step replaces, and that is read by products, element by
/// element, or to be summed. `narrowProductsOnly` counts products alone whose
/// operand is rounded to bf16 by now; otherwise all that could be.
bool canBeHeldInParts(mlir::BlockArgument argument, bool narrowProductsOnly);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_HOLDPARAMETERS_H
