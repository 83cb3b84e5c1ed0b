//===- StepRange.h - Some steps of a run on the command line --------------===//
//
// `10..12` is three steps, `10` is one. Steps are counted from 1 on, over all
// resumed runs, as --until counts them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_STEPRANGE_H
#define TENON_TOOLS_TENON_STEPRANGE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::tool {

/// No step unless it says which.
struct StepRange {
  int64_t first = 0, last = -1;

  bool isEmpty() const { return last < first; }
  bool contains(int64_t step) const { return first <= step && step <= last; }
  /// `10..12`, or `10` for one step.
  std::string text() const;
};

inline constexpr const char *expectedStepRange =
    "expected steps such as 10..12, or one step, counted from 1 on";

/// Nothing if `text` is none, or one without a step.
std::optional<StepRange> parseStepRange(std::string_view text);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_STEPRANGE_H
