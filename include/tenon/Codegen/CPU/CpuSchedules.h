//===- CpuSchedules.h - How the CPU computes kernels ----------------------===//
//
// What the CPU hands to Codegen/Loops: templates of vectors, masks and register
// tiles for every kind of kernel. A function that they emit takes the memory of
// Loops/KernelNest.h, then the part and the number of parts, both of type
// index.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_CPUSCHEDULES_H
#define TENON_CODEGEN_CPU_CPUSCHEDULES_H

#include "tenon/Codegen/CPU/CpuInstructions.h"
#include "tenon/Codegen/Loops/EmitKernel.h"

#include <memory>
#include <vector>

namespace tenon::codegen {

class CpuSchedules {
public:
  explicit CpuSchedules(const FeatureSet &features);
  CpuSchedules(const CpuSchedules &) = delete;

  operator Schedules() const { return all; }

private:
  CpuInstructions instructions;
  std::vector<std::unique_ptr<Schedule>> owned;
  std::vector<const Schedule *> all;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_CPUSCHEDULES_H
