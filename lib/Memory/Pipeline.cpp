//===- Pipeline.cpp - The stages `plan` and `lower` ----------------------===//
//
// The passes of Memory in order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;

void memory::buildPlanPipeline(OpPassManager &passes,
                               const MemoryOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createOrderOperationsPass());
  functions.addPass(createSeparateResultsPass());
  if (options.temporariesBudget)
    functions.addPass(
        createChooseRecomputationPass({/*budget=*/*options.temporariesBudget,
                                       /*moves=*/options.recomputeMoves}));
  functions.addPass(
      createPlanOffsetsPass({/*problemFile=*/options.problemFile}));
}

void memory::buildLowerPipeline(OpPassManager &passes) {
  passes.addPass(createVerifyScheduledFormPass());
  passes.addPass(createLowerToExecPass());
}
