//===- Convert.cpp - cvt between integers and floats ----------------------===//

#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"
#include <limits>

using namespace tenon::emulated;

namespace {

template <typename From, typename To>
void integerToInteger(Warp &warp, const Instruction &instruction, Mask active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  forLanes(active, [&](unsigned lane) {
    auto value = static_cast<From>(readLane(warp, from, lane));
    To result = static_cast<To>(value);
    if (instruction.saturate) {
      using Limits = std::numeric_limits<To>;
      if (std::cmp_less(value, Limits::min()))
        result = Limits::min();
      else if (std::cmp_greater(value, Limits::max()))
        result = Limits::max();
    }
    // A narrow result fills its register as its type does.
    writeLane(warp, to, lane, static_cast<uint64_t>(result));
  });
}

double roundToInteger(double x, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(x);
  case Rounding::Down:
    return std::floor(x);
  case Rounding::Up:
    return std::ceil(x);
  case Rounding::Away:
    return std::round(x);
  default:
    return std::nearbyint(x);
  }
}

struct F16 {
  static constexpr unsigned bits = 16;
  static double read(uint64_t word) { return decode(word, f16Format); }
  static uint64_t write(double x, Rounding rounding) {
    return encode(x, f16Format, rounding);
  }
};
struct BF16 {
  static constexpr unsigned bits = 16;
  static double read(uint64_t word) { return decode(word, bf16Format); }
  static uint64_t write(double x, Rounding rounding) {
    return encode(x, bf16Format, rounding);
  }
};
struct F32 {
  static constexpr unsigned bits = 32;
  static double read(uint64_t word) {
    return std::bit_cast<float>(uint32_t(word));
  }
  static uint64_t write(double x, Rounding rounding) {
    return encode(x, f32Format, rounding);
  }
};
struct F64 {
  static constexpr unsigned bits = 64;
  static double read(uint64_t word) { return std::bit_cast<double>(word); }
  static uint64_t write(double x, Rounding) {
    return std::bit_cast<uint64_t>(x);
  }
};
template <typename F>
double flushedInput(const Instruction &instruction, double x) {
  return F::bits == 32 && instruction.flush ? flushed(float(x)) : x;
}

/// Out of range saturates always; a NaN becomes 0, of 64 bits from f32 or f64
/// the largest negative number's pattern.
template <typename From, typename To>
void floatToInteger(Warp &warp, const Instruction &instruction, Mask active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  using Limits = std::numeric_limits<To>;
  forLanes(active, [&](unsigned lane) {
    double x =
        flushedInput<From>(instruction, From::read(readLane(warp, from, lane)));
    x = roundToInteger(x, instruction.rounding);
    To result;
    if (x != x)
      result = sizeof(To) == 8 ? To(uint64_t(1) << 63) : To(0);
    else if (x < double(Limits::min()))
      result = Limits::min();
    else if (x >= std::ldexp(1.0, Limits::digits))
      result = Limits::max();
    else
      result = static_cast<To>(x);
    writeLane(warp, to, lane, static_cast<uint64_t>(result));
  });
}

/// The integer as a double, rounded to odd where it has more than 53 bits.
template <typename T>
double toOdd(T value) {
  uint64_t magnitude = value < 0 ? -uint64_t(value) : uint64_t(value);
  unsigned shift =
      magnitude ? std::max(0, 11 - std::countl_zero(magnitude)) : 0;
  if (!shift)
    return double(value);
  uint64_t kept = magnitude >> shift;
  kept |= (magnitude & ((uint64_t(1) << shift) - 1)) != 0;
  double result = std::ldexp(double(kept), shift);
  return value < 0 ? -result : result;
}

template <typename From, typename To>
void integerToFloat(Warp &warp, const Instruction &instruction, Mask active) {
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  forLanes(active, [&](unsigned lane) {
    auto value = static_cast<From>(readLane(warp, from, lane));
    if constexpr (To::bits == 64) {
      double result = double(value);
      if (instruction.rounding != Rounding::Nearest && sizeof(From) == 8) {
        // Exactly: the double below or above in magnitude.
        __int128 error = __int128(result) - __int128(value);
        bool negative = value < 0;
        bool isLarger = negative ? error < 0 : error > 0,
             isSmaller = negative ? error > 0 : error < 0;
        bool away = instruction.rounding == Rounding::Up     ? !negative
                    : instruction.rounding == Rounding::Down ? negative
                                                             : false;
        if (isLarger && !away)
          result = std::bit_cast<double>(std::bit_cast<uint64_t>(result) - 1);
        if (isSmaller && away)
          result = std::bit_cast<double>(std::bit_cast<uint64_t>(result) + 1);
      }
      writeLane(warp, to, lane, To::write(result, instruction.rounding));
    } else {
      writeLane(warp, to, lane, To::write(toOdd(value), instruction.rounding));
    }
  });
}

