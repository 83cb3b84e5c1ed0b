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

namespace tenon::codegen {

/// Every kernel argument starts at a multiple of this many bytes.
inline constexpr int64_t kernelArgumentAlignment = 64;

class Instructions {
public:
  virtual ~Instructions() = default;

  /// How many points an emitted value stands for; 1 where each point has a
  /// thread of its own. A divisor of reductionChunk (Analysis/ReductionTree.h).
  int64_t lanes = 1;
  /// Whether emitters that hold sums in vectors may count on 32 of them in
  /// registers, otherwise on 16 of half the size. It decides about tiles, never
  /// about bits.
  bool hasWideRegisters = false;
  /// What is done with subnormal numbers.
  Subnormals subnormals = Subnormals::flush;
  /// Whether flushing concerns f64 as well. GPUs have no instructions for that.
  bool flushesDoubles = true;
  /// Whether f32 becomes bf16 in one instruction, which always flushes.
  bool hasBf16 = false;
  /// Whether the instructions for the magnitude and the negative of an f32
  /// flush subnormal numbers, which `abs` and `negate` keep.
  bool signsFlush = false;
  /// Whether the lesser of two f32, of a NaN the other one, is one instruction.
  bool hasMinimum = false;
  /// Whether C's functions of f64 can be called.
  bool hasMathLibrary = true;
  /// Whether loads and stores of several elements say how they are aligned,
  /// since the target has none that are not; kernel arguments are aligned by
  /// kernelArgumentAlignment.
  bool statesAlignment = false;

  /// Whether arithmetic on elements of this type takes and gives zeros for the
  /// subnormal numbers that may be flushed (Analysis/FloatArithmetic.h).
  bool flushes(mlir::Type element) const {
    return subnormals == Subnormals::flush &&
           (flushesDoubles || !element.isF64());
  }

  /// p * 2^n in one instruction, for f32 or vectors of it, n a whole number;
  /// null if there is none for their type.
  virtual mlir::Value scaleByPowerOfTwo(mlir::OpBuilder &, mlir::Location,
                                        mlir::Value, mlir::Value) const {
    return {};
  }
  /// a / b, f32 or vectors of it, where b, the quotient and what is left of it
  /// are far from the ends of the format's range; null if an ordinary division
  /// is as quick. The bits are those of a division.
  virtual mlir::Value divideInRange(mlir::OpBuilder &, mlir::Location,
                                    mlir::Value, mlir::Value) const {
    return {};
  }
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_INSTRUCTIONS_H
