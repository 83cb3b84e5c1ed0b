//===- MathExpansionsTest.cpp - Errors of the mathematical functions ------===//
//
// Every function against libm in f64: all bf16 and f16 values, a stride through
// all f32, and pairs for the binary ones. Special values must be exact, signs
// of zeros included, and all lane counts and feature sets must agree bit for
// bit.
//
//===----------------------------------------------------------------------===//

#include "MathKernels.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tenon::codegen;
using F = MathFunction;

namespace {

double erfInverse(double x) {
  if (std::abs(x) > 1 || std::isnan(x))
    return NAN;
  if (std::abs(x) == 1)
    return std::copysign(INFINITY, x);
  // Bisection on a bracket, then Newton steps in long double.
  long double a = std::abs(x), below = 1 - a;
  long double low = 0, high = 10;
  auto tooSmall = [&](long double y) {
    return a < 0.5L ? std::erf(y) < a : std::erfc(y) > below;
  };
  for (int i = 0; i < 20; ++i) {
    long double middle = (low + high) / 2;
    (tooSmall(middle) ? low : high) = middle;
  }
  long double y = (low + high) / 2;
  for (int i = 0; i < 5; ++i) {
    long double difference = a < 0.5L ? a - std::erf(y) : std::erfc(y) - below;
    y += difference * 0.886226925452758013649L * std::exp(y * y);
  }
  return std::copysign(static_cast<double>(y), x);
}

double reference(F function, double x, double y = 0) {
  switch (function) {
  case F::exp:
    return std::exp(x);
  case F::expm1:
    return std::expm1(x);
  case F::log:
    return std::log(x);
  case F::log1p:
    return std::log1p(x);
  case F::tanh:
    return std::tanh(x);
  case F::logistic:
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  case F::erf:
    return std::erf(x);
  case F::erfc:
    return std::erfc(x);
  case F::erfInv:
    return erfInverse(x);
  case F::sqrt:
    return std::sqrt(x);
  case F::rsqrt:
    return 1 / std::sqrt(x);
  case F::cbrt:
    return std::cbrt(x);
  case F::sin:
    return std::sin(x);
  case F::cos:
    return std::cos(x);
  case F::tan:
    return std::tan(x);
  case F::atan:
    return std::atan(x);
  case F::pow:
    return std::pow(x, y);
  case F::atan2:
    return std::atan2(x, y);
  }
  return NAN;
}

/// The distance of `got` from `expected` in units of the f32 around `expected`;
/// infinite where special values or the sign of zero differ. An overflow to
/// infinity counts as 2^128.
double ulpDistance(float got, double expected) {
  if (std::isnan(expected))
    return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got) || std::signbit(got) != std::signbit(expected))
    return INFINITY;
  if (std::isinf(expected))
    return std::isinf(got) ? 0 : INFINITY;
  double value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  if (std::abs(expected) >= 0x1p128)
    return std::isinf(got) ? 0 : INFINITY;
  int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
  return std::abs(value - expected) / std::ldexp(1.0, exponent - 23);
}

struct Worst {
  double ulp = 0;
  float x = 0, y = 0, got = 0;
  double expected = 0;
};

std::vector<F> unaryFunctions() {
  std::vector<F> result;
  for (size_t i = 0; i < mathFunctionCount; ++i)
    if (describe(F(i)).operands == 1)
      result.push_back(F(i));
  return result;
}

/// Feeds inputs in blocks to kernels of one function and keeps the worst error.
class Feeder {
public:
  Feeder(const MathKernels &kernels, F function)
      : kernels(kernels), function(function) {}

  void add(float value, float other = 0) {
    x[count] = value;
    y[count++] = other;
    if (count == MathKernels::size)
      flush();
  }
  Worst finish() {
    if (count)
      flush();
    return worst;
  }

private:
  void flush() {
    for (int64_t i = count; i < MathKernels::size; ++i)
      x[i] = y[i] = 1;
    kernels.run(function, out, x, y);
    for (int64_t i = 0; i < count; ++i) {
      double expected = reference(function, x[i], y[i]);
      double ulp = ulpDistance(out[i], expected);
      if (ulp > worst.ulp || std::isnan(ulp))
        worst = {ulp, x[i], y[i], out[i], expected};
    }
    count = 0;
  }