/// One number: saturation, relu, rounding to an integer or to the format.
template <typename From, typename To, bool toInteger>
uint64_t convertFloat(const Instruction &instruction, uint64_t word) {
  double x = flushedInput<From>(instruction, From::read(word));
  if (toInteger)
    x = roundToInteger(x, instruction.rounding);
  if (instruction.saturate)
    x = x > 0 ? std::min(x, 1.0) : 0.0;
  if (instruction.relu && (x != x ? false : std::signbit(x)))
    x = 0;
  if (To::bits == 64 && x != x)
    return 0x7FFFFFFFFFFFFFFF;
  uint64_t result =
      To::write(x, toInteger ? Rounding::Nearest : instruction.rounding);
  if (To::bits == 32 && instruction.flush)
    result = std::bit_cast<uint32_t>(
        flushed(std::bit_cast<float>(uint32_t(result))));
  return result;
}

template <typename From, typename To, bool toInteger = false>
void floatToFloat(Warp &warp, const Instruction &instruction, Mask active) {
  forLanes(active, [&](unsigned lane) {
    writeLane(warp, instruction.operands[0], lane,
              convertFloat<From, To, toInteger>(
                  instruction, readLane(warp, instruction.operands[1], lane)));
  });
}

/// d = {a, b}: the first operand is the upper half.
template <typename To>
void packTwo(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  forLanes(active, [&](unsigned lane) {
    uint64_t high = convertFloat<F32, To, false>(
        instruction, readLane(warp, operands[1], lane));
    uint64_t low = convertFloat<F32, To, false>(
        instruction, readLane(warp, operands[2], lane));
    writeLane(warp, operands[0], lane, high << 16 | low);
  });
}

/// tf32 keeps 10 fraction bits; .rna rounds halves away from zero.
void toTensorFloat(Warp &warp, const Instruction &instruction, Mask active) {
  constexpr FloatFormat tf32{11, -126, 19, 0x3FFFF};
  auto *to = warp.lanesOf<uint32_t>(instruction.operands[0]);
  auto *from = warp.lanesOf<float>(instruction.operands[1]);
  forLanes(active, [&](unsigned lane) {
    float x = from[lane];
    if (instruction.relu && (std::signbit(x) && x == x))
      x = 0;
    to[lane] =
        x != x ? 0x7FFFFFFF : encode(x, tf32, instruction.rounding) << 13;
  });
}

#define INTEGERS(TYPE, NAME, BITS)                                             \
  {"cvt{,.sat}.u8" NAME, "D8 " BITS, integerToInteger<TYPE, uint8_t>},         \
      {"cvt{,.sat}.s8" NAME, "D8 " BITS, integerToInteger<TYPE, int8_t>},      \
      {"cvt{,.sat}.u16" NAME, "D16 " BITS, integerToInteger<TYPE, uint16_t>},  \
      {"cvt{,.sat}.s16" NAME, "D16 " BITS, integerToInteger<TYPE, int16_t>},   \
      {"cvt{,.sat}.u32" NAME, "D32 " BITS, integerToInteger<TYPE, uint32_t>},  \
      {"cvt{,.sat}.s32" NAME, "D32 " BITS, integerToInteger<TYPE, int32_t>},   \
      {"cvt{,.sat}.u64" NAME, "d64 " BITS, integerToInteger<TYPE, uint64_t>},  \
      {"cvt{,.sat}.s64" NAME, "d64 " BITS, integerToInteger<TYPE, int64_t>},   \
      {"cvt{.rn,.rz,.rm,.rp}.f16" NAME, "d16 " BITS,                           \
       integerToFloat<TYPE, F16>},                                             \
      {"cvt{.rn,.rz,.rm,.rp}.bf16" NAME, "d16 " BITS,                          \
       integerToFloat<TYPE, BF16>},                                            \
      {"cvt{.rn,.rz,.rm,.rp}.f32" NAME, "d32 " BITS,                           \
       integerToFloat<TYPE, F32>},                                             \
  {                                                                            \
    "cvt{.rn,.rz,.rm,.rp}.f64" NAME, "d64 " BITS, integerToFloat<TYPE, F64>    \
  }
