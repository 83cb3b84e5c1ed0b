//===- LinkSharedObject.h - Object code to one shared object --------------===//
//
// The last step of compiling kernels: all object files become one ELF shared
// object, the code section of a `.tenon` file. It needs nothing from outside
// but, when a kernel computes in f64, the named functions of libm; any other
// undefined symbol is an error here rather than a surprise at load.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_LINKSHAREDOBJECT_H
#define TENON_CODEGEN_CPU_LINKSHAREDOBJECT_H

#include "mlir/IR/Diagnostics.h"
#include "tenon/Codegen/CPU/CompileObjects.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon::codegen {

/// A function of the C mathematics library that kernels may call, and the
/// version of the symbol in glibc.
struct LibraryFunction {
  llvm::StringLiteral name;
  unsigned arguments;
  llvm::StringLiteral version;
};

/// All of them, f64 to f64, sorted by name: there are no f32 functions here
/// because a call per f32 element is never acceptable.
llvm::ArrayRef<LibraryFunction> allowedLibraryFunctions();

/// Links `objects` in the given order. Symbols that are defined twice, and
/// undefined symbols that are no allowed library function, are reported through
/// `emitError`, one diagnostic each. The same objects give the same bytes.
/// Safe to call from several threads (calls wait for each other).
llvm::FailureOr<llvm::SmallVector<char, 0>>
linkSharedObject(llvm::ArrayRef<ObjectCode> objects,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_LINKSHAREDOBJECT_H
