//===- Passes.h - Fewer and larger collectives ----------------------------===//
//
// The passes that a partitioned step goes through once it is checked. They sum
// in another order than the partitioner's program and change nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COLLECTIVES_PASSES_H
#define TENON_COLLECTIVES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace tenon::collectives {

#define GEN_PASS_DECL
#include "tenon/Collectives/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tenon/Collectives/Passes.h.inc"

/// The first of these, in which ranks add before they sum, change the order of
/// sums.
void buildSumsPipeline(mlir::OpPassManager &passes, bool mergesEqual);

/// Device form to device form. Sums of fewer than `bucketBytes` share one
/// collective as long as it has no more. Equal collectives are merged unless
/// memory has a limit, which their results would take for longer.
void buildCollectivesPipeline(mlir::OpPassManager &passes, int64_t bucketBytes,
                              bool mergesEqual);

} // namespace tenon::collectives

#endif // TENON_COLLECTIVES_PASSES_H
