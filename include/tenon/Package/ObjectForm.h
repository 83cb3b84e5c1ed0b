//===- ObjectForm.h - Exec form with machine code -------------------------===//
//
// What `codegen` leaves behind: a module in exec form whose kernels are
// declarations that name a symbol of a shared object, or of texts of PTX, which
// the module holds as an attribute. It is text like every other form, so that a
// compilation can stop there and go on elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PACKAGE_OBJECTFORM_H
#define TENON_PACKAGE_OBJECTFORM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <string>

namespace tenon::package {

/// Turns exec form into object form. `symbols` has an entry for every function
/// with a kernel kind; fails with a diagnostic at one without.
mlir::LogicalResult toObjectForm(mlir::ModuleOp module,
                                 llvm::ArrayRef<char> sharedObject,
                                 const llvm::StringMap<std::string> &symbols);

/// A kernel in PTX.
struct PtxKernelFacts {
  /// The number of blocks, and of the threads of each.
  std::array<int64_t, 2> launch = {};
  llvm::StringRef schedule;
  /// With machine code: registers, shared bytes, stack bytes, spilled bytes.
  std::array<int64_t, 4> resources = {};
};

/// Kernels as PTX for one architecture.
struct PtxCode {
  llvm::StringRef architecture, text;
  /// The version of what made machine code of it, and that; empty without.
  llvm::StringRef assembler;
  llvm::ArrayRef<char> binary;
  llvm::StringMap<PtxKernelFacts> kernels; // by symbol
};

/// The same for GPUs: code for one or more architectures.
mlir::LogicalResult toObjectForm(mlir::ModuleOp module,
                                 llvm::ArrayRef<PtxCode> codes,
                                 const llvm::StringMap<std::string> &symbols);

/// The shared object of a module in object form, empty if it has no kernels;
/// lives as long as the module's context.
mlir::FailureOr<llvm::ArrayRef<char>> sharedObjectOf(mlir::ModuleOp module);

} // namespace tenon::package

#endif // TENON_PACKAGE_OBJECTFORM_H
