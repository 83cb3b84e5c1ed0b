//===- VerifySums.h - Emitted code adds up in f32 or wider ----------------===//
//
// The last look at a kernel before it is lowered for a processor: loops and
// vectors are written out, so what a sum is held in can be read off. Whatever
// schedule emitted it, whatever a program's types are, no code of ours adds
// floats of 16 bits, and no loop rounds a sum to 16 bits between two additions.
// (A scatter rounds the element that it stores after every update, as
// docs/Forms.md says of it: that lies in memory.)
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_VERIFYSUMS_H
#define TENON_CODEGEN_LOOPS_VERIFYSUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

/// Fails with a diagnostic at `kernel`, from which `emitted` was made.
llvm::LogicalResult verifySums(mlir::func::FuncOp emitted,
                               mlir::func::FuncOp kernel);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_VERIFYSUMS_H
