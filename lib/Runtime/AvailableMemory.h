//===- AvailableMemory.h - How much memory this process may still take ----===//
//
// Private to this folder. Linux hands out memory that it does not have and ends
// a process when it touches too much of it, so the limits are read before: what
// the machine has left, what the control groups of the process leave it, and
// its own limits (ulimit). What the system can take back counts as available:
// cached files and free swap space.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_AVAILABLEMEMORY_H
#define TENON_LIB_RUNTIME_AVAILABLEMEMORY_H

#include <cstdint>
#include <string>

namespace tenon::runtime {

struct AvailableMemory {
  uint64_t bytes = UINT64_MAX;
  std::string limit; // what leaves no more, for messages
};

/// The narrowest of the limits; those that cannot be read count as none. `root`
/// stands before the paths of /proc and /sys.
AvailableMemory availableMemory(const std::string &root = "");

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_AVAILABLEMEMORY_H
