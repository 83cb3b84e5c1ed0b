//===- Integers.cpp - Integer arithmetic and bits, moves ------------------===//

#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<
        sizeof(T) == 4,
        std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
T multiplyHigh(T a, T b) {
  return static_cast<T>(Wide<T>(a) * Wide<T>(b) >> (8 * sizeof(T)));
}
template <typename T>
T shiftLeft(T a, uint32_t by) {
  return by >= 8 * sizeof(T) ? 0 : static_cast<T>(a << by);
}
template <typename T>
T shiftRight(T a, uint32_t by) {
  return a >> std::min<uint32_t>(by, 8 * sizeof(T) - 1) >>
         (by >= 8 * sizeof(T) ? 1 : 0);
}

/// Quotient and remainder; a GPU's result of a division by zero is not
/// specified, so it is an error, as is the quotient that does not fit.
template <typename T, bool remainder>
void divide(Warp &warp, const Instruction &instruction, Mask active) {
  T *to = warp.lanesOf<T>(instruction.operands[0]);
  const T *a = warp.lanesOf<T>(instruction.operands[1]);
  const T *b = warp.lanesOf<T>(instruction.operands[2]);
  forLanes(active, [&](unsigned lane) {
    if (b[lane] == 0)
      warp.fail(CUDA_ERROR_LAUNCH_FAILED,
                "divides by zero, the result is not specified", lane);
    if (std::is_signed_v<T> && b[lane] == T(-1))
      to[lane] =
          remainder ? 0 : static_cast<T>(-static_cast<Unsigned<T>>(a[lane]));
    else
      to[lane] = remainder ? a[lane] % b[lane] : a[lane] / b[lane];
  });
}

template <typename T>
T reverseBits(T x) {
  T result = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i)
    result |= (x >> i & 1) << (8 * sizeof(T) - 1 - i);
  return result;
}

template <typename T>
T extractBits(T a, uint32_t position, uint32_t length) {
  using U = Unsigned<T>;
  constexpr uint32_t size = 8 * sizeof(T);
  position &= 0xFF;
  length &= 0xFF;
  if (!length)
    return 0;
  U field = position >= size ? 0 : U(a) >> position;
  U mask = length >= size ? ~U(0) : (U(1) << length) - 1;
  if constexpr (std::is_signed_v<T>) {
    uint32_t last = std::min(position + length - 1, size - 1);
    bool sign = U(a) >> last & 1;
    uint32_t valid = last >= position ? last - position + 1 : 0;
    U low = valid >= size ? ~U(0) : (U(1) << valid) - 1;
    return static_cast<T>((field & low) | (sign ? ~low : 0));
  }
  return field & mask;
}

template <typename T>
T insertBits(T a, T b, uint32_t position, uint32_t length) {
  constexpr uint32_t size = 8 * sizeof(T);
  position &= 0xFF;
  length = std::min(length & 0xFF, size);
  if (!length || position >= size)
    return b;
  T mask = (length >= size ? ~T(0) : (T(1) << length) - 1) << position;
  return (b & ~mask) | (a << position & mask);
}

/// Each nibble of the selector picks a byte of {b, a}; its top bit spreads the
/// sign.
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t nibble = selector >> (4 * i) & 0xF;
    uint32_t byte = bytes >> (8 * (nibble & 7)) & 0xFF;
    if (nibble & 8)
      byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

uint32_t lookUp(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1)
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}

