//===- LapackCalls.h - Custom calls that are LAPACK routines --------------===//
//
// JAX writes matrix decompositions for the CPU as custom calls
// `lapack_<letter><routine>_ffi`. Fusion makes library calls of them, and the
// reference interpreter runs them through the same library.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_LAPACKCALLS_H
#define TENON_ANALYSIS_LAPACKCALLS_H

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Libraries/Lapack.h"

#include <optional>

namespace tenon {

/// The routine a custom call stands for; nothing, with the reason, if it is no
/// LAPACK call or one that is not offered. Complex elements may be there as
/// such, or as a last dimension of two parts.
std::optional<libraries::LapackDescription>
describeLapack(stablehlo::CustomCallOp op, std::string &whyNot);

/// How many dimensions in front of its matrices all operands and results of
/// such a call share: the matrices at an index along them have nothing to do
/// with those at another. 0 for what is no LAPACK call.
int64_t sharedLapackDimensions(stablehlo::CustomCallOp op);

} // namespace tenon

#endif // TENON_ANALYSIS_LAPACKCALLS_H
