//===- InPlace.h - What a kernel may write over what it reads -------------===//
//
// A kernel that computes element by element may write a result over an operand
// if it reads each element of it for the last time where it computes the one
// that takes its place.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_INPLACE_H
#define TENON_ANALYSIS_INPLACE_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon {

/// Whether every reader of `value` in a group's body reads it at the index it
/// computes itself, down to the yields or, of rows, to the reductions.
bool isReadOnlyWhereWritten(mlir::Value value, bool inRows = false);

/// Whether what an update replaces is read by nothing else in the kernel but
/// slices that are the very part which is replaced, and those only where they
/// are replaced.
///
/// Worked example: an optimizer's step in a loop over layers reads the slice of
/// layer i of stacked moments, and updates the stack with what it computes of
/// each element.
bool isReadOnlyWhereUpdated(stablehlo::DynamicUpdateSliceOp update);

} // namespace tenon

#endif // TENON_ANALYSIS_INPLACE_H
