//===- Accesses.cpp - What an access of memory is asked for ---------------===//

#include "Lanes.h"
#include <algorithm>

using namespace tenon::emulated;

LaneAddresses Warp::addressesOf(const Operand &operand, Mask active,
                                uint32_t bytes) {
  LaneAddresses lanes;
  lanes.active = active;
  lanes.bytes = bytes;
  uint64_t *at = lanes.at;
  if (operand.index < 0)
    std::fill(at, at + laneCount, operand.value);
  else if (operand.bits == 32)
    std::transform(lanesOf<uint32_t>(operand),
                   lanesOf<uint32_t>(operand) + laneCount, at,
                   [&](uint32_t base) { return base + operand.value; });
  else
    std::transform(lanesOf<uint64_t>(operand),
                   lanesOf<uint64_t>(operand) + laneCount, at,
                   [&](uint64_t base) { return base + operand.value; });
  lanes.summarize();
  return lanes;
}

void LaneAddresses::summarize() {
  // Lanes that are not active do as one that is, so that all can be asked.
  if (active != allLanes)
    for (unsigned lane = 0; lane < laneCount; ++lane)
      if (!(active >> lane & 1))
        at[lane] = at[std::countr_zero(active)];
  uint64_t least = at[0], most = at[0], either = 0, apart = 0;
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    least = std::min(least, at[lane]);
    most = std::max(most, at[lane]);
    either |= at[lane];
    apart |= at[lane] ^ (at[0] + lane * bytes);
  }
  lowest = least;
  highest = most;
  isAligned = !(either & (bytes - 1));
  isRow = active == allLanes && !apart;
  areApart = isRow;
  if (!isRow && active == allLanes) {
    areApart = true;
    for (unsigned lane = 1; lane < laneCount; ++lane)
      areApart &= at[lane] >= at[lane - 1] + bytes;
  }
}

Region &Warp::resolve(unsigned lane, Space &space, uint64_t address,
                      uint32_t bytes, uint64_t &offset) {
  if (space == Space::Generic) {
    if (address >= localWindow && address < localWindow + sharedWindow) {
      space = Space::Local;
      address -= localWindow;
    } else if (address >= sharedWindow && address < localWindow) {
      space = Space::Shared;
      address -= sharedWindow;
    } else {
      space = Space::Global;
    }
  }
  // Accesses have a power of two of bytes.
  if (address & (bytes - 1))
    fail(CUDA_ERROR_MISALIGNED_ADDRESS,
         "misaligned: an access of " + std::to_string(bytes) +
             " bytes at an address that leaves " +
             std::to_string(address % bytes) + " by that",
         lane);
  auto outside = [&](const std::string &where) {
    fail(CUDA_ERROR_ILLEGAL_ADDRESS,
         "out of bounds: an access of " + std::to_string(bytes) + " bytes at " +
             where,
         lane);
  };
  Region *region = nullptr;
  switch (space) {
  case Space::Shared:
    region = block->shared;
    if (!region->contains(address, bytes))
      outside("byte " + std::to_string(int64_t(address - region->begin)) +
              " of shared memory, which has " + std::to_string(region->bytes) +
              " bytes");
    offset = address - region->begin;
    break;
  case Space::Local: {
    uint32_t size = block->grid->function->localBytes;
    if (address > size || bytes > size - address)
      outside("byte " + std::to_string(int64_t(address)) +
              " of local memory, which has " + std::to_string(size) + " bytes");
    region = local.get();
    offset = uint64_t(size) * lane + address;
    break;
  }
  default:
    region = block->grid->memory->find(address);
    if (!region || !region->contains(address, bytes))
      outside(block->grid->memory->describe(address));
    if ((space == Space::Constant) != (region->kind == Region::Constant) &&
        space == Space::Constant)
      outside(block->grid->memory->describe(address) +
              ", which is not constant memory");
    offset = address - region->begin;
    break;
  }
  return *region;
}

