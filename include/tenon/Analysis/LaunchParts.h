//===- LaunchParts.h - Into how many parts a kernel is worth cutting ------===//
//
// A kernel that is cut runs on several threads, and whoever reads what it wrote
// waits for all of them. One that touches few elements is not worth that: it
// runs whole, on one thread, and kernels that do so follow each other without
// waiting. The program says so of every launch, and the cost model goes by it.
//
// Worked example, in a round of a loop: tanh of f32[32,64] touches 2048
// elements and has one part; of f32[32,512] it touches 16384 and has four. A
// slice of 2048 elements out of a stack of a million has one part as well.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_LAUNCHPARTS_H
#define TENON_ANALYSIS_LAUNCHPARTS_H

#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/ArrayRef.h"

namespace tenon {

/// The parts of a group that is no library call, at least 1. `inPlace` has the
/// operand that each result is written over, or -1.
int64_t launchParts(step::GroupOp group, llvm::ArrayRef<int64_t> inPlace);

/// The same before results have places: whatever replaces a part of an operand
/// does so in place. Of a group, or of operations in program order that may
/// become one and of which `results` are written to memory.
int64_t launchParts(step::GroupOp group);
int64_t launchParts(llvm::ArrayRef<mlir::Operation *> operations,
                    llvm::ArrayRef<mlir::Value> results);

} // namespace tenon

#endif // TENON_ANALYSIS_LAUNCHPARTS_H
