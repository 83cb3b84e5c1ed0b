//===- ElementType.h - Element types of tensors --------------------------===//
//
// The element types a stored tensor may have, shared by the file format, the
// runtime and the library descriptions. The numbers are part of the `.tenon`
// format: append, never renumber.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_ELEMENTTYPE_H
#define TENON_SUPPORT_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

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
  }
  return 0;
}

/// The spelling used in StableHLO text: `i1`, `ui32`, `complex<f32>`, ...
std::string_view name(ElementType type);

/// The spelling used in safetensors headers: `BOOL`, `U32`, `C64`, ... (`C128`
/// is ours: the format has no name for it.)
std::string_view safetensorsName(ElementType type);

/// Inverse of name() and safetensorsName(); nothing for an unknown spelling.
std::optional<ElementType> elementTypeFromName(std::string_view spelling);
std::optional<ElementType>
elementTypeFromSafetensorsName(std::string_view spelling);

} // namespace tenon

#endif // TENON_SUPPORT_ELEMENTTYPE_H
