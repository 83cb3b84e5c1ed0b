//===- PackageModule.h - Object form to a .tenon file --------------------===//
//
// The last stage: gathers what the runtime needs from a module in object form
// into the index and the sections of a `.tenon` file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PACKAGE_PACKAGEMODULE_H
#define TENON_PACKAGE_PACKAGEMODULE_H

#include "tenon/Format/Writer.h"
#include "tenon/Target/InstructionSets.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tenon::package {

struct PackageOptions {
  /// What kernels of a CPU were compiled and library calls planned for.
  target::Isa isa{};
  Subnormals subnormals = Subnormals::flush;
  /// What all segments together may take; 0 for no budget.
  uint64_t memoryBudget = 0;
  /// See format::Index.
  std::vector<format::Attribute> arithmetic = {};
};

struct Package {
  format::Index index;
  std::vector<std::byte> constants; // the constants segment
  /// Of the file. They refer to `constants` and to the module, whose context
  /// has to live as long.
  std::vector<format::SectionBytes> sections;
};

/// Fails with a diagnostic if the module is not in object form or holds an
/// element type that files do not know.
mlir::FailureOr<Package> packageModule(mlir::ModuleOp module,
                                       const PackageOptions &options);

} // namespace tenon::package

#endif // TENON_PACKAGE_PACKAGEMODULE_H
