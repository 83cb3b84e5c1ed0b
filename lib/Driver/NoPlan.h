//===- NoPlan.h - Why a step does not fit, and what would -----------------===//
//
// Below what is proved every plan needs, a budget is infeasible; between that
// and the smallest budget with a plan nobody knows. Both cases name that
// budget.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_NOPLAN_H
#define TENON_LIB_DRIVER_NOPLAN_H

#include "BudgetSearch.h"

#include "tenon/Memory/WorkingSet.h"

#include <string>

namespace tenon::driver {

/// Bytes that every plan of a step needs, of any candidate.
struct MemoryBound {
  /// Of the segments that no plan makes smaller: everything but temporaries.
  std::vector<std::pair<std::string, int64_t>> segments;
  memory::WorkingSet workingSet;
  int64_t bytes = 0;
};

/// `everything` is a plan of one of the candidates, all of which are formed;
/// the segments without the temporaries are the same in all of them.
MemoryBound boundOf(const CandidateStream &candidates,
                    const PlannedStep &everything);

/// Why no plan fits `budget`; `least` is the smallest one there is.
std::string whyNoPlan(int64_t budget, const MemoryBound &bound,
                      const PlannedStep &least);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_NOPLAN_H
