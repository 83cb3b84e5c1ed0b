//===- TouchedElements.h - How much of its operands a kernel works on -----===//
//
// The elements of the largest tensor that a kernel reads or writes, those left
// out of which it only picks or replaces some. A target cuts a launch by it
// (LaunchLimits in Target/Target.h): the program says into how many parts, and
// the cost model goes by it.
//
// Worked example, in a round of a loop: tanh of f32[32,64] touches 2048
// elements; a slice of 2048 elements out of a stack of a million does, too.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_TOUCHEDELEMENTS_H
#define TENON_ANALYSIS_TOUCHEDELEMENTS_H

#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/ArrayRef.h"

namespace tenon {

/// Of operations in program order, of which `results` are written to memory.
/// Whatever replaces a part of an operand does so in place.
int64_t touchedElements(llvm::ArrayRef<mlir::Operation *> operations,
                        llvm::ArrayRef<mlir::Value> results);

/// Of a group that is no library call, once its results have places: `inPlace`
/// has the operand that each is written over, or -1.
int64_t touchedElements(step::GroupOp group, llvm::ArrayRef<int64_t> inPlace);

} // namespace tenon

#endif // TENON_ANALYSIS_TOUCHEDELEMENTS_H
