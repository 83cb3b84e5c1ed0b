//===- Scalars.cpp - One element of a tensor as text ----------------------===//
//
// See Scalars.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Scalars.h"

#include "tenon/Support/Bfloat16.h"
#include "tenon/Support/ParseNumber.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

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

/// How a float of at most 8 bits spends them.
struct NarrowFloat {
  /// What patterns say besides numbers.
  enum Special {
    none,
    ieee,         // the largest exponent: infinities and NaN
    allOnesIsNaN, // the largest magnitude, of either sign
    negativeZeroIsNaN,
  };
  int exponentBits, mantissaBits, bias;
  Special special;
};

std::string narrowText(const NarrowFloat &format, uint8_t bits) {
  int width = format.exponentBits + format.mantissaBits;
  int magnitude = bits & ((1 << width) - 1);
  bool negative = bits >> width & 1;
  int exponent = magnitude >> format.mantissaBits;
  int mantissa = magnitude & ((1 << format.mantissaBits) - 1);
  bool largest = exponent == (1 << format.exponentBits) - 1;
  double value;
  if ((format.special == NarrowFloat::negativeZeroIsNaN && negative &&
       magnitude == 0) ||
      (format.special == NarrowFloat::allOnesIsNaN &&
       magnitude == (1 << width) - 1) ||
      (format.special == NarrowFloat::ieee && largest && mantissa != 0))
    value = std::numeric_limits<double>::quiet_NaN();
  else if (format.special == NarrowFloat::ieee && largest)
    value = std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - format.bias - format.mantissaBits);
  else
    value = std::ldexp(mantissa + (1 << format.mantissaBits),
                       exponent - format.bias - format.mantissaBits);
  return floatText(static_cast<float>(negative ? -value : value));
}

} // namespace

std::string runtime::scalarText(ElementType type,
                                std::span<const std::byte> bytes) {
  switch (type) {
  case ElementType::i1:
    return read<uint8_t>(bytes) ? "1" : "0";
  case ElementType::i2:
  case ElementType::i4:
  case ElementType::i8:
    return std::to_string(read<int8_t>(bytes));
  case ElementType::i16:
    return std::to_string(read<int16_t>(bytes));
  case ElementType::i32:
    return std::to_string(read<int32_t>(bytes));
  case ElementType::i64:
    return std::to_string(read<int64_t>(bytes));
  case ElementType::ui2:
  case ElementType::ui4:
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
    return floatText(widenBf16(read<uint16_t>(bytes)));
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
  case ElementType::f4E2M1FN:
    return narrowText({2, 1, 1, NarrowFloat::none}, read<uint8_t>(bytes));
  case ElementType::f6E2M3FN:
    return narrowText({2, 3, 1, NarrowFloat::none}, read<uint8_t>(bytes));
  case ElementType::f6E3M2FN:
    return narrowText({3, 2, 3, NarrowFloat::none}, read<uint8_t>(bytes));
  case ElementType::f8E3M4:
    return narrowText({3, 4, 3, NarrowFloat::ieee}, read<uint8_t>(bytes));
  case ElementType::f8E4M3:
    return narrowText({4, 3, 7, NarrowFloat::ieee}, read<uint8_t>(bytes));
  case ElementType::f8E4M3FN:
    return narrowText({4, 3, 7, NarrowFloat::allOnesIsNaN},
                      read<uint8_t>(bytes));
  case ElementType::f8E4M3FNUZ:
    return narrowText({4, 3, 8, NarrowFloat::negativeZeroIsNaN},
                      read<uint8_t>(bytes));
  case ElementType::f8E4M3B11FNUZ:
    return narrowText({4, 3, 11, NarrowFloat::negativeZeroIsNaN},
                      read<uint8_t>(bytes));
  case ElementType::f8E5M2:
    return narrowText({5, 2, 15, NarrowFloat::ieee}, read<uint8_t>(bytes));
  case ElementType::f8E5M2FNUZ:
    return narrowText({5, 2, 16, NarrowFloat::negativeZeroIsNaN},
                      read<uint8_t>(bytes));
  case ElementType::f8E8M0FNU:
    // A power of two, without sign and zero.
    return read<uint8_t>(bytes) == 0xFF
               ? "nan"
               : floatText(static_cast<float>(
                     std::ldexp(1.0, read<uint8_t>(bytes) - 127)));
  }
  return "?";
}

std::optional<std::string> runtime::valueText(const runtime::Executor &executor,
                                              size_t tensor,
                                              runtime::Error &error) {
  const format::Tensor &described = executor.index().tensors[tensor];
  std::vector<std::byte> bytes(format::bytesOf(described));
  if (!executor.read(tensor, bytes, error))
    return std::nullopt;
  return scalarText(described.type, bytes);
}

bool runtime::takesFraction(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16 ||
         type == ElementType::f32 || type == ElementType::f64;
}

double runtime::readScalar(ElementType type, std::span<const std::byte> bytes) {
  switch (type) {
  case ElementType::f64:
    return read<double>(bytes);
  case ElementType::f32:
    return double(read<float>(bytes));
  case ElementType::f16:
    return double(read<_Float16>(bytes));
  default:
    return double(widenBf16(read<uint16_t>(bytes)));
  }
}

template <typename T>
static void write(std::span<std::byte> into, T value) {
  std::memcpy(into.data(), &value, sizeof(T));
}

void runtime::writeScalar(ElementType type, double value,
                          std::span<std::byte> into) {
  if (type == ElementType::f64)
    write(into, value);
  else if (type == ElementType::f32)
    write(into, float(value));
  else if (type == ElementType::f16)
    write(into, _Float16(float(value)));
  else
    write(into, roundToBf16(float(value)));
}

template <typename T>
static bool parse(std::string_view text, std::span<std::byte> into) {
  auto value = parseNumber<T>(text);
  if (value)
    write(into, *value);
  return value.has_value();
}

bool runtime::parseScalar(ElementType type, std::string_view text,
                          std::span<std::byte> into) {
  switch (type) {
  case ElementType::f32:
    return parse<float>(text, into);
  case ElementType::f64:
    return parse<double>(text, into);
  case ElementType::f16:
  case ElementType::bf16: {
    float value = 0;
    if (!parse<float>(text, std::as_writable_bytes(std::span(&value, 1))))
      return false;
    writeScalar(type, value, into);
    return true;
  }
  case ElementType::i8:
    return parse<int8_t>(text, into);
  case ElementType::i16:
    return parse<int16_t>(text, into);
  case ElementType::i32:
    return parse<int32_t>(text, into);
  case ElementType::i64:
    return parse<int64_t>(text, into);
  case ElementType::ui8:
    return parse<uint8_t>(text, into);
  case ElementType::ui16:
    return parse<uint16_t>(text, into);
  case ElementType::ui32:
    return parse<uint32_t>(text, into);
  case ElementType::ui64:
    return parse<uint64_t>(text, into);
  default:
    return false;
  }
}
