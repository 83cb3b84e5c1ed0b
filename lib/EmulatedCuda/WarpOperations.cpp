//===- WarpOperations.cpp - Control flow, barriers, shuffles, votes -------===//

#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

void nothing(Warp &, const Instruction &, Mask) {}

void trap(Warp &warp, const Instruction &, Mask active) {
  warp.fail(CUDA_ERROR_ILLEGAL_INSTRUCTION, "trap", std::countr_zero(active));
}

/// The one value of an operand that all lanes must agree on.
uint32_t uniform(Warp &warp, const Operand &operand, Mask active,
                 const char *what) {
  uint32_t value = readLane(warp, operand, std::countr_zero(active));
  forLanes(active, [&](unsigned lane) {
    if (readLane(warp, operand, lane) != value)
      warp.fail(CUDA_ERROR_LAUNCH_FAILED,
                std::string("lanes give different ") + what, lane);
  });
  return value;
}

void blockBarrier(Warp &warp, const Instruction &instruction, Mask active) {
  warp.requireAligned(active);
  warp.barrier =
      instruction.operands.empty()
          ? 0
          : uniform(warp, instruction.operands[0], active, "barriers");
  if (warp.barrier > 15)
    warp.fail(CUDA_ERROR_LAUNCH_FAILED, "barrier " +
                                            std::to_string(warp.barrier) +
                                            " does not exist, a block has 16");
  warp.barrierThreads = instruction.operands.size() < 2
                            ? 0
                            : uniform(warp, instruction.operands[1], active,
                                      "numbers of threads");
}

/// The member mask, which must be that of the lanes that are here.
Mask members(Warp &warp, const Operand &operand, Mask active) {
  Mask mask = uniform(warp, operand, active, "member masks");
  warp.requireMembers(mask, active);
  return mask;
}

void warpBarrier(Warp &warp, const Instruction &instruction, Mask active) {
  members(warp, instruction.operands[0], active);
  warp.synchronizeLanes(active);
}

enum class Shuffle { Up, Down, Butterfly, Index };
template <Shuffle shuffle>
void exchange(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  members(warp, operands[5], active);
  const uint32_t *from = warp.lanesOf<uint32_t>(operands[2]);
  uint32_t values[laneCount];
  Mask within = 0;
  forLanes(active, [&](unsigned lane) {
    uint32_t by = readLane(warp, operands[3], lane) & 31;
    uint32_t c = readLane(warp, operands[4], lane);
    // Bits 8 to 12 of c part the warp into segments, bits 0 to 4 end what is
    // read.
    uint32_t segments = c >> 8 & 31, limit = c & 31;
    uint32_t last = (lane & segments) | (limit & ~segments),
             first = lane & segments;
    int source = 0;
    bool inside = false;
    switch (shuffle) {
    case Shuffle::Up:
      source = int(lane) - int(by);
      inside = source >= int(last);
      break;
    case Shuffle::Down:
      source = lane + by;
      inside = source <= int(last);
      break;
    case Shuffle::Butterfly:
      source = lane ^ by;
      inside = source <= int(last);
      break;
    case Shuffle::Index:
      source = first | (by & ~segments & 31);
      inside = source <= int(last);
      break;
    }
    if (!inside)
      source = lane;
    if (!(active >> source & 1))
      warp.fail(CUDA_ERROR_LAUNCH_FAILED,
                "partial mask: reads the register of lane " +
                    std::to_string(source) + ", which takes no part",
                lane);
    values[lane] = from[source];
    within |= Mask(inside) << lane;
  });
  forLanes(active, [&](unsigned lane) {
    writeLane(warp, operands[0], lane, values[lane]);
  });
  writePredicate(warp, operands[1], active, within);
}

enum class Vote { All, Any, Uniform, Ballot };
template <Vote vote>
void count(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  members(warp, operands[2], active);
  Mask yes = warp.predicate(operands[1]) & active;
  if (vote == Vote::Ballot) {
    forLanes(active,
             [&](unsigned lane) { writeLane(warp, operands[0], lane, yes); });
    return;
  }
  bool result = vote == Vote::All   ? yes == active
                : vote == Vote::Any ? yes != 0
                                    : yes == active || yes == 0;
  writePredicate(warp, operands[0], active, result ? allLanes : 0);
}

template <typename T, auto F>
void reduce(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  members(warp, operands[2], active);
  const T *from = warp.lanesOf<T>(operands[1]);
  T result = from[std::countr_zero(active)];
  forLanes(active & (active - 1),
           [&](unsigned lane) { result = F(result, from[lane]); });
  forLanes(active,
           [&](unsigned lane) { writeLane(warp, operands[0], lane, result); });
}