  const MathKernels &kernels;
  F function;
  int64_t count = 0;
  alignas(64) float x[MathKernels::size], y[MathKernels::size];
  alignas(64) float out[MathKernels::size];
  Worst worst;
};

void expectWithin(F function, const Worst &worst) {
  const MathFunctionInfo &info = describe(function);
  EXPECT_LE(worst.ulp, info.maximumUlp)
      << info.name.str() << "(" << worst.x << ", " << worst.y
      << ") = " << worst.got << ", expected " << worst.expected;
  ::testing::Test::RecordProperty(info.name.str(), std::to_string(worst.ulp));
}

float fromBf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

float fromF16(uint32_t bits) {
  float magnitude;
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    magnitude = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(float(fraction), -24);
  else
    magnitude = std::ldexp(float(fraction + 1024), int(exponent) - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

void testStride(const MathKernels &kernels, uint64_t stride) {
  for (F function : unaryFunctions()) {
    auto feeder = std::make_unique<Feeder>(kernels, function);
    for (uint64_t bits = 0; bits < 0x100000000; bits += stride)
      feeder->add(std::bit_cast<float>(uint32_t(bits)));
    Worst worst = feeder->finish();
    std::printf("%-9s %6.3f ulp at %.9g\n", describe(function).name.data(),
                worst.ulp, worst.x);
    expectWithin(function, worst);
  }
}

class MathExpansions : public ::testing::TestWithParam<FeatureSet> {
protected:
  MathExpansions() : kernels(GetParam(), 16) {}
  MathKernels kernels;
};

TEST_P(MathExpansions, AllBf16) {
  for (F function : unaryFunctions()) {
    auto feeder = std::make_unique<Feeder>(kernels, function);
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      feeder->add(fromBf16(bits));
    expectWithin(function, feeder->finish());
  }
}

TEST_P(MathExpansions, AllF16) {
  for (F function : unaryFunctions()) {
    auto feeder = std::make_unique<Feeder>(kernels, function);
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      feeder->add(fromF16(bits));
    expectWithin(function, feeder->finish());
  }
}

TEST_P(MathExpansions, StridedF32) { testStride(kernels, 9973); }

/// 148 million values per function: minutes, for when an expansion changes.
TEST_P(MathExpansions, DISABLED_DenselyStridedF32) { testStride(kernels, 29); }

/// Around the places where an expansion changes its method or its result
/// reaches a limit.
TEST_P(MathExpansions, Borders) {
  static constexpr float borders[] = {
      0.0f,      0x1p-149f, 0x1p-126f, 0x1p-100f, 0x1p-26f,      0.5f,
      0.625f,    2.0f / 3,  0.9275f,   1.0f,      4.0f / 3,      4.0f,
      10.0f,     10.054f,   10.1f,     17.33f,    88.72284f,     89.0f,
      87.33655f, 103.9721f, 104.0f,    1e5f,      9.99e4f,       0x1p23f,
      0x1p24f,   0x1p31f,   0x1p64f,   0x1p104f,  3.4028235e38f, 0.9966f,
      0x1p-12f,  0.9931f,   INFINITY,  NAN};
  for (F function : unaryFunctions()) {
    auto feeder = std::make_unique<Feeder>(kernels, function);
    for (float border : borders)
      for (int32_t i = -2000; i <= 2000; ++i) {
        uint32_t bits = std::bit_cast<uint32_t>(border) + uint32_t(i);
        feeder->add(std::bit_cast<float>(bits));
        feeder->add(std::bit_cast<float>(bits ^ 0x80000000u));
      }
    expectWithin(function, feeder->finish());
  }
}

/// What it promises, of all exponents that give a normal number; and what is
/// left of others.
TEST_P(MathExpansions, CoarseExp2) {
  static constexpr int64_t size = MathKernels::size;
  struct Buffer {
    alignas(64) float data[size];
  };
  auto in = std::make_unique<Buffer>(), out = std::make_unique<Buffer>();
  constexpr int64_t blocks = 64;
  double worst = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < size; ++i)
      in->data[i] =
          coarseExp2Shift +
          float(-126 + 126.75 * double(block * size + i) / (blocks * size));
    kernels.runCoarseExp2(out->data, in->data);
    for (int64_t i = 0; i < size; ++i) {
      double exact = std::exp2(double(in->data[i]) - coarseExp2Shift);
      worst = std::max(worst, std::abs(out->data[i] / exact - 1));
    }
  }
  EXPECT_LE(worst, 0x1p-18);
  EXPECT_GE(worst, 0x1p-19) << "the test sees the polynomial's error";

  const std::pair<float, float> others[] = {
      {0.0f, 1.0f},    {-1.0f, 0.5f},    {-126.0f, 0x1p-126f},
      {-127.0f, 0.0f}, {-200.0f, 0.0f},  {-INFINITY, 0.0f},
      {NAN, NAN},      {-3.0e38f, 0.0f},
  };
  for (auto [x, expected] : others) {
    std::fill(in->data, in->data + size, x + coarseExp2Shift);
    kernels.runCoarseExp2(out->data, in->data);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(out->data[0]));
    else
      EXPECT_EQ(out->data[0], expected) << x;
  }
}

