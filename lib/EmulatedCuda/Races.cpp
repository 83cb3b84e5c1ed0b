//===- Races.cpp - Which accesses happen before which ---------------------===//

#include "Lanes.h"
#include <algorithm>

using namespace tenon::emulated;

KnowledgePointer tenon::emulated::join(const KnowledgePointer &a,
                                       const KnowledgePointer &b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  auto both = std::make_shared<Knowledge>(*a);
  for (auto &[block, clocks] : *b) {
    auto &mine = (*both)[block];
    mine.resize(std::max(mine.size(), clocks.size()));
    for (size_t i = 0; i < clocks.size(); ++i)
      mine[i] = std::max(mine[i], clocks[i]);
  }
  return both;
}

bool Warp::isOrdered(Slot slot, unsigned lane) const {
  uint32_t thread = threadOf(slot), clockThen = clockOf(slot);
  if (blockOf(slot) == block->index) {
    if (thread == index * laneCount + lane)
      return true;
    if (thread / laneCount == index) {
      if (clockThen <= knownByAll ||
          (!known.empty() &&
           clockThen <= known[lane * laneCount + thread % laneCount]))
        return true;
    } else if (clockThen <= knownWarps[thread / laneCount]) {
      return true;
    }
  }
  if (!acquired[lane])
    return false;
  auto found = acquired[lane]->find(blockOf(slot));
  return found != acquired[lane]->end() && clockThen <= found->second[thread];
}

void Warp::synchronizeLanes(Mask members) {
  if (members == (exists & ~ended)) {
    knownByAll = clock;
    known.clear();
    KnowledgePointer all;
    for (auto &lane : acquired)
      all = join(all, lane);
    acquired.fill(all);
  } else {
    if (known.empty())
      known.assign(laneCount * laneCount, knownByAll);
    std::array<uint32_t, laneCount> joined{};
    KnowledgePointer all;
    for (unsigned lane = 0; lane < laneCount; ++lane)
      if (members >> lane & 1) {
        for (unsigned other = 0; other < laneCount; ++other)
          joined[other] =
              std::max(joined[other], known[lane * laneCount + other]);
        all = join(all, acquired[lane]);
      }
    for (unsigned lane = 0; lane < laneCount; ++lane)
      if (members >> lane & 1)
        joined[lane] = clock;
    for (unsigned lane = 0; lane < laneCount; ++lane)
      if (members >> lane & 1) {
        std::copy(joined.begin(), joined.end(), &known[lane * laneCount]);
        acquired[lane] = all;
      }
  }
  if (++clock == clockLimit)
    fail(CUDA_ERROR_NOT_SUPPORTED,
         "more barriers than the emulation can count");
}

/// What the lane knows of every thread, itself included.
KnowledgePointer Warp::picture(unsigned lane) const {
  auto all = acquired[lane] ? std::make_shared<Knowledge>(*acquired[lane])
                            : std::make_shared<Knowledge>();
  auto &mine = (*all)[block->index];
  mine.resize(block->warps.size() * laneCount);
  for (size_t thread = 0; thread < mine.size(); ++thread) {
    unsigned other = thread % laneCount;
    uint32_t sure = thread / laneCount != index ? knownWarps[thread / laneCount]
                    : other == lane             ? clock
                    : known.empty()             ? knownByAll
                                    : known[lane * laneCount + other];
    mine[thread] = std::max(mine[thread], sure);
  }
  return all;
}

void Warp::fence(unsigned lane, bool acquire, bool release) {
  if (acquire)
    acquired[lane] = join(acquired[lane], found[lane]);
  if (release) {
    published[lane] = picture(lane);
    // What the lane does behind the fence must not count as done before it.
    if (++clock == clockLimit)
      fail(CUDA_ERROR_NOT_SUPPORTED,
           "more fences than the emulation can count");
  }
}

void Warp::insert(Slot (&slots)[2], Slot mine, unsigned lane) {
  auto isOld = [&](Slot slot) {
    return generationOf(slot) != generationOf(mine) || isOrdered(slot, lane);
  };
  for (Slot &slot : slots)
    if (sameThread(slot, mine) && generationOf(slot) == generationOf(mine)) {
      // A plain access conflicts with more than a strong one.
      if (!(mine & strongSlot) || (slot & strongSlot))
        slot = mine;
      return;
    }
  if (isOld(slots[0])) {
    slots[0] = mine;
  } else if (isOld(slots[1])) {
    slots[1] = mine;
  } else if (blockOf(slots[0]) == blockOf(slots[1])) {
    bool otherBlock = blockOf(mine) != blockOf(slots[0]);
    bool otherWarp =
        threadOf(slots[0]) / laneCount == threadOf(slots[1]) / laneCount &&
        threadOf(mine) / laneCount != threadOf(slots[0]) / laneCount;
    if (otherBlock || otherWarp)
      slots[1] = mine;
  }
}

