//===- HoldState.h - Which state can be held in bf16 ----------------------===//
//
// Held `converted`, state is a bf16 argument and result of the step: products
// read it as it is, whoever computes with it widens it, and what replaces it is
// rounded by chance, so that updates far below the last place still move its
// mean as they should.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_HOLDSTATE_H
#define TENON_LIB_PRECISION_HOLDSTATE_H

#include "tenon/Precision/FormatPolicy.h"

namespace tenon::precision {

/// Whether an argument can be held in bf16: an f32 parameter, moment or running
/// average of more than one element that the step replaces, and that the policy
/// does not keep.
bool canBeHeldInBf16(mlir::BlockArgument argument, FormatPolicy &policy);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_HOLDSTATE_H
