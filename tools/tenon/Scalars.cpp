//===- Scalars.cpp - One element of a tensor as text
//-----------------------===//
//
// See Scalars.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Scalars.h"

#include <bit>
#include <charconv>
#include <cstring>

using namespace tenon;

namespace {

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
std::string floatText(T value) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

} // namespace

std::string tool::scalarText(ElementType type,
                             std::span<const std::byte> bytes) {
  switch (type) {
  case ElementType::i1:
    return read<uint8_t>(bytes) ? "1" : "0";
  case ElementType::i8:
    return std::to_string(read<int8_t>(bytes));
  case ElementType::i16:
    return std::to_string(read<int16_t>(bytes));
  case ElementType::i32:
    return std::to_string(read<int32_t>(bytes));
  case ElementType::i64:
    return std::to_string(read<int64_t>(bytes));
  case ElementType::ui8:
    return std::to_string(read<uint8_t>(bytes));
  case ElementType::ui16:
    return std::to_string(read<uint16_t>(bytes));
  case ElementType::ui32:
    return std::to_string(read<uint32_t>(bytes));
  case ElementType::ui64:
    return std::to_string(read<uint64_t>(bytes));
  case ElementType::f16:
    return floatText(float(read<_Float16>(bytes)));
  case ElementType::bf16:
    return floatText(
        std::bit_cast<float>(uint32_t(read<uint16_t>(bytes)) << 16));
  case ElementType::f32:
    return floatText(read<float>(bytes));
  case ElementType::f64:
    return floatText(read<double>(bytes));
  case ElementType::c64:
  case ElementType::c128: {
    bool single = type == ElementType::c64;
    ElementType part = single ? ElementType::f32 : ElementType::f64;
    std::string imaginary = scalarText(part, bytes.subspan(single ? 4 : 8));
    return scalarText(part, bytes) + (imaginary[0] == '-' ? "" : "+") +
           imaginary + "j";
  }
  }
  return "?";
}
