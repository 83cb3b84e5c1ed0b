//===- ElementKinds.h - Which elements an operand may have ----------------===//
//
// The predicates behind the operand constraints of the stablehlo operations: a
// constraint is a set of element kinds, and a tensor fits if its elements are
// of one of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_ELEMENTKINDS_H
#define TENON_DIALECT_STABLEHLO_ELEMENTKINDS_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

namespace tenon::stablehlo {

/// Kinds of tensor elements, one bit each.
enum ElementKind : unsigned {
  kBoolean = 1 << 0,          // i1
  kSigned = 1 << 1,           // i2 ... i64, which are signed by convention
  kUnsigned = 1 << 2,         // ui2 ... ui64
  kFloat = 1 << 3,            // the fifteen formats from f4E2M1FN to f64
  kComplex = 1 << 4,          // complex<f32>, complex<f64>
  kQuantized = 1 << 5,        // !quant.uniform, one scale
  kPerAxisQuantized = 1 << 6, // !quant.uniform, one scale per slice
  kIndex = 1 << 7,            // index, for extents only

  kInteger = kSigned | kUnsigned,
  kPlain = kBoolean | kInteger | kFloat | kComplex,
  kTensor = kPlain | kQuantized,
};

/// The kind of an element type, 0 for a type that no tensor here may have.
unsigned elementKind(mlir::Type elementType);

/// Whether elements are bf16 or f16.
inline bool isFloatOf16Bits(mlir::Type elementType) {
  return elementType.isBF16() || elementType.isF16();
}

/// Whether a type is a ranked tensor with elements of one of the given kinds;
/// a scalar has rank 0 and a vector rank 1.
bool isTensorOf(mlir::Type type, unsigned kinds);
bool isScalarOf(mlir::Type type, unsigned kinds);
bool isVectorOf(mlir::Type type, unsigned kinds);

/// Whether a type is a 0-dimensional tensor of signed (unsigned) integers of
/// that many bits.
bool isScalarOfWidth(mlir::Type type, unsigned bits);
bool isScalarOfUnsignedWidth(mlir::Type type, unsigned bits);

/// Whether values may have this type: a tensor, token, tuple, future or buffer.
bool isValueType(mlir::Type type);

/// Whether an attribute can say which devices form a group.
bool isReplicaGroups(mlir::Attribute attribute);

/// Whether two types describe the same values: equal, or tensors of equal
/// element type whose extents do not contradict each other. Bounds and other
/// encodings are not compared, nor are scales of quantized elements.
bool areCompatibleTypes(mlir::Type left, mlir::Type right);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_ELEMENTKINDS_H
