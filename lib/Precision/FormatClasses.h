//===- FormatClasses.h - Values that share a number format ----------------===//
//
// Which f32 tensors of a step have to have one format, and which of them may be
// stored in 16 bits. Two values are of one class if one has the elements of the
// other (transposes, slices, what loops carry), or if they are the same
// expression: what the program computes a second time has the bits of the
// first.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_FORMATCLASSES_H
#define TENON_LIB_PRECISION_FORMATCLASSES_H

#include "tenon/Precision/FormatPolicy.h"

#include "llvm/ADT/DenseMap.h"

namespace tenon::precision {

struct FormatClass {
  /// In program order.
  llvm::SmallVector<mlir::Value> members;
  int64_t bytes = 0; // in f32, of the largest member
  /// Why it stays f32; empty if it may be narrow.
  std::string whyWide;
  /// Whether the policy named it.
  bool isWished = false;
};

/// A product of f32 operands.
struct Product {
  mlir::Operation *op;
  /// Why it multiplies in f32; empty if it may multiply 16-bit operands.
  std::string whyWide;
};

class FormatClasses {
public:
  FormatClasses(mlir::func::FuncOp step, FormatPolicy &policy,
                NarrowFormat narrow);

  NarrowFormat narrow() const { return narrowFormat; }
  llvm::ArrayRef<FormatClass> classes() const { return all; }
  llvm::ArrayRef<Product> products() const { return multiplications; }
  /// Has all that may be narrow stay f32.
  void keepAllWide(llvm::StringRef why);
  /// The class of an f32 tensor; -1 for constants and other types.
  int classOf(mlir::Value value) const {
    auto found = classes_.find(value);
    return found == classes_.end() ? -1 : found->second;
  }
  /// Whether the operand is moved by its owner, so that it is narrow if the
  /// owner's result (or what the owner carries) is.
  static mlir::Value movedTo(mlir::OpOperand &operand);

private:
  NarrowFormat narrowFormat;
  llvm::SmallVector<FormatClass, 0> all;
  llvm::SmallVector<Product, 0> multiplications;
  llvm::DenseMap<mlir::Value, int> classes_;
};

/// Calls `visit` for every operation of main, loops and branches included, in
/// program order, but not for what stands in regions that work on elements.
void forEachOperation(mlir::Region &region,
                      llvm::function_ref<void(mlir::Operation *)> visit);

/// Whether it is a constant whose elements all are numbers of the format.
bool isExactIn(NarrowFormat format, mlir::Value constant);

/// Through transposes and reshapes, what they move.
mlir::Value rootOfMovement(mlir::Value value);

bool isF32Tensor(mlir::Value value);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_FORMATCLASSES_H
