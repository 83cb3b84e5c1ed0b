//===- Stages.h - The stages of a compilation -----------------------------===//
//
// The one table that knows the order of the stages, their names and what each
// leaves behind. `--compile-to`, `--compile-from`, `--help` and the report are
// made from it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DRIVER_STAGES_H
#define TENON_DRIVER_STAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tenon::driver {

enum class Stage { import, simplify, group, plan, lower, codegen };

struct StageDescription {
  Stage stage;
  llvm::StringLiteral name;
  llvm::StringLiteral form; // what the module is in afterwards
  llvm::StringLiteral summary;
};

/// In execution order.
llvm::ArrayRef<StageDescription> stages();
std::optional<Stage> stageFromName(llvm::StringRef name);
llvm::StringRef nameOf(Stage stage);

} // namespace tenon::driver

#endif // TENON_DRIVER_STAGES_H
