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
    statesAlignment = true;
  }
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_GPUINSTRUCTIONS_H