#define FLOATS(TYPE, NAME, BITS)                                               \
  {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.u8" NAME, "D8 s" BITS,              \
   floatToInteger<TYPE, uint8_t>},                                             \
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.s8" NAME, "D8 s" BITS,          \
       floatToInteger<TYPE, int8_t>},                                          \
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.u16" NAME, "D16 s" BITS,        \
       floatToInteger<TYPE, uint16_t>},                                        \
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.s16" NAME, "D16 s" BITS,        \
       floatToInteger<TYPE, int16_t>},                                         \
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.u32" NAME, "d32 s" BITS,        \
       floatToInteger<TYPE, uint32_t>},                                        \
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.s32" NAME, "d32 s" BITS,        \
       floatToInteger<TYPE, int32_t>},                                         \
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.u64" NAME, "d64 s" BITS,        \
       floatToInteger<TYPE, uint64_t>},                                        \
  {                                                                            \
    "cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.s64" NAME, "d64 s" BITS,           \
        floatToInteger<TYPE, int64_t>                                          \
  }

const Form convertForms[] = {
    INTEGERS(uint8_t, ".u8", "S8"),
    INTEGERS(int8_t, ".s8", "S8"),
    INTEGERS(uint16_t, ".u16", "S16"),
    INTEGERS(int16_t, ".s16", "S16"),
    INTEGERS(uint32_t, ".u32", "S32"),
    INTEGERS(int32_t, ".s32", "S32"),
    INTEGERS(uint64_t, ".u64", "s64"),
    INTEGERS(int64_t, ".s64", "s64"),
    FLOATS(F16, ".f16", "16"),
    FLOATS(BF16, ".bf16", "16"),
    FLOATS(F32, ".f32", "32"),
    FLOATS(F64, ".f64", "64"),
    {"cvt{,.ftz}{,.sat}.f32.f16", "d32 s16", floatToFloat<F16, F32>},
    {"cvt{,.ftz}{,.sat}.f32.bf16", "d32 s16", floatToFloat<BF16, F32>},
    {"cvt{,.ftz}{,.sat}.f32.f32", "d32 s32", floatToFloat<F32, F32>},
    {"cvt.f64.f16", "d64 s16", floatToFloat<F16, F64>},
    {"cvt.f64.bf16", "d64 s16", floatToFloat<BF16, F64>},
    {"cvt{,.ftz}{,.sat}.f64.f32", "d64 s32", floatToFloat<F32, F64>},
    {"cvt{.rn,.rz}{,.ftz}{,.sat,.relu}.f16.f32", "d16 s32",
     floatToFloat<F32, F16>},
    {"cvt{.rm,.rp}{,.ftz}{,.sat}.f16.f32", "d16 s32", floatToFloat<F32, F16>},
    {"cvt{.rn,.rz}{,.relu}.bf16.f32", "d16 s32", floatToFloat<F32, BF16>},
    {"cvt{.rn,.rz,.rm,.rp}.f16.f64", "d16 s64", floatToFloat<F64, F16>},
    {"cvt{.rn,.rz,.rm,.rp}.bf16.f64", "d16 s64", floatToFloat<F64, BF16>},
    {"cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32.f64", "d32 s64",
     floatToFloat<F64, F32>},
    {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f16.f16", "d16 s16",
     floatToFloat<F16, F16, true>},
    {"cvt{.rni,.rzi,.rmi,.rpi}.bf16.bf16", "d16 s16",
     floatToFloat<BF16, BF16, true>},
    {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32", "d32 s32",
     floatToFloat<F32, F32, true>},
    {"cvt{.rni,.rzi,.rmi,.rpi}{,.sat}.f64.f64", "d64 s64",
     floatToFloat<F64, F64, true>},
    {"cvt{.rn,.rz}{,.relu}.f16x2.f32", "d32 s32 s32", packTwo<F16>},
    {"cvt{.rn,.rz}{,.relu}.bf16x2.f32", "d32 s32 s32", packTwo<BF16>},
    {"cvt{.rna,.rn,.rz}{,.relu}.tf32.f32", "d32 s32", toTensorFloat},
};

} // namespace

void tenon::emulated::addConvertForms(FormTable &table) {
  table.add(convertForms);
}
