//===- Fail.h - How a verb says that it failed ----------------------------===//

#ifndef TENON_TOOLS_TENON_FAIL_H
#define TENON_TOOLS_TENON_FAIL_H

#include "tenon/Support/ExitCode.h"

#include <cstdio>
#include <string>

namespace tenon::tool {

/// Prints what is wrong, and returns the exit code.
inline int fail(const std::string &message, int code = exitUserError) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_FAIL_H
