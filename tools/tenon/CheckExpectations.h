//===- CheckExpectations.h - Self-checking programs, compiled -------------===//
//
// Compares the results that a self-checking program returned.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_CHECKEXPECTATIONS_H
#define TENON_TOOLS_TENON_CHECKEXPECTATIONS_H

#include "tenon/Import/Expectations.h"
#include "tenon/Runtime/Executor.h"

namespace tenon::tool {

/// Prints the first difference of every expectation that does not hold; true if
/// all of them do.
bool checkExpectations(
    const runtime::Executor &executor,
    const std::vector<importer::SeparatedExpectation> &expectations);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_CHECKEXPECTATIONS_H
