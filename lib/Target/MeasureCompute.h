//===- MeasureCompute.h - FLOP/s from registers ---------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_TARGET_MEASURECOMPUTE_H
#define TENON_LIB_TARGET_MEASURECOMPUTE_H

#include "tenon/Target/Target.h"

namespace tenon::target {

/// The rates of a processor that has `isa`, each measured for `seconds`.
ComputeRates measureCompute(Isa isa, unsigned threads, double seconds);

} // namespace tenon::target

#endif // TENON_LIB_TARGET_MEASURECOMPUTE_H
