//===- Floor.cpp - The least time a step can take -------------------------===//
//
// See Floor.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Floor.h"

#include "tenon/Libraries/Stored.h"

#include <string>
#include <variant>

using namespace tenon;
using namespace tenon::tool;

namespace {

/// FLOPs, and the seconds they take.
struct Work {
  double flops = 0, seconds = 0;
};

double flopsOf(const libraries::MatmulDescription &matmul) {
  double flops = 2.0 * double(matmul.m) * double(matmul.n) * double(matmul.k);
  for (const auto &dimension : matmul.batch)
    flops *= double(dimension.size);
  return flops;
}

double flopsOf(const libraries::ConvolutionDescription &convolution) {
  double flops =
      2.0 * double(convolution.batch) * double(convolution.inputChannels) *
      double(convolution.outputChannels) / double(convolution.groups);
  for (const auto &dimension : convolution.spatial)
    flops *= double(dimension.kernel) * double(dimension.output);
  return flops;
}

ElementType typeOf(const libraries::MatmulDescription &matmul) {
  return matmul.lhsType;
}
ElementType typeOf(const libraries::ConvolutionDescription &convolution) {
  return convolution.type;
}

/// Decompositions are not part of the floor: they are no dots.
double flopsOf(const libraries::LapackDescription &) { return 0; }
ElementType typeOf(const libraries::LapackDescription &lapack) {
  return lapack.type;
}

/// Adds one run of a call.
void add(const format::Callee &callee, const target::Target &target,
         Work &work) {
  std::string error;
  auto description = libraries::restore(callee, error);
  if (!description)
    return;
  std::visit(
      [&](const auto &call) {
        double flops = flopsOf(call);
        work.flops += flops;
        work.seconds += flops / target.computeRate(typeOf(call)).allCores;
      },
      *description);
}

/// Adds the library calls of a block; those in loops once, since all that is
/// asked of them is how types divide.
void add(const format::Block &block, const format::Index &index,
         const target::Target &target, Work &work) {
  for (const format::Instruction &instruction : block.instructions) {
    if (instruction.kind == format::InstructionKind::invoke) {
      const format::Callee &callee = index.callees[instruction.callee];
      if (callee.kind == format::CalleeKind::library)
        add(callee, target, work);
    }
    // The condition of a loop is its first block.
    bool isLoop = instruction.kind == format::InstructionKind::loop;
    for (size_t i = isLoop; i < instruction.blocks.size(); ++i)
      add(instruction.blocks[i], index, target, work);
  }
}

} // namespace

Floor tool::floorOf(const format::Index &index, const target::Target &target) {
  Floor floor;
  Work work;
  const format::EntryPoint *step = index.findEntryPoint("step");
  if (!step)
    return floor;
  add(step->program, index, target, work);
  // An index that was loaded to run has no programs any more; then each
  // distinct call counts once.
  if (work.flops == 0)
    for (const format::Callee &callee : index.callees)
      if (callee.kind == format::CalleeKind::library)
        add(callee, target, work);
  double secondsPerFlop = work.flops > 0 ? work.seconds / work.flops
                                         : 1 / target.compute.f32.allCores;
  floor.computeSeconds = step->flops * secondsPerFlop;
  for (const format::Storage &storage : index.storages)
    if (index.segments[storage.place.segment].kind ==
        format::SegmentKind::state)
      floor.stateBytes += double(storage.place.bytes);
  if (floor.stateBytes > double(target.caches.last()))
    floor.memorySeconds = 2 * floor.stateBytes / target.memory.copy.allCores;
  return floor;
}
