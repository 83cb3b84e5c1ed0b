//===- CpuSchedules.h - How the CPU computes kernels ----------------------===//
//
// What the CPU hands to Codegen/Loops: the templates of VectorSchedules.h with
// its instructions, and those of TileSchedules.h if it has tiles.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_CPUSCHEDULES_H
#define TENON_CODEGEN_CPU_CPUSCHEDULES_H

#include "tenon/Codegen/CPU/CpuInstructions.h"
#include "tenon/Codegen/CPU/TileSchedules.h"
#include "tenon/Codegen/CPU/VectorSchedules.h"
#include "tenon/Target/Target.h"

namespace tenon::codegen {

class CpuSchedules {
public:
  explicit CpuSchedules(const FeatureSet &features)
      : instructions(features),
        vectors(instructions, target::LaunchLimits().mostParts) {
    if (features.isa == target::Isa::amxBf16)
      tiles = tileSchedules(instructions, target::LaunchLimits().mostParts);
    // The first that accepts a kernel computes it.
    for (const auto &schedule : tiles)
      all.push_back(schedule.get());
    for (const Schedule *schedule : Schedules(vectors))
      all.push_back(schedule);
  }

  operator Schedules() const { return all; }

private:
  CpuInstructions instructions;
  VectorSchedules vectors;
  std::vector<std::unique_ptr<Schedule>> tiles;
  std::vector<const Schedule *> all;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_CPUSCHEDULES_H
