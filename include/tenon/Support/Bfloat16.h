//===- Bfloat16.h - Conversions between f32 and bf16 ----------------------===//
//
// A bf16 is the upper half of an f32. Written without branches, so that
// compilers vectorise loops over them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_BFLOAT16_H
#define TENON_SUPPORT_BFLOAT16_H

#include <bit>
#include <cstdint>

namespace tenon {

inline float widenBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// The nearest bf16, the even one of two that are equally near. A NaN keeps its
/// sign and upper bits and becomes quiet.
inline uint16_t roundToBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  uint32_t quiet = bits >> 16 | 0x40u;
  bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
  return uint16_t(isNaN ? quiet : nearest);
}

} // namespace tenon

#endif // TENON_SUPPORT_BFLOAT16_H
