//===- Period.cpp - A number of steps or a time on the command line -------===//
//
// See Period.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Period.h"

#include "tools/tenon/ArgumentParser.h"

#include <charconv>
#include <cmath>
#include <utility>

using namespace tenon;
using namespace tenon::tool;

std::optional<Period> tool::parsePeriod(std::string_view text) {
  static constexpr std::pair<std::string_view, double> units[] = {
      {"min", 60}, {"s", 1}, {"h", 3600}};
  for (auto [unit, seconds] : units) {
    if (!text.ends_with(unit))
      continue;
    std::string_view number = text.substr(0, text.size() - unit.size());
    double count = 0;
    auto [end, code] =
        std::from_chars(number.data(), number.data() + number.size(), count);
    if (code != std::errc() || end != number.data() + number.size() ||
        !std::isfinite(count) || count <= 0)
      return std::nullopt;
    return Period{0, count * seconds};
  }
  std::optional<int64_t> steps = parseNumber(text);
  if (!steps || *steps < 1)
    return std::nullopt;
  return Period{*steps, 0};
}
