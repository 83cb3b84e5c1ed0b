//===- Floor.h - The least time a step can take ---------------------------===//
//
// What the arithmetic of a step's dots and convolutions takes at the rate of
// multiply-adds from registers, and what reading and writing its state takes
// where that does not stay in a cache. A measured step time means something as
// a multiple of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_FLOOR_H
#define TENON_TOOLS_TENON_FLOOR_H

#include "tenon/Format/Index.h"
#include "tenon/Target/Target.h"

namespace tenon::tool {

struct Floor {
  double computeSeconds = 0; // the FLOPs at the rates of their types
  double memorySeconds = 0;  // 0 if the state fits the last-level cache
  double stateBytes = 0;

  double seconds() const { return computeSeconds + memorySeconds; }
};

/// The file says how many FLOPs a step has; how they divide among types follows
/// from its library calls, f32 for a file without any.
Floor floorOf(const format::Index &index, const target::Target &target);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_FLOOR_H
