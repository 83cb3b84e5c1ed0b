//===- Tensor.cpp - A tensor as the reference interpreter sees it ---------===//
//
// See Tensor.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Reference/Tensor.h"

#include "tenon/Analysis/FloatArithmetic.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

int64_t Tensor::offsetOf(ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  for (auto [coordinate, extent] : llvm::zip_equal(index, shape())) {
    assert(coordinate >= 0 && coordinate < extent && "index outside a tensor");
    offset = offset * extent + coordinate;
  }
  return offset;
}

bool reference::next(Index &index, ArrayRef<int64_t> shape) {
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    if (++index[dim] < shape[dim])
      return true;
    index[dim] = 0;
  }
  return false;
}

bool reference::isInside(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  for (auto [coordinate, extent] : llvm::zip_equal(index, shape))
    if (coordinate < 0 || coordinate >= extent)
      return false;
  return true;
}

bool reference::isFloat(Type type) {
  // Whether a type has an interface takes a look into a table.
  return isa<Float32Type, Float64Type>(type) || isa<FloatType>(type);
}

bool reference::isComplex(Type type) { return isa<ComplexType>(type); }

Type reference::partType(Type type) {
  auto complex = dyn_cast<ComplexType>(type);
  return complex ? complex.getElementType() : type;
}

bool reference::isUnsigned(Type type) {
  if (auto quantized = dyn_cast<quant::QuantizedType>(type))
    return !quantized.isSigned();
  return type.isUnsignedInteger() || type.isInteger(1);
}

int64_t reference::widthOf(Type type) {
  if (auto quantized = dyn_cast<quant::QuantizedType>(type))
    return quantized.getStorageTypeIntegralWidth();
  return type.getIntOrFloatBitWidth();
}

/// A number in a narrow format. Formats without NaN hold minus zero for it, and
/// their largest numbers for infinities.
static llvm::APFloat narrowed(double value, FloatType type) {
  const llvm::fltSemantics &format = type.getFloatSemantics();
  bool isFiniteOnly = !llvm::APFloat::semanticsHasNaN(format);
  if (isFiniteOnly && std::isnan(value))
    return llvm::APFloat::getZero(format, /*Negative=*/true);
  if (isFiniteOnly && std::isinf(value))
    return llvm::APFloat::getLargest(format, value < 0);
  if (!llvm::APFloat::semanticsHasSignedRepr(format) &&
      (std::signbit(value) || value == 0))
    return value == 0 ? llvm::APFloat::getSmallest(format)
                      : llvm::APFloat::getNaN(format);
  llvm::APFloat narrow(value);
  bool losesInfo;
  narrow.convert(format, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return narrow;
}

/// NaN of formats that have no room for its digits included.
static double asDouble(const llvm::APFloat &value) {
  bool isNarrow = llvm::APFloat::getSizeInBits(value.getSemantics()) <= 8;
  return isNarrow && value.isNaN() ? NAN : value.convertToDouble();
}

static double roundReal(double value, Type type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return float(value);
  return asDouble(narrowed(value, cast<FloatType>(type)));
}

Element reference::round(Element value, Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    value.real = roundReal(value.real, complex.getElementType());
    value.imaginary = roundReal(value.imaginary, complex.getElementType());
    return value;
  }
  if (isFloat(type)) {
    value.real = roundReal(value.real, type);
    return value;
  }
  int64_t width = widthOf(type);
  if (width == 64)
    return value;
  uint64_t bits = uint64_t(value.integer) & ((uint64_t(1) << width) - 1);
  if (!isUnsigned(type) && (bits >> (width - 1)) & 1)
    bits |= ~uint64_t(0) << width;
  value.integer = bits;
  return value;
}

Element reference::roundUpdate(Element value, Type type) {
  bool isNarrow = isFloat(type) && type.getIntOrFloatBitWidth() < 16;
  return isNarrow ? value : round(value, type);
}

Element reference::realElement(double value, Type type) {
  return round({value, 0}, type);
}

Element reference::complexElement(Complex value, Type type) {
  return round({value.real(), 0, value.imag()}, type);
}

Element reference::integerElement(int64_t value, Type type) {
  return round({0, value}, type);
}

/// Digits of the fraction of an IEEE type, whose NaN have every bit of the
/// exponent set; nothing for other types.
static std::optional<int> fractionOf(FloatType type) {
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
    return std::nullopt;
  return llvm::APFloat::semanticsPrecision(type.getFloatSemantics()) - 1;
}

