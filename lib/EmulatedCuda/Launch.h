//===- Launch.h - One grid in execution -----------------------------------===//
//
// Blocks run one after another, the warps of a block in turn, each until it
// waits at a barrier or ends, the lanes of a warp in lockstep. That order never
// decides whether two accesses race: only barriers and fences order them, by
// clocks.
//
//   - A warp's clock counts its barriers. `known` says, per pair of its lanes,
//   up to which
//     clock the one's accesses happen before what the other does next;
//     `knownWarps` says so for other warps of the block, all of whose lanes
//     came to a barrier of the block.
//   - A fence of the GPU's or system's scope takes a picture of what its lane
//   knows. A
//     strong write behind it publishes the picture at its address; a strong
//     read that is followed by a fence takes over what it finds there. This
//     orders the usual pattern of a counter of finished blocks, across blocks
//     as within one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_LAUNCH_H
#define TENON_LIB_EMULATEDCUDA_LAUNCH_H

#include "Memory.h"
#include "tenon/EmulatedCuda/EmulatedCuda.h"

namespace tenon::emulated {

enum class Forgetful : uint8_t { None, FirstOffered, InParts, All };

struct Settings {
  unsigned target = 90;
  int gpus = 1;
  uint64_t memoryBytes = 80'000'000'000;
  bool copiesArriveEarly = false, streamsAreLate = false;
  uint64_t approximateSeed = 0;
  /// 0 forward, 1 reverse, else a seed.
  uint64_t order = 0;
  // Of the emulated cuBLASLt: its version, which optional epilogues it refuses
  // (0 none, the largest number all, else a seed), which algorithms forget the
  // last terms of a sum, and the seed of the times that they take (0 for no
  // time).
  size_t cublasLtVersion = 130100;
  uint64_t refusalSeed = 1;
  Forgetful forgetful = Forgetful::None;
  uint64_t timeSeed = 0;
  static Settings fromEnvironment();
};

/// Per block, per thread: the clock up to which its accesses are known.
using Knowledge = std::map<uint32_t, std::vector<uint32_t>>;
using KnowledgePointer = std::shared_ptr<const Knowledge>;
KnowledgePointer join(const KnowledgePointer &a, const KnowledgePointer &b);

struct Grid;
struct Block;

/// cp.async that has not arrived.
struct PendingCopy {
  uint64_t to;
  uint32_t bytes;
  uint8_t data[16];
};

/// Where the lanes of an access begin, each of which touches as many bytes.
struct LaneAddresses {
  /// Those of lanes that are not active are of no account.
  uint64_t at[laneCount];
  Mask active;
  uint32_t bytes;
  uint64_t lowest, highest;
  /// All begin at multiples of their bytes.
  bool isAligned;
  /// All 32 lanes, each of which begins where the one before it ends.
  bool isRow;
  /// No two lanes touch the same byte; false where that is not known.
  bool areApart;

  /// Finds all that is said of `at`, `active` and `bytes`.
  void summarize();
  uint64_t span() const { return highest - lowest + bytes; }
  /// No more bytes lie between the first and the last than 32 lanes may touch.
  bool areDense() const { return span() <= uint64_t(laneCount) * bytes; }
};

struct StackEntry {
  uint32_t next, meet;
  Mask lanes;
};

struct Warp {
  Block *block = nullptr;
  unsigned index = 0;
  /// Lanes that there are, and those that have ended.
  Mask exists = 0, ended = 0;
  std::vector<StackEntry> stack;
  uint8_t *registers = nullptr;
  Mask *defined = nullptr;
  /// Which bytes of a lane's register have no value, where `defined` lacks the
  /// lane; empty while that is all of them everywhere.
  std::vector<std::array<uint8_t, laneCount>> undefinedBytes;
  const Instruction *current = nullptr;

  enum State : uint8_t { Running, AtBarrier, Ended };
  State state = Running;
  unsigned barrier = 0, barrierThreads = 0;
  /// barrier.red: what this warp brings and, after the barrier, the block's
  /// result.
  bool barrierArrivesOnly = false;

  uint32_t clock = 1;
  /// All lanes know each other up to here; beyond, `known` says.
  uint32_t knownByAll = 0;
  std::vector<uint32_t>
      known; // [lane][other], empty until a barrier of some lanes only
  std::vector<uint32_t> knownWarps;
  std::array<KnowledgePointer, laneCount> acquired, published, found;
  /// Whether there was a fence, by which `acquired` and `published` come to say
  /// something.
  bool hasFenced = false;
  /// The lowest and the highest clock up to which the warp knows another one,
  /// or its own lanes.
  uint32_t leastKnown = 0, mostKnown = 0;
  void noteKnown();