void Warp::recordCell(Cell &cell, AccessKind kind, Slot mine, unsigned lane,
                      const Region &region, uint64_t offset) {
  auto conflicts = [&](Slot slot) {
    return generationOf(slot) == generationOf(mine) &&
           !(slot & mine & strongSlot) && !isOrdered(slot, lane);
  };
  auto check = [&](const Slot(&slots)[2], const char *did) {
    for (Slot slot : slots)
      if (conflicts(slot)) {
        const char *where =
            region.kind == Region::Shared ? "shared memory" : "global memory";
        fail(CUDA_ERROR_LAUNCH_FAILED,
             std::string("race: ") + (isWrite(kind) ? "writes" : "reads") +
                 " byte " + std::to_string(offset) + " of " + where +
                 " (allocation of " + std::to_string(region.bytes) +
                 " bytes), which thread " + std::to_string(threadOf(slot)) +
                 " of block " + std::to_string(blockOf(slot)) + " " + did +
                 " and neither a barrier nor a fence orders the two",
             lane);
      }
  };
  check(cell.writes, "wrote");
  if (isWrite(kind)) {
    check(cell.reads, "read");
    if (mine & strongSlot) {
      insert(cell.writes, mine, lane);
    } else {
      cell = {{mine, 0}, {0, 0}};
    }
  } else {
    insert(cell.reads, mine, lane);
  }
}

Slot Warp::slotOf(const Region &region, AccessKind kind, unsigned lane) const {
  uint32_t generation = region.kind == Region::Shared ? block->generation
                                                      : block->grid->generation;
  return makeSlot(generation, clock, block->index, index * laneCount + lane) |
         (isStrong(kind) ? strongSlot : 0);
}

/// Whether barriers alone order a recorded access of this block before what the
/// warp does next, or it is out of date: what most are.
inline bool Warp::isBehindBarrier(Slot slot, Slot mine) const {
  if (generationOf(slot) != generationOf(mine))
    return true;
  if (blockOf(slot) != blockOf(mine))
    return false;
  const uint32_t warp = threadOf(slot) / laneCount;
  return clockOf(slot) <= (warp == index ? knownByAll : knownWarps[warp]);
}

/// As recordCell(), for the cells that take few questions: true if that was
/// done.
inline bool Warp::recordPlainly(Cell &cell, AccessKind kind, Slot mine) const {
  if (isStrong(kind) || cell.writes[1] ||
      !isBehindBarrier(cell.writes[0], mine))
    return false;
  const Slot first = cell.reads[0], second = cell.reads[1];
  if (isWrite(kind)) {
    if (!isBehindBarrier(first, mine) || !isBehindBarrier(second, mine))
      return false;
    cell = {{mine, 0}, {0, 0}};
    return true;
  }
  // Two lanes of this warp that read between the same barriers stand for all.
  if ((first ^ mine) < laneCount && (second ^ mine) < laneCount)
    return true;
  if (generationOf(first) == generationOf(mine) ||
      generationOf(second) == generationOf(mine))
    return false;
  cell.reads[0] = mine;
  return true;
}

