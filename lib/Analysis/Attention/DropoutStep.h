//===- DropoutStep.h - One operation of dropout ---------------------------===//
//
// A multiplication or selection that leaves weights out and scales the others.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_ATTENTION_DROPOUTSTEP_H
#define TENON_ANALYSIS_ATTENTION_DROPOUTSTEP_H

#include "LabelledTensors.h"

namespace tenon::attention {

/// One operation of dropout: a number that is multiplied, or booleans where
/// false makes zero.
struct DropoutStep {
  mlir::Value operand; // what it changes
  double scale = 1;
  LabelledTensor kept;
};

/// `op` as a step of dropout on numbers whose dimensions have `labels`.
std::optional<DropoutStep> dropoutStep(mlir::Operation *op,
                                       llvm::ArrayRef<int64_t> labels);

} // namespace tenon::attention

#endif // TENON_ANALYSIS_ATTENTION_DROPOUTSTEP_H
