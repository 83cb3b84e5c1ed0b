//===- StopCondition.cpp - Results at which a run ends early --------------===//
//
// See StopCondition.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/StopCondition.h"

#include "tenon/Support/ParseNumber.h"

#include <algorithm>
#include <cmath>

using namespace tenon;
using namespace tenon::tool;

static std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

static std::optional<StopCondition> parseOne(std::string_view text) {
  using Kind = StopCondition::Kind;
  constexpr std::string_view notFinite = " not finite";
  StopCondition condition;
  condition.text = text;
  if (text.ends_with(notFinite)) {
    condition.name = trimmed(text.substr(0, text.size() - notFinite.size()));
    return condition.name.empty() ? std::nullopt : std::optional(condition);
  }
  size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos)
    return std::nullopt;
  bool isGreater = text[sign] == '>';
  bool withEqual = text.substr(sign + 1).starts_with('=');
  condition.kind = isGreater ? withEqual ? Kind::greaterOrEqual : Kind::greater
                   : withEqual ? Kind::lessOrEqual
                               : Kind::less;
  condition.name = trimmed(text.substr(0, sign));
  auto limit =
      parseNumber<double>(trimmed(text.substr(sign + (withEqual ? 2 : 1))));
  if (!limit || std::isnan(*limit) || condition.name.empty())
    return std::nullopt;
  condition.limit = *limit;
  return condition;
}

bool StopCondition::holdsFor(double value) const {
  switch (kind) {
  case Kind::greater:
    return value > limit;
  case Kind::greaterOrEqual:
    return value >= limit;
  case Kind::less:
    return value < limit;
  case Kind::lessOrEqual:
    return value <= limit;
  case Kind::notFinite:
    return !std::isfinite(value);
  }
  return false;
}

std::optional<std::vector<StopCondition>>
tool::parseStopConditions(std::string_view text, std::string &error) {
  constexpr std::string_view joint = " or ";
  std::vector<StopCondition> conditions;
  while (true) {
    size_t end = text.find(joint);
    auto condition = parseOne(trimmed(text.substr(0, end)));
    if (!condition) {
      error = "expected conditions such as 'loss > 10' or 'loss not finite', "
              "joined by 'or'";
      return std::nullopt;
    }
    conditions.push_back(*condition);
    if (end == std::string_view::npos)
      return conditions;
    text.remove_prefix(end + joint.size());
  }
}
