//===- MemoryAccess.cpp - ld, st, atom, red, fences, cp.async, prefetch ---===//

#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

uint64_t Warp::addressOf(const Operand &operand, unsigned lane) {
  uint64_t base = 0;
  if (operand.index >= 0)
    base = operand.bits == 32
               ? reinterpret_cast<uint32_t *>(registers + operand.offset)[lane]
               : reinterpret_cast<uint64_t *>(registers + operand.offset)[lane];
  return base + operand.value;
}

namespace {

/// Where generic addresses point, by the first active lane, for the counters.
Space spaceOf(Space space, uint64_t address) {
  if (space != Space::Generic)
    return space;
  if (address >= localWindow && address < localWindow + sharedWindow)
    return Space::Local;
  return address >= sharedWindow && address < localWindow ? Space::Shared
                                                          : Space::Global;
}

void countAccess(Warp &warp, Space space, const LaneAddresses &lanes) {
  space = spaceOf(space, lanes.at[std::countr_zero(lanes.active)]);
  if (space == Space::Global || space == Space::Constant)
    warp.countGlobal(lanes);
  else if (space == Space::Shared)
    warp.countShared(lanes);
}

template <typename T>
uint64_t readAs(const uint8_t *from) {
  T value;
  memcpy(&value, from, sizeof(T));
  return value;
}
uint64_t readElement(const uint8_t *from, unsigned bytes) {
  return bytes == 4   ? readAs<uint32_t>(from)
         : bytes == 2 ? readAs<uint16_t>(from)
         : bytes == 8 ? readAs<uint64_t>(from)
                      : readAs<uint8_t>(from);
}

/// What the operand lists, or the operand itself, as many as the access has
/// elements.
const Operand *elementsOf(Warp &warp, const Instruction &instruction,
                          const Operand &operand) {
  const bool isList = operand.kind == Operand::Vector;
  if ((isList ? operand.count : 1) != instruction.vectorSize)
    warp.fail(CUDA_ERROR_INVALID_PTX,
              "the list of registers is not as long as the vector");
  return isList ? &instruction.elements[operand.first] : &operand;
}

/// Whether all are registers of as many bits as an element has in memory.
bool areAsWide(const Instruction &instruction, const Operand *elements) {
  for (unsigned i = 0; i < instruction.vectorSize; ++i)
    if (elements[i].kind != Operand::Register ||
        elements[i].bits != instruction.elementBits)
      return false;
  return true;
}

/// Moves all that a load or store moves between registers of T and memory, of
/// which `data` is the lowest address.
template <typename T, typename Byte>
void moveElements(Warp &warp, const Instruction &instruction,
                  const Operand *elements, const LaneAddresses &lanes,
                  Byte *data) {
  for (unsigned i = 0; i < instruction.vectorSize; ++i) {
    T *registers = warp.lanesOf<T>(elements[i]);
    forLanes(lanes.active, [&](unsigned lane) {
      Byte *place = data + (lanes.at[lane] - lanes.lowest) + i * sizeof(T);
      if constexpr (std::is_const_v<Byte>)
        memcpy(&registers[lane], place, sizeof(T));
      else
        memcpy(place, &registers[lane], sizeof(T));
    });
  }
}

/// The same for registers as wide as elements in memory; any others are moved
/// by `moveLane`, one lane at a time.
template <typename Byte, typename MoveLane>
void moveTogether(Warp &warp, const Instruction &instruction,
                  const Operand *elements, const LaneAddresses &lanes,
                  Byte *data, MoveLane moveLane) {
  switch (areAsWide(instruction, elements) ? instruction.elementBits : 0) {
  case 16:
    return moveElements<uint16_t>(warp, instruction, elements, lanes, data);
  case 32:
    return moveElements<uint32_t>(warp, instruction, elements, lanes, data);
  case 64:
    return moveElements<uint64_t>(warp, instruction, elements, lanes, data);
  default:
    forLanes(lanes.active, [&](unsigned lane) {
      moveLane(lane, data + (lanes.at[lane] - lanes.lowest));
    });
  }
}

enum class Strength { Weak, Strong, AcquireOrRelease };

template <Strength strength, bool isSigned = false>
void load(Warp &warp, const Instruction &instruction, Mask active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  const unsigned bytes = instruction.elementBits / 8,
                 count = instruction.vectorSize;
  const Operand *elements = elementsOf(warp, instruction, to);
  LaneAddresses lanes = warp.addressesOf(from, active, bytes * count);
  auto loadLane = [&](unsigned lane, const uint8_t *data) {
    for (unsigned i = 0; i < count; ++i) {
      uint64_t value = readElement(data + i * bytes, bytes);
      if (isSigned)
        value = int64_t(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
      writeLane(warp, elements[i], lane, value);
    }
  };
  if (instruction.space == Space::Parameter) {
    const std::vector<uint8_t> &parameters = warp.block->grid->parameters;
    if (lanes.highest + bytes * count > parameters.size())
      warp.fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                "out of bounds: behind the kernel's parameters",
                std::countr_zero(active));
    forLanes(active, [&](unsigned lane) {
      loadLane(lane, &parameters[lanes.at[lane]]);
    });
    return;
  }
  countAccess(warp, instruction.space, lanes);
  if constexpr (strength == Strength::Weak)
    if (const uint8_t *data =
            warp.accessTogether(instruction.space, lanes, AccessKind::Read))
      return moveTogether(warp, instruction, elements, lanes, data, loadLane);
  constexpr AccessKind kind =
      strength == Strength::Weak ? AccessKind::Read : AccessKind::StrongRead;
  forLanes(active, [&](unsigned lane) {
    loadLane(lane, warp.access(lane, instruction.space, lanes.at[lane],
                               bytes * count, kind));
    if (strength == Strength::AcquireOrRelease)
      warp.fence(lane, true, false);
  });
}

template <Strength strength>
void store(Warp &warp, const Instruction &instruction, Mask active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  const unsigned bytes = instruction.elementBits / 8,
                 count = instruction.vectorSize;
  const Operand *elements = elementsOf(warp, instruction, from);
  LaneAddresses lanes = warp.addressesOf(to, active, bytes * count);
  countAccess(warp, instruction.space, lanes);
  auto storeLane = [&](unsigned lane, uint8_t *data) {
    for (unsigned i = 0; i < count; ++i) {
      uint64_t value = readLane(warp, elements[i], lane);
      memcpy(data + i * bytes, &value, bytes);
    }
  };
  if constexpr (strength == Strength::Weak)
    if (uint8_t *data =
            warp.accessTogether(instruction.space, lanes, AccessKind::Write))
      return moveTogether(warp, instruction, elements, lanes, data, storeLane);
  constexpr AccessKind kind =
      strength == Strength::Weak ? AccessKind::Write : AccessKind::StrongWrite;
  forLanes(active, [&](unsigned lane) {
    if (strength == Strength::AcquireOrRelease)
      warp.fence(lane, false, true);
    storeLane(lane, warp.access(lane, instruction.space, lanes.at[lane],
                                bytes * count, kind));
  });
}

/// T as the operation sees it; the third operand is there for `cas`.
template <typename T, auto F, bool returns>
void atomic(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  const Operand &at = operands[returns ? 1 : 0];
  const T *b = warp.lanesOf<T>(operands[returns ? 2 : 1]);
  const T *c = operands.size() > 3 ? warp.lanesOf<T>(operands[3]) : b;
  const bool acquires = instruction.opcode.find(".acq") != std::string::npos;
  const bool releases =
      instruction.opcode.find("rel.") != std::string::npos ||
      instruction.opcode.find(".release") != std::string::npos;
  const LaneAddresses lanes = warp.addressesOf(at, active, sizeof(T));
  countAccess(warp, instruction.space, lanes);
  forLanes(active, [&](unsigned lane) {
    if (releases)
      warp.fence(lane, false, true);
    uint8_t *data = warp.access(lane, instruction.space, lanes.at[lane],
                                sizeof(T), AccessKind::Atomic);
    T old;
    memcpy(&old, data, sizeof(T));
    T result = F(old, b[lane], c[lane]);
    memcpy(data, &result, sizeof(T));
    if (acquires)
      warp.fence(lane, true, false);
    if constexpr (returns) {
      uint64_t word = 0;
      memcpy(&word, &old, sizeof(T));
      writeLane(warp, operands[0], lane, word);
    }
  });
}

template <bool isGlobal>
void fence(Warp &warp, const Instruction &, Mask active) {
  // A fence of the block's scope orders no more than the barriers that are
  // checked.
  if (isGlobal)
    forLanes(active, [&](unsigned lane) { warp.fence(lane, true, true); });
}

void copyAsynchronously(Warp &warp, const Instruction &instruction,
                        Mask active) {
  const auto &operands = instruction.operands;
  const uint32_t bytes = readLane(warp, operands[2], std::countr_zero(active));
  const bool onlySixteen = instruction.opcode.starts_with("cp.async.cg");
  if (onlySixteen ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
    warp.fail(CUDA_ERROR_INVALID_PTX, "copies " + std::to_string(bytes) +
                                          " bytes, expected " +
                                          (onlySixteen ? "16" : "4, 8 or 16"));
  const LaneAddresses to = warp.addressesOf(operands[0], active, bytes);
  LaneAddresses from = warp.addressesOf(operands[1], active, bytes);
  warp.countGlobal(from);
  warp.countShared(to);
  // Lanes that read all, or nothing.
  from.active = 0;
  uint32_t reads[laneCount];
  forLanes(active, [&](unsigned lane) {
    reads[lane] =
        operands.size() > 3 ? readLane(warp, operands[3], lane) : bytes;
    from.active |= Mask(reads[lane] == bytes) << lane;
  });
  const uint8_t *data = nullptr;
  if (from.active) {
    from.summarize();
    data = warp.accessTogether(Space::Global, from, AccessKind::Read);
  }
  forLanes(active, [&](unsigned lane) {
    PendingCopy copy{to.at[lane], bytes, {}};
    const uint32_t read = reads[lane];
    if (read > bytes)
      warp.fail(CUDA_ERROR_LAUNCH_FAILED,
                "reads " + std::to_string(read) + " bytes of " +
                    std::to_string(bytes),
                lane);
    const uint64_t source = warp.addressOf(operands[1], lane);
    if (source % bytes)
      warp.fail(CUDA_ERROR_MISALIGNED_ADDRESS,
                "misaligned: the source leaves " +
                    std::to_string(source % bytes) + " by " +
                    std::to_string(bytes) + " bytes",
                lane);
    if (data && read == bytes)
      memcpy(copy.data, data + (source - from.lowest), bytes);
    else
      for (uint32_t i = 0; i < read;) {
        // All at once where nothing is left out.
        const uint32_t piece = read == bytes ? bytes : 1;
        memcpy(copy.data + i,
               warp.access(lane, Space::Global, source + i, piece,
                           AccessKind::Read),
               piece);
        i += piece;
      }
    Space space = Space::Shared;
    uint64_t offset = 0;
    Region &shared = warp.resolve(lane, space, to.at[lane], bytes, offset);
    if (warp.block->grid->settings->copiesArriveEarly)
      return warp.arrive(lane, copy);
    // Recorded as written now as well, against accesses before the copy.
    warp.access(lane, Space::Shared, to.at[lane], bytes, AccessKind::Write);
    shared.setInFlight(offset, bytes, true);
    warp.open[lane].push_back(copy);
  });
}

void commitGroup(Warp &warp, const Instruction &, Mask active) {
  forLanes(active, [&](unsigned lane) {
    warp.groups[lane].push_back(std::move(warp.open[lane]));
    warp.open[lane].clear();
  });
}

template <bool everything>
void waitGroup(Warp &warp, const Instruction &instruction, Mask active) {
  forLanes(active, [&](unsigned lane) {
    size_t left =
        everything ? 0 : readLane(warp, instruction.operands[0], lane);
    auto &groups = warp.groups[lane];
    const size_t over = groups.size() - std::min(left, groups.size());
    for (size_t i = 0; i < over; ++i)
      for (const PendingCopy &copy : groups[i])
        warp.arrive(lane, copy);
    groups.erase(groups.begin(), groups.begin() + over);
    if (everything) {
      for (const PendingCopy &copy : warp.open[lane])
        warp.arrive(lane, copy);
      warp.open[lane].clear();
    }
  });
}

void nothing(Warp &, const Instruction &, Mask) {}

template <Space space>
void isSpace(Warp &warp, const Instruction &instruction, Mask active) {
  Mask result = 0;
  forLanes(active, [&](unsigned lane) {
    result |=
        Mask(spaceOf(Space::Generic,
                     readLane(warp, instruction.operands[1], lane)) == space)
        << lane;
  });
  writePredicate(warp, instruction.operands[0], active, result);
}

constexpr auto addition = [](auto a, auto b, auto) { return a + b; };
constexpr auto minimum = [](auto a, auto b, auto) { return std::min(a, b); };
constexpr auto maximum = [](auto a, auto b, auto) { return std::max(a, b); };
constexpr auto conjunction = [](auto a, auto b, auto) { return a & b; };
constexpr auto disjunction = [](auto a, auto b, auto) { return a | b; };
constexpr auto exclusive = [](auto a, auto b, auto) { return a ^ b; };
constexpr auto replacement = [](auto, auto b, auto) { return b; };
constexpr auto compareAndSwap = [](auto a, auto b, auto c) {
  return a == b ? c : a;
};
constexpr auto increment = [](auto a, auto b, auto) {
  return a >= b ? 0 : a + 1;
};
constexpr auto decrement = [](auto a, auto b, auto) {
  return a == 0 || a > b ? b : a - 1;
};
constexpr auto addHalves = [](uint16_t a, uint16_t b, uint16_t) {
  return uint16_t(addRounded(decode(a, f16Format), decode(b, f16Format),
                             f16Format, Rounding::Nearest));
};
constexpr auto addBrains = [](uint16_t a, uint16_t b, uint16_t) {
  return uint16_t(addRounded(decode(a, bf16Format), decode(b, bf16Format),
                             bf16Format, Rounding::Nearest));
};

#define SEMANTICS                                                              \
  "{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.gpu,.sys}{,.global,.shared,." \
  "shared::cta}"
#define ATOMIC(NAME, TYPE, FUNCTION, BITS)                                     \
  {"atom" SEMANTICS NAME, "d" BITS " [ s" BITS, atomic<TYPE, FUNCTION, true>}, \
  {                                                                            \
    "red" SEMANTICS NAME, "[ s" BITS, atomic<TYPE, FUNCTION, false>            \
  }
#define SPACES "{,.global,.shared,.shared::cta,.local}"
#define HINTS                                                                  \
  "{,.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last," \
  ".L1::no_allocate}"                                                          \
  "{,.L2::64B,.L2::128B,.L2::256B}"
#define TYPES(BITS) "{.b" BITS ",.u" BITS ",.f" BITS "}"

#define LOADS(PREFIX, STRENGTH)                                                \
  {PREFIX "{.b8,.u8}", "D8 [", load<STRENGTH>},                                \
      {PREFIX ".s8", "D8 [", load<STRENGTH, true>},                            \
      {PREFIX TYPES("16"), "D16 [", load<STRENGTH>},                           \
      {PREFIX ".s16", "D16 [", load<STRENGTH, true>},                          \
      {PREFIX TYPES("32"), "D32 [", load<STRENGTH>},                           \
      {PREFIX ".s32", "D32 [", load<STRENGTH, true>}, {                        \
    PREFIX "{.b64,.u64,.s64,.f64}", "d64 [", load<STRENGTH>                    \
  }
#define STORES(PREFIX, STRENGTH)                                               \
  {PREFIX "{.b8,.u8,.s8}", "[ S8", store<STRENGTH>},                           \
      {PREFIX "{.b16,.u16,.s16,.f16}", "[ S16", store<STRENGTH>},              \
      {PREFIX "{.b32,.u32,.s32,.f32}", "[ S32", store<STRENGTH>}, {            \
    PREFIX "{.b64,.u64,.s64,.f64}", "[ s64", store<STRENGTH>                   \
  }

const Form memoryForms[] = {
    LOADS("ld{.param,.const}{,.v2,.v4}", Strength::Weak),
    LOADS("ld" SPACES "{,.v2,.v4,.v8}", Strength::Weak),
    LOADS("ld.global{,.nc}" HINTS "{,.v2,.v4,.v8}", Strength::Weak),
    LOADS("ld{.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys}" SPACES
          "{,.v2,.v4}",
          Strength::Strong),
    LOADS("ld.acquire{.gpu,.sys}{,.global}", Strength::AcquireOrRelease),
    STORES("st" SPACES "{,.v2,.v4,.v8}", Strength::Weak),
    STORES("st.global" HINTS "{,.v2,.v4,.v8}", Strength::Weak),
    STORES("st{.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys}" SPACES
           "{,.v2,.v4}",
           Strength::Strong),
    STORES("st.release{.gpu,.sys}{,.global}", Strength::AcquireOrRelease),

    ATOMIC(".add{.u32,.s32}", uint32_t, addition, "32"),
    ATOMIC(".add.u64", uint64_t, addition, "64"),
    ATOMIC(".add.f32", float, addition, "32"),
    ATOMIC(".add.f64", double, addition, "64"),
    ATOMIC(".add.noftz.f16", uint16_t, addHalves, "16"),
    ATOMIC(".add.noftz.bf16", uint16_t, addBrains, "16"),
    ATOMIC(".min.u32", uint32_t, minimum, "32"),
    ATOMIC(".min.s32", int32_t, minimum, "32"),
    ATOMIC(".min.u64", uint64_t, minimum, "64"),
    ATOMIC(".min.s64", int64_t, minimum, "64"),
    ATOMIC(".max.u32", uint32_t, maximum, "32"),
    ATOMIC(".max.s32", int32_t, maximum, "32"),
    ATOMIC(".max.u64", uint64_t, maximum, "64"),
    ATOMIC(".max.s64", int64_t, maximum, "64"),
    ATOMIC(".and.b32", uint32_t, conjunction, "32"),
    ATOMIC(".and.b64", uint64_t, conjunction, "64"),
    ATOMIC(".or.b32", uint32_t, disjunction, "32"),
    ATOMIC(".or.b64", uint64_t, disjunction, "64"),
    ATOMIC(".xor.b32", uint32_t, exclusive, "32"),
    ATOMIC(".xor.b64", uint64_t, exclusive, "64"),
    ATOMIC(".inc.u32", uint32_t, increment, "32"),
    ATOMIC(".dec.u32", uint32_t, decrement, "32"),
    {"atom" SEMANTICS ".exch.b32", "d32 [ s32",
     atomic<uint32_t, replacement, true>},
    {"atom" SEMANTICS ".exch.b64", "d64 [ s64",
     atomic<uint64_t, replacement, true>},
    {"atom" SEMANTICS ".cas.b16", "d16 [ s16 s16",
     atomic<uint16_t, compareAndSwap, true>},
    {"atom" SEMANTICS ".cas.b32", "d32 [ s32 s32",
     atomic<uint32_t, compareAndSwap, true>},
    {"atom" SEMANTICS ".cas.b64", "d64 [ s64 s64",
     atomic<uint64_t, compareAndSwap, true>},

    {"{fence,fence.sc,fence.acq_rel}{.gpu,.sys}", "", fence<true>},
    {"membar{.gl,.sys}", "", fence<true>},
    {"{fence.sc,fence.acq_rel}.cta", "", fence<false>},
    {"membar.cta", "", fence<false>},

    {"cp.async{.ca,.cg}{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::"
     "256B}",
     "[ [ s32 ?s32", copyAsynchronously},
    {"cp.async.commit_group", "", commitGroup},
    {"cp.async.wait_group", "s32", waitGroup<false>},
    {"cp.async.wait_all", "", waitGroup<true>},
    {"prefetch{,.global}{.L1,.L2}", "[", nothing},
    {"isspacep.global", "d1 s64", isSpace<Space::Global>},
    {"isspacep{.shared,.shared::cta}", "d1 s64", isSpace<Space::Shared>},
    {"isspacep.local", "d1 s64", isSpace<Space::Local>},
};

} // namespace

void tenon::emulated::addMemoryForms(FormTable &table) {
  table.add(memoryForms);
}
