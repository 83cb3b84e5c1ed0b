//===- FloatingPointMode.h - How a thread computes with floats ------------===//
//
// The processor rounds, and treats subnormal numbers, as a register of each
// thread says. Whoever computes for a step sets it and restores what the caller
// had: results depend on the step, never on who runs it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_FLOATINGPOINTMODE_H
#define TENON_SUPPORT_FLOATINGPOINTMODE_H

#include "tenon/Support/Subnormals.h"

#include <immintrin.h>

namespace tenon {

/// While it lives, this thread rounds to nearest, ties to even, raises no
/// exception, and treats subnormal numbers as said.
class FloatingPointMode {
public:
  explicit FloatingPointMode(Subnormals subnormals) : before(_mm_getcsr()) {
    // Intel's Software Developer's Manual, volume 1, 10.2.3: every exception is
    // masked; flush to zero, and denormals are zeros.
    constexpr unsigned masks = 0x1f80, flush = 0x8000 | 0x0040;
    _mm_setcsr(subnormals == Subnormals::flush ? masks | flush : masks);
  }
  ~FloatingPointMode() { _mm_setcsr(before); }
  FloatingPointMode(const FloatingPointMode &) = delete;
  FloatingPointMode &operator=(const FloatingPointMode &) = delete;

private:
  unsigned before;
};

} // namespace tenon

#endif // TENON_SUPPORT_FLOATINGPOINTMODE_H
