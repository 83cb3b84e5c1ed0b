//===- WritePlan.h - A recomputation plan as StableHLO --------------------===//
//
// Rewrites a step so that XLA, which knows nothing of the plan, follows it: the
// operations that run again are copied, and values are tied where XLA would
// else compute something too early.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_STABLEHLO_WRITEPLAN_H
#define TENON_LIB_CODEGEN_STABLEHLO_WRITEPLAN_H

#include "XlaProblem.h"

namespace tenon::codegen {

struct WrittenPlan {
  int64_t dots = 0, convolutions = 0, clusters = 0, ties = 0;
};

/// `order` holds nodes of `problem`, some of them several times.
WrittenPlan writePlan(mlir::func::FuncOp main, const XlaClusters &clusters,
                      const XlaProblem &problem, llvm::ArrayRef<int32_t> order);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_STABLEHLO_WRITEPLAN_H
