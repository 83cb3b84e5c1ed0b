//===- Bytes.cpp - Sizes as people write them -----------------------------===//
//
// See Bytes.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/Bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace tenon {

namespace {
struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 5> units = {{{"TiB", 0x1p40},
                                        {"GiB", 0x1p30},
                                        {"MiB", 0x1p20},
                                        {"KiB", 0x1p10},
                                        {"", 1}}};
} // namespace

std::optional<int64_t> parseBytes(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                      number, std::chars_format::fixed);
  if (error != std::errc())
    return std::nullopt;
  std::string_view unit(end, text.data() + text.size() - end);
  while (!unit.empty() && unit.front() == ' ')
    unit.remove_prefix(1);
  for (const Unit &known : units)
    if (unit == known.name) {
      double bytes = std::floor(number * known.bytes);
      if (!(bytes >= 0) || bytes >= 0x1p63)
        return std::nullopt;
      return static_cast<int64_t>(bytes);
    }
  return std::nullopt;
}

std::string printBytes(int64_t bytes) {
  for (const Unit &unit : units) {
    double number = static_cast<double>(bytes) / unit.bytes;
    if (unit.name.empty() || std::fabs(number) < 1)
      continue;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %s", number, unit.name.data());
    return text;
  }
  return std::to_string(bytes) + " B";
}

} // namespace tenon
