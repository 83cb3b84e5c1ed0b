//===- Program.cpp - A random program while it is written ----------------===//
//
// See Program.h.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tenon::random;

const std::vector<Element> &tenon::random::elements() {
  using enum Class;
  static const std::vector<Element> table = {
      {"i1", boolean, 1, 0, 0},
      {"i8", signedInteger, 8, 0, 0},
      {"i16", signedInteger, 16, 0, 0},
      {"i32", signedInteger, 32, 0, 0},
      {"i64", signedInteger, 64, 0, 0},
      {"ui8", unsignedInteger, 8, 0, 0},
      {"ui16", unsignedInteger, 16, 0, 0},
      {"ui32", unsignedInteger, 32, 0, 0},
      {"ui64", unsignedInteger, 64, 0, 0},
      {"f16", real, 16, 10, 5},
      {"bf16", real, 16, 7, 8},
      {"f32", real, 32, 23, 8},
      {"f64", real, 64, 52, 11},
      {"complex<f32>", complex, 64, 23, 8},
      {"complex<f64>", complex, 128, 52, 11},
  };
  return table;
}

const Element &tenon::random::elementNamed(llvm::StringRef name) {
  for (const Element &element : elements())
    if (element.name == name)
      return element;
  llvm_unreachable("an element type of the table");
}

int64_t Type::size() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string Type::text() const {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element->name.str() + ">";
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

uint64_t Program::integerBits(const Element &element, Style style) {
  uint64_t mask =
      element.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << element.bits) - 1;
  if (element.kind == Class::boolean)
    return random.below(2);
  if (style == Style::tame)
    return uint64_t(random.between(
               element.kind == Class::unsignedInteger ? 0 : -9, 9)) &
           mask;
  uint64_t top = uint64_t(1) << (element.bits - 1);
  switch (random.below(8)) {
  case 0:
    return 0;
  case 1:
    return 1;
  case 2:
    return mask; // -1, or the largest
  case 3:
    return top; // the smallest signed number
  case 4:
    return top - 1; // the largest signed number
  case 5:
    return (top + 1) & mask;
  case 6:
    return uint64_t(random.between(-40, 70)) & mask; // widths of shifts
  default:
    return random.bits() & mask;
  }
}

uint64_t Program::realBits(int64_t digits, int64_t exponent, Style style) {
  uint64_t fraction = (uint64_t(1) << digits) - 1;
  uint64_t largest = (uint64_t(1) << exponent) - 1, bias = largest / 2;
  uint64_t sign = uint64_t(random.below(2)) << (digits + exponent);
  uint64_t noise = random.bits() & fraction;
  auto power = [&](int64_t of) { return (bias + uint64_t(of)) << digits; };
  if (style == Style::tame) {
    if (random.chance(10))
      return sign; // zeros
    if (random.chance(25)) {
      // Small whole numbers and halves, which make ties.
      double value = double(random.between(1, 16)) / 2;
      int place = std::ilogb(value);
      double rest = std::ldexp(value, -place) - 1;
      return sign | power(place) | uint64_t(std::ldexp(rest, int(digits)));
    }
    return sign | power(random.between(-4, 2)) | noise;
  }
  switch (random.below(14)) {
  case 0:
    return sign;
  case 1:
    return sign | 1; // the smallest subnormal
  case 2:
    return sign | fraction; // the largest subnormal
  case 3:
    return sign | noise; // some subnormal
  case 4:
    return sign | (uint64_t(1) << digits); // the smallest normal number
  case 5:
    return sign | ((largest - 1) << digits) | fraction; // the largest
  case 6:
    return sign | (largest << digits); // infinity
  case 7:
    return sign | (largest << digits) | (uint64_t(1) << (digits - 1)); // NaN
  case 8:
    return sign | power(0); // one
  case 9:
    return sign | power(random.between(-3, 6)) | noise;
  case 10:
    return sign | power(random.between(0, digits + 2)) |
           (noise & ~(fraction >> 2)); // whole numbers and halves
  default:
    return random.bits() & ((uint64_t(1) << (digits + exponent + 1)) - 1);
  }
}

/// Bytes, least significant first, as hexadecimal digits.
static void appendBytes(std::string &text, uint64_t bits, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i) {
    text += llvm::hexdigit((bits >> (8 * i + 4)) & 15);
    text += llvm::hexdigit((bits >> (8 * i)) & 15);
  }
}

