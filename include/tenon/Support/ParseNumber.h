//===- ParseNumber.h - A number and nothing else --------------------------===//
//
// What a text is as a number: in decimal, without spaces or anything behind it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_PARSENUMBER_H
#define TENON_SUPPORT_PARSENUMBER_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

/// Nothing if `text` is no number of the type, or one that it cannot hold.
template <typename Number = int64_t>
std::optional<Number> parseNumber(std::string_view text) {
  Number number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

} // namespace tenon

#endif // TENON_SUPPORT_PARSENUMBER_H