template <bool all>
void match(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  members(warp, operands[3], active);
  Mask equalToAll = 0;
  uint32_t results[laneCount];
  forLanes(active, [&](unsigned lane) {
    Mask equal = 0;
    forLanes(active, [&](unsigned other) {
      equal |= Mask(readLane(warp, operands[2], lane) ==
                    readLane(warp, operands[2], other))
               << other;
    });
    results[lane] = !all || equal == active ? equal : 0;
    equalToAll |= Mask(equal == active) << lane;
  });
  forLanes(active, [&](unsigned lane) {
    writeLane(warp, operands[0], lane, results[lane]);
  });
  writePredicate(warp, operands[1], active, equalToAll);
}

void activeMask(Warp &warp, const Instruction &instruction, Mask active) {
  forLanes(active, [&](unsigned lane) {
    writeLane(warp, instruction.operands[0], lane, active);
  });
}

void elect(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  members(warp, operands[2], active);
  unsigned leader = std::countr_zero(active);
  forLanes(active,
           [&](unsigned lane) { writeLane(warp, operands[0], lane, leader); });
  writePredicate(warp, operands[1], active, 1u << leader);
}

constexpr auto straight = Instruction::Straight;
const Form warpForms[] = {
    {"bra{,.uni}", "", nothing, Instruction::Branch},
    {"brx.idx", "s32", nothing, Instruction::IndexedBranch},
    {"{ret,exit}{,.uni}", "", nothing, Instruction::Exit},
    {"trap", "", trap},
    {"{bar,barrier,barrier.cta}.sync{,.aligned}", "s32 ?s32", blockBarrier,
     Instruction::Barrier},
    {"bar.warp.sync", "s32", warpBarrier},
    {"shfl.sync.up.b32", "d32 |d1 s32 s32 s32 s32", exchange<Shuffle::Up>},
    {"shfl.sync.down.b32", "d32 |d1 s32 s32 s32 s32", exchange<Shuffle::Down>},
    {"shfl.sync.bfly.b32", "d32 |d1 s32 s32 s32 s32",
     exchange<Shuffle::Butterfly>},
    {"shfl.sync.idx.b32", "d32 |d1 s32 s32 s32 s32", exchange<Shuffle::Index>},
    {"vote.sync.all.pred", "d1 s1 s32", count<Vote::All>},
    {"vote.sync.any.pred", "d1 s1 s32", count<Vote::Any>},
    {"vote.sync.uni.pred", "d1 s1 s32", count<Vote::Uniform>},
    {"vote.sync.ballot.b32", "d32 s1 s32", count<Vote::Ballot>},
    {"redux.sync.add{.u32,.s32}", "d32 s32 s32",
     reduce<uint32_t, [](uint32_t a, uint32_t b) { return a + b; }>, straight,
     false, 80},
    {"redux.sync.min.u32", "d32 s32 s32",
     reduce<uint32_t, [](uint32_t a, uint32_t b) { return std::min(a, b); }>,
     straight, false, 80},
    {"redux.sync.max.u32", "d32 s32 s32",
     reduce<uint32_t, [](uint32_t a, uint32_t b) { return std::max(a, b); }>,
     straight, false, 80},
    {"redux.sync.min.s32", "d32 s32 s32",
     reduce<int32_t, [](int32_t a, int32_t b) { return std::min(a, b); }>,
     straight, false, 80},
    {"redux.sync.max.s32", "d32 s32 s32",
     reduce<int32_t, [](int32_t a, int32_t b) { return std::max(a, b); }>,
     straight, false, 80},
    {"redux.sync.and.b32", "d32 s32 s32",
     reduce<uint32_t, [](uint32_t a, uint32_t b) { return a & b; }>, straight,
     false, 80},
    {"redux.sync.or.b32", "d32 s32 s32",
     reduce<uint32_t, [](uint32_t a, uint32_t b) { return a | b; }>, straight,
     false, 80},
    {"redux.sync.xor.b32", "d32 s32 s32",
     reduce<uint32_t, [](uint32_t a, uint32_t b) { return a ^ b; }>, straight,
     false, 80},
    {"match.any.sync.b32", "d32 |d1 s32 s32", match<false>},
    {"match.all.sync.b32", "d32 |d1 s32 s32", match<true>},
    {"activemask.b32", "d32", activeMask},
    {"elect.sync", "d32 |d1 s32", elect, straight, false, 90},
    {"griddepcontrol{.wait,.launch_dependents}", "", nothing, straight, false,
     90},
    {"nanosleep.u32", "s32", nothing},
};

} // namespace

void tenon::emulated::addWarpForms(FormTable &table) { table.add(warpForms); }
