//===- RunReference.h - Steps through the reference interpreter
//------------===//
//
// What `tenon run --reference` does: the same arguments, metrics and results as
// a compiled run, computed one element at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUNREFERENCE_H
#define TENON_TOOLS_TENON_RUNREFERENCE_H

#include "tools/tenon/LoadExecutor.h"

#include <cstdint>
#include <string>

namespace tenon::tool {

struct ReferenceRun {
  std::string file, inputs, metrics, outputs;
  ModuleOptions module;
  int64_t steps = 1;
};

/// Returns the exit code.
int runReference(const ReferenceRun &run);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_RUNREFERENCE_H
