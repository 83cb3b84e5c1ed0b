//===- ElementType.h - Element types of tensors --------------------------===//
//
// The element types a stored tensor may have, shared by the file format, the
// runtime and the library descriptions. The numbers are part of the `.tenon`
// format: append, never renumber.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_ELEMENTTYPE_H
#define TENON_SUPPORT_ELEMENTTYPE_H

#include "tenon/Support/Fields.h"

#include <cstdint>

namespace tenon {

enum class ElementType : uint8_t {
  i1 = 0, // one byte per element, 0 or 1
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  ui8 = 5,
  ui16 = 6,
  ui32 = 7,
  ui64 = 8,
  f16 = 9,
  bf16 = 10,
  f32 = 11,
  f64 = 12,
  c64 = 13,  // two f32: real, imaginary
  c128 = 14, // two f64
  // One byte per element from here on: the value of an integer, the bits of a
  // float in the lowest ones.
  i2 = 15,
  i4 = 16,
  ui2 = 17,
  ui4 = 18,
  f4E2M1FN = 19,
  f6E2M3FN = 20,
  f6E3M2FN = 21,
  f8E3M4 = 22,
  f8E4M3 = 23,
  f8E4M3FN = 24,
  f8E4M3FNUZ = 25,
  f8E4M3B11FNUZ = 26,
  f8E5M2 = 27,
  f8E5M2FNUZ = 28,
  f8E8M0FNU = 29,
};

/// Bytes one element takes in memory.
constexpr int64_t byteWidth(ElementType type) {
  switch (type) {
  case ElementType::i1:
  case ElementType::i8:
  case ElementType::ui8:
    return 1;
  case ElementType::i16:
  case ElementType::ui16:
  case ElementType::f16:
  case ElementType::bf16:
    return 2;
  case ElementType::i32:
  case ElementType::ui32:
  case ElementType::f32:
    return 4;
  case ElementType::i64:
  case ElementType::ui64:
  case ElementType::f64:
  case ElementType::c64:
    return 8;
  case ElementType::c128:
    return 16;
  default:
    return type <= ElementType::f8E8M0FNU ? 1 : 0;
  }
}

/// The spelling used in StableHLO text.
template <>
inline constexpr auto namesOf<ElementType> = std::to_array<std::string_view>(
    {"i1",         "i8",           "i16",           "i32",
     "i64",        "ui8",          "ui16",          "ui32",
     "ui64",       "f16",          "bf16",          "f32",
     "f64",        "complex<f32>", "complex<f64>",  "i2",
     "i4",         "ui2",          "ui4",           "f4E2M1FN",
     "f6E2M3FN",   "f6E3M2FN",     "f8E3M4",        "f8E4M3",
     "f8E4M3FN",   "f8E4M3FNUZ",   "f8E4M3B11FNUZ", "f8E5M2",
     "f8E5M2FNUZ", "f8E8M0FNU"});

/// The spelling used in safetensors headers: `BOOL`, `U32`, `C64`, ... (`C128`
/// is ours: the format has no name for it. So are those of integers of 2 and 4
/// bits and of most floats below 8; files that pack the latter are not read.)
std::string_view safetensorsName(ElementType type);

/// Inverse of safetensorsName(); nothing for an unknown spelling.
std::optional<ElementType>
elementTypeFromSafetensorsName(std::string_view spelling);

} // namespace tenon

#endif // TENON_SUPPORT_ELEMENTTYPE_H
