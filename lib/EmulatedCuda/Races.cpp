//===- Races.cpp - Which accesses happen before which ---------------------===//

#include "Lanes.h"
#include <algorithm>
#include <bit>

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
  noteKnown();
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
  hasFenced = true;
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

/// Keeps an access among the two that stand for all of its kind; `isPast` says
/// of a recorded one whether it is ordered before, or out of date.
template <typename IsPast>
[[gnu::always_inline]] static inline void insert(Slot (&slots)[2], Slot mine,
                                                 IsPast isPast) {
  for (Slot &slot : slots)
    if (sameThread(slot, mine) && generationOf(slot) == generationOf(mine)) {
      // A plain access conflicts with more than a strong one.
      if (!(mine & strongSlot) || (slot & strongSlot))
        slot = mine;
      return;
    }
  if (isPast(slots[0])) {
    slots[0] = mine;
  } else if (isPast(slots[1])) {
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

void Warp::recordCell(Cell &cell, AccessKind kind, Slot mine,
                      const Region &region, uint64_t offset) {
  const unsigned lane = threadOf(mine) % laneCount;
  auto isPast = [&](Slot slot) {
    return generationOf(slot) != generationOf(mine) || isOrdered(slot, lane);
  };
  auto check = [&](const Slot(&slots)[2], const char *did) {
    for (Slot slot : slots)
      if (!(slot & mine & strongSlot) && !isPast(slot)) {
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
    if (mine & strongSlot)
      insert(cell.writes, mine, isPast);
    else
      cell = {{mine, 0}, {0, 0}};
  } else {
    insert(cell.reads, mine, isPast);
  }
}

void Warp::noteKnown() {
  leastKnown = mostKnown = knownByAll;
  for (size_t warp = 0; warp < knownWarps.size(); ++warp)
    if (warp != index) {
      leastKnown = std::min(leastKnown, knownWarps[warp]);
      mostKnown = std::max(mostKnown, knownWarps[warp]);
    }
}

Warp::Horizon Warp::horizonOf(const Region &region) const {
  constexpr Slot never = ~Slot(0);
  if (!knowsBarriersAlone())
    return {0, never};
  // Of another block nothing is past but what another launch did.
  if (region.kind != Region::Shared)
    return {makeSlot(block->grid->generation, 0, 0, 0), never};
  return {makeSlot(block->generation, leastKnown + 1, 0, 0),
          makeSlot(block->generation, mostKnown + 1, 0, 0)};
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
/// done. `other` is another lane that reads the same, or `mine` again.
[[gnu::always_inline]] inline bool
Warp::recordPlainly(Cell &cell, AccessKind kind, Slot mine, Slot other,
                    const Horizon &horizon) const {
  if (isStrong(kind) || cell.writes[1])
    return false;
  if (isWrite(kind)) {
    // What a thread does again is what many accesses are.
    if (cell.writes[0] == mine && !cell.reads[0])
      return true;
    if (!isBehindBarrier(cell.writes[0], mine) ||
        !isBehindBarrier(cell.reads[0], mine) ||
        !isBehindBarrier(cell.reads[1], mine))
      return false;
    cell = {{mine, 0}, {0, 0}};
    return true;
  }
  // What most reads meet takes no more than comparisons: nobody who read since
  // the last barrier, or two warps that did.
  const Slot first = cell.reads[0], second = cell.reads[1];
  if (cell.writes[0] < horizon.past) {
    if (first < horizon.past && second < horizon.past) {
      cell.reads[0] = mine;
      cell.reads[1] = other != mine ? other : 0;
      return true;
    }
    if (first >= horizon.present && second >= horizon.present &&
        (first ^ second) % threadLimit >= laneCount)
      return true;
  }
  if (!isBehindBarrier(cell.writes[0], mine))
    return false;
  // Two lanes of this warp that read between the same barriers stand for all.
  if ((first ^ mine) < laneCount && (second ^ mine) < laneCount)
    return true;
  if (!knowsBarriersAlone())
    return false;
  auto isPast = [&](Slot slot) { return isBehindBarrier(slot, mine); };
  insert(cell.reads, mine, isPast);
  if (other != mine)
    insert(cell.reads, other, isPast);
  return true;
}

/// Of at most 16 bytes at a multiple of their number.
inline void Warp::recordPart(Region &region, uint64_t offset, uint32_t bytes,
                             AccessKind kind, Slot mine, Slot other,
                             const Horizon &horizon) {
  region.page(offset).forCells(
      offset % pageBytes, bytes, [&](Cell &cell, uint32_t inPage) {
        if (recordPlainly(cell, kind, mine, other, horizon))
          return;
        const uint64_t at = offset - offset % pageBytes + inPage;
        recordCell(cell, kind, mine, region, at);
        if (other != mine)
          recordCell(cell, kind, other, region, at);
      });
}

void Warp::record(Region &region, uint64_t offset, uint32_t bytes,
                  AccessKind kind, Slot mine) {
  if (region.shadow.empty())
    return;
  const Horizon horizon = horizonOf(region);
  for (uint64_t end = offset + bytes; offset < end;) {
    // All of it, where its memory begins at a multiple of 16.
    uint32_t part = std::min<uint64_t>(std::bit_floor(end - offset), 16);
    if (offset % part)
      part = 1u << std::countr_zero(offset);
    recordPart(region, offset, part, kind, mine, mine, horizon);
    offset += part;
  }
}

void Warp::recordTogether(Region &region, const LaneAddresses &lanes,
                          AccessKind kind) {
  if (region.shadow.empty())
    return;
  const Slot first = slotOf(region, kind, 0); // a slot ends with its thread
  const Horizon horizon = horizonOf(region);
  const uint64_t offset = lanes.lowest - region.begin;
  if (lanes.bytes > pieceBytes || offset % lanes.bytes) {
    forLanes(lanes.active, [&](unsigned lane) {
      record(region, lanes.at[lane] - region.begin, lanes.bytes, kind,
             first + lane);
    });
    return;
  }
  if (lanes.areApart || !lanes.areDense()) {
    forLanes(lanes.active, [&](unsigned lane) {
      recordPart(region, lanes.at[lane] - region.begin, lanes.bytes, kind,
                 first + lane, first + lane, horizon);
    });
    return;
  }
  // Of the lanes that read the same, two stand for all.
  uint8_t lanesOf[laneCount][2];
  Mask touched = 0;
  const int shift = std::countr_zero(lanes.bytes);
  forLanes(lanes.active, [&](unsigned lane) {
    const unsigned place = (lanes.at[lane] - lanes.lowest) >> shift;
    if (!(touched >> place & 1))
      lanesOf[place][0] = lane;
    lanesOf[place][1] = lane;
    touched |= 1u << place;
  });
  for (Mask rest = touched; rest; rest &= rest - 1) {
    const unsigned place = std::countr_zero(rest);
    recordPart(region, offset + (uint64_t(place) << shift), lanes.bytes, kind,
               first + lanesOf[place][0], first + lanesOf[place][1], horizon);
  }
}
