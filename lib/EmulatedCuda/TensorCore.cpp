//===- TensorCore.cpp - mma.sync, ldmatrix, stmatrix, movmatrix -----------===//
//
// Which element of a matrix lies in which register of which lane is written
// here from the tables of the PTX ISA (section on fragments), apart from the
// code generator, so that an error of the one is not in the other.
//
//===----------------------------------------------------------------------===//

#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

enum class TensorFormat { F16, BF16, TF32 };

/// Exponent that a zero is aligned with.
constexpr int floorPlace = -133;
/// Of a zero's leading place: less than that of any product.
constexpr int nowhere = -10000;

struct Element {
  enum Kind : uint8_t { Finite, Infinite, NotANumber } kind;
  bool negative;
  /// Not normalised: subnormals keep the least exponent.
  uint32_t significand;
  int exponent; // of the leading place
};

Element split(uint32_t word, int exponentBits, int fractionBits) {
  Element element{};
  element.negative = word >> (exponentBits + fractionBits) & 1;
  int exponent = word >> fractionBits & ((1 << exponentBits) - 1);
  uint32_t fraction = word & ((1u << fractionBits) - 1);
  if (exponent == (1 << exponentBits) - 1) {
    element.kind = fraction ? Element::NotANumber : Element::Infinite;
    return element;
  }
  int bias = (1 << (exponentBits - 1)) - 1;
  element.kind = Element::Finite;
  element.significand = exponent ? fraction | 1u << fractionBits : fraction;
  element.exponent =
      element.significand ? std::max(exponent, 1) - bias : nowhere;
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

int fractionOf(TensorFormat format) {
  return format == TensorFormat::BF16 ? 7 : 10;
}

/// What a sum is of which a term is infinite or no number. A zero here is one
/// of the format, whose significand is zero.
uint32_t specialSum(const Element *a, const Element *b, unsigned count,
                    const Element &c, bool half) {
  const uint32_t nan = half ? 0x7FFF : 0x7FFFFFFF;
  const uint32_t infinity = half ? 0x7C00 : 0x7F800000,
                 signBit = half ? 0x8000 : 0x80000000;
  bool plusInfinity = false, minusInfinity = false;
  for (unsigned i = 0; i < count; ++i) {
    const Element &x = a[i], &y = b[i];
    if (x.kind == Element::NotANumber || y.kind == Element::NotANumber)
      return nan;
    if (x.kind == Element::Finite && y.kind == Element::Finite)
      continue;
    bool zero = (x.kind == Element::Finite && !x.significand) ||
                (y.kind == Element::Finite && !y.significand);
    if (zero)
      return nan;
    (x.negative != y.negative ? minusInfinity : plusInfinity) = true;
  }
  if (c.kind == Element::NotANumber)
    return nan;
  if (c.kind == Element::Infinite)
    (c.negative ? minusInfinity : plusInfinity) = true;
  return plusInfinity && minusInfinity
             ? nan
             : infinity | (minusInfinity ? signBit : 0);
}

/// One block; c and the result are f32, or f16 if `half`. Significands of
/// products and of c fit in 28 bits, moved to where `fraction` bits are below
/// the leading place of the largest.
uint32_t dotBlock(TensorFormat format, const Element *a, const Element *b,
                  unsigned count, uint32_t c, int fraction, bool half) {
  const Element z = half ? split(c, 5, 10) : split(c, 8, 23);
  const int left = fraction - 2 * fractionOf(format),
            leftOfC = fraction - (half ? 10 : 23);
  uint32_t magnitudes[17];
  int places[17];
  bool negative[17];
  int largest = std::max(floorPlace, z.exponent);
  unsigned kinds = z.kind;
  for (unsigned i = 0; i < count; ++i) {
    kinds |= a[i].kind | b[i].kind;
    magnitudes[i] = (a[i].significand * b[i].significand) << left;
    places[i] = a[i].exponent + b[i].exponent;
    negative[i] = a[i].negative != b[i].negative;
    largest = std::max(largest, places[i]);
  }
  if (kinds != Element::Finite)
    return specialSum(a, b, count, z, half);
  magnitudes[count] = z.significand << leftOfC;
  places[count] = z.exponent;
  negative[count] = z.negative;

  int64_t sum = 0;
  for (unsigned i = 0; i <= count; ++i) {
    int64_t aligned = magnitudes[i] >> std::min(largest - places[i], 31);
    sum += negative[i] ? -aligned : aligned;
  }
  // Exact: the sum has less than 53 bits, and the power is far from both ends.
  const double value =
      double(sum) *
      std::bit_cast<double>(uint64_t(1023 + largest - fraction) << 52);
  return half ? encode(value, f16Format, Rounding::Nearest)
              : encode(value, f32Format, Rounding::Zero);
}

/// c + sum of a[i] * b[i], count products, as the tensor cores of sm_`target`
/// compute it; of tf32 the low 13 bits of an f32 count not. Returns the bits of
/// an f32, or of an f16 with `toHalf`; c is of the same format.
///
/// Measured on GPUs (recorded rows in test/Unit/EmulatedCuda/TensorCore):
/// blocks of products in order; within a block the exact products and the sum
/// so far are aligned to the largest exponent, cut off toward zero F bits below
/// its leading place, added exactly, and the sum is rounded toward zero (an f16
/// result to nearest). sm_80, 86 and 89 take blocks of 8 (tf32: 4) and F = 24,
/// sm_90 and 100 of 16 (8) and F = 25. For sm_120 the latter is assumed: no
/// recording of one is known.
uint32_t tensorDot(TensorFormat format, unsigned target, const Element *a,
                   const Element *b, unsigned count, uint32_t c, bool toHalf) {
  const bool hopper = target >= 90;
  const unsigned block =
      (hopper ? 16 : 8) / (format == TensorFormat::TF32 ? 2 : 1);
  for (unsigned first = 0; first < count; first += block)
    c = dotBlock(format, a + first, b + first, std::min(block, count - first),
                 c, hopper ? 25 : 24, toHalf);
  return c;
}

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
  // Each is taken apart once for all the sums that it is in.
  Element rows[16][depth], columns[8][depth];
  for (unsigned i = 0; i < depth; ++i) {
    for (unsigned row = 0; row < 16; ++row)
      rows[row][i] = split(a[row][i], format);
    for (unsigned column = 0; column < 8; ++column)
      columns[column][i] = split(b[column][i], format);
  }
  const unsigned target = warp.block->grid->settings->target;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column)
      c[row][column] = tensorDot(format, target, rows[row], columns[column],
                                 depth, c[row][column], half);
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
  constexpr AccessKind kind = isLoad ? AccessKind::Read : AccessKind::Write;
  constexpr uint32_t bytes = transposed ? 2 : 4;
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    LaneAddresses whole;
    std::copy_n(rows + 8 * matrix, 8, whole.at);
    whole.active = 0xFF;
    whole.bytes = 16;
    whole.summarize();
    warp.countShared(whole);
    const Operand &element = list.kind == Operand::Vector
                                 ? instruction.elements[list.first + matrix]
                                 : list;
    // A lane has two elements next to each other, in a row or in a column.
    for (unsigned i = 0; i < 4 / bytes; ++i) {
      LaneAddresses lanes;
      lanes.active = allLanes;
      lanes.bytes = bytes;
      for (unsigned lane = 0; lane < laneCount; ++lane) {
        const unsigned outer = lane / 4, inner = 2 * (lane % 4) + i;
        lanes.at[lane] = transposed ? rows[8 * matrix + inner] + 2 * outer
                                    : rows[8 * matrix + outer] + 2 * inner;
      }
      lanes.summarize();
      uint8_t *together = warp.accessTogether(Space::Shared, lanes, kind);
      for (unsigned lane = 0; lane < laneCount; ++lane) {
        uint8_t *data = together ? together + (lanes.at[lane] - lanes.lowest)
                                 : warp.access(lane, Space::Shared,
                                               lanes.at[lane], bytes, kind);
        uint32_t word = !isLoad || i ? readLane(warp, element, lane) : 0;
        auto *part = reinterpret_cast<uint8_t *>(&word) + 2 * i;
        memcpy(isLoad ? part : data, isLoad ? data : part, bytes);
        if (isLoad)
          writeLane(warp, element, lane, word);
      }
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
