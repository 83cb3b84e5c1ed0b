//===- StochasticRounding.h - Rounding up or down by chance --------------===//
//
// The operation of StochasticRounding.td, and its numbers: what the reference
// interpreter computes, and what tests compare compiled code with. Whoever
// rounds n elements of a tensor in a step derives the words of the step once
// and then has the bits of each element from its index.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_STOCHASTICROUNDING_H
#define TENON_DIALECT_STEP_STOCHASTICROUNDING_H

#include "tenon/Dialect/Step/Step.h"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/StochasticRoundingOps.h.inc"

#include <array>
#include <cstdint>

namespace tenon::step {

/// Shifts and multipliers by which each bit of a word changes about half of the
/// bits of the result (C. Wellons, hash-prospector, 2018: three rounds,
/// `triple32`).
inline constexpr uint32_t roundingShifts[4] = {17, 11, 15, 14};
inline constexpr uint32_t roundingMultipliers[3] = {0xed5ad4bb, 0xac4c1b51,
                                                    0x31848bab};

/// A tensor of so many elements has an index for each.
inline constexpr int64_t mostRoundedElements = int64_t(1) << 32;

/// Round 0, 1 or 2 of the mixing of a word's bits.
constexpr uint32_t mixingRound(uint32_t x, int round) {
  return (x ^ x >> roundingShifts[round]) * roundingMultipliers[round];
}

/// Mixes the bits of a word; different words give different ones.
constexpr uint32_t mixWord(uint32_t x) {
  x = mixingRound(mixingRound(mixingRound(x, 0), 1), 2);
  return x ^ x >> roundingShifts[3];
}

using RoundingWords = std::array<uint32_t, 2>;

/// The key of a tensor that has a number of its own, by the seed of the step.
constexpr RoundingWords roundingKey(uint64_t seed, uint32_t tensor) {
  constexpr uint32_t offset = 0x9e3779b9; // zero would stay zero
  uint32_t mixed =
      mixWord(mixWord(uint32_t(seed) + offset) ^ uint32_t(seed >> 32));
  return {mixWord(mixed ^ 2 * tensor), mixWord(mixed ^ (2 * tensor + 1))};
}

/// What the key becomes in a step.
constexpr RoundingWords roundingWords(RoundingWords key, uint32_t step) {
  uint32_t first = mixWord(key[0] ^ step);
  return {first, mixWord(key[1] ^ first)};
}

/// The random 16 bits of an element.
constexpr uint32_t roundingBits(RoundingWords words, uint32_t element) {
  uint32_t x = mixingRound(element ^ words[0], 0) + words[1];
  return mixingRound(mixingRound(x, 1), 2) >> 16;
}

/// The bits of the bf16 to which an f32 with these bits is rounded.
constexpr uint16_t roundStochastically(uint32_t bits, uint32_t random) {
  constexpr uint32_t largest = 0x7f7f0000, infinity = 0x7f800000,
                     quiet = 0x00400000, half = 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > infinity)
    return uint16_t((bits | quiet) >> 16);
  return uint16_t((bits + (magnitude > largest ? half : random)) >> 16);
}

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_STOCHASTICROUNDING_H
