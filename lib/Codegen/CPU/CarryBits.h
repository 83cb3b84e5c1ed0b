//===- CarryBits.h - Scalars of bf16 are moved as their bits ----*- C++ -*-===//
//
// Where a processor has an instruction that rounds to bf16, LLVM holds a scalar
// of bf16 as an f32 from block to block and through a select, and rounds it
// again where its bits are asked for. The instruction makes zero of a subnormal
// number, whatever the processor's mode says, and moving a number must not
// change it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_CARRYBITS_H
#define TENON_LIB_CODEGEN_CPU_CARRYBITS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tenon::codegen {

/// Makes integers of all scalars of bf16 that `function`, in the LLVM dialect,
/// loads, stores, selects or passes to a block. Widening to f32 becomes a
/// shift.
void carryBf16AsBits(mlir::LLVM::LLVMFuncOp function);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_CARRYBITS_H
