//===- Footprints.h - Which bytes a piece of work read and wrote ----------===//

#ifndef TENON_LIB_EMULATEDCUDA_FOOTPRINTS_H
#define TENON_LIB_EMULATEDCUDA_FOOTPRINTS_H

#include "Memory.h"
#include <optional>

namespace tenon::emulated {

using Footprints = std::map<Region *, std::unique_ptr<Footprint>>;

/// Has accesses be noted from now on; what was noted and not taken is kept.
void noteFootprints(DeviceMemory &memory);
/// What was noted.
Footprints takeFootprints(DeviceMemory &memory);
void dropFootprints(DeviceMemory &memory);
/// Adds to `into` what is in `from`.
void join(Footprints &into, const Footprints &from);

/// A byte that one of two pieces of work writes and the other touches.
struct Conflict {
  const Region *region;
  uint64_t byte;
  std::string text() const;
};
std::optional<Conflict> findConflict(const Footprints &a, const Footprints &b);

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_FOOTPRINTS_H
