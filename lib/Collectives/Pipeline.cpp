//===- Pipeline.cpp - Fewer and larger collectives ------------------------===//
//
// The passes of Collectives in order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Collectives/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;

void collectives::buildSumsPipeline(OpPassManager &passes, bool mergesEqual) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  if (mergesEqual)
    functions.addPass(createMergeEqualPass());
  functions.addPass(createReduceOncePass());
}

void collectives::buildCollectivesPipeline(OpPassManager &passes,
                                           int64_t bucketBytes,
                                           bool mergesEqual) {
  buildSumsPipeline(passes, mergesEqual);
  passes.addNestedPass<func::FuncOp>(createBucketSumsPass({bucketBytes}));
}
