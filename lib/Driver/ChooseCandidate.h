//===- ChooseCandidate.h - The search of a compilation --------------------===//
//
// Joins a compilation with the search: what the stages `group` and `plan` and
// the commands that ask about budgets begin with.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_CHOOSECANDIDATE_H
#define TENON_LIB_DRIVER_CHOOSECANDIDATE_H

#include "BudgetSearch.h"

#include "tenon/Driver/Compiler.h"

namespace tenon::driver {

SearchOptions searchOptions(const StageRun &run);

/// Those of a program in grouped form; the program is the only one if it was
/// read from a text.
CandidateStream &candidatesOf(Program &program, const StageRun &run);

/// The search among these.
BudgetSearch &searchOf(Program &program, const StageRun &run);

/// Leaves the candidate with the quickest plan within the run's budget as the
/// program and the plan in `chosen`; an error says why there is none. Settles
/// which budget is the smallest, if that is asked for.
ExitCode chooseCandidate(Program &program, StageRun &run, PlannedStep &chosen);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_CHOOSECANDIDATE_H
