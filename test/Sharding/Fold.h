//===- Fold.h - Several devices on one rank, simulated --------------------===//
//
// Partitioned steps whose devices along the first axis of the mesh are run by
// fewer and fewer ranks: each rank has to compute what its devices do, with the
// same bits for every number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_SHARDING_FOLD_H
#define TENON_TEST_SHARDING_FOLD_H

#include "../Random/Random.h"
#include "Simulate.h"

namespace tenon::sharding {

struct FoldCounts {
  int64_t programs = 0, refused = 0;                        // by layouts
  int64_t changed = 0, unchanged = 0, unchangedRefused = 0; // by errors
};

/// Folds a partitioned step for 1, 2, ... ranks along the first axis, has the
/// checker look at each, runs them and compares bits; then makes `errors`
/// errors in one of them, each of which has to be refused unless it changes no
/// bit. Empty, or what is wrong.
std::string foldAndCompare(mlir::ModuleOp parts, const Mesh &mesh,
                           llvm::ArrayRef<reference::Tensor> arguments,
                           llvm::ArrayRef<reference::Tensor> expected,
                           int64_t errors, int64_t mostOperations,
                           random::Random &random, FoldCounts &counts);

} // namespace tenon::sharding

#endif // TENON_TEST_SHARDING_FOLD_H
