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
  // What is computed again in another order may by chance take a little longer;
  // where a budget asks for that, the order has to be worth it.
  functions.addPass(
      createSearchOrderPass({orderingFile, /*leastGain=*/hasBudget ? 1 : 0}));
  if (hasBudget)
    functions.addPass(createTabulateLoopsPass());
}

void memory::buildPlanPipeline(OpPassManager &passes,
                               const MemoryOptions &options) {
  buildOrderPipeline(passes, /*hasBudget=*/false, options.orderingFile);
  if (options.gathersLaunches)
    passes.addNestedPass<func::FuncOp>(createGatherLaunchesPass());
  if (options.overlapsCollectives)
    passes.addNestedPass<func::FuncOp>(
        createOverlapCollectivesPass({options.switchNanoseconds}));
  PlanOffsetsPassOptions offsets;
  offsets.problemFile = options.problemFile;
  offsets.together = options.gathersLaunches;
  passes.addNestedPass<func::FuncOp>(createPlanOffsetsPass(offsets));
  if (options.overlapsCollectives)
    passes.addNestedPass<func::FuncOp>(
        createAwaitCollectivesPass({options.switchNanoseconds}));
}

void memory::buildLowerPipeline(OpPassManager &passes,
                                const ProgramDevice &device) {
  passes.addPass(createVerifyScheduledFormPass());
  passes.addPass(createLowerToExecPass(device));
}
