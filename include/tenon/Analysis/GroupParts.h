//===- GroupParts.h - Results of a group that can be computed apart ------===//
//
// A group computes all its results at once, which is what makes it quick. To
// compute one of them again later needs neither the others nor, often, all that
// the group reads: Memory copies only the part of a group that is wanted.
//
// A residual sum and its normalisation, one kernel with two results, has two
// parts. The second reads what the first computed, so it can be computed again
// when %a and %b are long gone:
//
//     %x, %h = group row(%a, %b, %scale)         the group
//     %x     = group elementwise(%a, %b)         part 0
//     %h     = group row(%x, %scale)             part 1
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_GROUPPARTS_H
#define TENON_ANALYSIS_GROUPPARTS_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tenon {

struct GroupPart {
  step::GroupKind kind = step::GroupKind::elementwise;
  /// Results of the group that the part computes, ascending.
  llvm::SmallVector<unsigned> results;
  /// Operands of the group that it reads, ascending.
  llvm::SmallVector<unsigned> inputs;
  /// Results of parts before it that it reads, ascending.
  llvm::SmallVector<unsigned> earlier;
  /// What it computes, in the order of the group's body.
  llvm::SmallVector<mlir::Operation *> operations;
};

/// The parts in an order in which they can run; every result is in one. One per
/// result that is not small beside the largest; none if that makes less than
/// two, or if no template emits one of them.
std::vector<GroupPart> partsOf(step::GroupOp group);

/// Forgets what is known of the parts of all groups inside `op`.
void dropParts(mlir::Operation *op);

/// A group that computes the results of `part` alone, from `input(i)` instead
/// of operand i and `result(i)` instead of result i of the group.
step::GroupOp createPart(mlir::OpBuilder &builder, step::GroupOp group,
                         const GroupPart &part,
                         llvm::function_ref<mlir::Value(unsigned)> input,
                         llvm::function_ref<mlir::Value(unsigned)> result);

} // namespace tenon

#endif // TENON_ANALYSIS_GROUPPARTS_H