uint8_t *Warp::access(unsigned lane, Space space, uint64_t address,
                      uint32_t bytes, AccessKind kind) {
  uint64_t offset = 0;
  Region &region = resolve(lane, space, address, bytes, offset);
  auto refuseInFlight = [&](const char *does) {
    if (region.isInFlight(offset, bytes))
      fail(CUDA_ERROR_LAUNCH_FAILED,
           does + (" bytes at " + std::to_string(offset)) +
               " of shared memory that a cp.async writes "
               "which nobody has waited for",
           lane);
  };
  bool reads = !isWrite(kind) || kind == AccessKind::Atomic;
  if (reads && !region.isWritten(offset, bytes)) {
    refuseInFlight("reads");
    fail(CUDA_ERROR_LAUNCH_FAILED,
         "uninitialised: reads " + std::to_string(bytes) + " bytes at byte " +
             std::to_string(offset) + " of " +
             (space == Space::Shared ? "shared memory"
              : space == Space::Local
                  ? "local memory"
                  : "an allocation of " + std::to_string(region.bytes) +
                        " bytes") +
             ", which were never written",
         lane);
  }
  if (isWrite(kind)) {
    if (region.kind == Region::Constant)
      fail(CUDA_ERROR_ILLEGAL_ADDRESS, "writes constant memory", lane);
    if (!region.isWritten(offset, bytes)) {
      refuseInFlight("writes");
      region.setWritten(offset, bytes, true);
    }
  }
  if (region.footprint)
    region.markFootprint(offset, bytes, reads, isWrite(kind));
  record(region, offset, bytes, kind, slotOf(region, kind, lane));
  if (isStrong(kind) && space == Space::Global) {
    auto &all = block->grid->published;
    if (kind != AccessKind::StrongWrite && !all.empty())
      if (auto picture = all.find(address); picture != all.end())
        found[lane] = join(found[lane], picture->second);
    if (isWrite(kind)) {
      // A read-modify-write continues what the write before it published.
      if (kind == AccessKind::Atomic && published[lane])
        all[address] = join(all[address], published[lane]);
      else if (kind == AccessKind::StrongWrite &&
               (published[lane] || !all.empty()))
        all[address] = published[lane];
    }
  }
  return region.data + offset;
}

uint8_t *Warp::accessTogether(Space space, LaneAddresses &lanes,
                              AccessKind kind) {
  const bool writes = isWrite(kind);
  if ((space != Space::Shared && space != Space::Global) || isStrong(kind) ||
      !lanes.isAligned)
    return nullptr;
  Region *region = space == Space::Shared
                       ? block->shared
                       : block->grid->memory->find(lanes.lowest);
  if (!region || !region->contains(lanes.lowest, lanes.span()) ||
      region->kind == Region::Constant)
    return nullptr;
  if (writes && !lanes.areApart) {
    // Two lanes that write the same race.
    uint64_t sorted[laneCount];
    unsigned count = 0;
    forLanes(lanes.active,
             [&](unsigned lane) { sorted[count++] = lanes.at[lane]; });
    std::sort(sorted, sorted + count);
    if (std::adjacent_find(sorted, sorted + count) != sorted + count)
      return nullptr;
    lanes.areApart = true;
  }

  // What lies between the lanes' bytes is asked for only if there is little.
  auto all = [&](auto &&isRight) {
    if (lanes.areDense() && isRight(lanes.lowest - region->begin, lanes.span()))
      return true;
    bool right = true;
    forLanes(lanes.active, [&](unsigned lane) {
      right = right && isRight(lanes.at[lane] - region->begin, lanes.bytes);
    });
    return right;
  };
  if (writes ? !all([&](uint64_t offset, uint64_t count) {
        return !region->isInFlight(offset, count);
      })
             : !all([&](uint64_t offset, uint64_t count) {
                 return region->isWritten(offset, count);
               }))
    return nullptr;
  recordTogether(*region, lanes, kind);
  auto forParts = [&](auto &&visit) {
    if (lanes.isRow)
      return visit(lanes.lowest - region->begin, lanes.span());
    forLanes(lanes.active, [&](unsigned lane) {
      visit(lanes.at[lane] - region->begin, lanes.bytes);
    });
  };
  if (writes)
    forParts([&](uint64_t offset, uint64_t count) {
      region->setWritten(offset, count, true);
    });
  if (region->footprint)
    forParts([&](uint64_t offset, uint64_t count) {
      region->markFootprint(offset, count, !writes, writes);
    });
  return region->data + (lanes.lowest - region->begin);
}

