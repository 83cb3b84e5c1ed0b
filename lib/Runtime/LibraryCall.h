//===- LibraryCall.h - A library call that a processor runs ---------------===//
//
// Private to this folder. Finds what a file calls in the library of this
// machine, for files of processors and for what files of GPUs call on the host.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_LIBRARYCALL_H
#define TENON_LIB_RUNTIME_LIBRARYCALL_H

#include "tenon/Format/Index.h"
#include "tenon/Libraries/Call.h"
#include "tenon/Runtime/Executor.h"

#include <span>

namespace tenon::runtime {

/// The call of a callee, capped to `isa`; null with `error` filled in if the
/// library is not here or does not run it.
std::unique_ptr<libraries::Call>
findCall(const format::Callee &callee,
         const libraries::Description &description, target::Isa isa,
         Error &error);

/// What reports say of the call of callee `number`: which of the file's calls
/// it is, what it does, and what in the library does that.
InstructionTime describeCall(std::span<const format::Callee> callees,
                             size_t number, const libraries::Call &call);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_LIBRARYCALL_H
