//===- StageOptions.h - What a compilation is for -------------------------===//
//
// Options come from the command, from the text of an earlier stage and from
// defaults. They are settled once the module has been read; where the command
// contradicts the text, that is an error. A stage's text is self-contained:
// what the rest of the compilation depends on besides the program stands in it,
// as a module attribute.
//
//   module attributes {step.options = {feature_set = "x86-64-v3", fuse = true,
//                                      target = "cpu"}} { ... }
//
// Which options there are is for the entries of the stages.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_STAGEOPTIONS_H
#define TENON_LIB_DRIVER_STAGEOPTIONS_H

#include "tenon/Driver/Compiler.h"

namespace tenon::driver {

/// Leaves the options on a module that is about to be written.
void recordOptions(mlir::ModuleOp module, const Walk &walk,
                   const ResolvedOptions &resolved);

/// Takes the options recorded in `module` off it. An error is printed; what was
/// settled before stays in `resolved`.
ExitCode resolveOptions(const CompileOptions &options, const Walk &walk,
                        mlir::ModuleOp module, ResolvedOptions &resolved);

/// Refuses a command's options that no stage of `walk` reads.
ExitCode refuseOptionsOfOthers(const CompileOptions &options, const Walk &walk);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_STAGEOPTIONS_H
