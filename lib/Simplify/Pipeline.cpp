//===- Pipeline.cpp - The simplify stage ----------------------------------===//
//
// The order of the passes. Loops are trimmed before invariants are looked for,
// since a value that never changes makes what depends on it invariant; the
// rules run again on what left the loops. Attention of a part of the queries is
// attention only as one operation, so parts are cut when it has been raised.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Pipeline.h"

#include "tenon/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"

using namespace mlir;

namespace tenon::simplify {

void buildSimplifyPipeline(OpPassManager &manager,
                           const SimplifyOptions &options) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  ApplyRulesPassOptions rules;
  rules.subnormals = name(options.subnormals);
  if (options.dropBarriers)
    functions.addPass(createDropBarriersPass());
  functions.addPass(createTrimLoopsPass());
  functions.addPass(createApplyRulesPass(rules));
  functions.addPass(createMergeDuplicatesPass());
  functions.addPass(createTrimLoopsPass());
  if (options.hoist)
    functions.addPass(createHoistInvariantsPass());
  functions.addPass(createApplyRulesPass(rules));
  functions.addPass(createMergeDuplicatesPass());
  if (options.raiseAttention) {
    functions.addPass(createRaiseAttentionPass());
    functions.addPass(createComputeReadPartsPass());
  }
  functions.addPass(createRecognizeIdiomsPass());
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<bool> hoist{*this, "hoist",
                     llvm::cl::desc("move invariant operations out of loops"),
                     llvm::cl::init(true)};
  Option<bool> dropBarriers{
      *this, "drop-barriers",
      llvm::cl::desc("drop the barriers that keep a user's recomputation"),
      llvm::cl::init(false)};
};
} // namespace

void registerSimplifyPipeline() {
  registerSimplifyPasses();
  PassPipelineRegistration<PipelineOptions>(
      "simplify", "step form to step form: same meaning, less work",
      [](OpPassManager &manager, const PipelineOptions &text) {
        SimplifyOptions options;
        options.hoist = text.hoist;
        options.dropBarriers = text.dropBarriers;
        buildSimplifyPipeline(manager, options);
      });
}

} // namespace tenon::simplify
