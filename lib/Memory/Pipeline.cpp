//===- Pipeline.cpp - The stages `plan` and `lower` ----------------------===//
//
// The passes of Memory in order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;

void memory::buildOrderPipeline(OpPassManager &passes, bool hasBudget,
                                const std::string &orderingFile) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createOrderOperationsPass());
  functions.addPass(createSeparateResultsPass());
  functions.addPass(createSearchOrderPass({orderingFile}));
  if (hasBudget)
    functions.addPass(createTabulateLoopsPass());
}

void memory::buildPlanPipeline(OpPassManager &passes,
                               const MemoryOptions &options) {
  buildOrderPipeline(passes, /*hasBudget=*/false, options.orderingFile);
  PlanOffsetsPassOptions offsets;
  offsets.problemFile = options.problemFile;
  passes.addNestedPass<func::FuncOp>(createPlanOffsetsPass(offsets));
}

void memory::buildLowerPipeline(OpPassManager &passes) {
  passes.addPass(createVerifyScheduledFormPass());
  passes.addPass(createLowerToExecPass());
}
