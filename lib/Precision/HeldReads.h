//===- HeldReads.h - Reading state that is held in another form -----------===//
//
// What reads an f32 reads what holds it instead: products that round it read
// its bf16 as it is, what moves elements moves those of 16 bits, and everything
// else reads the f32, which is made of what holds it in front of the reader.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_HELDREADS_H
#define TENON_LIB_PRECISION_HELDREADS_H

#include "mlir/IR/Builders.h"

namespace tenon::precision {

/// A tensor that is held `high_and_low`: the nearest bf16, and the rest of the
/// bits of the f32, an i16.
struct Parts {
  mlir::Value high, low;
};

/// Has the uses of an f32 read its parts, or what they make together. The
/// builder is used up, as below.
void readInParts(mlir::OpBuilder &builder,
                 llvm::ArrayRef<mlir::OpOperand *> uses, Parts parts);

/// Has the uses of an f32 read `narrow`, a bf16 of the same number.
void readNarrow(mlir::OpBuilder &builder,
                llvm::ArrayRef<mlir::OpOperand *> uses, mlir::Value narrow);

/// Whether the operation is a rounding to bf16 that the compiler has written.
bool roundsToBf16(mlir::Operation *op);

/// Whether the use is by what moves elements of its first operand only, and may
/// do so to those of what holds them.
bool movesHeld(mlir::OpOperand &use);

inline llvm::SmallVector<mlir::OpOperand *> usesOf(mlir::Value value) {
  return llvm::map_to_vector(value.getUses(),
                             [](mlir::OpOperand &use) { return &use; });
}

/// The type of a tensor with other elements.
mlir::RankedTensorType withElements(mlir::Value value, mlir::Type element);

/// Operations on the bits of tensors.
class BitOperations {
public:
  BitOperations(mlir::OpBuilder &builder, mlir::Location at)
      : builder(builder), at(at) {}

  /// high = (bits + 0x8000) >> 16, low = bits mod 2^16
  Parts split(mlir::Value whole);
  /// bits = (high << 16) + low, where low is signed
  mlir::Value join(Parts parts);

private:
  mlir::Type bits(unsigned width);
  template <typename Op>
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value constant(mlir::Value like, uint64_t number);

  mlir::OpBuilder &builder;
  mlir::Location at;
};

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_HELDREADS_H
