//===- CompileObjects.h - Kernel modules to object code -------------------===//
//
// The second half of compiling kernels: many modules side by side, each from the
// LLVM dialect to x86-64 object code (Codegen/LLVM/GenerateCode.h). The same
// module and feature set give the same bytes on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_COMPILEOBJECTS_H
#define TENON_CODEGEN_CPU_COMPILEOBJECTS_H

#include "mlir/IR/BuiltinOps.h"
#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Codegen/LLVM/GenerateCode.h"
#include "tenon/Codegen/LLVM/KeptCode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace tenon::codegen {

/// A relocatable ELF object file.
using ObjectCode = GeneratedCode;

/// Lowers `module` (which ends up in LLVM dialect) and compiles it. Prepares
/// the module's context. Reports what went wrong as diagnostics.
llvm::FailureOr<ObjectCode> compileToObject(mlir::ModuleOp module,
                                            const FeatureSet &features);

/// The same for many modules on several threads, results and diagnostics in the
/// order of the modules. All modules are tried; the answer is a failure if one
/// of them fails. Modules may share a context, with or without multithreading.
/// They may or may not end up in LLVM dialect, and may or may not forget which
/// places of the user's program their operations come from.
llvm::FailureOr<llvm::SmallVector<ObjectCode>>
compileObjects(llvm::ArrayRef<mlir::ModuleOp> modules,
               const FeatureSet &features, const CodeWork &work = {});

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_COMPILEOBJECTS_H
