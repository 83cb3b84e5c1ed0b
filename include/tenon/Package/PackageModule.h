//===- PackageModule.h - Exec form and kernels to a .tenon file ----------===//
//
// The last stage: gathers what the runtime needs from a module in exec form and
// the compiled kernels into the index and the sections of a `.tenon` file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PACKAGE_PACKAGEMODULE_H
#define TENON_PACKAGE_PACKAGEMODULE_H

#include "tenon/Format/Index.h"
#include "tenon/Libraries/Isa.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace tenon::package {

struct CompiledKernels {
  /// The ELF shared object with all kernels.
  llvm::ArrayRef<char> sharedObject;
  /// Kernel function to the symbol that implements it.
  llvm::StringMap<std::string> symbols;
};

struct PackageOptions {
  /// The feature set the kernels were compiled for, `x86-64-v4`.
  std::string cpu;
  libraries::Isa libraryIsa = libraries::Isa::avx2;
};

struct Package {
  format::Index index;
  std::vector<std::byte> constants; // the constants segment
};

/// Fails with a diagnostic if the module is not in exec form, names a kernel
/// without a symbol or holds an element type that files do not know.
mlir::FailureOr<Package> packageModule(mlir::ModuleOp module,
                                       const CompiledKernels &kernels,
                                       const PackageOptions &options);

} // namespace tenon::package

#endif // TENON_PACKAGE_PACKAGEMODULE_H
