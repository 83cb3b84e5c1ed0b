//===- PinnedMemory.h - Memory of a GPU's host ----------------------------===//
//
// The memory space `pinned` of a file for GPUs: values wait there that the GPU
// copies to and from while it computes. Only a segment of temporaries lies in
// it, and it is not the device's memory, which a budget counts.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_PINNEDMEMORY_H
#define TENON_FORMAT_PINNEDMEMORY_H

#include "tenon/Format/Index.h"

#include <string_view>

namespace tenon::format {

inline constexpr std::string_view pinnedSpaceName = "pinned";

inline bool isPinned(const MemorySpace &space) {
  return space.name == pinnedSpaceName;
}

inline bool isPinned(const Index &index, const Segment &segment) {
  return isPinned(index.memorySpaces[segment.space]);
}

/// Whether it has the temporaries in the memory of the device itself.
inline bool hasTemporaries(const Index &index, const Segment &segment) {
  return segment.kind == SegmentKind::temporaries && !isPinned(index, segment);
}

} // namespace tenon::format

#endif // TENON_FORMAT_PINNEDMEMORY_H
