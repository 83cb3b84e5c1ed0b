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
  RecomputeAcrossLoopsPassOptions across;
  SegmentLoopsPassOptions segments;
  for (const LoopChoice &choice : options.loopChoices) {
    across.levels.push_back(choice.level);
    segments.depths.push_back(choice.segmentDepth);
  }
  functions.addPass(createRecomputeAcrossLoopsPass(across));
  functions.addPass(createUpdateInLoopsPass());
  if (llvm::any_of(segments.depths, [](int64_t depth) { return depth > 0; }))
    functions.addPass(createSegmentLoopsPass(segments));
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
