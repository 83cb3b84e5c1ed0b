//===- TensorCore.cpp - mma.sync, ldmatrix, stmatrix, movmatrix -----------===//
//
// Which element of a matrix lies in which register of which lane is written
// here from the tables of the PTX ISA (section on fragments), apart from the
// code generator, so that an error of the one is not in the other.
//
//===----------------------------------------------------------------------===//

#include "TensorCore.h"
#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

/// A finite number as significand * 2^exponent, not normalised: subnormals keep
/// the least exponent. `place` is the exponent of the significand's leading
/// place.
struct Term {
  int64_t significand;
  int exponent, place;
};
/// Exponent that a zero is aligned with.
constexpr int floorPlace = -133;

struct Element {
  enum Kind { Finite, Infinite, NotANumber } kind;
  bool negative;
  uint32_t significand;
  int exponent; // of the leading place
  int fraction; // bits below it
};

Element split(uint32_t word, int exponentBits, int fractionBits) {
  Element element{};
  element.negative = word >> (exponentBits + fractionBits) & 1;
  int exponent = word >> fractionBits & ((1 << exponentBits) - 1);
  uint32_t fraction = word & ((1u << fractionBits) - 1);
  element.fraction = fractionBits;
  if (exponent == (1 << exponentBits) - 1) {
    element.kind = fraction ? Element::NotANumber : Element::Infinite;
    return element;
  }
  int bias = (1 << (exponentBits - 1)) - 1;
  element.kind = Element::Finite;
  element.significand = exponent ? fraction | 1u << fractionBits : fraction;
  element.exponent = std::max(exponent, 1) - bias;
  return element;
}

Element split(uint32_t word, TensorFormat format) {
  switch (format) {
  case TensorFormat::F16:
    return split(word & 0xFFFF, 5, 10);
  case TensorFormat::BF16:
    return split(word & 0xFFFF, 8, 7);
  case TensorFormat::TF32:
    return split(word >> 13, 8, 10);
  }
}

/// significand * 2^exponent as an f32, cut off toward zero.
uint32_t truncateToFloat(int64_t significand, int exponent) {
  bool negative = significand < 0;
  uint64_t magnitude =
      negative ? -uint64_t(significand) : uint64_t(significand);
  // At most 53 bits stay exact in a double; what is beyond is cut off as well.
  int extra = std::max(0, 11 - std::countl_zero(magnitude | 1));
  double value = std::ldexp(double(magnitude >> extra), exponent + extra);
  return encode(negative ? -value : value, f32Format, Rounding::Zero);
}

/// One block; c and the result are f32, or f16 if `half`.
uint32_t dotBlock(TensorFormat format, const uint32_t *a, const uint32_t *b,
                  unsigned count, uint32_t c, int fraction, bool half) {
  const uint32_t nan = half ? 0x7FFF : 0x7FFFFFFF;
  const uint32_t infinity = half ? 0x7C00 : 0x7F800000,
                 signBit = half ? 0x8000 : 0x80000000;
  Term terms[17];
  unsigned used = 0;
  bool plusInfinity = false, minusInfinity = false;
  int largest = floorPlace;
  auto add = [&](bool negative, uint64_t significand, int place, int below) {
    if (!significand)
      return;
    terms[used++] = {negative ? -int64_t(significand) : int64_t(significand),
                     place - below, place};
    largest = std::max(largest, place);
  };
  for (unsigned i = 0; i < count; ++i) {
    Element x = split(a[i], format), y = split(b[i], format);
    if (x.kind == Element::NotANumber || y.kind == Element::NotANumber)
      return nan;
    if (x.kind == Element::Infinite || y.kind == Element::Infinite) {
      bool zero = (x.kind == Element::Finite && !x.significand) ||
                  (y.kind == Element::Finite && !y.significand);
      if (zero)
        return nan;
      (x.negative != y.negative ? minusInfinity : plusInfinity) = true;
      continue;
    }
    add(x.negative != y.negative, uint64_t(x.significand) * y.significand,
        x.exponent + y.exponent, x.fraction + y.fraction);
  }
  Element z = half ? split(c, 5, 10) : split(c, 8, 23);
  if (z.kind == Element::NotANumber)
    return nan;
  if (z.kind == Element::Infinite)
    (z.negative ? minusInfinity : plusInfinity) = true;
  else
    add(z.negative, z.significand, z.exponent, z.fraction);
  if (plusInfinity || minusInfinity)
    return plusInfinity && minusInfinity
               ? nan
               : infinity | (minusInfinity ? signBit : 0);

  int unit = largest - fraction;
  int64_t sum = 0;
  for (unsigned i = 0; i < used; ++i) {
    int shift = terms[i].exponent - unit;
    int64_t magnitude =
        terms[i].significand < 0 ? -terms[i].significand : terms[i].significand;
    int64_t aligned = shift >= 0     ? magnitude << shift
                      : shift <= -63 ? 0
                                     : magnitude >> -shift;
    sum += terms[i].significand < 0 ? -aligned : aligned;
  }
  if (half)
    return encode(std::ldexp(double(sum), unit), f16Format, Rounding::Nearest);
  return truncateToFloat(sum, unit);
}

} // namespace

