//===- Layout.h - The fixed part of a .tenon file -------------------------===//
//
// Private to this folder: the header before the index, and the hash.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_FORMAT_LAYOUT_H
#define TENON_LIB_FORMAT_LAYOUT_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::format {

/// Little-endian on disk, as on every processor Tenon runs on.
struct Header {
  char magic[6];
  uint16_t version;
  uint64_t indexBytes;
  uint64_t hashLow, hashHigh;
};
static_assert(sizeof(Header) == 32);

inline constexpr char magic[6] = {'T', 'E', 'N', 'O', 'N', '\0'};
inline constexpr uint64_t sectionAlignment = 4096;

constexpr uint64_t alignToSection(uint64_t offset) {
  return (offset + sectionAlignment - 1) & ~(sectionAlignment - 1);
}

struct Hash {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash &) const = default;
};

/// XXH3-128.
Hash hashOf(std::span<const std::byte> bytes);

} // namespace tenon::format

#endif // TENON_LIB_FORMAT_LAYOUT_H