/// The f32 closest to multiples of pi/2, where reduction cancels most.
TEST_P(MathExpansions, NearMultiplesOfHalfPi) {
  for (F function : {F::sin, F::cos, F::tan}) {
    auto feeder = std::make_unique<Feeder>(kernels, function);
    std::mt19937_64 random(7);
    for (int i = 0; i < 400000; ++i) {
      long double k = i < 200000 ? i : (long double)(random() >> (i % 40));
      float x = static_cast<float>(k * 1.57079632679489661923132169L);
      feeder->add(x);
      feeder->add(-std::nextafter(x, INFINITY));
    }
    // Known to lie within 2^-30 of a multiple.
    for (float x : {0x1.6ac5b2p+4f, 0x1.5be0e2p+24f, 16367173.0f * 0x1p72f,
                    0x1.921fb6p1f, 0x1.921fb6p0f})
      feeder->add(x);
    expectWithin(function, feeder->finish());
  }
}

TEST_P(MathExpansions, Pairs) {
  static constexpr float special[] = {
      0.0f,        0x1p-149f, 0x1p-126f,  0x1p-24f,      0.1f,
      1.0f / 3,    0.5f,      0.99f,      1.0f,          1.0000001f,
      1.5f,        2.0f,      2.5f,       3.0f,          4.0f,
      7.0f,        10.0f,     126.0f,     127.0f,        128.0f,
      149.0f,      150.0f,    8388607.0f, 8388608.5f,    16777215.0f,
      16777216.0f, 0x1p31f,   0x1p96f,    3.4028235e38f, INFINITY,
      NAN};
  for (F function : {F::pow, F::atan2}) {
    auto feeder = std::make_unique<Feeder>(kernels, function);
    for (float a : special)
      for (float b : special)
        for (int signs = 0; signs < 4; ++signs)
          feeder->add(signs & 1 ? -a : a, signs & 2 ? -b : b);
    std::mt19937_64 random(11);
    auto anyFloat = [&] { return std::bit_cast<float>(uint32_t(random())); };
    auto uniform = [&](double low, double high) {
      return float(low + (high - low) * double(random() >> 11) * 0x1p-53);
    };
    for (int i = 0; i < 300000; ++i) {
      feeder->add(anyFloat(), anyFloat());
      // Powers within range, and bases close to 1.
      float base = uniform(0.0, 4.0);
      feeder->add(base, uniform(-100, 100));
      float y = uniform(-160, 160);
      feeder->add(float(std::exp2(y / uniform(0.01, 60))), uniform(0.01, 60));
      feeder->add(uniform(0.999, 1.001), uniform(-1e5, 1e5));
      feeder->add(-base, float(int(uniform(-20, 20))));
    }
    expectWithin(function, feeder->finish());
  }
}

