//===- XlaMemory.h - The temporaries XLA will need, predicted -------------===//
//
// XLA's CPU client runs clusters in the order in which they become ready, first
// come first served, and keeps each value until its last reader has run. This
// plays that through.
//
// Two of its habits count as much as the order. An argument that is donated for
// a result is copied at the start unless all who read it lie on the way to that
// result, since else nothing says that they run before it is overwritten. And a
// value that needs little is computed when it could be, not when it is wanted.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_STABLEHLO_XLAMEMORY_H
#define TENON_CODEGEN_STABLEHLO_XLAMEMORY_H

#include "tenon/Codegen/StableHLO/XlaClusters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

/// Bytes of a step in XLA besides its temporaries.
struct XlaSignature {
  int64_t arguments = 0;
  int64_t results = 0; // those that lie in no argument's memory
};

XlaSignature signatureBytes(mlir::func::FuncOp main);

/// The index of the argument that a result is written over, by result; -1.
llvm::SmallVector<int32_t> aliasedArguments(mlir::func::FuncOp main);

/// The bytes of temporaries at the peak when XLA runs the block that `clusters`
/// were made of. `main` is the function whose body it is, or null for the body
/// of a loop.
int64_t predictTemporaries(mlir::Block &block, const XlaClusters &clusters,
                           mlir::func::FuncOp main);

/// The bytes of a value's elements; 0 for what is no tensor.
int64_t bytesOf(mlir::Value value);

/// The bytes of a value that is no argument and no result: XLA's CPU client
/// computes in f32 what is bf16, and keeps it so for dots.
int64_t temporaryBytes(mlir::Value value);

/// The most bytes the regions of an operation need at once besides what they
/// are given.
int64_t regionBytes(mlir::Operation *op);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_STABLEHLO_XLAMEMORY_H
