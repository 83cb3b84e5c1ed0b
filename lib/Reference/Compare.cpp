//===- Compare.cpp - Whether two tensors are what they should be ----------===//
//
// Distances between elements: equality, differences, and units in the last
// place, which count the values of the type from one number to the other.
//
//===----------------------------------------------------------------------===//

#include "tenon/Reference/Compare.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

/// Where a number stands among the values of its type: neighbours differ by
/// one, and both zeros are 0.
static __int128 rankOf(double value, Type type) {
  uint64_t bits = bitsOf({value}, type);
  uint64_t sign = uint64_t(1) << (widthOf(type) - 1);
  return bits & sign ? -__int128(bits & ~sign) : __int128(bits);
}

/// The units in the last place between two numbers; none if they cannot be
/// compared: one is NaN, or one infinite and the other not.
static std::optional<uint64_t> unitsBetween(double x, double y, Type type) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y) ? std::optional<uint64_t>(0)
                                          : std::nullopt;
  if (std::isinf(x) || std::isinf(y))
    return x == y ? std::optional<uint64_t>(0) : std::nullopt;
  __int128 distance = rankOf(x, type) - rankOf(y, type);
  return uint64_t(distance < 0 ? -distance : distance);
}

static bool isEqual(double x, double y) {
  return std::isnan(x) ? std::isnan(y)
                       : x == y && std::signbit(x) == std::signbit(y);
}

/// Whether one real part is as close to another as it has to be.
static bool agrees(double x, double y, Type type, const Tolerance &tolerance) {
  switch (tolerance.kind) {
  case Tolerance::equal:
    return isEqual(x, y);
  case Tolerance::absolute:
    return (std::isnan(x) && std::isnan(y)) || x == y ||
           std::fabs(x - y) <= tolerance.largestDifference;
  case Tolerance::units: {
    auto units = unitsBetween(x, y, type);
    return units && *units <= tolerance.maxUnits &&
           *units >= tolerance.minUnits;
  }
  }
  return false;
}

static std::string textOf(const Element &element, Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto complex = dyn_cast<ComplexType>(type))
    stream << '(' << textOf({element.real}, complex.getElementType()) << ", "
           << textOf({element.imaginary}, complex.getElementType()) << ')';
  else if (isFloat(type))
    stream << llvm::format(type.isF64() ? "%.17g" : "%.9g", element.real);
  else if (isUnsigned(type))
    stream << uint64_t(element.integer);
  else
    stream << element.integer;
  return text;
}

std::optional<std::string> reference::firstDifference(const Tensor &found,
                                                      const Tensor &expected,
                                                      Tolerance tolerance) {
  Type type = found.elementType();
  auto complex = dyn_cast<ComplexType>(type);
  Type part = complex ? complex.getElementType() : type;
  for (int64_t i = 0; i < found.size(); ++i) {
    const Element &x = found.elements[i], &y = expected.elements[i];
    if (isFloat(part) ? agrees(x.real, y.real, part, tolerance) &&
                            (!complex ||
                             agrees(x.imaginary, y.imaginary, part, tolerance))
                      : x.integer == y.integer)
      continue;
    Index index(found.rank());
    for (int64_t dim = found.rank() - 1, rest = i; dim >= 0; --dim) {
      index[dim] = rest % found.shape()[dim];
      rest /= found.shape()[dim];
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "element [";
    llvm::interleaveComma(index, stream);
    stream << "]: found " << textOf(x, type) << ", expected "
           << textOf(y, type);
    if (isFloat(type)) {
      auto units = unitsBetween(x.real, y.real, type);
      stream << ", ";
      if (units)
        stream << *units << " units in the last place apart";
      else
        stream << "not comparable in units in the last place";
    }
    return text;
  }
  return std::nullopt;
}
