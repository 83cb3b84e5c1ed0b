//===- CheckPlan.h - Is the plan in a file true? -------------------------===//
//
// Holds a program against the plan that came with it, knowing neither the
// compiler nor the solvers that made it. In order:
//
// 1. The program is run on memory that holds names of values instead of
//    numbers: whatever an instruction reads must be all of the value the plan
//    says, whatever it writes replaces what was there, and at the end every
//    result and every new state lies where users find it. Loops are run until
//    what is known before them no longer changes, conditionals branch by
//    branch.
// 2. Temporaries are only touched within their lifetimes, and the lifetimes of
//    what shares bytes do not meet (solver::checkOffsetPacking), on a GPU and
//    in the memory of its host where values wait. What is started in a queue is
//    taken to be under way until the program waits for it. The bound on
//    the arena is what the instructions need at one moment, from a value's
//    write to its last read, whatever its lifetime in the plan; a higher one
//    that a search is said to have found is reported as not repeated.
// 3. All segments in the device's memory together are within the budget.
// 4. The recomputation plan is what solver::checkRecompute says of its
//    certificate, and the program runs its nodes in its order.
// 5. The bound on the time is one for this program and this budget: it is for
//    all live bytes that the budget leaves beside the other segments, and the
//    problem that it is proved of has nothing that makes plans dearer and is
//    not in the program. lib/Package/CheckProblem.h says of every field of a
//    problem what checks it.
//
// What a file does not show is said in a line of its own: predicted times, what
// parts of kernels and rounds of loops need in other plans, and what the
// compiler left out of the problem.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PACKAGE_CHECKPLAN_H
#define TENON_PACKAGE_CHECKPLAN_H

#include "tenon/Format/Index.h"

#include <string>
#include <variant>
#include <vector>

namespace tenon::package {

/// What was found to be true, a line each, for people.
using ProvedClaims = std::vector<std::string>;
/// The first claim that is false; lower case, no period.
struct FalseClaim {
  std::string text;
};

/// Judges the plan of every entry point against its program; one without a plan
/// is a false claim. The index has passed format::whyInvalid().
std::variant<ProvedClaims, FalseClaim> checkPlans(const format::Index &index);

} // namespace tenon::package

#endif // TENON_PACKAGE_CHECKPLAN_H
