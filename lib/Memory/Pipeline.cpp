//===- Pipeline.cpp - The stages `plan` and `lower` ----------------------===//
//
// The passes of Memory in order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;

void memory::buildOrderPipeline(OpPassManager &passes, bool hasBudget) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createOrderOperationsPass());
  functions.addPass(createSeparateResultsPass());
  if (hasBudget)
    functions.addPass(createTabulateLoopsPass());
}

void memory::buildPlacePipeline(OpPassManager &passes,
                                const MemoryOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  if (options.temporariesBudget)
    functions.addPass(
        createChooseRecomputationPass({/*budget=*/*options.temporariesBudget,
                                       /*moves=*/options.recomputeMoves,
                                       /*quick=*/options.quickLook}));
  functions.addPass(createPlanOffsetsPass({/*problemFile=*/options.problemFile,
                                           /*quick=*/options.quickLook}));
}

void memory::buildPlanPipeline(OpPassManager &passes,
                               const MemoryOptions &options) {
  buildOrderPipeline(passes, options.temporariesBudget.has_value());
  buildPlacePipeline(passes, options);
}

void memory::buildLowerPipeline(OpPassManager &passes) {
  passes.addPass(createVerifyScheduledFormPass());
  passes.addPass(createLowerToExecPass());
}
