//===- SegmentMemory.cpp - The memory of one segment ----------------------===//
//
// One anonymous mapping per segment.
//
//===----------------------------------------------------------------------===//

#include "SegmentMemory.h"

#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace tenon::runtime;

SegmentMemory::~SegmentMemory() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

bool SegmentMemory::allocate(uint64_t bytes, uint64_t alignment,
                             std::string &error) {
  constexpr uint64_t page = pageBytes, hugePage = uint64_t(2) << 20;
  uint64_t rounded = (bytes + page - 1) & ~(page - 1);
  // Large segments start where huge pages can, which saves most of the cost of
  // address translation.
  alignment = std::max(alignment, rounded >= hugePage ? hugePage : page);
  uint64_t total = rounded + alignment + page;
  void *address = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return refuse(error, "cannot allocate " + std::to_string(bytes) +
                             " bytes: " + std::strerror(errno));
  mapping = address;
  mappingBytes = total;
  uint64_t start =
      (reinterpret_cast<uint64_t>(address) + alignment - 1) & ~(alignment - 1);
  begin = reinterpret_cast<std::byte *>(start);
  size = bytes;
  if (rounded >= hugePage)
    madvise(begin, rounded & ~(hugePage - 1), MADV_HUGEPAGE);
  mprotect(begin + rounded, page, PROT_NONE);
  return true;
}

bool SegmentMemory::prefault(std::string &error) {
  if (size == 0)
    return true;
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, pages().size(), MADV_POPULATE_WRITE) == 0)
    return true;
  if (errno != EINVAL) { // else the kernel is older than 5.14
    return refuse(error, "cannot touch " + std::to_string(size) +
                             " bytes: " + std::strerror(errno));
  }
#endif
  for (uint64_t page = 0; page < size; page += pageBytes)
    *static_cast<volatile std::byte *>(begin + page) = std::byte{0};
  return true;
}

void SegmentMemory::makeReadOnly() {
  mprotect(begin, pages().size(), PROT_READ);
}
