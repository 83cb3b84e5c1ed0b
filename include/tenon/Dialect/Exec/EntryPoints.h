//===- EntryPoints.h - Programs beside the step ---------------------------===//
//
// What a program that is neither `@step` nor `@init` takes and gives. Its own
// tensors are `exec.tensor`s that name it, with no number of an argument or
// result; its name and a dot begin theirs:
//
//   exec.tensor "eval.x" : tensor<8xf32> at @batch[64] {exec.entry_point =
//   "eval"} exec.program @eval attributes {exec.takes = ["params.w", "eval.x"],
//                                  exec.gives = ["eval.loss"]} { ... }
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_EXEC_ENTRYPOINTS_H
#define TENON_DIALECT_EXEC_ENTRYPOINTS_H

#include "llvm/ADT/StringRef.h"

namespace tenon::exec {

/// Tensor attribute, string: the program whose input or result it is.
inline constexpr llvm::StringLiteral entryPointAttrName = "exec.entry_point";
/// Program attributes, arrays of strings: the tensors that it takes, state and
/// its own inputs, and those that it gives, in the order of the plan.
inline constexpr llvm::StringLiteral takesAttrName = "exec.takes";
inline constexpr llvm::StringLiteral givesAttrName = "exec.gives";

} // namespace tenon::exec

#endif // TENON_DIALECT_EXEC_ENTRYPOINTS_H