uint32_t tenon::emulated::tensorDot(TensorFormat format, unsigned target,
                                    const uint32_t *a, const uint32_t *b,
                                    unsigned count, uint32_t c, bool toHalf) {
  const bool hopper = target >= 90;
  const unsigned block =
      (hopper ? 16 : 8) / (format == TensorFormat::TF32 ? 2 : 1);
  for (unsigned first = 0; first < count; first += block)
    c = dotBlock(format, a + first, b + first, std::min(block, count - first),
                 c, hopper ? 25 : 24, toHalf);
  return c;
}

namespace {

uint32_t elementAt(Warp &warp, const Instruction &instruction,
                   const Operand &list, unsigned index, unsigned lane) {
  return warp.lanesOf<uint32_t>(instruction.elements[list.first + index])[lane];
}

/// A (16 x K, rows), B (K x 8, columns), C and D (16 x 8). With g = lane / 4, t
/// = lane % 4: 16-bit A: register r holds row g + 8 (r odd), columns 2t, 2t +
/// 1, + 8 (r >= 2); B: register r holds rows 2t, 2t + 1, + 8 r of column g.
/// tf32 A: register r holds row g + 8 (r odd), column t + 4 (r >= 2); B:
/// register r holds row t + 4 r of column g. C: rows g and g + 8 (later half),
/// columns 2t, 2t + 1.
template <TensorFormat format, unsigned depth, bool half>
void multiplyMatrices(Warp &warp, const Instruction &instruction, Mask active) {
  if (active != allLanes)
    warp.fail(CUDA_ERROR_LAUNCH_FAILED,
              "partial mask: a matrix instruction needs all 32 lanes");
  constexpr bool wide = format == TensorFormat::TF32;
  constexpr unsigned registersA = wide ? depth / 2 : depth / 4,
                     registersB = registersA / 2;
  const auto &operands = instruction.operands;
  const unsigned registersC = half ? 2 : 4;
  if (operands[0].count != registersC || operands[1].count != registersA ||
      operands[2].count != registersB || operands[3].count != registersC)
    warp.fail(CUDA_ERROR_INVALID_PTX,
              "wrong numbers of registers for the fragments");
  ++warp.block->grid->counters->tensorInstructions;

  uint32_t a[16][depth], b[8][depth], c[16][8];
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < registersA; ++r) {
      uint32_t word = elementAt(warp, instruction, operands[1], r, lane);
      unsigned row = g + 8 * (r % 2);
      if (wide) {
        a[row][t + 4 * (r / 2)] = word;
      } else {
        a[row][2 * t + 8 * (r / 2)] = word & 0xFFFF;
        a[row][2 * t + 8 * (r / 2) + 1] = word >> 16;
      }
    }
    for (unsigned r = 0; r < registersB; ++r) {
      uint32_t word = elementAt(warp, instruction, operands[2], r, lane);
      if (wide) {
        b[g][t + 4 * r] = word;
      } else {
        b[g][2 * t + 8 * r] = word & 0xFFFF;
        b[g][2 * t + 8 * r + 1] = word >> 16;
      }
    }
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t word =
          elementAt(warp, instruction, operands[3], half ? i / 2 : i, lane);
      c[g + 8 * (i / 2)][2 * t + i % 2] =
          half ? word >> (16 * (i % 2)) & 0xFFFF : word;
    }
  }
  const unsigned target = warp.block->grid->settings->target;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column)
      c[row][column] = tensorDot(format, target, a[row], b[column], depth,
                                 c[row][column], half);
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < registersC; ++r) {
      uint32_t word = half ? c[g + 8 * r][2 * t] | c[g + 8 * r][2 * t + 1] << 16
                           : c[g + 8 * (r / 2)][2 * t + r % 2];
      writeLane(warp, instruction.elements[operands[0].first + r], lane, word);
    }
  }
}