std::string Program::literal(const Type &type, Style style) {
  const Element &element = *type.element;
  int64_t size = type.size();
  if (size == 0)
    return "dense<>";
  std::string text = "dense<\"0x";
  if (element.kind == Class::boolean) {
    if (size == 1)
      return random.chance(50) ? "dense<true>" : "dense<false>";
    for (int64_t i = 0; i < size; i += 8) {
      uint64_t mask = (uint64_t(1) << std::min<int64_t>(8, size - i)) - 1;
      appendBytes(text, random.bits() & mask, 1);
    }
    return text + "\">";
  }
  for (int64_t i = 0; i < size; ++i) {
    if (element.isInteger()) {
      appendBytes(text, integerBits(element, style), element.bits / 8);
      continue;
    }
    bool complex = element.kind == Class::complex;
    for (int64_t part = 0; part < (complex ? 2 : 1); ++part)
      appendBytes(text, realBits(element.digits, element.exponent, style),
                  element.bits / (complex ? 16 : 8));
  }
  return text + "\">";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Program::constant(const Type &type, const std::string &literal) {
  // Most inputs are hidden, so that the compiler computes nothing with them.
  Value value =
      add(type, "stablehlo.constant " + literal + " : " + type.text());
  if (random.chance(12))
    return value;
  return add(type, "stablehlo.optimization_barrier " + value.name + " : " +
                       type.text());
}

Value Program::input(const Type &type, Style style) {
  return constant(type, literal(type, style));
}

Value Program::integers(const Type &type, int64_t low, int64_t high) {
  if (type.size() == 0)
    return constant(type, "dense<>");
  std::string text = "dense<\"0x";
  for (int64_t i = 0; i < type.size(); ++i)
    appendBytes(text, uint64_t(random.between(low, high)),
                type.element->bits / 8);
  return constant(type, text + "\">");
}

Value Program::any(const std::function<bool(const Type &)> &fits,
                   const std::function<Type()> &otherwise) {
  std::vector<Value> candidates;
  for (const Value &value : values)
    if (fits(value.type))
      candidates.push_back(value);
  if (!candidates.empty() && random.chance(75))
    return random.oneOf(candidates);
  return input(otherwise());
}

Value Program::of(const Type &type) {
  return any([&](const Type &other) { return other == type; },
             [&] { return type; });
}

Shape Program::shape(int64_t minRank) {
  static const std::vector<int64_t> extents = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33};
  Shape shape;
  int64_t rank = std::max(minRank, random.between(0, 4)), size = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t extent = random.oneOf(extents);
    if (random.chance(3))
      extent = 0;
    if (random.chance(3) && size < 4)
      extent = random.between(60, 300);
    if (size * extent > 400)
      extent = random.between(1, 2);
    shape.push_back(extent);
    size *= std::max<int64_t>(extent, 1);
  }
  return shape;
}

const Element &
Program::element(const std::function<bool(const Element &)> &fits) {
  while (true)
    if (const Element &candidate = random.oneOf(elements()); fits(candidate))
      return candidate;
}

std::vector<Value> Program::add(const std::vector<Type> &types,
                                const std::string &text) {
  for (size_t i = 0; i < values.size(); ++i) {
    // A name ends where no digit follows.
    for (size_t at = text.find(values[i].name); at != std::string::npos;
         at = text.find(values[i].name, at + 1)) {
      size_t end = at + values[i].name.size();
      if (end == text.size() || !llvm::isAlnum(text[end]))
        used[i] = true;
    }
  }
  std::string name = "%" + prefix + "v" + std::to_string(names++);
  body += "  " + name;
  if (types.size() > 1)
    body += ":" + std::to_string(types.size());
  body += " = " + text + "\n";
  std::vector<Value> results;
  for (size_t i = 0; i < types.size(); ++i)
    results.push_back(
        {types.size() > 1 ? name + "#" + std::to_string(i) : name, types[i]});
  for (const Value &result : results) {
    values.push_back(result);
    used.push_back(false);
  }
  return results;
}

Value Program::add(const Type &type, const std::string &text) {
  return add(std::vector<Type>{type}, text).front();
}

std::vector<Value> Program::results() {
  std::vector<Value> returned;
  for (size_t i = 0; i < values.size(); ++i)
    if (!used[i] || random.chance(10))
      returned.push_back(values[i]);
  return returned;
}

std::string tenon::random::randomModule(uint64_t first, uint64_t count,
                                        Subject subject) {
  std::string body, names, types;
  for (uint64_t number = first; number < first + count; ++number) {
    Program program(number, "p" + std::to_string(number));
    int64_t operations =
        program.random.between(1, subject == Subject::attention ? 2 : 7);
    for (int64_t i = 0; i < operations; ++i)
      program.random.oneOf(emitters(subject))(program);
    body += program.text();
    for (const Value &value : program.results()) {
      names += (names.empty() ? "" : ", ") + value.name;
      types += (types.empty() ? "" : ", ") + value.type.text();
    }
  }
  return "func.func @main() -> (" + types + ") {\n" + body + "  return" +
         (names.empty() ? "" : " " + names + " : " + types) + "\n}\n";
}
