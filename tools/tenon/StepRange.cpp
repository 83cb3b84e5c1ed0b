//===- StepRange.cpp - Some steps of a run on the command line ------------===//
//
// See StepRange.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/StepRange.h"

#include "tenon/Support/ParseNumber.h"

using namespace tenon;
using namespace tenon::tool;

static constexpr std::string_view dots = "..";

std::string StepRange::text() const {
  return std::to_string(first) +
         (first == last ? "" : std::string(dots) + std::to_string(last));
}

std::optional<StepRange> tool::parseStepRange(std::string_view text) {
  size_t middle = text.find(dots);
  auto first = parseNumber(text.substr(0, middle));
  auto last = middle == std::string_view::npos
                  ? first
                  : parseNumber(text.substr(middle + dots.size()));
  if (!first || !last || *first < 1 || *last < *first)
    return std::nullopt;
  return StepRange{*first, *last};
}
