//===- LargestSum.h - How large the numbers of problems may be ------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_LARGESTSUM_H
#define TENON_LIB_SOLVER_LARGESTSUM_H

#include <cstdint>

namespace tenon::solver {

/// No number of a problem is larger, nor a sum of its costs, sizes, offsets and
/// paddings, so that algorithms can add any two of them.
inline constexpr int64_t largestSum = int64_t(1) << 60;

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_LARGESTSUM_H
