//===- LabelledTensors.h - What the search for attention follows ----------===//
//
// Numbers, transposes, broadcasts and reshapes, with what each dimension of a
// tensor runs over.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_ATTENTION_LABELLEDTENSORS_H
#define TENON_ANALYSIS_ATTENTION_LABELLEDTENSORS_H

#include "tenon/Analysis/AttentionPattern.h"

namespace tenon::attention {

using Labels = llvm::SmallVector<int64_t>;

/// The number that a splat constant of floats repeats.
std::optional<double> repeatedNumber(mlir::Value value);

bool repeats(mlir::Value value, double number);

/// `x * c` or `x / c` with a number c: x and the factor.
std::optional<std::pair<mlir::Value, double>> scaling(mlir::Operation *op);

/// What a value is but for its shape and the sign of its zeros.
mlir::Value beforeReshapes(mlir::Value value);

/// The operand's labels of a transpose whose result has `labels`.
Labels beforeTranspose(stablehlo::TransposeOp op,
                       llvm::ArrayRef<int64_t> labels);

Labels afterTranspose(stablehlo::TransposeOp op,
                      llvm::ArrayRef<int64_t> labels);

/// The labels of a tensor of shape `to` that differs from one of shape `from`
/// in dimensions of extent 1 alone; `unit` for those that are new.
std::optional<Labels> acrossUnits(llvm::ArrayRef<int64_t> from,
                                  llvm::ArrayRef<int64_t> labels,
                                  llvm::ArrayRef<int64_t> to);

/// A tensor as it lies in front of its transposes, and of a conversion of its
/// 16-bit elements to f32, in which the operations compute anyway.
LabelledTensor asStored(LabelledTensor tensor);

/// A tensor as it lies behind the transpose that alone reads it.
LabelledTensor behindTranspose(LabelledTensor tensor);

/// A tensor without the dimensions along which it is repeated.
LabelledTensor beforeBroadcasts(LabelledTensor tensor);

/// Along an extent of 1 there is nothing to name.
bool isSameTensor(LabelledTensor a, LabelledTensor b);

} // namespace tenon::attention

#endif // TENON_ANALYSIS_ATTENTION_LABELLEDTENSORS_H
