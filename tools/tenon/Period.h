//===- Period.h - A number of steps or a time on the command line ---------===//
//
// `100` is steps; `90s`, `10min` and `2h` are times.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_PERIOD_H
#define TENON_TOOLS_TENON_PERIOD_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::tool {

/// One of the two is positive.
struct Period {
  int64_t steps = 0;
  double seconds = 0;
};

inline constexpr const char *expectedPeriod =
    "expected a number of steps from 1 on, or a time such as 90s, 10min or 2h";

/// Nothing if `text` is neither.
std::optional<Period> parsePeriod(std::string_view text);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_PERIOD_H
