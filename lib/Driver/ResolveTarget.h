//===- ResolveTarget.h - The machine and the instruction set --------------===//
//
// What code is for and what is planned for follow from each other, from the
// command, from a text and from the machine that compiles.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_RESOLVETARGET_H
#define TENON_LIB_DRIVER_RESOLVETARGET_H

#include "tenon/Driver/Compiler.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon::driver {

/// Settles machine and features; `text` is what an earlier stage's text says,
/// or null. `contradiction` refuses an option for what the text was written.
ExitCode resolveTarget(
    const CompileOptions &options, const ResolvedOptions *text,
    llvm::function_ref<ExitCode(const llvm::Twine &, const llvm::Twine &)>
        contradiction,
    ResolvedOptions &resolved);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_RESOLVETARGET_H
