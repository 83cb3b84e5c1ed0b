//===- SumChain.h - Sums over rows that groups of columns make ------------===//
//
// The gradient of a bias is a sum over all rows of what flows on, in one group
// or, of many rows, in two that follow each other. Other kernels can make some
// or all of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_SUMCHAIN_H
#define TENON_FUSION_SUMCHAIN_H

#include "tenon/Fusion/LibraryGroup.h"

namespace tenon::fusion {

/// The groups that add up a value over its first dimensions, one after the
/// other.
struct SumChain {
  llvm::SmallVector<step::GroupOp> groups;
  OperandSum last; // of the last one
};

/// Follows a sum over as many dimensions from a use of what is added up.
std::optional<SumChain> chainFrom(mlir::OpOperand &use, size_t dimensions);

/// The sum over some dimensions, in the type of the terms.
mlir::Value sumOver(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value terms, mlir::Value zero,
                    llvm::ArrayRef<int64_t> dimensions);

/// A group of that kind in the place of the last one, to which `sums` is given
/// instead of the terms. `replacement` makes what takes the place of the sum
/// from that. The last group stays.
step::GroupOp
withSumOf(mlir::OpBuilder &builder, const SumChain &chain, mlir::Value sums,
          step::GroupKind kind,
          llvm::function_ref<mlir::Value(mlir::OpBuilder &, stablehlo::ReduceOp,
                                         mlir::Value)>
              replacement);

} // namespace tenon::fusion

#endif // TENON_FUSION_SUMCHAIN_H
