//===- GroupLegality.h - What one group may hold -------------------------===//
//
// Decides whether a kernel computes a set of operations well, and as a group of
// which kind. This is the compiler's side of the table in docs/Forms.md; Fusion
// asks it for every merge it considers. It is stricter than what schedules can
// emit: nothing may be computed again for each reader, or be gathered where it
// need not be.
//
// The space of a row group is [R..., C...]: reductions run over C..., and their
// results have shape [R...]. That of a column group is [D..., K...]: reductions
// run over D....
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_GROUPLEGALITY_H
#define TENON_FUSION_GROUPLEGALITY_H

#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/Step/Step.h"

#include <optional>

namespace tenon::fusion {

/// Whether a kernel of elements or rows may also sum over leading dimensions
/// what it has of them (Analysis/SummingKernel.h). Schedules for GPUs alone do
/// that, each if it is worth it; such a group is of kind `generic`.
enum class Sums { apart, beside };

/// The kind of group that operations of one block make as one kernel; nothing,
/// with the reason in `whyNot`, if one kernel computes them badly or not at
/// all.
std::optional<step::GroupKind> kindOf(const KernelDescription &kernel,
                                      std::string *whyNot = nullptr,
                                      Sums sums = Sums::apart);

} // namespace tenon::fusion

#endif // TENON_FUSION_GROUPLEGALITY_H
