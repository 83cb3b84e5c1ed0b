//===- LapackCost.h - Seconds of matrix decompositions --------------------===//
//
// A call of LAPACK is work of one thread of a processor, at a rate that differs
// little from one to another. For a GPU its host's processor makes it, and
// arguments take the link between the two, with a start for each copy and the
// call:
//
//   operations / rate   + arguments / host_link + (count + 1) launch
//
// Example: eigenvalues and vectors of 256 x 256 f32 are 9 256^3 operations, 50
// ms; over 64 GB/s two copies of 256 KiB, one of 1 KiB, one of 4 bytes, 8 us in
// all.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_LAPACKCOST_H
#define TENON_COST_LAPACKCOST_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Libraries/Lapack.h"
#include "tenon/Target/Target.h"

namespace tenon::cost {

/// Of the routine alone, for all matrices of the batch. Operations are
/// additions and multiplications of real numbers by the counts in LAPACK
/// Working Note 41 and, for what iterates, those that are usual.
double lapackSeconds(const libraries::LapackDescription &lapack);

/// Of a group that calls LAPACK, with its copies if `target` is a GPU, beside
/// what each group takes; 0 for any other group.
double lapackSeconds(step::GroupOp group, const target::Target &target);

} // namespace tenon::cost

#endif // TENON_COST_LAPACKCOST_H
