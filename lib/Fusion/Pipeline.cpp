//===- Pipeline.cpp - The stage `group` ----------------------------------===//
//
// The passes of Fusion in order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Libraries/Library.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;

/// What is stacked between loops, and what moves into them.
static void addLoopChoices(OpPassManager &functions,
                           const fusion::FusionOptions &options) {
  fusion::RecomputeAcrossLoopsPassOptions across;
  fusion::SegmentLoopsPassOptions segments;
  for (const fusion::LoopChoice &choice : options.loopChoices) {
    across.levels.push_back(choice.level);
    segments.depths.push_back(choice.segmentDepth);
  }
  functions.addPass(fusion::createRecomputeAcrossLoopsPass(across));
  functions.addPass(fusion::createUpdateInLoopsPass());
  if (llvm::any_of(segments.depths, [](int64_t depth) { return depth > 0; }))
    functions.addPass(fusion::createSegmentLoopsPass(segments));
}

void fusion::buildLoopPipeline(OpPassManager &passes,
                               const FusionOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  // In which order the sums over rounds are added up does not depend on what
  // else is done to their loops, so it is decided first.
  functions.addPass(createChooseBlocksPass());
  if (options.merge)
    addLoopChoices(functions, options);
  functions.addPass(createMarkFilledStacksPass());
  functions.addPass(createBlockLoopsPass(
      {/*stagger=*/options.callLibraries && !options.forGpus}));
}

std::string fusion::whyLibrariesNotAskable(ModuleOp module, target::Isa isa) {
  using namespace libraries;
  std::string whyNot;
  module.walk([&](Operation *op) {
    if (llvm::isa<stablehlo::DotGeneralOp>(op))
      whyNot = libraryOf(MatmulDescription()).whyNotAskable(isa);
    else if (llvm::isa<stablehlo::ConvolutionOp>(op))
      whyNot = libraryOf(ConvolutionDescription()).whyNotAskable(isa);
    return whyNot.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return whyNot;
}

LogicalResult fusion::verifyNoLibraryIsNeeded(ModuleOp module) {
  bool isNeeded = false;
  module.walk([&](stablehlo::CustomCallOp call) {
    call.emitError() << "custom call @" << call.getCallTargetName()
                     << " has no kernel, only a library runs it; leave out "
                        "--no-libraries";
    isNeeded = true;
  });
  return failure(isNeeded);
}

FailureOr<target::Isa> fusion::isaOfOption(Operation *op, StringRef cpu) {
  if (auto isa = target::isaOfFeatureSet(cpu))
    return *isa;
  return op->emitError() << "unknown feature set '" << cpu << "', expected "
                         << target::featureSetNames();
}

void fusion::buildGroupPipeline(OpPassManager &passes,
                                const FusionOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createSplitReductionsPass());
  std::string cpu(target::describe(options.isa).featureSet);
  if (options.callLibraries) {
    if (options.forGpus)
      functions.addPass(createPadProductsPass({}, options.machine));
    bool packs =
        !options.forGpus &&
        options.machine.multipliesNatively(ElementType::bf16, options.isa);
    functions.addPass(createLayOutInvariantsPass(
        {packs ? cpu : "", /*stagger=*/!options.forGpus}));
    functions.addPass(createAlignContractionsPass());
    functions.addPass(createFormLibraryGroupsPass(
        {cpu, options.forGpus,
         /*choose=*/!options.callAllLibraries && !options.forGpus,
         options.allowTf32},
        options.machine));
    if (options.merge && options.forGpus)
      functions.addPass(createAddResidualsPass(options.machine));
  }
  functions.addPass(createFormAttentionGroupsPass());
  functions.addPass(
      createFormGroupsPass({/*merge=*/options.merge}, options.machine));
  if (options.merge)
    functions.addPass(createReadSlicesPass(options.machine));
  if (options.merge && options.callLibraries && options.forGpus)
    functions.addPass(createFinishProductsPass(options.machine));
  if (options.merge && options.callLibraries)
    functions.addPass(
        createFuseEpiloguesPass({cpu, options.forGpus}, options.machine));
  if (options.merge && !options.forGpus)
    functions.addPass(createWriteSlicesPass(options.machine));
}

void fusion::buildFusionPipeline(OpPassManager &passes,
                                 const FusionOptions &options) {
  buildLoopPipeline(passes, options);
  buildGroupPipeline(passes, options);
}
