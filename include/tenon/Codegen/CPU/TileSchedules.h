//===- TileSchedules.h - Kernels computed by tiles ------------------------===//
//
// Templates for processors whose instructions multiply tiles of bf16 and add up
// in f32, for kernels whose factors are bf16. Otherwise they are as those of
// VectorSchedules.h, in front of which they are asked; but the order of sums is
// that of the instructions (docs/Rationale/Attention.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_TILESCHEDULES_H
#define TENON_CODEGEN_CPU_TILESCHEDULES_H

#include "tenon/Codegen/Loops/EmitKernel.h"
#include "tenon/Codegen/Loops/Instructions.h"

#include <memory>
#include <vector>

namespace tenon::codegen {

/// `mostParts` is how many parts a launch may have.
std::vector<std::unique_ptr<Schedule>>
tileSchedules(const Instructions &instructions, int64_t mostParts);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_TILESCHEDULES_H
