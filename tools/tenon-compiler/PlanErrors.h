//===- PlanErrors.h - tenon plan --error ----------------------------------===//
//
// Runs a lowered step beside its twin in f64 and says what each gradient and
// result lost.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_PLANERRORS_H
#define TENON_TOOLS_TENON_COMPILER_PLANERRORS_H

#include "tenon/Driver/Compiler.h"

namespace tenon::tool {

struct ErrorRun {
  std::string state, inputs, batches; // files, as for `tenon run`; or empty
  int64_t steps = 1;
  int64_t seed = 0; // of start values that no file gives
  /// The most runs of the twin that look for the dearest decisions.
  int64_t searchRuns = 128;

  bool operator==(const ErrorRun &) const = default;
};

/// Compiles, runs and prints; returns the exit code.
int planErrors(const driver::CompileOptions &options, const ErrorRun &run);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_PLANERRORS_H
