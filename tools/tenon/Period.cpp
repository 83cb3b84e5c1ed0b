//===- Period.cpp - A number of steps or a time on the command line -------===//
//
// See Period.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Period.h"

#include "tenon/Support/ParseNumber.h"

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
    auto count = parseNumber<double>(text.substr(0, text.size() - unit.size()));
    if (!count || !std::isfinite(*count) || *count <= 0)
      return std::nullopt;
    return Period{0, *count * seconds};
  }
  std::optional<int64_t> steps = parseNumber(text);
  if (!steps || *steps < 1)
    return std::nullopt;
  return Period{*steps, 0};
}