void Warp::arrive(unsigned lane, const PendingCopy &copy) {
  uint64_t offset = copy.to - block->shared->begin;
  block->shared->setInFlight(offset, copy.bytes, false);
  uint8_t *to =
      access(lane, Space::Shared, copy.to, copy.bytes, AccessKind::Write);
  std::copy(copy.data, copy.data + copy.bytes, to);
}

void Warp::countGlobal(const LaneAddresses &lanes) {
  TenonEmulatedCounters &counters = *block->grid->counters;
  const uint32_t bytes = lanes.bytes;
  uint64_t count = 0;
  if (lanes.isRow || lanes.lowest == lanes.highest) {
    count = (lanes.highest + bytes - 1) / 32 - lanes.lowest / 32 + 1;
  } else {
    uint64_t sectors[laneCount * 2];
    bool sorted = true;
    forLanes(lanes.active, [&](unsigned lane) {
      for (uint64_t sector = lanes.at[lane] / 32;
           sector <= (lanes.at[lane] + bytes - 1) / 32; ++sector) {
        if (count && sectors[count - 1] == sector)
          continue;
        sorted &= !count || sectors[count - 1] < sector;
        sectors[count++] = sector;
      }
    });
    if (!sorted) {
      std::sort(sectors, sectors + count);
      count = std::unique(sectors, sectors + count) - sectors;
    }
  }
  const uint64_t moved =
      static_cast<uint64_t>(std::popcount(lanes.active)) * bytes;
  counters.globalSectors += count;
  counters.globalBytes += moved;
  if (bytes >= 16)
    counters.globalWideBytes += moved;
}

/// 32 banks of 4 bytes give one word each per pass; accesses of 8 and 16 bytes
/// are passes of 16 and of 8 lanes from the start.
void Warp::countShared(const LaneAddresses &lanes) {
  constexpr unsigned banks = 32;
  const uint32_t bytes = lanes.bytes;
  auto lastWordOf = [&](uint64_t address) { return (address + bytes - 1) / 4; };
  // Words next to each other, as many as there are banks, lie in banks of their
  // own.
  if (lanes.isRow || lastWordOf(lanes.highest) - lanes.lowest / 4 < banks)
    return;
  unsigned lanesAtOnce =
      bytes <= 4 ? laneCount : std::max(laneCount * 4 / bytes, 1u);
  for (unsigned begin = 0; begin < laneCount; begin += lanesAtOnce) {
    const Mask pass = lanes.active & (allLanes >> (laneCount - lanesAtOnce))
                                         << begin;
    uint64_t first = ~uint64_t(0), last = 0;
    forLanes(pass, [&](unsigned lane) {
      first = std::min(first, lanes.at[lane] / 4);
      last = std::max(last, lastWordOf(lanes.at[lane]));
    });
    if (!pass || last - first < banks)
      continue;
    // The different words that lanes want of each bank.
    uint64_t words[banks][laneCount];
    unsigned perBank[banks] = {}, most = 0;
    forLanes(pass, [&](unsigned lane) {
      for (uint64_t word = lanes.at[lane] / 4;
           word <= lastWordOf(lanes.at[lane]); ++word) {
        uint64_t *wanted = words[word % banks];
        unsigned &count = perBank[word % banks];
        if (std::find(wanted, wanted + count, word) != wanted + count)
          continue;
        wanted[count++] = word;
        most = std::max(most, count);
      }
    });
    if (most > 1)
      block->grid->counters->sharedBankConflicts += most - 1;
  }
}
