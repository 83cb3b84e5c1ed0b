//===- GroupLegality.h - What one group may hold -------------------------===//
//
// Decides whether a set of operations can be emitted as one kernel, and by
// which template. This is the compiler's side of the table in docs/Forms.md;
// Fusion asks it for every merge it considers.
//
// Vocabulary. The *space* of a group is the shape its loops run over. In a row
// group it is [R..., C...]: reductions run over C..., and their results have
// shape [R...]. In a column group it is [D..., K...]: reductions run over D....
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_GROUPLEGALITY_H
#define TENON_FUSION_GROUPLEGALITY_H

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tenon::fusion {

struct GroupShape {
  step::GroupKind kind = step::GroupKind::elementwise;
  llvm::SmallVector<int64_t> space;
  /// Row groups: number of leading dimensions that are rows. Column groups:
  /// number of leading dimensions that are reduced.
  int64_t leading = 0;
};

/// The template that emits `operations` (in program order, all of one block) as
/// one kernel producing `results`; nothing, with the reason in `whyNot`, if
/// none does.
std::optional<GroupShape>
templateFor(llvm::ArrayRef<mlir::Operation *> operations,
            llvm::ArrayRef<mlir::Value> results, std::string *whyNot = nullptr);

} // namespace tenon::fusion

#endif // TENON_FUSION_GROUPLEGALITY_H
