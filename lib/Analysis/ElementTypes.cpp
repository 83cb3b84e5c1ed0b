//===- ElementTypes.cpp - Element types between IR and files -------------===//
//
// See ElementTypes.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;

/// By its name, which is MLIR's own.
static std::optional<ElementType> byName(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return fromName<ElementType>(text);
}

std::optional<ElementType> tenon::elementTypeOf(Type type) {
  if (isa<FloatType>(type))
    return byName(type);
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return ElementType::c64;
    return complex.getElementType().isF64() ? std::optional(ElementType::c128)
                                            : std::nullopt;
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return ElementType::i1;
  case 8:
    return isUnsigned ? ElementType::ui8 : ElementType::i8;
  case 16:
    return isUnsigned ? ElementType::ui16 : ElementType::i16;
  case 32:
    return isUnsigned ? ElementType::ui32 : ElementType::i32;
  case 64:
    return isUnsigned ? ElementType::ui64 : ElementType::i64;
  default:
    return byName(type);
  }
}

/// Asking an interface takes ten times as long as looking for what nearly all
/// types are.
static int64_t bitsOf(Type element) {
  if (isa<Float32Type>(element))
    return 32;
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth();
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

int64_t tenon::storedBytes(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return ShapedType::getNumElements(tensor.getShape()) *
           std::max<int64_t>(1, bitsOf(tensor.getElementType()) / 8);
  auto shaped = cast<ShapedType>(type);
  return shaped.getNumElements() *
         std::max<int64_t>(1, bitsOf(shaped.getElementType()) / 8);
}
