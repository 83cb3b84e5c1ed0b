//===- CpuSchedules.h - How the CPU computes kernels ----------------------===//
//
// What the CPU hands to Codegen/Loops: the templates of VectorSchedules.h with
// its instructions.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_CPUSCHEDULES_H
#define TENON_CODEGEN_CPU_CPUSCHEDULES_H

#include "tenon/Codegen/CPU/CpuInstructions.h"
#include "tenon/Codegen/CPU/VectorSchedules.h"
#include "tenon/Target/Target.h"

namespace tenon::codegen {

class CpuSchedules {
public:
  explicit CpuSchedules(const FeatureSet &features)
      : instructions(features),
        schedules(instructions, target::LaunchLimits().mostParts) {}

  operator Schedules() const { return schedules; }

private:
  CpuInstructions instructions;
  VectorSchedules schedules;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_CPUSCHEDULES_H
