//===- LayoutsWithinBudget.h - Layouts whose plans fit --------------------===//
//
// Layouts are chosen by an estimate of what a rank needs. What it really needs
// is known when its step is grouped and planned, with what is computed again
// for the budget: less than estimated, where fusion does not store what was
// counted, or more, where collectives and libraries need room. So layouts are
// chosen for several limits on the estimate, each step that this gives is
// planned, and the quickest one with a plan is the choice:
//
//   1. no limit: what takes least time, if all is there to be computed again;
//   2. the budget itself;
//   3. less and less, as long as nothing fits.
//
// An earlier one that fits and computes nothing again ends the search. So does
// a plan behind the second, since with less memory the layouts take longer.
// Where nothing fits the layouts with the fewest bytes are left for the planner
// to say so. Groups of the choice, and what was seen of its plans, are handed
// on (Program::ahead).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_LAYOUTSWITHINBUDGET_H
#define TENON_LIB_DRIVER_LAYOUTSWITHINBUDGET_H

#include "DecideLayouts.h"

namespace tenon::driver {

/// Decides layouts within a limit on the estimated bytes of a rank.
using DecideWithin = llvm::function_ref<ExitCode(
    Program &, StageRun &, std::optional<sharding::ByteLimit>,
    DecidedLayouts &)>;
/// Cuts the program on which layouts were decided.
using CutProgram =
    llvm::function_ref<ExitCode(Program &, StageRun &, DecidedLayouts &)>;

/// Cuts a program by the layouts of the quickest plan within the budget that is
/// found, and leaves these in `decided`.
ExitCode chooseWithinBudget(Program &program, StageRun &run,
                            DecideWithin decide, CutProgram cut,
                            DecidedLayouts &decided);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_LAYOUTSWITHINBUDGET_H
