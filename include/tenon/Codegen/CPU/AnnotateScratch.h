//===- AnnotateScratch.h - Scratch memory of groups -----------------------===//
//
// Tells the Memory stage how many bytes of scratch memory each group's kernel
// or library call will need, so that the planner places them like any value.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_ANNOTATESCRATCH_H
#define TENON_CODEGEN_CPU_ANNOTATESCRATCH_H

#include "tenon/Codegen/CPU/FeatureSet.h"

#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::codegen {

/// Bytes of scratch memory that the group's kernel or call needs.
int64_t scratchBytesOf(step::GroupOp group, const FeatureSet &features);

/// Puts `step.scratch_bytes` on every group of `module`, which is in grouped
/// form, that needs any, by `bytesOf`.
void annotateScratch(mlir::ModuleOp module,
                     llvm::function_ref<int64_t(step::GroupOp)> bytesOf);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_ANNOTATESCRATCH_H
