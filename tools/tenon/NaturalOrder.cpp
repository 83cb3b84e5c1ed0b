//===- NaturalOrder.cpp - Names in the order people number them -----------===//
//
// See NaturalOrder.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/NaturalOrder.h"

#include <algorithm>

using namespace tenon;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Takes the digits that `text` starts with, without leading zeros.
static std::string_view takeNumber(std::string_view &text) {
  size_t end = size_t(std::ranges::find_if_not(text, isDigit) - text.begin());
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

bool tool::comesBefore(std::string_view a, std::string_view b) {
  std::string_view restOfA = a, restOfB = b;
  while (!restOfA.empty() && !restOfB.empty()) {
    if (isDigit(restOfA[0]) && isDigit(restOfB[0])) {
      std::string_view x = takeNumber(restOfA), y = takeNumber(restOfB);
      // Numbers of any length: more digits are a larger number.
      if (x.size() != y.size())
        return x.size() < y.size();
      if (x != y)
        return x < y;
      continue;
    }
    if (restOfA[0] != restOfB[0])
      return static_cast<unsigned char>(restOfA[0]) <
             static_cast<unsigned char>(restOfB[0]);
    restOfA.remove_prefix(1);
    restOfB.remove_prefix(1);
  }
  return restOfA.empty() && restOfB.empty() ? a < b : restOfA.empty();
}