void Warp::record(Region &region, uint64_t word, uint8_t bits, AccessKind kind,
                  Slot mine, unsigned lane) {
  ShadowPage &page = region.page(word);
  uint64_t inPage = word % pageWords;
  if (!page.split[inPage]) {
    Cell &cell = page.words[inPage];
    if (bits == 0xF) {
      // What a thread does again is what most accesses are.
      if (!isWrite(kind) ? cell.reads[0] == mine
                         : cell.writes[0] == mine && !cell.reads[0])
        return;
      if (!recordPlainly(cell, kind, mine))
        recordCell(cell, kind, mine, lane, region, word * 4);
      return;
    }
    if (!page.bytes)
      page.bytes = std::make_unique<Cell[]>(pageWords * 4);
    for (unsigned byte = 0; byte < 4; ++byte)
      page.bytes[inPage * 4 + byte] = cell;
    page.split[inPage] = true;
  }
  for (unsigned byte = 0; byte < 4; ++byte)
    if (bits >> byte & 1)
      recordCell(page.bytes[inPage * 4 + byte], kind, mine, lane, region,
                 word * 4 + byte);
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
  if (!region.shadow.empty()) {
    const Slot mine = slotOf(region, kind, lane);
    for (uint64_t at = offset, end = offset + bytes; at < end;) {
      unsigned first = at % 4, last = std::min<uint64_t>(end - (at - first), 4);
      record(region, at / 4, (1u << last) - (1u << first), kind, mine, lane);
      at += last - first;
    }
  }
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

const uint8_t *Warp::readTogether(Space space, const uint64_t *addresses,
                                  Mask active, uint32_t bytes,
                                  uint64_t &lowest) {
  if ((space != Space::Shared && space != Space::Global) || bytes % 4)
    return nullptr;
  uint64_t bits = 0, highest = 0;
  lowest = ~uint64_t(0);
  forLanes(active, [&](unsigned lane) {
    bits |= addresses[lane];
    lowest = std::min(lowest, addresses[lane]);
    highest = std::max(highest, addresses[lane]);
  });
  const uint64_t span = highest - lowest + bytes;
  if (bits & (bytes - 1) || span > uint64_t(laneCount) * bytes)
    return nullptr;
  Region *region = space == Space::Shared ? block->shared
                                          : block->grid->memory->find(lowest);
  if (!region || region->footprint || !region->contains(lowest, span))
    return nullptr;
  const uint64_t offset = lowest - region->begin;
  if (!region->isWritten(offset, span))
    return nullptr;
  if (!region->shadow.empty()) {
    const Slot first = slotOf(*region, AccessKind::Read, 0);
    forLanes(active, [&](unsigned lane) {
      const uint64_t word = (addresses[lane] - region->begin) / 4;
      // A slot ends with the number of the thread.
      for (uint64_t at = word; at < word + bytes / 4; ++at)
        record(*region, at, 0xF, AccessKind::Read, first + lane, lane);
    });
  }
  return region->data + offset;
}

void Warp::arrive(unsigned lane, const PendingCopy &copy) {
  uint64_t offset = copy.to - block->shared->begin;
  block->shared->setInFlight(offset, copy.bytes, false);
  uint8_t *to =
      access(lane, Space::Shared, copy.to, copy.bytes, AccessKind::Write);
  std::copy(copy.data, copy.data + copy.bytes, to);
}

void Warp::countGlobal(const uint64_t *addresses, Mask active, uint32_t bytes) {
  TenonEmulatedCounters &counters = *block->grid->counters;
  uint64_t sectors[laneCount * 2];
  unsigned count = 0, lanes = 0;
  bool sorted = true;
  for (unsigned lane = 0; lane < laneCount; ++lane)
    if (active >> lane & 1) {
      ++lanes;
      for (uint64_t sector = addresses[lane] / 32;
           sector <= (addresses[lane] + bytes - 1) / 32; ++sector) {
        if (count && sectors[count - 1] == sector)
          continue;
        sorted &= !count || sectors[count - 1] < sector;
        sectors[count++] = sector;
      }
    }
  if (!sorted) {
    std::sort(sectors, sectors + count);
    count = std::unique(sectors, sectors + count) - sectors;
  }
  counters.globalSectors += count;
  counters.globalBytes += uint64_t(lanes) * bytes;
  if (bytes >= 16)
    counters.globalWideBytes += uint64_t(lanes) * bytes;
}

/// 32 banks of 4 bytes give one word each per pass; accesses of 8 and 16 bytes
/// are passes of 16 and of 8 lanes from the start.
void Warp::countShared(const uint64_t *addresses, Mask active, uint32_t bytes) {
  unsigned lanesAtOnce =
      bytes <= 4 ? laneCount : std::max(laneCount * 4 / bytes, 1u);
  for (unsigned first = 0; first < laneCount; first += lanesAtOnce) {
    // The different words that lanes want of each bank.
    uint64_t words[32][laneCount];
    unsigned perBank[32] = {}, most = 0;
    for (unsigned lane = first; lane < first + lanesAtOnce; ++lane)
      if (active >> lane & 1)
        for (uint64_t word = addresses[lane] / 4;
             word <= (addresses[lane] + bytes - 1) / 4; ++word) {
          uint64_t *wanted = words[word % 32];
          unsigned &count = perBank[word % 32];
          if (std::find(wanted, wanted + count, word) != wanted + count)
            continue;
          wanted[count++] = word;
          most = std::max(most, count);
        }
    if (most > 1)
      block->grid->counters->sharedBankConflicts += most - 1;
  }
}
