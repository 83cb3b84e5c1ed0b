//===- HeldSums.h - What lies in memory between two additions -------------===//
//
// A sum is held in f32 or wider, whatever its terms are stored in: in a kernel,
// which an audit of its loops proves, and where the program itself holds it, as
// a loop that adds to what it carries does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_HELDSUMS_H
#define TENON_LIB_PRECISION_HELDSUMS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::precision {

/// Whether one of the operation's regions adds.
bool adds(mlir::Operation *op);

/// What lies behind conversions and movements of elements.
mlir::Value behindMovement(mlir::Value value);

/// Tensors of the program that an operation adds to while they lie in memory,
/// or adds up further after they were added up: what a scatter or overlapping
/// windows add into, what a loop adds to in every round, and what a reduction
/// takes from another one.
llvm::SmallVector<mlir::Value> heldSums(mlir::Operation *op);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_HELDSUMS_H
