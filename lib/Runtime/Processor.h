//===- Processor.h - What this processor can run --------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PROCESSOR_H
#define TENON_LIB_RUNTIME_PROCESSOR_H

#include "tenon/Format/Index.h"

#include <string>

namespace tenon::runtime {

/// Empty if this processor has every feature the file's kernels need, otherwise
/// a message that lists those it lacks.
std::string whyNotRunnable(const format::Index &index);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PROCESSOR_H
