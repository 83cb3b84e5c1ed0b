//===- ObjectForm.h - Exec form with machine code -------------------------===//
//
// What `codegen` leaves behind: a module in exec form whose kernels are
// declarations that name a symbol of a shared object, which the module holds as
// an attribute. It is text like every other form, so that a compilation can
// stop there and go on elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PACKAGE_OBJECTFORM_H
#define TENON_PACKAGE_OBJECTFORM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace tenon::package {

/// Turns exec form into object form. `symbols` has an entry for every function
/// with a kernel kind; fails with a diagnostic at one without.
mlir::LogicalResult toObjectForm(mlir::ModuleOp module,
                                 llvm::ArrayRef<char> sharedObject,
                                 const llvm::StringMap<std::string> &symbols);

/// The shared object of a module in object form, empty if it has no kernels;
/// lives as long as the module's context.
mlir::FailureOr<llvm::ArrayRef<char>> sharedObjectOf(mlir::ModuleOp module);

} // namespace tenon::package

#endif // TENON_PACKAGE_OBJECTFORM_H
