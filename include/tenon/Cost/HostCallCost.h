//===- HostCallCost.h - Seconds of library calls on a GPU's host ----------===//
//
// A call that the host of a GPU runs takes its arguments' bytes by the link
// between the two, a start for each copy and the call, and the host's time:
//
//   arguments / host_link + (count + 1) launch + operations / rate of the host
//
// Example: eigenvalues and vectors of 256 x 256 f32 over 64 GB/s are two copies
// of 256 KiB, one of 1 KiB, one of 4 bytes, 8 us in all, and 9 256^3
// operations, 50 ms.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_HOSTCALLCOST_H
#define TENON_COST_HOSTCALLCOST_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Libraries/Lapack.h"
#include "tenon/Target/Target.h"

namespace tenon::cost {

/// Additions and multiplications of real numbers that the routine needs, by the
/// counts in LAPACK Working Note 41 and, for what iterates, those that are
/// usual.
double operationsOf(const libraries::LapackDescription &lapack);

/// Of a call of LAPACK if `target` is a GPU, beside what each group takes; 0
/// for any other group.
double hostCallSeconds(step::GroupOp group, const target::Target &target);

} // namespace tenon::cost

#endif // TENON_COST_HOSTCALLCOST_H