/// Lane 8 i + j gives the address of row j of matrix i, 8 elements of 16 bits.
/// Lane l has elements 2 (l % 4) and the next of row l / 4 of each matrix;
/// transposed, of column l / 4.
template <unsigned count, bool transposed, bool isLoad>
void moveMatrices(Warp &warp, const Instruction &instruction, Mask active) {
  if (active != allLanes)
    warp.fail(CUDA_ERROR_LAUNCH_FAILED,
              "partial mask: a matrix instruction needs all 32 lanes");
  const auto &operands = instruction.operands;
  const Operand &list = operands[isLoad ? 0 : 1],
                &at = operands[isLoad ? 1 : 0];
  if (count > 1 ? list.count != count
                : list.kind == Operand::Vector && list.count != 1)
    warp.fail(CUDA_ERROR_INVALID_PTX,
              "the list of registers is not as long as there are matrices");
  uint64_t rows[laneCount];
  for (unsigned lane = 0; lane < 8 * count; ++lane) {
    rows[lane] = warp.addressOf(at, lane);
    if (instruction.space == Space::Generic)
      rows[lane] -= sharedWindow;
    if (rows[lane] % 16)
      warp.fail(CUDA_ERROR_MISALIGNED_ADDRESS,
                "misaligned: a row of a matrix begins at an address "
                "that leaves " +
                    std::to_string(rows[lane] % 16) + " by 16",
                lane);
  }
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    warp.countShared(rows + 8 * matrix, 0xFF, 16);
    const Operand &element = list.kind == Operand::Vector
                                 ? instruction.elements[list.first + matrix]
                                 : list;
    for (unsigned lane = 0; lane < laneCount; ++lane) {
      const unsigned outer = lane / 4, inner = 2 * (lane % 4);
      uint64_t addresses[2];
      for (unsigned i = 0; i < 2; ++i) {
        unsigned row = transposed ? inner + i : outer,
                 column = transposed ? outer : inner + i;
        addresses[i] = rows[8 * matrix + row] + 2 * column;
      }
      uint32_t word = isLoad ? 0 : readLane(warp, element, lane);
      for (unsigned i = 0; i < (transposed ? 2 : 1); ++i) {
        uint8_t *data =
            warp.access(lane, Space::Shared, addresses[i], transposed ? 2 : 4,
                        isLoad ? AccessKind::Read : AccessKind::Write);
        auto *part = reinterpret_cast<uint8_t *>(&word) + 2 * i;
        memcpy(isLoad ? part : data, isLoad ? data : part, transposed ? 2 : 4);
      }
      if (isLoad)
        writeLane(warp, element, lane, word);
    }
  }
}

