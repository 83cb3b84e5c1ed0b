//===- HoldBatch.h - Which batch tensors can be held in 16 bits -----------===//
//
// Held `converted`, a batch tensor is an argument of 16 bits: it is rounded
// once, when it is written into its slot, and products read it as it is.
// Nothing else may read it: who computes with a batch sees all its digits.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_HOLDBATCH_H
#define TENON_LIB_PRECISION_HOLDBATCH_H

#include "tenon/Precision/FormatPolicy.h"

namespace tenon::precision {

/// Whether an argument can be held in 16 bits: an f32 batch tensor of more than
/// one element that only products read, also behind transposes, reshapes and
/// slices, and that the policy does not keep. `narrowProductsOnly` counts
/// products alone whose operand is rounded to the format by now; otherwise all
/// that could be.
bool canBatchBeHeld(mlir::BlockArgument argument, FormatPolicy &policy,
                    NarrowFormat format, bool narrowProductsOnly);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_HOLDBATCH_H
