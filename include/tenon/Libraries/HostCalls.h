//===- HostCalls.h - Library calls on the host of a GPU -------------------===//
//
// What of the host's memory such a call works in. The compiler reports it, the
// runtime allocates it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_HOSTCALLS_H
#define TENON_LIBRARIES_HOSTCALLS_H

#include <cstdint>
#include <span>

namespace tenon::libraries {

/// The bytes that an argument has to itself: each begins at a multiple of 64,
/// as it does in segments.
constexpr uint64_t pinnedBytes(uint64_t argument) {
  return (argument + 63) / 64 * 64;
}

/// Pinned memory for a call: its arguments, of so many bytes each, and the
/// workspace behind them.
constexpr uint64_t pinnedBytes(std::span<const uint64_t> arguments,
                               uint64_t workspace) {
  uint64_t bytes = workspace;
  for (uint64_t argument : arguments)
    bytes += pinnedBytes(argument);
  return bytes;
}

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_HOSTCALLS_H
