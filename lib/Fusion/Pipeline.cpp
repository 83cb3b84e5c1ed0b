//===- Pipeline.cpp - The stage `group` ----------------------------------===//
//
// The passes of Fusion in order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;

void fusion::buildLoopPipeline(OpPassManager &passes,
                               const FusionOptions &options) {
  if (!options.merge)
    return;
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(
      createRecomputeAcrossLoopsPass({/*level=*/options.loopLevel}));
  functions.addPass(createUpdateInLoopsPass());
  if (options.segmentDepth)
    functions.addPass(createSegmentLoopsPass({/*depth=*/options.segmentDepth}));
}

void fusion::buildGroupPipeline(OpPassManager &passes,
                                const FusionOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createSplitReductionsPass());
  functions.addPass(
      createWidenDotsPass({/*instructionSet=*/options.libraryInstructionSet}));
  functions.addPass(createTransposeInvariantsPass());
  functions.addPass(createAlignContractionsPass());
  functions.addPass(createFormLibraryGroupsPass(
      {/*instructionSet=*/options.libraryInstructionSet}));
  functions.addPass(
      createFormGroupsPass({/*merge=*/options.merge}, options.machine));
  if (options.merge)
    functions.addPass(createFuseEpiloguesPass(
        {/*instructionSet=*/options.libraryInstructionSet}, options.machine));
}

void fusion::buildFusionPipeline(OpPassManager &passes,
                                 const FusionOptions &options) {
  buildLoopPipeline(passes, options);
  buildGroupPipeline(passes, options);
}