void transposeMatrix(Warp &warp, const Instruction &instruction, Mask active) {
  if (active != allLanes)
    warp.fail(CUDA_ERROR_LAUNCH_FAILED,
              "partial mask: a matrix instruction needs all 32 lanes");
  const auto *from = warp.lanesOf<uint32_t>(instruction.operands[1]);
  uint32_t results[laneCount];
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    results[lane] = 0;
    for (unsigned i = 0; i < 2; ++i) {
      unsigned row = 2 * (lane % 4) + i, column = lane / 4;
      results[lane] |=
          (from[row * 4 + column / 2] >> (16 * (column % 2)) & 0xFFFF)
          << (16 * i);
    }
  }
  memcpy(warp.lanesOf<uint32_t>(instruction.operands[0]), results,
         sizeof(results));
}

constexpr auto straight = Instruction::Straight;
constexpr auto F16 = TensorFormat::F16, BF16 = TensorFormat::BF16,
               TF32 = TensorFormat::TF32;
#define MMA "mma.sync.aligned.m16n8"
#define LDMATRIX "ldmatrix.sync.aligned.m8n8"
#define STMATRIX "stmatrix.sync.aligned.m8n8"
#define SHARED16 "{,.shared,.shared::cta}.b16"

const Form tensorCoreForms[] = {
    {MMA "k16.row.col.f32.f16.f16.f32", "d32 s32 s32 s32",
     multiplyMatrices<F16, 16, false>},
    {MMA "k16.row.col.f16.f16.f16.f16", "d32 s32 s32 s32",
     multiplyMatrices<F16, 16, true>},
    {MMA "k16.row.col.f32.bf16.bf16.f32", "d32 s32 s32 s32",
     multiplyMatrices<BF16, 16, false>},
    {MMA "k8.row.col.f32.f16.f16.f32", "d32 s32 s32 s32",
     multiplyMatrices<F16, 8, false>},
    {MMA "k8.row.col.f16.f16.f16.f16", "d32 s32 s32 s32",
     multiplyMatrices<F16, 8, true>},
    {MMA "k8.row.col.f32.bf16.bf16.f32", "d32 s32 s32 s32",
     multiplyMatrices<BF16, 8, false>},
    {MMA "k8.row.col.f32.tf32.tf32.f32", "d32 s32 s32 s32",
     multiplyMatrices<TF32, 8, false>},
    {MMA "k4.row.col.f32.tf32.tf32.f32", "d32 s32 s32 s32",
     multiplyMatrices<TF32, 4, false>},
    {LDMATRIX ".x1" SHARED16, "d32 [", moveMatrices<1, false, true>},
    {LDMATRIX ".x2" SHARED16, "d32 [", moveMatrices<2, false, true>},
    {LDMATRIX ".x4" SHARED16, "d32 [", moveMatrices<4, false, true>},
    {LDMATRIX ".x1.trans" SHARED16, "d32 [", moveMatrices<1, true, true>},
    {LDMATRIX ".x2.trans" SHARED16, "d32 [", moveMatrices<2, true, true>},
    {LDMATRIX ".x4.trans" SHARED16, "d32 [", moveMatrices<4, true, true>},
    {STMATRIX ".x1" SHARED16, "[ s32", moveMatrices<1, false, false>, straight,
     false, 90},
    {STMATRIX ".x2" SHARED16, "[ s32", moveMatrices<2, false, false>, straight,
     false, 90},
    {STMATRIX ".x4" SHARED16, "[ s32", moveMatrices<4, false, false>, straight,
     false, 90},
    {STMATRIX ".x1.trans" SHARED16, "[ s32", moveMatrices<1, true, false>,
     straight, false, 90},
    {STMATRIX ".x2.trans" SHARED16, "[ s32", moveMatrices<2, true, false>,
     straight, false, 90},
    {STMATRIX ".x4.trans" SHARED16, "[ s32", moveMatrices<4, true, false>,
     straight, false, 90},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "d32 s32", transposeMatrix},
};

} // namespace

void tenon::emulated::addTensorCoreForms(FormTable &table) {
  table.add(tensorCoreForms);
}