  std::array<std::vector<PendingCopy>, laneCount> open;
  std::array<std::vector<std::vector<PendingCopy>>, laneCount> groups;

  std::unique_ptr<Region> local;

  /// Runs until a barrier or the end.
  void run();
  /// Fails unless these lanes have a value for all that is read.
  void askForValues(const Instruction &instruction, Mask active);
  /// Executes an instruction that moves bytes, or bits of them, and finds out
  /// which bytes that it writes come from bytes without a value.
  void carry(const Instruction &instruction, Mask active);
  /// Parts the lanes by the label that each goes to.
  void branchByIndex(const Instruction &instruction, Mask active);
  [[noreturn]] void fail(CUresult code, const std::string &what,
                         int lane = -1) const;
  /// All lanes that there are must be active.
  void requireAligned(Mask active) const;
  /// The lanes of a member mask must be exactly here.
  void requireMembers(Mask members, Mask active) const;

  template <typename T>
  T *lanesOf(const Operand &operand) {
    return reinterpret_cast<T *>(operand.kind == Operand::Constant
                                     ? const_cast<void *>(operand.lanes)
                                     : registers + operand.offset);
  }
  Mask predicate(const Operand &operand) {
    Mask mask = *lanesOf<Mask>(operand);
    return operand.inverted ? ~mask : mask;
  }

  // --- Order of accesses.
  bool isOrdered(Slot slot, unsigned lane) const;
  void synchronizeLanes(Mask members);
  void fence(unsigned lane, bool acquire, bool release);
  KnowledgePointer picture(unsigned lane) const;

  // --- Memory.
  /// Checks and records an access of one lane and returns the bytes' place.
  uint8_t *access(unsigned lane, Space space, uint64_t address, uint32_t bytes,
                  AccessKind kind);
  /// The same for all lanes of a plain access at once: the place of the lowest
  /// address. Null, with nothing recorded, where lanes have to be asked one by
  /// one: a fault is found there.
  uint8_t *accessTogether(Space space, LaneAddresses &lanes, AccessKind kind);
  /// Region and offset of an address; resolves generic addresses.
  Region &resolve(unsigned lane, Space &space, uint64_t address, uint32_t bytes,
                  uint64_t &offset);
  uint64_t addressOf(const Operand &operand, unsigned lane);
  LaneAddresses addressesOf(const Operand &operand, Mask active,
                            uint32_t bytes);
  void arrive(unsigned lane, const PendingCopy &copy);
  void countGlobal(const LaneAddresses &lanes);
  void countShared(const LaneAddresses &lanes);

private:
  /// Nothing but barriers of blocks and of whole warps says what it knows.
  bool knowsBarriersAlone() const { return known.empty() && !hasFenced; }
  /// Slots below `past` are of accesses before what the warp does next, and
  /// those of its block from `present` on are not.
  struct Horizon {
    Slot past, present;
  };
  Horizon horizonOf(const Region &region) const;
  bool isBehindBarrier(Slot slot, Slot mine) const;
  bool recordPlainly(Cell &cell, AccessKind kind, Slot mine, Slot other,
                     const Horizon &horizon) const;
  Slot slotOf(const Region &region, AccessKind kind, unsigned lane) const;
  void recordPart(Region &region, uint64_t offset, uint32_t bytes,
                  AccessKind kind, Slot mine, Slot other,
                  const Horizon &horizon);
  void record(Region &region, uint64_t offset, uint32_t bytes, AccessKind kind,
              Slot mine);
  void recordTogether(Region &region, const LaneAddresses &lanes,
                      AccessKind kind);
  void recordCell(Cell &cell, AccessKind kind, Slot mine, const Region &region,
                  uint64_t offset);
  void end(Mask lanes);
};

struct Block {
  Grid *grid = nullptr;
  uint32_t index = 0;
  uint32_t place[3] = {};
  std::vector<Warp> warps;
  Region *shared = nullptr;
  uint32_t generation = 0;
};

struct Grid {
  const Function *function = nullptr;
  const Program *program = nullptr;
  DeviceMemory *memory = nullptr;
  const Settings *settings = nullptr;
  TenonEmulatedCounters *counters = nullptr;
  unsigned extent[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
  uint32_t generation = 0;
  /// What strong writes published, by address.
  std::unordered_map<uint64_t, KnowledgePointer> published;

  /// Runs all blocks; throws a Fault.
  void run();
};

/// A number that depends on the seed and the words alone, evenly spread.
uint64_t scramble(uint64_t seed, uint64_t a, uint64_t b = 0);

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_LAUNCH_H
