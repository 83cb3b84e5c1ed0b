//===- StochasticRoundingTest.cpp - Rounding up or down by chance ---------===//
//
// The rounding against a model in exact arithmetic, and the random bits against
// what chance would give. TENON_ROUNDING_DRAWS is how many roundings the means
// are taken over: 2^26 if it is not set, 10^9 in the run that
// docs/Rationale/StochasticRounding.md reports.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/StochasticRounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

using namespace tenon;

namespace {

double valueOf(uint32_t bits) { return std::bit_cast<float>(bits); }
double valueOfBf16(uint32_t bits) { return valueOf(bits << 16); }

/// What StochasticRounding.td says, in exact arithmetic on numbers.
uint16_t model(uint32_t bits, uint32_t random) {
  const uint32_t sign = bits >> 31 << 15;
  const double x = std::fabs(valueOf(bits));
  if (std::isnan(x))
    return uint16_t(bits >> 16 | 0x40);
  constexpr uint32_t largest = 0x7f7f, infinity = 0x7f80;
  if (x > valueOfBf16(largest)) {
    double halfWay = (valueOfBf16(largest) + std::ldexp(1.0, 128)) / 2;
    return uint16_t(sign | (x < halfWay ? largest : infinity));
  }
  // The last number of bf16 that is not above x, and the next.
  uint32_t below = bits >> 16 & 0x7fff;
  while (valueOfBf16(below) > x)
    --below;
  while (below < largest && valueOfBf16(below + 1) <= x)
    ++below;
  if (valueOfBf16(below) == x)
    return uint16_t(sign | below);
  double share =
      (x - valueOfBf16(below)) / (valueOfBf16(below + 1) - valueOfBf16(below));
  // Up for as many of the 2^16 numbers as the share says: the largest ones.
  bool isUp = random >= 65536 - share * 65536;
  return uint16_t(sign | (below + isUp));
}

TEST(StochasticRounding, RoundsAllPatternsAsTheModel) {
  const uint32_t lows[] = {0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  const uint32_t randoms[] = {0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  int64_t wrong = 0;
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : lows)
      for (uint32_t random : randoms)
        wrong += step::roundStochastically(high << 16 | low, random) !=
                 model(high << 16 | low, random);
  EXPECT_EQ(wrong, 0);
}

TEST(StochasticRounding, RoundsUpForTheShareOfTheWay) {
  for (uint32_t high : {0x0000u, 0x0001u, 0x007fu, 0x3f80u, 0xbfffu, 0x7f7eu})
    for (uint32_t low = 0; low < 0x10000; low += 257) {
      uint32_t up = 0;
      for (uint32_t random = 0; random < 0x10000; ++random)
        up += step::roundStochastically(high << 16 | low, random) != high;
      ASSERT_EQ(up, low) << high;
    }
}

int64_t drawsInAll() {
  const char *text = std::getenv("TENON_ROUNDING_DRAWS");
  return text ? std::atoll(text) : int64_t(1) << 26;
}

/// Rounds numbers one after the other, each at some share of the way between
/// two of bf16, and sums up how far the mean is from them in standard
/// deviations.
class Bias {
public:
  void round(uint32_t low, step::RoundingWords words, uint32_t element) {
    uint32_t bits = 0x3f800000 | low;
    uint32_t rounded =
        step::roundStochastically(bits, step::roundingBits(words, element));
    error += int64_t(rounded << 16) - int64_t(bits);
    double share = low / 65536.0;
    variance += share * (1 - share);
    ++draws;
  }
  double deviations() const {
    return double(error) / 65536 / std::sqrt(variance);
  }
  /// Whether there are enough draws for the deviations of a normal
  /// distribution; few chances of 2^-16 have a longer tail.
  bool isNearlyNormal() const { return variance > 100; }
  int64_t draws = 0;

private:
  int64_t error = 0; // in units of the f32
  double variance = 0;
};

/// Shares of the way; small updates are what has to survive.
constexpr uint32_t lows[] = {1,      16,     0x0100, 0x1000, 0x4000,
                             0x7fff, 0x8000, 0x9c40, 0xf000, 0xffff};

TEST(StochasticRounding, IsUnbiasedOverTheElementsOfTensors) {
  const int64_t count = drawsInAll() / 2;
  Bias all;
  for (uint32_t tensor = 0; all.draws < count; ++tensor) {
    auto words =
        step::roundingWords(step::roundingKey(tensor % 3, tensor), tensor % 7);
    Bias one;
    uint32_t low = lows[tensor % std::size(lows)];
    int64_t elements = std::min(count - all.draws, int64_t(1) << 20);
    for (uint32_t i = 0; i < elements; ++i) {
      one.round(low, words, i);
      all.round(low, words, i);
    }
    // Of a thousand tensors some are farther than 4.
    if (one.isNearlyNormal()) {
      EXPECT_LT(std::fabs(one.deviations()), 6) << "tensor " << tensor;
    }
  }
  EXPECT_LT(std::fabs(all.deviations()), 4);
}

TEST(StochasticRounding, IsUnbiasedOverSteps) {
  const int64_t count = drawsInAll() / 2;
  Bias all;
  for (uint32_t element = 0; all.draws < count; ++element) {
    auto key = step::roundingKey(7, element % 5);
    Bias one;
    uint32_t low = lows[element % std::size(lows)];
    int64_t steps = std::min(count - all.draws, int64_t(1) << 17);
    for (uint32_t step = 0; step < steps; ++step) {
      auto words = step::roundingWords(key, step);
      one.round(low, words, element);
      all.round(low, words, element);
    }
    if (one.isNearlyNormal()) {
      EXPECT_LT(std::fabs(one.deviations()), 6) << "element " << element;
    }
  }
  EXPECT_LT(std::fabs(all.deviations()), 4);
}

/// How far counts that should be equal are apart, in standard deviations of
/// chi-square from its mean.
double unevenness(const std::vector<int64_t> &counts) {
  double total = 0, chi = 0;
  for (int64_t count : counts)
    total += double(count);
  double expected = total / double(counts.size());
  for (int64_t count : counts)
    chi += (double(count) - expected) * (double(count) - expected) / expected;
  double freedom = double(counts.size()) - 1;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

/// Pairs of the upper 6 bits of two draws: elements at some distance, and the
/// same element in two steps, in two tensors and with two seeds.
TEST(StochasticRounding, PairsOfDrawsAreEven) {
  constexpr uint32_t elements = 1 << 12, repeats = 1 << 8;
  auto words = [](uint64_t seed, uint32_t tensor, uint32_t step) {
    return step::roundingWords(step::roundingKey(seed, tensor), step);
  };
  struct Kind {
    const char *name;
    uint32_t distance, steps, tensors, seeds;
  };
  constexpr Kind kinds[] = {{"neighbours", 1, 0, 0, 0},
                            {"rows of 768", 768, 0, 0, 0},
                            {"rows of 3072", 3072, 0, 0, 0},
                            {"rows of 4096", 4096, 0, 0, 0},
                            {"a 2^28 apart", 1 << 28, 0, 0, 0},
                            {"steps", 0, 1, 0, 0},
                            {"tensors", 0, 0, 1, 0},
                            {"seeds", 0, 0, 0, 1}};
  for (const Kind &kind : kinds) {
    std::vector<int64_t> counts(4096);
    for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
      auto first = words(1, 3, repeat),
           second =
               words(1 + kind.seeds, 3 + kind.tensors, repeat + kind.steps);
      for (uint32_t i = 0; i < elements; ++i) {
        uint32_t x = step::roundingBits(first, i),
                 y = step::roundingBits(second, i + kind.distance);
        ++counts[x >> 10 << 6 | y >> 10];
      }
    }
    EXPECT_LT(std::fabs(unevenness(counts)), 4) << kind.name;
  }
}

/// Each bit of the element's index changes each bit of the result half the
/// time.
TEST(StochasticRounding, EveryBitOfTheIndexMatters) {
  constexpr uint32_t samples = 1 << 14;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    int64_t changed[16] = {};
    for (uint32_t i = 0; i < samples; ++i) {
      auto words = step::roundingWords(step::roundingKey(0, i), 5);
      uint32_t element = i * 2654435761u;
      uint32_t difference =
          step::roundingBits(words, element) ^
          step::roundingBits(words, element ^ (uint32_t(1) << bit));
      for (int j = 0; j < 16; ++j)
        changed[j] += difference >> j & 1;
    }
    for (int j = 0; j < 16; ++j)
      EXPECT_NEAR(double(changed[j]) / samples, 0.5, 0.05)
          << "bit " << bit << " of the index, bit " << j;
  }
}

TEST(StochasticRounding, KeysDiffer) {
  std::vector<uint32_t> words;
  for (uint32_t tensor = 0; tensor < 50000; ++tensor)
    for (uint32_t word : step::roundingKey(42, tensor))
      words.push_back(word);
  std::ranges::sort(words);
  EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
}

} // namespace
