//===- VectorSchedules.h - How kernels are computed in parts --------------===//
//
// Templates of vectors, masks and register tiles for every kind of kernel. They
// ask the processor only through Instructions, whose `lanes` are vectorLanes,
// so that another target can run the parts as it likes: a GPU runs them as
// threads.
//
// A function that they emit takes the memory of Loops/KernelNest.h, then the
// part and the number of parts, both of type index. All parts together compute
// the kernel, in any order and for any number of them up to that of the launch
// shape, and its bits do not depend on that number.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_VECTORSCHEDULES_H
#define TENON_CODEGEN_CPU_VECTORSCHEDULES_H

#include "tenon/Codegen/Loops/EmitKernel.h"
#include "tenon/Codegen/Loops/Instructions.h"

#include <memory>
#include <vector>

namespace tenon::codegen {

/// The number of points a vector stands for, on every processor.
inline constexpr int64_t vectorLanes = 16;

class VectorSchedules {
public:
  /// `mostParts` is how many parts a launch may have.
  VectorSchedules(const Instructions &instructions, int64_t mostParts);
  VectorSchedules(const VectorSchedules &) = delete;

  operator Schedules() const { return all; }

private:
  std::vector<std::unique_ptr<Schedule>> owned;
  std::vector<const Schedule *> all;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_VECTORSCHEDULES_H
