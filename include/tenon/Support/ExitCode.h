//===- ExitCode.h - What a command exits with -----------------------------===//
//
// Part of the interface of `tenon`; the driver decides on most of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_EXITCODE_H
#define TENON_SUPPORT_EXITCODE_H

namespace tenon {

enum ExitCode {
  exitOk = 0,
  exitUserError = 1,
  exitBadUsage = 2,
  exitNoPlan = 3,
  exitUnsupported = 4,
  exitInterrupted = 5,
  exitStopped = 6, // by `tenon run --stop-if` or --stop-on-overflow
  exitInternal = 70,
};

} // namespace tenon

#endif // TENON_SUPPORT_EXITCODE_H
