//===- SegmentMemory.h - The memory of one segment ------------------------===//
//
// Private to this folder: zeroed pages from the system, followed by one page
// that faults, so that a kernel that runs past the end is found at once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_SEGMENTMEMORY_H
#define TENON_LIB_RUNTIME_SEGMENTMEMORY_H

#include "Device.h"

namespace tenon::runtime {

class SegmentMemory final : public DeviceMemory {
public:
  SegmentMemory() = default;
  SegmentMemory(const SegmentMemory &) = delete;
  SegmentMemory &operator=(const SegmentMemory &) = delete;
  ~SegmentMemory() override;

  /// Allocates `bytes` at a multiple of `alignment` (a power of two). False
  /// with a message in `error` if the system has no such memory.
  bool allocate(uint64_t bytes, uint64_t alignment, std::string &error);

  /// Has the system give every page now, while it is still zero, and not when
  /// it is first touched. False with a message in `error` if it cannot.
  bool prefault(std::string &error);

  /// Writing to it faults from now on.
  void makeReadOnly() override;

  std::byte *data() const override { return begin; }
  std::span<std::byte> bytes() const override { return {begin, size}; }
  /// With the rest of its last page, behind which an access faults.
  std::span<std::byte> pages() const override {
    return {begin, (size + pageBytes - 1) & ~(pageBytes - 1)};
  }

private:
  static constexpr uint64_t pageBytes = 4096;

  std::byte *begin = nullptr;
  uint64_t size = 0;
  void *mapping = nullptr;
  uint64_t mappingBytes = 0;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_SEGMENTMEMORY_H
