//===- KernelFunction.h - The function a kernel is emitted into -----------===//
//
// A compiled kernel is the C function
//
//     void name(void *const *arguments, int64_t part, int64_t parts)
//
// that does part `part` of `parts`. The emitters do not see that: they fill a
// `func.func` whose arguments are static-shape memrefs (which do not overlap
// and start at multiples of 64 bytes) followed by `part` and `parts`, and
// lowerToLLVM puts the C function around it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_KERNELFUNCTION_H
#define TENON_CODEGEN_CPU_KERNELFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::codegen {

/// The attribute on a function that gets a C function around it: the exported
/// symbol, a string.
inline constexpr llvm::StringLiteral kernelSymbolAttribute = "codegen.symbol";

/// Every kernel argument starts at a multiple of this many bytes.
inline constexpr int64_t kernelArgumentAlignment = 64;

/// Gives a function the attributes of a kernel with C symbol `name`. Its
/// arguments are static-shape memrefs in identity layout, then `part` and
/// `parts` of type index; a tensor of `i1` is a memref of `i8` (a vector of
/// `i1` would be read as packed bits).
void markKernelFunction(mlir::func::FuncOp function, llvm::StringRef name);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_KERNELFUNCTION_H
