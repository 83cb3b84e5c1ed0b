//===- Tensor.h - A tensor as the reference interpreter sees it -----------===//
//
// A shape and one Element per index, row-major. Every element type is held in
// one of two wide forms; round() brings a value to what its type can hold. Slow
// and obvious on purpose.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_REFERENCE_TENSOR_H
#define TENON_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tenon::reference {

using Complex = std::complex<double>;

/// One element: `real` for floating-point types, with `imaginary` for complex
/// ones, `integer` for integers, booleans and what stores quantized elements.
/// Unsigned 64-bit values are held by their bits.
struct Element {
  double real = 0;
  int64_t integer = 0;
  double imaginary = 0;

  Complex complex() const { return {real, imaginary}; }
};

using Index = llvm::SmallVector<int64_t, 6>;

struct Tensor {
  mlir::RankedTensorType type;
  std::vector<Element> elements;

  Tensor() = default;
  /// All elements zero.
  explicit Tensor(mlir::RankedTensorType type)
      : type(type), elements(type.getNumElements()) {}

  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t rank() const { return type.getRank(); }
  int64_t size() const { return elements.size(); }
  mlir::Type elementType() const { return type.getElementType(); }

  Element &at(llvm::ArrayRef<int64_t> index) {
    return elements[offsetOf(index)];
  }
  const Element &at(llvm::ArrayRef<int64_t> index) const {
    return elements[offsetOf(index)];
  }
  int64_t offsetOf(llvm::ArrayRef<int64_t> index) const;
};

/// Advances `index` through `shape` in row-major order; false after the last.
bool next(Index &index, llvm::ArrayRef<int64_t> shape);
/// Whether every coordinate lies inside the shape.
bool isInside(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

bool isFloat(mlir::Type type);
bool isComplex(mlir::Type type);
/// The type of the parts of a complex element; any other type as it is.
mlir::Type partType(mlir::Type type);
bool isUnsigned(mlir::Type type);
int64_t widthOf(mlir::Type type);

/// The value of the type nearest to `value`: to even for floating point,
/// wrapping for integers. What is too large becomes infinite, else NaN, else
/// the largest value, whichever the type has first.
Element round(Element value, mlir::Type type);
/// What one update of a scatter leaves for the next: rounded, except for floats
/// below 16 bits, which an operation rounds once, when it is done (docs/Forms.md,
/// precision of sums).
Element roundUpdate(Element value, mlir::Type type);
Element realElement(double value, mlir::Type type);
Element complexElement(Complex value, mlir::Type type);
Element integerElement(int64_t value, mlir::Type type);

/// Takes the subnormal numbers of f32, f64 and bf16 as zeros of the same sign.
void flushSubnormals(Tensor &tensor);

/// The bits of an element that is not complex, zero-extended, and back.
uint64_t bitsOf(Element value, mlir::Type type);
Element fromBits(uint64_t bits, mlir::Type type);

/// The elements as memory and files hold them, `width` bytes each, the parts of
/// a complex one in halves of it.
void writeBytes(const Tensor &tensor, std::byte *bytes, int64_t width);
void readBytes(Tensor &tensor, const std::byte *bytes, int64_t width);

/// Nothing for an attribute whose values are elided or of a type that is not
/// interpreted.
std::optional<Tensor> fromAttribute(mlir::ElementsAttr attribute);

} // namespace tenon::reference

#endif // TENON_REFERENCE_TENSOR_H
