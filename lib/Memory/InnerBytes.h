//===- InnerBytes.h - What only the inside of a loop or a branch needs ----===//
//
// A loop or a conditional is one operation of its block; what its body needs at
// once beside the values of that block is memory that it takes while it runs.
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_INNERBYTES_H
#define TENON_LIB_MEMORY_INNERBYTES_H

#include "tenon/Memory/BufferClasses.h"

#include "llvm/ADT/DenseSet.h"

namespace tenon::memory {

/// Adds the classes of all values of the block, its arguments among them.
void addClasses(mlir::Block &block, const BufferClasses &buffers,
                llvm::DenseSet<BufferClasses::Id> &classes);

/// The most bytes of temporaries that are live at once while the operation
/// runs, beyond what its results take: in its results, in classes of values
/// inside of it that are not `outside`, and in scratch. What a loop carries
/// takes nothing between its last reader in a round and the next round's value.
///
/// A conditional needs what it captures only until the last reader in the
/// branch that runs, if nothing reads it behind. Where `captured` has the
/// classes of such values, they count in each branch, too.
int64_t innerBytes(mlir::Operation *op, const BufferClasses &buffers,
                   const llvm::DenseSet<BufferClasses::Id> &outside,
                   llvm::ArrayRef<BufferClasses::Id> captured = {});

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_INNERBYTES_H
