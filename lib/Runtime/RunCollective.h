//===- RunCollective.h - One rank's share of a collective -----------------===//
//
// Private to this folder. Sums are the same on every run and every rank: parts
// are sent to the rank that adds them up, which does so in the order of the
// ranks of the group, from the first to the last; an all-reduce then hands the
// sums to all. That receives 2 (n - 1) / n times the tensor, as a ring does.
// f16 and bf16 are added up in f32 and rounded once. Where the description says
// so, MPI combines elements instead, in an order of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_RUNCOLLECTIVE_H
#define TENON_LIB_RUNTIME_RUNCOLLECTIVE_H

#include "Communicator.h"

#include "tenon/Libraries/Collective.h"

namespace tenon::runtime {

/// `arguments` are the operand, if there is one, the result, and the workspace,
/// if it needs one, which share no byte. False if the ranks do not meet.
bool runCollective(const libraries::CollectiveDescription &description,
                   void *const *arguments, Communicator &communicator);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_RUNCOLLECTIVE_H
