//===- HoldingTest.cpp - Tensors in other forms there and back ------------===//
//
// Every rule writes what it says and gives the tensor's bytes back.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Holding.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace tenon;
using namespace tenon::format;

namespace {

/// A tensor, what holds it, and the bytes of both.
struct Example {
  Index index;
  Tensor tensor;
  Holding holding;
  std::vector<std::vector<std::byte>> stored;

  Example(HoldingRule rule, ElementType type, std::vector<int64_t> shape,
          std::vector<Storage> storages, std::vector<int64_t> order = {}) {
    tensor.type = type;
    tensor.shape = std::move(shape);
    holding = {rule, {}, std::move(order)};
    for (Storage &storage : storages) {
      holding.storages.push_back(uint32_t(index.storages.size()));
      stored.emplace_back(bytesOf(storage.type, storage.shape),
                          std::byte(0xa5));
      index.storages.push_back(std::move(storage));
    }
  }

  std::string whyNot() const { return whyNotHeld(index, tensor, holding); }

  /// Writes the values and reads them again.
  template <typename T>
  std::vector<T> roundTrip(const std::vector<T> &values) {
    EXPECT_EQ(whyNot(), "");
    std::vector<std::span<std::byte>> spans(stored.begin(), stored.end());
    writeHeld(index, tensor, holding, std::as_bytes(std::span(values)), spans);
    std::vector<T> back(values.size());
    readHeld(index, tensor, holding, spans,
             std::as_writable_bytes(std::span(back)));
    return back;
  }
  template <typename T>
  std::vector<T> storedAs(size_t storage = 0) const {
    std::vector<T> values(stored[storage].size() / sizeof(T));
    std::memcpy(values.data(), stored[storage].data(), stored[storage].size());
    return values;
  }
};

using enum ElementType;
using enum HoldingRule;
using Bits = std::vector<uint32_t>;
using Floats = std::vector<float>;

std::vector<uint32_t> bitPatterns() {
  std::mt19937 generator(3);
  std::vector<uint32_t> bits;
  for (uint32_t high = 0; high < 0x10000; high += 7)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu,
                         uint32_t(generator() & 0xffff)})
      bits.push_back(high << 16 | low);
  return bits;
}

} // namespace

TEST(Holding, AsItIsIsTheSameBytes) {
  Example example(asItIs, i32, {3}, {{i32, {3}}});
  std::vector<int32_t> values{1, -2, 3};
  EXPECT_EQ(example.roundTrip(values), values);
  EXPECT_EQ(example.storedAs<int32_t>(), values);
}

TEST(Holding, TwoPartsGiveAllBitsBack) {
  Bits bits = bitPatterns();
  auto count = int64_t(bits.size());
  Example example(highAndLow, f32, {count}, {{bf16, {count}}, {i16, {count}}});
  EXPECT_EQ(example.roundTrip(bits), bits);
}

TEST(Holding, TheHighPartIsTheNearestOfItsType) {
  // 1, 1 and half a step (goes up), less than that, -3 and a step and a half,
  // the largest, infinity.
  Bits bits{0x3f800000, 0x3f808000, 0x3f807fff,
            0xc0418000, 0x7f7fffff, 0x7f800000};
  Example example(highAndLow, f32, {6}, {{bf16, {6}}, {i16, {6}}});
  EXPECT_EQ(example.roundTrip(bits), bits);
  EXPECT_EQ(
      example.storedAs<uint16_t>(0),
      (std::vector<uint16_t>{0x3f80, 0x3f81, 0x3f80, 0xc042, 0x7f80, 0x7f80}));
  EXPECT_EQ(example.storedAs<int16_t>(1),
            (std::vector<int16_t>{0, -32768, 32767, -32768, -1, 0}));
  for (float nan : {std::nanf(""), -std::nanf("")}) {
    example.roundTrip(Floats(6, nan));
    uint32_t high = uint32_t(example.storedAs<uint16_t>(0)[0]) << 16;
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(high)));
  }
}

TEST(Holding, WiderTypesGiveAllBitsBack) {
  Bits bits = bitPatterns();
  std::erase_if(bits, [](uint32_t value) {
    return std::isnan(std::bit_cast<float>(value));
  });
  auto count = int64_t(bits.size());
  Example example(converted, f32, {count}, {{f64, {count}}});
  EXPECT_EQ(example.roundTrip(bits), bits);
  auto wide = example.storedAs<double>();
  for (size_t i = 0; i < bits.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint64_t>(wide[i]),
              std::bit_cast<uint64_t>(double(std::bit_cast<float>(bits[i]))))
        << bits[i];
}

TEST(Holding, NarrowerTypesRoundAsTheProcessorDoes) {
  std::mt19937_64 generator(5);
  std::vector<double> values{0.0,
                             -0.0,
                             1.0,
                             1e-45,
                             0.7e-45,
                             0.70065e-45,
                             3e38,
                             3.5e38,
                             -1e300,
                             5e-324,
                             std::numeric_limits<double>::infinity()};
  for (int i = 0; i < 20000; ++i) {
    double value = std::bit_cast<double>(generator());
    if (!std::isnan(value))
      values.push_back(value);
    // Near the subnormal numbers and half way between two floats.
    values.push_back(std::ldexp(double(generator() >> 11), -202));
    values.push_back(double(float(generator())) * (1 + std::ldexp(1, -24)));
  }
  auto count = int64_t(values.size());
  Example example(converted, f64, {count}, {{f32, {count}}});
  example.roundTrip(values);
  auto narrow = example.storedAs<uint32_t>();
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(narrow[i], std::bit_cast<uint32_t>(float(values[i])))
        << values[i];
}

