//===- Check.h - Interpreted and compiled results of a module ------------===//
//
// Compiles and runs a module, walks its operations with the interpreter on what
// the compiled code computed, and holds both to the table of error bounds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_RANDOM_CHECK_H
#define TENON_TEST_RANDOM_CHECK_H

#include "tenon/Driver/Stages.h"
#include "tenon/Support/Subnormals.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::random {

struct CheckOptions {
  std::string cpu; // as for tenon compile; empty for the host
  /// Of code for a GPU: the architecture, sm_90, and the driver's file.
  std::string architecture;
  std::string cudaDriver;
  bool fuse = true;
  bool noLibraries = false;
  /// Nothing to keep them where no instruction for bf16 flushes, as on GPUs.
  std::optional<Subnormals> subnormals;
  unsigned threads = 1;
  /// Other than f32: the lowered step is judged, with all values in 16 bits
  /// whose operations allow it.
  driver::Precision precision = driver::Precision::f32;
};

/// What was compared.
struct CheckResult {
  /// Why nothing could be compared; empty if it was.
  std::string failure;
  /// One line per operation whose results differ, most three.
  std::vector<std::string> differences;
  int64_t equal = 0, bounded = 0, unjudged = 0; // results by exactness
};

/// `path` is a file of StableHLO text. Its @main has no arguments, unless
/// precision is lowered: then arguments get random values by their numbers.
CheckResult checkModule(const std::string &path, const CheckOptions &options);

} // namespace tenon::random

#endif // TENON_TEST_RANDOM_CHECK_H
