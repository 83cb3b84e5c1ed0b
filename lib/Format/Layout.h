//===- Layout.h - The fixed part of a .tenon file -------------------------===//
//
// Private to this folder: the header before the index.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_FORMAT_LAYOUT_H
#define TENON_LIB_FORMAT_LAYOUT_H

#include "tenon/Format/Hash.h"

#include <cstdint>

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

} // namespace tenon::format

#endif // TENON_LIB_FORMAT_LAYOUT_H
