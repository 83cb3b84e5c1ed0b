//===- ScaleExponents.h - Where a step is linear in the loss's cotangent --===//
//
// An exported step has no explicit cotangent of its loss: the 1 that the
// backward pass starts with was folded into what came out of it, softmax minus
// labels for example. So the place where a scale enters has to be found.
//
// Every value carries the scale to the power 0 or 1; a zero has either. Given a
// set of values that are multiplied by the scale, the exponents of all others
// follow operation by operation:
//
//   sums, maxima, selections, movements   operands of equal exponents, and the
//                                         result has the same one
//   products, quotients                   exponents add up, to 1 at most
//   comparisons                           operands of equal exponents
//   all other functions                   operands of exponent 0
//
// Where an operand has exponent 1 and should have 0, the scale leaves: the
// operand is multiplied by the reciprocal. Where a sum has operands of both
// exponents and the plain one comes from the batch, that one is the cotangent
// of another loss, and the scale enters there, too.
//
// Theorem. Multiply the values where the scale enters by S, and those where it
// leaves by 1/S, S a power of two. Then each value of exponent 1 is S times
// what it was, each other one is what it was, bit by bit, as long as nothing
// over- or underflows. For a rule above holds for S > 0 in exact arithmetic,
// and rounding commutes with powers of two; loops follow by induction over
// their rounds. So any choice of values is right, and a good one is asked for:
// in which all that parameters learn from a batch passes through exponent 1,
// and what has left is a gradient and no longer a cotangent. A cotangent is
// what meets values of the forward pass. Hence two facts are followed beside
// the exponent of a value of exponent 0:
//
//   forward   it depends on the batch on a way without exponent 1
//   left      it depends on something of exponent 1
//
// If no parameter's successor is `forward`, and no operation on the way there
// has an operand that is `forward` and one that is `left`, then every gradient
// has exponent 1.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PRECISION_SCALEEXPONENTS_H
#define TENON_LIB_PRECISION_SCALEEXPONENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::precision {

enum class Exponent : uint8_t { any, one, none };

/// What is known of a value.
struct ScaleFact {
  Exponent exponent = Exponent::any;
  bool isForward = false;
  /// Where the scale left on the way to it; null if it did not.
  mlir::Operation *left = nullptr;
  /// Where the scale left on the way to an operand of something that has a
  /// `forward` operand, too, on the way to this value.
  mlir::Operation *broken = nullptr;

  bool operator==(const ScaleFact &) const = default;
};

class ScaleExponents {
public:
  /// The exponents of a step, of which the values `entered` are scaled.
  ScaleExponents(mlir::func::FuncOp step, llvm::ArrayRef<mlir::Value> entered);

  const ScaleFact &of(mlir::Value value) const;
  bool isScaled(mlir::Value value) const {
    return of(value).exponent == Exponent::one;
  }
  /// Operands of exponent 0 at which the scale enters, and operands of exponent
  /// 1 at which it leaves, in program order.
  const llvm::SetVector<mlir::OpOperand *> &enters() const { return entering; }
  const llvm::SetVector<mlir::OpOperand *> &leaves() const { return leaving; }
  /// How many products have an operand of exponent 1 and give it on.
  int64_t scaledProducts() const { return products; }

private:
  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitLoop(mlir::Operation *loop);
  void visitBranches(mlir::Operation *op);
  /// What a value is that is one of the operands, whichever: `choosers` say
  /// which. Notes at which of them the scale enters or leaves.
  ScaleFact joined(llvm::ArrayRef<mlir::OpOperand *> operands,
                   llvm::ArrayRef<mlir::Value> choosers);
  ScaleFact product(mlir::Operation *op);
  ScaleFact compared(mlir::Operation *op);
  ScaleFact plain(mlir::Operation *op);
  void leave(mlir::OpOperand &operand, ScaleFact &result);
  /// Adds what an operand of exponent 0 says to the result's fact.
  void inherit(ScaleFact &result, const ScaleFact &operand);
  void settle(ScaleFact &result);
  void set(mlir::Value value, const ScaleFact &fact);

  llvm::DenseMap<mlir::Value, ScaleFact> facts;
  llvm::DenseSet<mlir::Value> entered;
  llvm::SetVector<mlir::OpOperand *> entering, leaving;
  int64_t products = 0;
};

/// Whether elements are floats, which alone carry a scale.
bool isFloatTensor(mlir::Value value);

} // namespace tenon::precision

#endif // TENON_LIB_PRECISION_SCALEEXPONENTS_H
