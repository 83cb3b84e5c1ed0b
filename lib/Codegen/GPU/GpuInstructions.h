//===- GpuInstructions.h - What a GPU offers the emitters -----------------===//
//
// See Codegen/Loops/Instructions.h. A thread computes a few neighbouring points
// with scalar instructions; it holds them in a vector because memory is read
// and written in vectors of 16 bytes. With more lanes than one it computes what
// was written for a processor with vectors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_GPUINSTRUCTIONS_H
#define TENON_LIB_CODEGEN_GPU_GPUINSTRUCTIONS_H

#include "tenon/Codegen/GPU/GpuTarget.h"
#include "tenon/Codegen/Loops/Instructions.h"

namespace tenon::codegen {

class GpuInstructions final : public Instructions {
public:
  explicit GpuInstructions(const GpuTarget &target, int64_t lanes = 1) {
    this->lanes = lanes;
    subnormals = target.subnormals;
    signsFlush = subnormals == Subnormals::flush;
    hasMinimum = true;
    statesAlignment = true;
    hasMathLibrary = false;
    flushesDoubles = false;
  }

  /// An approximate reciprocal, refined until the quotient is the exact one
  /// rounded, as a division does it that tests its operands first.
  mlir::Value divideInRange(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value a, mlir::Value b) const override;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_GPUINSTRUCTIONS_H
