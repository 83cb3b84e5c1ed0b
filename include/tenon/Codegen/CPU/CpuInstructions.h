//===- CpuInstructions.h - What the CPU offers the emitters ---------------===//
//
// See Codegen/Loops/Instructions.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_CPUINSTRUCTIONS_H
#define TENON_CODEGEN_CPU_CPUINSTRUCTIONS_H

#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Codegen/CPU/VectorSchedules.h"
#include "tenon/Codegen/Loops/Instructions.h"

namespace tenon::codegen {

class CpuInstructions final : public Instructions {
public:
  explicit CpuInstructions(const FeatureSet &features)
      : hasAvx512(features.hasAvx512()) {
    lanes = vectorLanes;
    hasWideRegisters = hasAvx512;
    subnormals = features.subnormals;
    hasBf16 = features.hasAvx512Bf16();
  }

  /// vscalefps, which exists for 16 lanes of AVX-512.
  mlir::Value scaleByPowerOfTwo(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value p, mlir::Value n) const override;

private:
  const bool hasAvx512;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_CPUINSTRUCTIONS_H