/// The same of both halves of a word.
template <typename T, auto one>
uint32_t inHalves(uint32_t a, uint32_t b) {
  const uint16_t low = one(static_cast<T>(a), static_cast<T>(b));
  const uint16_t high = one(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
  return uint32_t(high) << 16 | low;
}

enum class Logic { And, Or, Xor, Not };
template <Logic logic>
void onPredicates(Warp &warp, const Instruction &instruction, Mask active) {
  Mask a = warp.predicate(instruction.operands[1]);
  Mask b = logic == Logic::Not ? 0 : warp.predicate(instruction.operands[2]);
  writePredicate(warp, instruction.operands[0], active,
                 logic == Logic::And   ? a & b
                 : logic == Logic::Or  ? a | b
                 : logic == Logic::Xor ? a ^ b
                                       : ~a);
}

void movePredicate(Warp &warp, const Instruction &instruction, Mask active) {
  writePredicate(warp, instruction.operands[0], active,
                 warp.predicate(instruction.operands[1]));
}

/// Also packs and unpacks lists of registers, the first in the low bits.
void move(Warp &warp, const Instruction &instruction, Mask active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  const unsigned bits = instruction.elementBits;
  const Operand *elements = instruction.elements.data();
  if (active == allLanes && to.kind == Operand::Register &&
      from.kind != Operand::Vector && to.bits == from.bits) {
    memcpy(warp.lanesOf<uint8_t>(to), warp.lanesOf<uint8_t>(from),
           laneCount * to.bits / 8);
    return;
  }
  forLanes(active, [&](unsigned lane) {
    uint64_t value = 0;
    if (from.kind == Operand::Vector)
      for (unsigned i = 0; i < from.count; ++i)
        value |= readLane(warp, elements[from.first + i], lane)
                 << (i * (bits / from.count));
    else
      value = readLane(warp, from, lane);
    if (to.kind == Operand::Vector)
      for (unsigned i = 0; i < to.count; ++i)
        writeLane(warp, elements[to.first + i], lane,
                  value >> (i * (bits / to.count)));
    else
      writeLane(warp, to, lane, value);
  });
}

template <typename T>
void select(Warp &warp, const Instruction &instruction, Mask active) {
  T *to = warp.lanesOf<T>(instruction.operands[0]);
  const T *a = warp.lanesOf<T>(instruction.operands[1]);
  const T *b = warp.lanesOf<T>(instruction.operands[2]);
  Mask choice = warp.predicate(instruction.operands[3]);
  forLanes(active, [&](unsigned lane) {
    to[lane] = choice >> lane & 1 ? a[lane] : b[lane];
  });
}

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

#define MOVED_BY(DISTANCE)                                                     \
  each<[](uint64_t address) { return address + (DISTANCE); }, u64, u64>
#define EACH_WIDTH(NAME, FUNCTION)                                             \
  {NAME "{.s16,.u16}", "d16 s16 s16", each<FUNCTION, u16, u16, u16>},          \
      {NAME "{.s32,.u32}", "d32 s32 s32", each<FUNCTION, u32, u32, u32>}, {    \
    NAME "{.s64,.u64}", "d64 s64 s64", each<FUNCTION, u64, u64, u64>           \
  }
#define EACH_TYPE(NAME, FUNCTION)                                              \
  {NAME ".s16", "d16 s16 s16", each<FUNCTION, s16, s16, s16>},                 \
      {NAME ".u16", "d16 s16 s16", each<FUNCTION, u16, u16, u16>},             \
      {NAME ".s32", "d32 s32 s32", each<FUNCTION, s32, s32, s32>},             \
      {NAME ".u32", "d32 s32 s32", each<FUNCTION, u32, u32, u32>},             \
      {NAME ".s64", "d64 s64 s64", each<FUNCTION, s64, s64, s64>}, {           \
    NAME ".u64", "d64 s64 s64", each<FUNCTION, u64, u64, u64>                  \
  }
#define EACH_PAIR(NAME, TYPE, T, FUNCTION)                                     \
  {                                                                            \
    NAME TYPE, "d32 s32 s32", each<inHalves<T, FUNCTION>, u32, u32, u32>,      \
        Instruction::Straight, false, 90                                       \
  }
#define EACH_BITS(NAME, FUNCTION)                                              \
  {NAME ".b16", "d16 s16 s16", each<FUNCTION, u16, u16, u16>},                 \
      {NAME ".b32", "d32 s32 s32", each<FUNCTION, u32, u32, u32>}, {           \
    NAME ".b64", "d64 s64 s64", each<FUNCTION, u64, u64, u64>                  \
  }
#define EACH_DIVISION(NAME, REMAINDER)                                         \
  {NAME ".s16", "d16 s16 s16", divide<s16, REMAINDER>},                        \
      {NAME ".u16", "d16 s16 s16", divide<u16, REMAINDER>},                    \
      {NAME ".s32", "d32 s32 s32", divide<s32, REMAINDER>},                    \
      {NAME ".u32", "d32 s32 s32", divide<u32, REMAINDER>},                    \
      {NAME ".s64", "d64 s64 s64", divide<s64, REMAINDER>}, {                  \
    NAME ".u64", "d64 s64 s64", divide<u64, REMAINDER>                         \
  }

const Form integerForms[] = {
    EACH_WIDTH("add", [](auto a, auto b) { return a + b; }),
    EACH_WIDTH("sub", [](auto a, auto b) { return a - b; }),
    {"add.sat.s32", "d32 s32 s32",
     each<[](s32 a, s32 b) {
       return s32(std::clamp<s64>(s64(a) + b, INT32_MIN, INT32_MAX));
     },
          s32, s32, s32>},
    {"sub.sat.s32", "d32 s32 s32",
     each<[](s32 a, s32 b) {
       return s32(std::clamp<s64>(s64(a) - b, INT32_MIN, INT32_MAX));
     },
          s32, s32, s32>},
    {"mul.lo{.s16,.u16}", "d16 s16 s16",
     each<[](u32 a, u32 b) { return a * b; }, u16, u16, u16>},
    {"mul.lo{.s32,.u32}", "d32 s32 s32",
     each<[](u32 a, u32 b) { return a * b; }, u32, u32, u32>},
    {"mul.lo{.s64,.u64}", "d64 s64 s64",
     each<[](u64 a, u64 b) { return a * b; }, u64, u64, u64>},
    EACH_TYPE("mul.hi", [](auto a, auto b) { return multiplyHigh(a, b); }),
    {"mul.wide.s16", "d32 s16 s16",
     each<[](s32 a, s32 b) { return a * b; }, s32, s16, s16>},
    {"mul.wide.u16", "d32 s16 s16",
     each<[](u32 a, u32 b) { return a * b; }, u32, u16, u16>},
    {"mul.wide.s32", "d64 s32 s32",
     each<[](s64 a, s64 b) { return a * b; }, s64, s32, s32>},
    {"mul.wide.u32", "d64 s32 s32",
     each<[](u64 a, u64 b) { return a * b; }, u64, u32, u32>},
    {"mad.lo{.s16,.u16}", "d16 s16 s16 s16",
     each<[](u32 a, u32 b, u32 c) { return a * b + c; }, u16, u16, u16, u16>},
    {"mad.lo{.s32,.u32}", "d32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c) { return a * b + c; }, u32, u32, u32, u32>},
    {"mad.lo{.s64,.u64}", "d64 s64 s64 s64",
     each<[](u64 a, u64 b, u64 c) { return a * b + c; }, u64, u64, u64, u64>},
    {"mad.hi.s32", "d32 s32 s32 s32",
     each<[](s32 a, s32 b, u32 c) { return u32(multiplyHigh(a, b)) + c; }, u32,
          s32, s32, u32>},
    {"mad.hi.u32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c) { return multiplyHigh(a, b) + c; }, u32, u32,
          u32, u32>},
    {"mad.wide.s16", "d32 s16 s16 s32",
     each<[](s32 a, s32 b, u32 c) { return u32(a * b) + c; }, u32, s16, s16,
          u32>},
    {"mad.wide.u16", "d32 s16 s16 s32",
     each<[](u32 a, u32 b, u32 c) { return a * b + c; }, u32, u16, u16, u32>},
    {"mad.wide.s32", "d64 s32 s32 s64",
     each<[](s64 a, s64 b, u64 c) { return u64(a * b) + c; }, u64, s32, s32,
          u64>},
    {"mad.wide.u32", "d64 s32 s32 s64",
     each<[](u64 a, u64 b, u64 c) { return a * b + c; }, u64, u32, u32, u64>},
    EACH_DIVISION("div", false),
    EACH_DIVISION("rem", true),
    EACH_TYPE("min", [](auto a, auto b) { return a < b ? a : b; }),
    EACH_TYPE("max", [](auto a, auto b) { return a > b ? a : b; }),
    EACH_PAIR("add", "{.s16x2,.u16x2}", u16,
              [](auto a, auto b) { return a + b; }),
    EACH_PAIR("min", ".s16x2", s16,
              [](auto a, auto b) { return a < b ? a : b; }),
    EACH_PAIR("min", ".u16x2", u16,
              [](auto a, auto b) { return a < b ? a : b; }),
    EACH_PAIR("max", ".s16x2", s16,
              [](auto a, auto b) { return a > b ? a : b; }),
    EACH_PAIR("max", ".u16x2", u16,
              [](auto a, auto b) { return a > b ? a : b; }),
    {"abs.s16", "d16 s16",
     each<[](s16 a) { return u16(a < 0 ? -u32(a) : u32(a)); }, u16, s16>},
    {"abs.s32", "d32 s32",
     each<[](s32 a) { return a < 0 ? -u32(a) : u32(a); }, u32, s32>},
    {"abs.s64", "d64 s64",
     each<[](s64 a) { return a < 0 ? -u64(a) : u64(a); }, u64, s64>},
    {"neg.s16", "d16 s16", each<[](u16 a) { return u16(-a); }, u16, u16>},
    {"neg.s32", "d32 s32", each<[](u32 a) { return -a; }, u32, u32>},
    {"neg.s64", "d64 s64", each<[](u64 a) { return -a; }, u64, u64>},
    EACH_BITS("and", [](auto a, auto b) { return a & b; }),
    EACH_BITS("or", [](auto a, auto b) { return a | b; }),
    EACH_BITS("xor", [](auto a, auto b) { return a ^ b; }),
    {"and.pred", "d1 s1 s1", onPredicates<Logic::And>},
    {"or.pred", "d1 s1 s1", onPredicates<Logic::Or>},
    {"xor.pred", "d1 s1 s1", onPredicates<Logic::Xor>},
    {"not.pred", "d1 s1", onPredicates<Logic::Not>},
    {"not.b16", "d16 s16", each<[](u16 a) { return u16(~a); }, u16, u16>},
    {"not.b32", "d32 s32", each<[](u32 a) { return ~a; }, u32, u32>},
    {"not.b64", "d64 s64", each<[](u64 a) { return ~a; }, u64, u64>},
    {"shl.b16", "d16 s16 s32",
     each<[](u16 a, u32 b) { return shiftLeft(a, b); }, u16, u16, u32>},
    {"shl.b32", "d32 s32 s32",
     each<[](u32 a, u32 b) { return shiftLeft(a, b); }, u32, u32, u32>},
    {"shl.b64", "d64 s64 s32",
     each<[](u64 a, u32 b) { return shiftLeft(a, b); }, u64, u64, u32>},
    {"shr.s16", "d16 s16 s32",
     each<[](s16 a, u32 b) { return shiftRight(a, b); }, s16, s16, u32>},
    {"shr.s32", "d32 s32 s32",
     each<[](s32 a, u32 b) { return shiftRight(a, b); }, s32, s32, u32>},
    {"shr.s64", "d64 s64 s32",
     each<[](s64 a, u32 b) { return shiftRight(a, b); }, s64, s64, u32>},
    {"shr{.u16,.b16}", "d16 s16 s32",
     each<[](u16 a, u32 b) { return shiftRight(a, b); }, u16, u16, u32>},
    {"shr{.u32,.b32}", "d32 s32 s32",
     each<[](u32 a, u32 b) { return shiftRight(a, b); }, u32, u32, u32>},
    {"shr{.u64,.b64}", "d64 s64 s32",
     each<[](u64 a, u32 b) { return shiftRight(a, b); }, u64, u64, u32>},
    {"shf.l.wrap.b32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c) {
       return u32((u64(b) << 32 | a) << (c & 31) >> 32);
     },
          u32, u32, u32, u32>},
    {"shf.l.clamp.b32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c) {
       return c >= 32 ? a : u32((u64(b) << 32 | a) << c >> 32);
     },
          u32, u32, u32, u32>},
    {"shf.r.wrap.b32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b,
             u32 c) { return u32((u64(b) << 32 | a) >> (c & 31)); },
          u32, u32, u32, u32>},
    {"shf.r.clamp.b32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b,
             u32 c) { return c >= 32 ? b : u32((u64(b) << 32 | a) >> c); },
          u32, u32, u32, u32>},
    {"bfe.u32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c) { return extractBits(a, b, c); }, u32, u32,
          u32, u32>},
    {"bfe.s32", "d32 s32 s32 s32",
     each<[](s32 a, u32 b, u32 c) { return extractBits(a, b, c); }, s32, s32,
          u32, u32>},
    {"bfe.u64", "d64 s64 s32 s32",
     each<[](u64 a, u32 b, u32 c) { return extractBits(a, b, c); }, u64, u64,
          u32, u32>},
    {"bfe.s64", "d64 s64 s32 s32",
     each<[](s64 a, u32 b, u32 c) { return extractBits(a, b, c); }, s64, s64,
          u32, u32>},
    {"bfi.b32", "d32 s32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c, u32 d) { return insertBits(a, b, c, d); },
          u32, u32, u32, u32, u32>},
    {"bfi.b64", "d64 s64 s64 s32 s32",
     each<[](u64 a, u64 b, u32 c, u32 d) { return insertBits(a, b, c, d); },
          u64, u64, u64, u32, u32>},
    {"brev.b32", "d32 s32",
     each<[](u32 a) { return reverseBits(a); }, u32, u32>},
    {"brev.b64", "d64 s64",
     each<[](u64 a) { return reverseBits(a); }, u64, u64>},
    {"popc.b32", "d32 s32",
     each<[](u32 a) { return u32(std::popcount(a)); }, u32, u32>},
    {"popc.b64", "d32 s64",
     each<[](u64 a) { return u32(std::popcount(a)); }, u32, u64>},
    {"clz.b32", "d32 s32",
     each<[](u32 a) { return u32(std::countl_zero(a)); }, u32, u32>},
    {"clz.b64", "d32 s64",
     each<[](u64 a) { return u32(std::countl_zero(a)); }, u32, u64>},
    {"bfind.u32", "d32 s32",
     each<[](u32 a) { return 31u - std::countl_zero(a); }, u32, u32>},
    {"bfind.u64", "d32 s64",
     each<[](u64 a) { return 63u - std::countl_zero(a); }, u32, u64>},
    {"lop3.b32", "d32 s32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c, u32 d) { return lookUp(a, b, c, d); }, u32,
          u32, u32, u32, u32>},
    {"prmt.b32", "d32 s32 s32 s32",
     each<[](u32 a, u32 b, u32 c) { return permuteBytes(a, b, c); }, u32, u32,
          u32, u32>,
     Instruction::Straight, true},
};