TEST(Holding, Bf16OfF32AndOfTheSameF64AreTheSame) {
  Bits patterns = bitPatterns();
  Floats floats(patterns.size());
  std::memcpy(floats.data(), patterns.data(), 4 * patterns.size());
  std::vector<double> doubles(floats.begin(), floats.end());
  auto count = int64_t(patterns.size());
  Example fromF32(converted, f32, {count}, {{bf16, {count}}}),
      fromF64(converted, f64, {count}, {{bf16, {count}}});
  fromF32.roundTrip(floats);
  fromF64.roundTrip(doubles);
  auto found = fromF32.storedAs<uint16_t>(),
       expected = fromF64.storedAs<uint16_t>();
  for (size_t i = 0; i < patterns.size(); ++i)
    ASSERT_EQ(found[i], expected[i]) << std::hex << patterns[i];
}

TEST(Holding, SixteenBitsAreRoundedOnce) {
  // Half way between two bf16 only when rounded to f32 before: goes down.
  std::vector<double> values{1 + std::ldexp(3, -8) - std::ldexp(1, -40),
                             65504,
                             65520,
                             std::ldexp(1, -24),
                             std::ldexp(1, -25),
                             std::nan("")};
  Example brain(converted, f64, {6}, {{bf16, {6}}});
  brain.roundTrip(values);
  EXPECT_EQ(brain.storedAs<uint16_t>()[0], 0x3f81);
  Example half(converted, f64, {6}, {{f16, {6}}});
  auto back = half.roundTrip(values);
  // The largest, one that is beyond it, the least, half of it, NaN.
  std::vector<uint16_t> stored = half.storedAs<uint16_t>();
  EXPECT_EQ(stored[1], 0x7bff);
  EXPECT_EQ(stored[2], 0x7c00);
  EXPECT_EQ(stored[3], 0x0001);
  EXPECT_EQ(stored[4], 0x0000);
  EXPECT_EQ(back[1], 65504);
  EXPECT_EQ(back[3], std::ldexp(1, -24));
  EXPECT_TRUE(std::isnan(back[5]));
}

TEST(Holding, OtherLayoutsMoveElements) {
  Example example(laidOut, i16, {2, 3, 1}, {{i16, {3, 1, 2}}}, {1, 2, 0});
  std::vector<int16_t> values{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(example.roundTrip(values), values);
  EXPECT_EQ(example.storedAs<int16_t>(),
            (std::vector<int16_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Holding, PaddingIsZero) {
  Example example(padded, i16, {2, 2}, {{i16, {3, 4}}});
  std::vector<int16_t> values{1, 2, 3, 4};
  EXPECT_EQ(example.roundTrip(values), values);
  EXPECT_EQ(example.storedAs<int16_t>(),
            (std::vector<int16_t>{1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0}));
}

TEST(Holding, SaysWhatItIs) {
  auto words = [](const Example &example) {
    return describe(example.index, example.holding);
  };
  EXPECT_EQ(words({converted, f32, {2}, {{bf16, {2}}}}), "converted to bf16");
  EXPECT_EQ(words({laidOut, f32, {2, 3}, {{f32, {3, 2}}}, {1, 0}}),
            "laid out as f32[3, 2]");
  EXPECT_EQ(words({padded, f32, {2}, {{f32, {4}}}}), "padded to f32[4]");
  EXPECT_EQ(words({highAndLow, f32, {2}, {{bf16, {2}}, {i16, {2}}}}),
            "in two parts, a bf16 and an i16");
}

TEST(Holding, RefusesWhatDoesNotFit) {
  for (const Example &wrong :
       {Example(asItIs, f32, {2}, {{f32, {3}}}),
        Example(asItIs, f32, {2}, {{i32, {2}}}),
        Example(converted, f32, {2}, {{i32, {2}}}),
        Example(converted, f32, {2}, {{f32, {2}}}),
        Example(converted, f32, {2}, {{bf16, {3}}}),
        Example(laidOut, f32, {2, 3}, {{f32, {3, 2}}}, {0, 1}),
        Example(laidOut, f32, {2, 2}, {{f32, {2, 2}}}, {0, 0}),
        Example(laidOut, f32, {2, 2}, {{f32, {2, 2}}}, {0, 2}),
        Example(laidOut, f32, {2, 2}, {{f32, {2, 2}}}, {0, -1}),
        Example(laidOut, f32, {2, 3}, {{f32, {3, 2}}}, {1}),
        Example(laidOut, f32, {2, 3}, {{f32, {3, 2}}}),
        Example(padded, f32, {2, 3}, {{f32, {6}}}),
        Example(padded, f32, {2}, {{f32, {1}}}),
        Example(padded, f32, {2}, {{f64, {2}}}),
        Example(highAndLow, f64, {2}, {{bf16, {2}}, {i16, {2}}}),
        Example(highAndLow, f32, {2}, {{i16, {2}}, {bf16, {2}}}),
        Example(highAndLow, f32, {2}, {{bf16, {2}}, {i16, {1}}})})
    EXPECT_NE(wrong.whyNot().find("expected"), std::string::npos)
        << name(wrong.holding.rule) << " " << wrong.whyNot();
  EXPECT_EQ(Example(asItIs, f32, {2}, {{f32, {2}}, {f32, {2}}}).whyNot(),
            "has 2 stored tensors, as_it_is needs 1");
}
