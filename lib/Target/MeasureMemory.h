//===- MeasureMemory.h - Bytes per second ---------------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_TARGET_MEASUREMEMORY_H
#define TENON_LIB_TARGET_MEASUREMEMORY_H

#include "tenon/Target/Target.h"

namespace tenon::target {

/// The rates with two buffers of `bufferBytes`, or chosen after `caches` if
/// that is 0, each measured for `seconds`. Needs AVX2. Nothing with `error`
/// filled in if memory runs out.
std::optional<MemoryRates> measureMemory(const Caches &caches, unsigned threads,
                                         double seconds, int64_t bufferBytes,
                                         std::string &error);

} // namespace tenon::target

#endif // TENON_LIB_TARGET_MEASUREMEMORY_H
