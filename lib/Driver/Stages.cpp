//===- Stages.cpp - The stages of a compilation ---------------------------===//
//
// See Stages.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Stages.h"

using namespace tenon::driver;

llvm::ArrayRef<StageDescription> tenon::driver::stages() {
  static constexpr StageDescription table[] = {
      {Stage::import, "import", "step form",
       "read the module, find roles and successors"},
      {Stage::simplify, "simplify", "step form", "same bits, less work"},
      {Stage::group, "group", "grouped form",
       "put operations into kernels and library calls"},
      {Stage::plan, "plan", "scheduled form",
       "order operations, give every value a place"},
      {Stage::lower, "lower", "exec form",
       "write the device program and outline kernels"},
      {Stage::codegen, "codegen", "object form", "compile kernels"},
  };
  return table;
}

std::optional<Stage> tenon::driver::stageFromName(llvm::StringRef name) {
  for (const StageDescription &description : stages())
    if (description.name == name)
      return description.stage;
  return std::nullopt;
}

llvm::StringRef tenon::driver::nameOf(Stage stage) {
  return stages()[size_t(stage)].name;
}
