//===- ReadPerBlock.h - A value made where it is first read ---------------===//
//
// State that is held narrow is widened or put together for whoever computes
// with it: once in each block, in front of its first reader.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_READPERBLOCK_H
#define TENON_LIB_PRECISION_READPERBLOCK_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon::precision {

/// Has all of `uses` read what `make` appends where the builder stands, for
/// each block anew.
void readPerBlock(mlir::OpBuilder &builder,
                  llvm::ArrayRef<mlir::OpOperand *> uses,
                  llvm::function_ref<mlir::Value()> make);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_READPERBLOCK_H
