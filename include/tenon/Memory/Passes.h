//===- Passes.h - Memory: order, places, the exec program -----------------===//
//
// The passes of the stages `plan` and `lower`, and their pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_PASSES_H
#define TENON_MEMORY_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <limits>
#include <optional>
#include <string>

namespace tenon::memory {

#define GEN_PASS_DECL
#include "tenon/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Memory/Passes.h.inc"

struct MemoryOptions {
  /// Where the packing problem is written as CSV; empty for nowhere.
  std::string problemFile;
  /// Where the ordering problem is written as text; empty for nowhere.
  std::string orderingFile;
};

/// The part of the stage `plan` that does not depend on the budget: the order,
/// separate results, and the ways to run each loop if there is one.
void buildOrderPipeline(mlir::OpPassManager &passes, bool hasBudget,
                        const std::string &orderingFile = "");
/// Grouped form to scheduled form.
void buildPlanPipeline(mlir::OpPassManager &passes,
                       const MemoryOptions &options);
/// Scheduled form to exec form.
void buildLowerPipeline(mlir::OpPassManager &passes);

} // namespace tenon::memory

#endif // TENON_MEMORY_PASSES_H
