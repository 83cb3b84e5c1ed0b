//===- RecordedOptions.h - Options in the text between stages -------------===//
//
// A stage's text is self-contained: what the rest of the compilation depends on
// besides the program stands in it, as a module attribute.
//
//   module attributes {step.options = {feature_set = "x86-64-v3", fuse = true,
//                                      target = "cpu"}} { ... }
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DRIVER_RECORDEDOPTIONS_H
#define TENON_DRIVER_RECORDEDOPTIONS_H

#include "tenon/Support/Subnormals.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace tenon::driver {

struct RecordedOptions {
  std::string featureSet;
  bool fuse = true;
  /// A machine description as JSON; empty for the feature set's built-in one.
  std::string machine;
  std::optional<int64_t> memoryBudget; // in bytes
  bool replanRecomputation = false;
  Subnormals subnormals = Subnormals::flush;
  bool noLibraries = false;
};

/// Leaves the options on a module that is about to be written.
void recordOptions(mlir::ModuleOp module, const RecordedOptions &options);

/// Takes them from a module that has been read; nothing if it has none. Fails
/// with a diagnostic if the attribute is not what recordOptions() writes.
mlir::FailureOr<std::optional<RecordedOptions>>
takeOptions(mlir::ModuleOp module);

} // namespace tenon::driver

#endif // TENON_DRIVER_RECORDEDOPTIONS_H