TEST_P(MathExpansions, SameBitsForAllLaneCountsAndFeatureSets) {
  std::vector<std::unique_ptr<MathKernels>> others;
  FeatureSet lowest = runnableFeatureSets().front();
  for (int64_t lanes : {0, 1, 4, 8, 16, 32}) {
    others.push_back(std::make_unique<MathKernels>(GetParam(), lanes));
    others.push_back(std::make_unique<MathKernels>(lowest, lanes));
  }
  static constexpr int64_t size = MathKernels::size;
  auto x = std::make_unique<float[]>(size + 16);
  struct Buffer {
    alignas(64) float data[size];
  };
  auto in = std::make_unique<Buffer>(), second = std::make_unique<Buffer>();
  auto expected = std::make_unique<Buffer>(), got = std::make_unique<Buffer>();
  std::mt19937_64 random(3);
  for (int block = 0; block < 12; ++block) {
    for (int64_t i = 0; i < size; ++i) {
      uint32_t bits = uint32_t(random());
      // Half of the values where functions are not constant.
      if (i % 2)
        bits = (bits & 0x80ffffff) | (0x3c + bits / 0x1000000 % 7) << 24;
      in->data[i] = std::bit_cast<float>(bits);
      second->data[i] =
          std::bit_cast<float>((uint32_t(random()) & 0x80ffffff) | 0x3f000000);
    }
    for (size_t f = 0; f < mathFunctionCount; ++f) {
      kernels.run(F(f), expected->data, in->data, second->data);
      for (size_t k = 0; k < others.size(); ++k) {
        others[k]->run(F(f), got->data, in->data, second->data);
        for (int64_t i = 0; i < size; ++i) {
          uint32_t a = std::bit_cast<uint32_t>(expected->data[i]);
          uint32_t b = std::bit_cast<uint32_t>(got->data[i]);
          bool bothNan =
              std::isnan(expected->data[i]) && std::isnan(got->data[i]);
          ASSERT_TRUE(a == b || bothNan)
              << describe(F(f)).name.str() << "(" << in->data[i] << ", "
              << second->data[i] << ") = " << expected->data[i] << " or "
              << got->data[i] << " in variant " << k;
        }
      }
    }
  }
}

TEST_P(MathExpansions, Double) {
  for (int64_t lanes : {0, 4}) {
    MathKernels wide(GetParam(), lanes, /*isDouble=*/true);
    static constexpr int64_t size = MathKernels::size;
    struct Buffer {
      alignas(64) double data[size];
    };
    auto in = std::make_unique<Buffer>(), second = std::make_unique<Buffer>();
    auto out = std::make_unique<Buffer>();
    std::mt19937_64 random(5);
    for (int64_t i = 0; i < size; ++i) {
      in->data[i] = double(random() >> 11) * 0x1p-52 - 1;
      second->data[i] = double(random() >> 11) * 0x1p-50 - 4;
    }
    in->data[0] = 0.0;
    in->data[1] = -0.0;
    in->data[2] = 1.0;
    in->data[3] = -1.0;
    in->data[4] = 1 - 0x1p-53;
    in->data[5] = INFINITY;
    in->data[6] = -INFINITY;
    in->data[7] = NAN;
    in->data[8] = 1 - 0x1p-30;
    in->data[9] = 1e-300;
    for (size_t f = 0; f < mathFunctionCount; ++f) {
      wide.run(F(f), out->data, in->data, second->data);
      for (int64_t i = 0; i < size; ++i) {
        double expected = reference(F(f), in->data[i], second->data[i]);
        double got = out->data[i];
        if (std::isnan(expected) || std::isinf(expected) || expected == 0) {
          EXPECT_TRUE(std::isnan(expected)
                          ? std::isnan(got)
                          : got == expected &&
                                std::signbit(got) == std::signbit(expected))
              << describe(F(f)).name.str() << "(" << in->data[i]
              << ") = " << got << ", expected " << expected;
          continue;
        }
        EXPECT_NEAR(got, expected, std::abs(expected) * 0x1p-50)
            << describe(F(f)).name.str() << "(" << in->data[i] << ")";
      }
    }
  }
}

long double wideReference(F function, long double x, long double y) {
  switch (function) {
  case F::exp:
    return std::exp(x);
  case F::expm1:
    return std::expm1(x);
  case F::log:
    return std::log(x);
  case F::log1p:
    return std::log1p(x);
  case F::tanh:
    return std::tanh(x);
  case F::erf:
    return std::erf(x);
  case F::erfc:
    return std::erfc(x);
  case F::cbrt:
    return std::cbrt(x);
  case F::sin:
    return std::sin(x);
  case F::cos:
    return std::cos(x);
  case F::tan:
    return std::tan(x);
  case F::atan:
    return std::atan(x);
  case F::pow:
    return std::pow(x, y);
  case F::atan2:
    return std::atan2(x, y);
  default:
    return reference(function, double(x), double(y));
  }
}

