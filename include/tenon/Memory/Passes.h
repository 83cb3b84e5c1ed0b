//===- Passes.h - Memory: order, places, the exec program -----------------===//
//
// The passes of the stages `plan` and `lower`, and their pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_PASSES_H
#define TENON_MEMORY_PASSES_H

#include "tenon/Target/Target.h"

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

/// What a program runs on, in the words of a file: its device class, the memory
/// space that all segments lie in but that of what waits on the host, whose
/// space is named apart where there is one, and how it cuts launches. By
/// default the processor.
struct ProgramDevice {
  llvm::StringLiteral deviceClass = "cpu", space = "host", hostSpace = "";
  target::LaunchLimits launches = {};
};

/// LowerToExec for such a device; as a pass of its own it takes the processor.
std::unique_ptr<mlir::Pass> createLowerToExecPass(const ProgramDevice &device);

struct MemoryOptions {
  /// Where the packing problem is written as CSV; empty for nowhere.
  std::string problemFile;
  /// Where the ordering problem is written as text; empty for nowhere.
  std::string orderingFile;
  /// Whether kernels that follow each other may be one launch.
  bool gathersLaunches = false;
  /// Whether collectives run beside other operations.
  bool overlapsCollectives = false;
  /// What it takes to start one beside the others, and to wait for it.
  int64_t switchNanoseconds = 10'000;
};

/// The part of the stage `plan` that does not depend on the budget: the order,
/// separate results, and the ways to run each loop if there is one.
void buildOrderPipeline(mlir::OpPassManager &passes, bool hasBudget,
                        const std::string &orderingFile = "");
/// Grouped form to scheduled form.
void buildPlanPipeline(mlir::OpPassManager &passes,
                       const MemoryOptions &options);
/// Scheduled form to exec form.
void buildLowerPipeline(mlir::OpPassManager &passes,
                        const ProgramDevice &device = {});

} // namespace tenon::memory

#endif // TENON_MEMORY_PASSES_H
