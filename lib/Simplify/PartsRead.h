//===- PartsRead.h - Which parts of a block's values are read -------------===//
//
// One walk forwards over the operations of a block finds where values are zero
// because a tensor was padded; one walk backwards finds what is read of them: a
// slice reads a part, and so does what is multiplied with zeros elsewhere. An
// operation needs to run for the rounds only of which both are left.
//
// Example: the loss reads row 0 of y = x W. The gradient of y is zero but in
// row 0, so x gets a gradient in row 0, and of x that row is multiplied by it.
// The product, its two gradients and all between them have one row to compute.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SIMPLIFY_PARTSREAD_H
#define TENON_LIB_SIMPLIFY_PARTSREAD_H

#include "OperationLoops.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/MapVector.h"

namespace tenon::simplify {

/// An operation that needs to run for some rounds only.
struct PartialOperation {
  OperationLoops loops;
  Box rounds;
};

/// In the order of the block from its end.
using PartialOperations = llvm::MapVector<mlir::Operation *, PartialOperation>;

/// The operations of `block` that need to run for at most half of the rounds of
/// a loop, as long as all of them do that are connected by operands: elements
/// that are not computed are zero, or nobody reads them.
PartialOperations findPartsRead(mlir::Block &block);

} // namespace tenon::simplify

#endif // TENON_LIB_SIMPLIFY_PARTSREAD_H