constexpr auto straight = Instruction::Straight;
const Form moveForms[] = {
    {"mov.pred", "d1 s1", movePredicate, straight, true},
    {"mov{.b16,.u16,.s16,.f16,.bf16}", "d16 s16", move, straight, true},
    {"mov{.b32,.u32,.s32,.f32}", "d32 s32", move, straight, true},
    {"mov{.b64,.u64,.s64,.f64}", "d64 s64", move, straight, true},
    {"selp{.b16,.u16,.s16,.f16,.bf16}", "d16 s16 s16 s1", select<u16>, straight,
     true},
    {"selp{.b32,.u32,.s32,.f32}", "d32 s32 s32 s1", select<u32>, straight,
     true},
    {"selp{.b64,.u64,.s64,.f64}", "d64 s64 s64 s1", select<u64>, straight,
     true},
    {"cvta{,.to}{.global,.const}.u64", "d64 s64", MOVED_BY(0)},
    {"cvta{.shared,.shared::cta}.u64", "d64 s64", MOVED_BY(sharedWindow)},
    {"cvta.to{.shared,.shared::cta}.u64", "d64 s64", MOVED_BY(-sharedWindow)},
    {"cvta.local.u64", "d64 s64", MOVED_BY(localWindow)},
    {"cvta.to.local.u64", "d64 s64", MOVED_BY(-localWindow)},
};

} // namespace

void tenon::emulated::addIntegerForms(FormTable &table) {
  table.add(integerForms);
}
void tenon::emulated::addMoveForms(FormTable &table) { table.add(moveForms); }
