//===- ElementType.cpp - Element types of tensors -------------------------===//
//
// The spellings of element types in safetensors files.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/ElementType.h"

#include <array>

using namespace tenon;

namespace {

struct Spelling {
  ElementType type;
  std::string_view safetensors;
};

// In the order of the enumerators.
constexpr std::array<Spelling, namesOf<ElementType>.size()> spellings{{
    {ElementType::i1, "BOOL"},
    {ElementType::i8, "I8"},
    {ElementType::i16, "I16"},
    {ElementType::i32, "I32"},
    {ElementType::i64, "I64"},
    {ElementType::ui8, "U8"},
    {ElementType::ui16, "U16"},
    {ElementType::ui32, "U32"},
    {ElementType::ui64, "U64"},
    {ElementType::f16, "F16"},
    {ElementType::bf16, "BF16"},
    {ElementType::f32, "F32"},
    {ElementType::f64, "F64"},
    {ElementType::c64, "C64"},
    {ElementType::c128, "C128"},
    {ElementType::i2, "I2"},
    {ElementType::i4, "I4"},
    {ElementType::ui2, "U2"},
    {ElementType::ui4, "U4"},
    {ElementType::f4E2M1FN, "F4_E2M1"},
    {ElementType::f6E2M3FN, "F6_E2M3_BYTES"},
    {ElementType::f6E3M2FN, "F6_E3M2_BYTES"},
    {ElementType::f8E3M4, "F8_E3M4"},
    {ElementType::f8E4M3, "F8_E4M3_IEEE"},
    {ElementType::f8E4M3FN, "F8_E4M3"},
    {ElementType::f8E4M3FNUZ, "F8_E4M3FNUZ"},
    {ElementType::f8E4M3B11FNUZ, "F8_E4M3B11FNUZ"},
    {ElementType::f8E5M2, "F8_E5M2"},
    {ElementType::f8E5M2FNUZ, "F8_E5M2FNUZ"},
    {ElementType::f8E8M0FNU, "F8_E8M0"},
}};

consteval bool isInOrder() {
  for (size_t i = 0; i < spellings.size(); ++i)
    if (size_t(spellings[i].type) != i)
      return false;
  return true;
}
static_assert(isInOrder());

} // namespace

std::string_view tenon::safetensorsName(ElementType type) {
  auto index = size_t(type);
  return index < spellings.size() ? spellings[index].safetensors : "invalid";
}

std::optional<ElementType>
tenon::elementTypeFromSafetensorsName(std::string_view spelling) {
  for (const Spelling &entry : spellings)
    if (entry.safetensors == spelling)
      return entry.type;
  return std::nullopt;
}