/// A NaN keeps the bits that fit, also those that arithmetic would change.
static double nanFromBits(uint64_t bits, int width, int fraction) {
  uint64_t sign = (bits >> (width - 1)) << 63;
  uint64_t payload = bits & ((uint64_t(1) << fraction) - 1);
  return std::bit_cast<double>(sign | uint64_t(0x7ff) << 52 |
                               payload << (52 - fraction));
}

static uint64_t bitsOfNaN(double value, int width, int fraction) {
  auto bits = std::bit_cast<uint64_t>(value);
  uint64_t payload = (bits & ((uint64_t(1) << 52) - 1)) >> (52 - fraction);
  if (payload == 0)
    payload = uint64_t(1) << (fraction - 1);
  uint64_t exponent = (uint64_t(1) << (width - 1 - fraction)) - 1;
  return (bits >> 63) << (width - 1) | exponent << fraction | payload;
}

void reference::flushSubnormals(Tensor &tensor) {
  auto type = dyn_cast<FloatType>(partType(tensor.elementType()));
  if (!type || !hasFlushedSubnormals(type))
    return;
  // Elements are held in f64, where those of narrower types are normal.
  double smallest =
      llvm::APFloat::getSmallestNormalized(type.getFloatSemantics())
          .convertToDouble();
  for (Element &element : tensor.elements)
    for (double *part : {&element.real, &element.imaginary})
      if (std::fabs(*part) < smallest)
        *part = std::copysign(0.0, *part);
}

uint64_t reference::bitsOf(Element value, Type type) {
  auto ieee = dyn_cast<FloatType>(type);
  if (ieee && std::isnan(value.real))
    if (auto fraction = fractionOf(ieee))
      return bitsOfNaN(value.real, int(widthOf(type)), *fraction);
  if (auto floatType = dyn_cast<FloatType>(type))
    return narrowed(value.real, floatType).bitcastToAPInt().getZExtValue();
  int64_t width = widthOf(type);
  uint64_t bits = value.integer;
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

Element reference::fromBits(uint64_t bits, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    llvm::APFloat value(floatType.getFloatSemantics(),
                        llvm::APInt(widthOf(type), bits));
    auto fraction = fractionOf(floatType);
    if (value.isNaN() && fraction)
      return {nanFromBits(bits, int(widthOf(type)), *fraction), 0};
    return {asDouble(value), 0};
  }
  return integerElement(bits, type);
}

void reference::writeBytes(const Tensor &tensor, std::byte *bytes,
                           int64_t width) {
  bool complex = isComplex(tensor.elementType());
  Type part = partType(tensor.elementType());
  int64_t step = complex ? width / 2 : width;
  // Integers of less than a byte are held by their values.
  bool isValue = isa<IntegerType>(part) && widthOf(part) < 8;
  for (const Element &element : tensor.elements) {
    uint64_t bits = isValue ? uint64_t(element.integer) : bitsOf(element, part);
    std::memcpy(bytes, &bits, step);
    bytes += step;
    if (!complex)
      continue;
    bits = bitsOf({element.imaginary}, part);
    std::memcpy(bytes, &bits, step);
    bytes += step;
  }
}

void reference::readBytes(Tensor &tensor, const std::byte *bytes,
                          int64_t width) {
  bool complex = isComplex(tensor.elementType());
  Type part = partType(tensor.elementType());
  int64_t step = complex ? width / 2 : width;
  for (Element &element : tensor.elements) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, step);
    bytes += step;
    element = fromBits(bits, part);
    if (!complex)
      continue;
    std::memcpy(&bits, bytes, step);
    bytes += step;
    element.imaginary = fromBits(bits, part).real;
  }
}

std::optional<Tensor> reference::fromAttribute(ElementsAttr attribute) {
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense)
    return std::nullopt;
  Tensor tensor(cast<RankedTensorType>(dense.getType()));
  Type type = tensor.elementType();
  size_t at = 0;
  if (isFloat(type)) {
    for (const APFloat &value : dense.getValues<APFloat>())
      tensor.elements[at++] =
          fromBits(value.bitcastToAPInt().getZExtValue(), type);
    return tensor;
  }
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (!isFloat(complex.getElementType()))
      return std::nullopt;
    for (const std::complex<APFloat> &value :
         dense.getValues<std::complex<APFloat>>())
      tensor.elements[at++] = {value.real().convertToDouble(), 0,
                               value.imag().convertToDouble()};
    return tensor;
  }
  if (!isa<IntegerType>(type))
    return std::nullopt;
  for (const APInt &value : dense.getValues<APInt>())
    tensor.elements[at++] = fromBits(value.getZExtValue(), type);
  return tensor;
}
