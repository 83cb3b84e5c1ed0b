//===- ResolveOptions.h - What a compilation is for -----------------------===//
//
// Options come from the command, from the text of an earlier stage (see
// RecordedOptions.h) and from defaults. They are settled here, once the module
// has been read; where the command contradicts the text, that is an error.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_RESOLVEOPTIONS_H
#define TENON_LIB_DRIVER_RESOLVEOPTIONS_H

#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::driver {

struct ResolvedOptions {
  codegen::FeatureSet features; // what code is for
  target::Target machine;       // what is planned for
  std::string machineText;      // its JSON; empty for a built-in one
  bool fuse = true;
  bool noLibraries = false;

  /// The spelling of what code is for.
  std::string featureSet() const {
    return std::string(features.info().featureSet);
  }
  std::optional<int64_t> memoryBudget; // in bytes
  bool replanRecomputation = false;
  Subnormals subnormals = Subnormals::flush;
};

/// Takes the options recorded in `module` off it. An error is printed; what was
/// settled before stays in `resolved`.
ExitCode resolveOptions(const CompileOptions &options, mlir::ModuleOp module,
                        ResolvedOptions &resolved);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_RESOLVEOPTIONS_H
