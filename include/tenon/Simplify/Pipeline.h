//===- Pipeline.h - The simplify stage ------------------------------------===//
//
// The passes of the stage in order. Called by Driver after import, and again
// after stages that leave something to simplify.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SIMPLIFY_PIPELINE_H
#define TENON_SIMPLIFY_PIPELINE_H

#include "tenon/Support/Subnormals.h"

#include "mlir/Pass/PassManager.h"

namespace tenon::simplify {

struct SimplifyOptions {
  /// Move invariant operations out of loops; costs memory over the loop.
  bool hoist = true;
  /// Drop the barriers that keep a user's recomputation.
  bool dropBarriers = false;
  /// Raise attention and compute the parts that are read. Whoever looks at
  /// pairs of loops first does both later.
  bool raiseAttention = true;
  /// What the compiled step does with subnormal numbers.
  Subnormals subnormals = Subnormals::flush;
};

/// Adds the passes of the stage to a pass manager for modules.
void buildSimplifyPipeline(mlir::OpPassManager &manager,
                           const SimplifyOptions &options);

/// Registers the passes and the pipeline `--simplify`.
void registerSimplifyPipeline();

} // namespace tenon::simplify

#endif // TENON_SIMPLIFY_PIPELINE_H
