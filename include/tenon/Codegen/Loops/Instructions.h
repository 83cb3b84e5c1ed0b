//===- Instructions.h - What emitters ask of the target -------------------===//
//
// The emitters of this folder write arithmetic that every target has, for any
// number of lanes. What a target does better, or has to do itself, it says
// here; the bits are the same either way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_INSTRUCTIONS_H
#define TENON_CODEGEN_LOOPS_INSTRUCTIONS_H

#include "tenon/Support/Subnormals.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"

namespace tenon::codegen {

class Instructions {
public:
  virtual ~Instructions() = default;

  /// How many points an emitted value stands for; 1 where each point has a
  /// thread of its own. A divisor of reductionChunk (Analysis/ReductionTree.h).
  int64_t lanes = 1;
  /// What is done with subnormal numbers.
  Subnormals subnormals = Subnormals::flush;
  /// Whether f32 becomes bf16 in one instruction, which always flushes.
  bool hasBf16 = false;

  /// p * 2^n in one instruction, for f32 or vectors of it, n a whole number;
  /// null if there is none for their type.
  virtual mlir::Value scaleByPowerOfTwo(mlir::OpBuilder &, mlir::Location,
                                        mlir::Value, mlir::Value) const {
    return {};
  }

  /// The function of f64 that C calls `name`, of scalars. The insertion point
  /// is inside a module.
  virtual mlir::Value callFunction(mlir::OpBuilder &builder, mlir::Location loc,
                                   llvm::StringRef name,
                                   mlir::ValueRange operands) const = 0;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_INSTRUCTIONS_H
