//===- MemoryCheck.cpp - Every operation alone in poisoned memory ---------===//
//
// See MemoryCheck.h.
//
//===----------------------------------------------------------------------===//

#include "MemoryCheck.h"

#include <algorithm>
#include <cstring>

using namespace tenon::runtime;

/// Not a number as a float of any width, -1 as an integer, neither true nor
/// false.
static constexpr std::byte poison{0xff};

/// Where the first byte is that is not poison.
static std::optional<uint64_t> firstOther(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return std::nullopt;
  // Comparing neighbours is much faster than one byte after the other.
  if (bytes[0] == poison &&
      std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0)
    return std::nullopt;
  auto other = std::ranges::find_if(
      bytes, [](std::byte byte) { return byte != poison; });
  return uint64_t(other - bytes.begin());
}

MemoryCheck::MemoryCheck(
    const CapturedStep &step, const std::vector<format::Segment> &all,
    const std::vector<std::unique_ptr<DeviceMemory>> &memory)
    : step(step) {
  for (size_t i = 0; i < all.size(); ++i) {
    format::SegmentKind kind = all[i].kind;
    if (kind == format::SegmentKind::constants)
      continue;
    std::span<std::byte> bytes = memory[i]->bytes();
    segments.push_back({i,
                        memory[i]->pages(),
                        {bytes.begin(), bytes.end()},
                        kind == format::SegmentKind::state ||
                            kind == format::SegmentKind::batch});
    std::ranges::fill(segments.back().pages, poison);
  }
}

void MemoryCheck::beginStep() {
  for (Segment &segment : segments)
    if (!segment.kept)
      std::ranges::fill(segment.content, poison);
}

void MemoryCheck::finish() {
  for (Segment &segment : segments)
    std::ranges::copy(segment.content, segment.pages.begin());
}

MemoryCheck::Segment *MemoryCheck::watched(const format::Slice &slice) {
  auto at = std::ranges::find(segments, size_t(slice.segment), &Segment::index);
  return at == segments.end() ? nullptr : &*at;
}

/// `body` gets the segment, the slice, and whether it may be written.
template <typename Body>
void MemoryCheck::forSlices(size_t operation, Body body) {
  auto [first, count] = step.slotsOf(operation);
  for (size_t slot = first; slot < first + count; ++slot) {
    const format::Slice &slice = step.slices()[slot];
    if (Segment *segment = watched(slice))
      body(*segment, slice, step.isWritten(slot));
  }
}

void MemoryCheck::begin(size_t operation) {
  forSlices(operation, [](Segment &segment, const format::Slice &slice, bool) {
    std::memcpy(segment.pages.data() + slice.offset,
                segment.content.data() + slice.offset, slice.bytes);
  });
}

void MemoryCheck::end(size_t operation) {
  // What it may write is taken over and poisoned again; what it only reads must
  // not have changed.
  forSlices(operation,
            [](Segment &segment, const format::Slice &slice, bool isWritten) {
              if (isWritten)
                std::memcpy(segment.content.data() + slice.offset,
                            segment.pages.data() + slice.offset, slice.bytes);
            });
  forSlices(operation, [&](Segment &segment, const format::Slice &slice, bool) {
    auto bytes = segment.pages.subspan(slice.offset, slice.bytes);
    auto content = segment.content.begin() + int64_t(slice.offset);
    auto differs = std::mismatch(bytes.begin(), bytes.end(), content).first;
    if (differs != bytes.end() && !found)
      found = {operation, segment.index,
               slice.offset + uint64_t(differs - bytes.begin())};
  });
  forSlices(operation, [](Segment &segment, const format::Slice &slice, bool) {
    std::ranges::fill(segment.pages.subspan(slice.offset, slice.bytes), poison);
  });
  for (Segment &segment : segments) {
    auto differs = firstOther(segment.pages);
    if (differs && !found)
      found = {operation, segment.index, *differs};
  }
}