/// Units in the last place of f64 that `got` is off; infinite where special
/// values or the sign of zero differ.
double doubleUlps(double got, long double expected) {
  const double rounded = double(expected);
  if (std::isnan(got) || std::isnan(rounded))
    return std::isnan(got) == std::isnan(rounded) ? 0 : INFINITY;
  if (std::isinf(got) || std::isinf(rounded))
    return got == rounded ? 0 : INFINITY;
  if ((got == 0 || rounded == 0) && std::signbit(got) != std::signbit(rounded))
    return INFINITY;
  const int exponent = std::max(
      std::ilogb(rounded == 0 ? std::numeric_limits<double>::denorm_min()
                              : rounded),
      -1022);
  return double(std::abs((long double)(got)-expected) /
                std::ldexp(1.0L, exponent - 52));
}

/// As for a GPU, which has no library: over all sizes of numbers, those around
/// 1, whole ones and special ones.
TEST(MathExpansionsWithoutLibrary, Double) {
  static constexpr int64_t size = MathKernels::size;
  struct Buffer {
    alignas(64) double data[size];
  };
  auto in = std::make_unique<Buffer>(), second = std::make_unique<Buffer>();
  auto out = std::make_unique<Buffer>();
  std::mt19937_64 random(7);
  const double special[] = {0.0,
                            -0.0,
                            1.0,
                            -1.0,
                            INFINITY,
                            -INFINITY,
                            NAN,
                            2.0,
                            -3.0,
                            0.5,
                            0x1p-1074,
                            -0x1p-1074,
                            0x1p-1022,
                            0x1.fffffffffffffp1023,
                            709.78271289338397,
                            -745.13321910194122,
                            1 - 0x1p-53,
                            0x1p53,
                            26.5,
                            2.5};
  auto numberLike = [&](int64_t i) {
    const uint64_t bits = random();
    switch (i % 4) {
    case 0:
      return std::bit_cast<double>(bits);
    case 1: // not far from 1
      return std::bit_cast<double>((bits & ~(uint64_t(0x7ff) << 52)) |
                                   (0x3f0 + bits % 27) << 52);
    case 2:
      return double(int64_t(bits) >> 40) * 0x1p-14;
    default:
      return double(int64_t(bits) >> 58);
    }
  };
  for (int64_t i = 0; i < size; ++i) {
    in->data[i] = numberLike(i);
    second->data[i] = numberLike(i / 4);
  }
  const int64_t count = std::size(special);
  for (int64_t i = 0; i < count * count; ++i) {
    in->data[i] = special[i / count];
    second->data[i] = special[i % count];
  }
  std::map<F, double> most = {{F::erfc, 3}, {F::logistic, 2}};
  for (int64_t lanes : {0, 4}) {
    MathKernels wide(runnableFeatureSets().front(), lanes, /*isDouble=*/true,
                     /*hasMathLibrary=*/false);
    for (size_t f = 0; f < mathFunctionCount; ++f) {
      if (F(f) == F::erfInv) // solves by erf, erfc, log and exp
        continue;
      wide.run(F(f), out->data, in->data, second->data);
      double worst = 0;
      int64_t at = 0;
      for (int64_t i = 0; i < size; ++i) {
        const double ulps = doubleUlps(
            out->data[i], wideReference(F(f), in->data[i], second->data[i]));
        if (ulps > worst)
          worst = ulps, at = i;
      }
      EXPECT_LE(worst, most.contains(F(f)) ? most[F(f)] : 0.51)
          << describe(F(f)).name.str() << "(" << in->data[at] << ", "
          << second->data[at] << ") = " << out->data[at];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FeatureSets, MathExpansions,
                         ::testing::ValuesIn(runnableFeatureSets()),
                         [](const auto &info) {
                           std::string name =
                               std::string(info.param.info().featureSet);
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return name;
                         });

} // namespace
