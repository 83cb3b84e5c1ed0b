//===- ElementType.cpp - Element types of tensors -------------------------===//
//
// The spellings of element types.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/ElementType.h"

#include <array>

using namespace tenon;

namespace {

struct Spelling {
  ElementType type;
  std::string_view stableHLO, safetensors;
};

// In the order of the enumerators.
constexpr std::array<Spelling, 15> spellings{{
    {ElementType::i1, "i1", "BOOL"},
    {ElementType::i8, "i8", "I8"},
    {ElementType::i16, "i16", "I16"},
    {ElementType::i32, "i32", "I32"},
    {ElementType::i64, "i64", "I64"},
    {ElementType::ui8, "ui8", "U8"},
    {ElementType::ui16, "ui16", "U16"},
    {ElementType::ui32, "ui32", "U32"},
    {ElementType::ui64, "ui64", "U64"},
    {ElementType::f16, "f16", "F16"},
    {ElementType::bf16, "bf16", "BF16"},
    {ElementType::f32, "f32", "F32"},
    {ElementType::f64, "f64", "F64"},
    {ElementType::c64, "complex<f32>", "C64"},
    {ElementType::c128, "complex<f64>", "C128"},
}};

consteval bool isInOrder() {
  for (size_t i = 0; i < spellings.size(); ++i)
    if (size_t(spellings[i].type) != i)
      return false;
  return true;
}
static_assert(isInOrder());

} // namespace

std::string_view tenon::name(ElementType type) {
  auto index = size_t(type);
  return index < spellings.size() ? spellings[index].stableHLO : "invalid";
}

std::string_view tenon::safetensorsName(ElementType type) {
  auto index = size_t(type);
  return index < spellings.size() ? spellings[index].safetensors : "invalid";
}

std::optional<ElementType>
tenon::elementTypeFromName(std::string_view spelling) {
  for (const Spelling &entry : spellings)
    if (entry.stableHLO == spelling)
      return entry.type;
  return std::nullopt;
}

std::optional<ElementType>
tenon::elementTypeFromSafetensorsName(std::string_view spelling) {
  for (const Spelling &entry : spellings)
    if (entry.safetensors == spelling)
      return entry.type;
  return std::nullopt;
}
