//===- InstructionsTest.cpp - Every class of instruction, by its value ----===//

#include "Device.h"
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>

using namespace tenon::test;

namespace {

/// 32 interesting triples; every lane computes one.
std::vector<uint64_t> operands(unsigned which, unsigned bits, bool isFloat) {
  std::vector<uint64_t> values;
  const uint32_t floats[] = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000,
                             0x40490FDB, 0x00000001, 0x807FFFFF, 0x7F7FFFFF,
                             0x7F800000, 0xFF800000, 0x7FC00000, 0x3EAAAAAB,
                             0x4B000001, 0xCB800003, 0x33800001, 0x3F7FFFFF};
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t mixed = (lane + 1) * (which + 1) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 29;
    unsigned pick = (lane * (2 * which + 1) + which * (lane / 16)) % 16;
    uint64_t value =
        isFloat ? (bits == 32 ? floats[pick]
                              : std::bit_cast<uint64_t>(
                                    double(std::bit_cast<float>(floats[pick]))))
        : lane < 4 ? lane
                   : mixed;
    values.push_back(bits == 64 ? value : value & ((uint64_t(1) << bits) - 1));
  }
  return values;
}

using Function = std::function<uint64_t(uint64_t, uint64_t, uint64_t)>;

/// Runs `opcode %d, %a, %b, %c;` (the operands that the text names) and
/// compares all lanes.
void check(const std::string &opcode, unsigned resultBits, unsigned bits,
           unsigned count, bool isFloat, const Function &expected,
           bool shiftAmounts = false, unsigned target = 90) {
  SCOPED_TRACE(opcode);
  Device device({{"SM", std::to_string(target)}});
  auto reg = [](unsigned width) {
    return width == 16   ? std::string("%rs")
           : width == 32 ? std::string("%r")
                         : std::string("%rd");
  };
  std::string list = reg(resultBits) + "15";
  std::vector<std::vector<uint64_t>> values;
  std::string loads;
  std::vector<CUdeviceptr> pointers;
  for (unsigned i = 0; i < 3; ++i) {
    bool amount = shiftAmounts && i > 0;
    values.push_back(operands(i, amount ? 5 : bits, isFloat));
    pointers.push_back(device.upload(values[i]));
    unsigned width = amount ? 32 : bits;
    loads += "ld.global.b" + std::to_string(width) + " " + reg(width) +
             std::to_string(16 + i) + ", [%rd1" + std::to_string(i) + "];\n";
    if (i < count)
      list += ", " + reg(width) + std::to_string(16 + i);
  }
  CUdeviceptr result = device.upload(std::vector<uint64_t>(32));
  pointers.push_back(result);
  CUfunction function = device.load(kernel(
      loads + opcode + " " + list + ";\nst.global.b" +
          std::to_string(resultBits) + " [%rd13], " + reg(resultBits) + "15;",
      "", target));
  ASSERT_TRUE(function);
  ASSERT_EQ(device.run(function, 1, 32, pointers), CUDA_SUCCESS)
      << tenonEmulatedCudaError();
  auto got = device.download<uint64_t>(result, 32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint64_t want = expected(values[0][lane], values[1][lane], values[2][lane]);
    if (resultBits < 64)
      want &= (uint64_t(1) << resultBits) - 1;
    EXPECT_EQ(got[lane], want) << std::hex << values[0][lane] << " "
                               << values[1][lane] << " " << values[2][lane];
  }
}

uint64_t word(float x) {
  return x != x ? 0x7FFFFFFF : std::bit_cast<uint32_t>(x);
}
float number(uint64_t word) { return std::bit_cast<float>(uint32_t(word)); }

TEST(Instructions, Integers) {
  using U = uint64_t;
  check("add.s32", 32, 32, 2, false, [](U a, U b, U) { return a + b; });
  check("sub.s64", 64, 64, 2, false, [](U a, U b, U) { return a - b; });
  check("mul.lo.s32", 32, 32, 2, false, [](U a, U b, U) { return a * b; });
  check("mul.lo.s16", 16, 16, 2, false, [](U a, U b, U) { return a * b; });
  check("mul.hi.u32", 32, 32, 2, false,
        [](U a, U b, U) { return a * b >> 32; });
  check("mul.hi.s64", 64, 64, 2, false,
        [](U a, U b, U) { return U(__int128(int64_t(a)) * int64_t(b) >> 64); });
  check("mul.wide.s32", 64, 32, 2, false,
        [](U a, U b, U) { return U(int64_t(int32_t(a)) * int32_t(b)); });
  check("mad.lo.s32", 32, 32, 3, false,
        [](U a, U b, U c) { return a * b + c; });
  check("min.s32", 32, 32, 2, false,
        [](U a, U b, U) { return U(std::min(int32_t(a), int32_t(b))); });
  check("max.u64", 64, 64, 2, false,
        [](U a, U b, U) { return std::max(a, b); });
  check("abs.s32", 32, 32, 1, false,
        [](U a, U, U) { return U(std::abs(int64_t(int32_t(a)))); });
  check("neg.s64", 64, 64, 1, false, [](U a, U, U) { return -a; });
  check("and.b32", 32, 32, 2, false, [](U a, U b, U) { return a & b; });
  check("xor.b64", 64, 64, 2, false, [](U a, U b, U) { return a ^ b; });
  check("not.b16", 16, 16, 1, false, [](U a, U, U) { return ~a; });
  check("shl.b32", 32, 32, 2, false, [](U a, U b, U) { return a << b; }, true);
  check(
      "shr.s32", 32, 32, 2, false,
      [](U a, U b, U) { return U(int32_t(a) >> b); }, true);
  check("shr.u64", 64, 64, 2, false, [](U a, U b, U) { return a >> b; }, true);
  check("shf.l.wrap.b32", 32, 32, 3, false,
        [](U a, U b, U c) { return (b << 32 | a) << (c & 31) >> 32; });
  check("popc.b32", 32, 32, 1, false,
        [](U a, U, U) { return U(std::popcount(a)); });
  check("clz.b32", 32, 32, 1, false,
        [](U a, U, U) { return U(std::countl_zero(uint32_t(a))); });
  check("brev.b32", 32, 32, 1, false,
        [](U a, U, U) { return U(__builtin_bitreverse32(a)); });
  check(
      "bfe.u32", 32, 32, 3, false,
      [](U a, U b, U c) { return c ? (a >> b) & ((U(1) << c) - 1) : 0; }, true);
  check("prmt.b32", 32, 32, 3, false, [](U a, U b, U c) {
    U result = 0;
    for (int i = 0; i < 4; ++i) {
      U selector = c >> (4 * i) & 15,
        byte = ((b << 32 | a) >> (8 * (selector & 7))) & 255;
      result |= (selector & 8 ? (byte >> 7) * 255 : byte) << (8 * i);
    }
    return result;
  });
}

TEST(Instructions, PairsOfIntegers) {
  using U = uint64_t;
  auto inHalves = [](auto function) {
    return [=](U a, U b, U) {
      return (function(uint16_t(a >> 16), uint16_t(b >> 16)) & 0xFFFF) << 16 |
             (function(uint16_t(a), uint16_t(b)) & 0xFFFF);
    };
  };
  auto isLess = [](uint16_t a, uint16_t b) { return int16_t(a) < int16_t(b); };
  auto sum = [](uint16_t a, uint16_t b) { return U(a) + b; };
  check("add.s16x2", 32, 32, 2, false, inHalves(sum));
  check("add.u16x2", 32, 32, 2, false, inHalves(sum));
  check("min.s16x2", 32, 32, 2, false, inHalves([=](uint16_t a, uint16_t b) {
          return U(isLess(a, b) ? a : b);
        }));
  check("max.s16x2", 32, 32, 2, false, inHalves([=](uint16_t a, uint16_t b) {
          return U(isLess(a, b) ? b : a);
        }));
  check("min.u16x2", 32, 32, 2, false,
        inHalves([](uint16_t a, uint16_t b) { return U(std::min(a, b)); }));
  check("max.u16x2", 32, 32, 2, false,
        inHalves([](uint16_t a, uint16_t b) { return U(std::max(a, b)); }));
  // They came with sm_90.
  Device device({{"SM", "89"}});
  EXPECT_FALSE(device.load(kernel("min.s16x2 %r15, %r16, %r17;", "", 89)));
}

TEST(Instructions, Floats) {
  using U = uint64_t;
  check("add.rn.f32", 32, 32, 2, true,
        [](U a, U b, U) { return word(number(a) + number(b)); });
  check("mul.rn.f32", 32, 32, 2, true,
        [](U a, U b, U) { return word(number(a) * number(b)); });
  check("fma.rn.f32", 32, 32, 3, true, [](U a, U b, U c) {
    return word(std::fma(number(a), number(b), number(c)));
  });
  check("div.rn.f32", 32, 32, 2, true,
        [](U a, U b, U) { return word(number(a) / number(b)); });
  check("sqrt.rn.f32", 32, 32, 1, true,
        [](U a, U, U) { return word(std::sqrt(number(a))); });
  check("rcp.rn.f32", 32, 32, 1, true,
        [](U a, U, U) { return word(1 / number(a)); });
  check("min.f32", 32, 32, 2, true, [](U a, U b, U) {
    float x = number(a), y = number(b);
    return word(x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y));
  });
  check("max.NaN.f32", 32, 32, 2, true, [](U a, U b, U) {
    float x = number(a), y = number(b);
    return word(x != x || y != y ? NAN
                : x == y         ? (std::signbit(x) ? y : x)
                                 : std::max(x, y));
  });
  check("add.rn.ftz.f32", 32, 32, 2, true, [](U a, U b, U) {
    auto flush = [](float x) {
      return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.f, x) : x;
    };
    return word(flush(flush(number(a)) + flush(number(b))));
  });
  check("mul.rn.f64", 64, 64, 2, true, [](U a, U b, U) {
    return std::bit_cast<U>(std::bit_cast<double>(a) *
                            std::bit_cast<double>(b));
  });
  check("cvt.rzi.s32.f32", 32, 32, 1, true, [](U a, U, U) {
    float x = number(a);
    return x != x ? 0
                  : U(int64_t(std::clamp(std::trunc(double(x)), -2147483648.0,
                                         2147483647.0)));
  });
  check("cvt.rn.f32.s64", 32, 64, 1, false,
        [](U a, U, U) { return word(float(int64_t(a))); });
  check("cvt.rn.bf16.f32", 16, 32, 1, true, [](U a, U, U) {
    if (number(a) != number(a))
      return U(0x7FFF);
    return (a + 0x7FFF + (a >> 16 & 1)) >> 16;
  });
  check("cvt.rn.f16.f32", 16, 32, 1, true, [](U a, U, U) {
    if (number(a) != number(a))
      return U(0x7FFF);
    return U(std::bit_cast<uint16_t>(static_cast<_Float16>(number(a))));
  });
}

/// Directed roundings as this processor does them.
TEST(Instructions, DirectedRoundings) {
  using U = uint64_t;
  for (auto [letter, mode] :
       {std::pair{'m', FE_DOWNWARD}, {'p', FE_UPWARD}, {'z', FE_TOWARDZERO}}) {
    auto rounded = [mode = mode](auto compute) {
      fesetround(mode);
      volatile float result = compute();
      fesetround(FE_TONEAREST);
      return word(result);
    };
    std::string suffix = std::string(".r") + letter + ".f32";
    check("add" + suffix, 32, 32, 2, true, [=](U a, U b, U) {
      volatile float x = number(a), y = number(b);
      return rounded([&] { return x + y; });
    });
    check("mul" + suffix, 32, 32, 2, true, [=](U a, U b, U) {
      volatile float x = number(a), y = number(b);
      return rounded([&] { return x * y; });
    });
    check("fma" + suffix, 32, 32, 3, true, [=](U a, U b, U c) {
      volatile float x = number(a), y = number(b), z = number(c);
      return rounded([&] { return std::fma(x, y, z); });
    });
  }
}

/// Half arithmetic against the compiler's, which rounds once as well.
TEST(Instructions, Halves) {
  using U = uint64_t;
  auto half = [](U a) { return std::bit_cast<_Float16>(uint16_t(a)); };
  auto back = [](_Float16 x) {
    return x != x ? U(0x7FFF) : U(std::bit_cast<uint16_t>(x));
  };
  check("add.rn.f16", 16, 16, 2, false,
        [&](U a, U b, U) { return back(half(a) + half(b)); });
  check("mul.rn.f16", 16, 16, 2, false,
        [&](U a, U b, U) { return back(half(a) * half(b)); });
  check("fma.rn.f16", 16, 16, 3, false, [&](U a, U b, U c) {
    return back(
        _Float16((__float128)(float)half(a) * (float)half(b) + (float)half(c)));
  });
  check("add.rn.f16x2", 32, 32, 2, false, [&](U a, U b, U) {
    return back(half(a) + half(b)) | back(half(a >> 16) + half(b >> 16)) << 16;
  });
}

TEST(Instructions, MagnitudesOfHalvesMayFlush) {
  check("abs.ftz.f16", 16, 16, 1, false, [](uint64_t a, uint64_t, uint64_t) {
    return a & 0x7C00 ? a & 0x7FFF : 0;
  });
}

/// From sm_100 on f32 takes operands of 16 bits as they are.
TEST(Instructions, SumsOfF32AndHalves) {
  Device device({{"SM", "120"}});
  CUdeviceptr to = device.upload(std::vector<uint64_t>(32));
  auto result = [&](const std::string &opcode, const std::string &operands) {
    CUfunction function = device.load(
        kernel("mov.b16 %rs15, 0x3E00;\nmov.b16 %rs16, 0xBFC0;\n" + opcode +
                   " %r1, " + operands + ";\nst.global.b32 [%rd10], %r1;",
               "", 120));
    EXPECT_TRUE(function) << opcode;
    EXPECT_EQ(device.run(function, 1, 32, {to, to, to, to}), CUDA_SUCCESS);
    return number(device.download<uint64_t>(to, 1).front());
  };
  // 1.5 in f16 and -1.5 in bf16, and 0.25.
  EXPECT_EQ(result("add.rn.f32.f16", "%rs15, 0f3E800000"), 1.75f);
  EXPECT_EQ(result("sub.rn.f32.f16", "%rs15, 0f3E800000"), 1.25f);
  EXPECT_EQ(result("fma.rn.f32.f16", "%rs15, %rs15, 0f3E800000"), 2.5f);
  EXPECT_EQ(result("add.rn.f32.bf16", "%rs16, 0f3E800000"), -1.25f);
  EXPECT_EQ(result("fma.rn.f32.bf16", "%rs16, %rs16, 0f3E800000"), 2.5f);
}

TEST(Instructions, NegativesOfHalvesMayFlush) {
  check("neg.ftz.f16", 16, 16, 1, false, [](uint64_t a, uint64_t, uint64_t) {
    return (a & 0x7C00 ? a : a & 0x8000) ^ 0x8000;
  });
}

TEST(Instructions, KindsOfDoubles) {
  Device device;
  CUdeviceptr to = device.upload(std::vector<uint64_t>(32));
  auto isOfKind = [&](const std::string &kind, const std::string &number) {
    CUfunction function =
        device.load(kernel("mov.b64 %rd15, " + number + ";\ntestp." + kind +
                           ".f64 %p1, %rd15;\nselp.b32 %r1, 1, 0, %p1;\n"
                           "st.global.b32 [%rd10], %r1;"));
    EXPECT_TRUE(function);
    EXPECT_EQ(device.run(function, 1, 32, {to, to, to, to}), CUDA_SUCCESS);
    return device.download<uint64_t>(to, 1).front() == 1;
  };
  const std::string infinity = "0d7FF0000000000000", one = "0d3FF0000000000000",
                    least = "0d0000000000000001", nan = "0d7FF8000000000000";
  EXPECT_TRUE(isOfKind("infinite", infinity));
  EXPECT_FALSE(isOfKind("infinite", one));
  EXPECT_TRUE(isOfKind("finite", one));
  EXPECT_TRUE(isOfKind("subnormal", least));
  EXPECT_FALSE(isOfKind("normal", least));
  EXPECT_TRUE(isOfKind("notanumber", nan));
  EXPECT_FALSE(isOfKind("number", nan));
}

TEST(Instructions, PairsOfFloats) {
  using U = uint64_t;
  auto both = [](auto function, auto... pairs) {
    return word(function(number(pairs & UINT32_MAX)...)) |
           word(function(number(pairs >> 32)...)) << 32;
  };
  auto inPairs = [&](const char *opcode, unsigned count, const Function &f) {
    check(opcode, 64, 64, count, false, f, false, 120);
  };
  inPairs("add.rn.f32x2", 2, [&](U a, U b, U) {
    return both([](float x, float y) { return x + y; }, a, b);
  });
  inPairs("sub.rn.f32x2", 2, [&](U a, U b, U) {
    return both([](float x, float y) { return x - y; }, a, b);
  });
  inPairs("mul.rn.f32x2", 2, [&](U a, U b, U) {
    return both([](float x, float y) { return x * y; }, a, b);
  });
  inPairs("fma.rn.f32x2", 3, [&](U a, U b, U c) {
    return both([](float x, float y, float z) { return std::fma(x, y, z); }, a,
                b, c);
  });
  inPairs("mul.rn.ftz.f32x2", 2, [&](U a, U b, U) {
    auto flush = [](float x) {
      return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.f, x) : x;
    };
    return both([&](float x, float y) { return flush(flush(x) * flush(y)); }, a,
                b);
  });
  Device device;
  EXPECT_FALSE(device.load(kernel("add.rn.f32x2 %rd15, %rd16, %rd17;")));
}

TEST(Instructions, ApproximationsStayWithinTheirBounds) {
  struct Case {
    const char *opcode;
    double (*function)(double);
    double relative, absolute;
  };
  const Case cases[] = {
      {"ex2.approx.f32", std::exp2, 0x1p-22, 0},
      {"rcp.approx.f32", [](double x) { return 1 / x; }, 0x1p-23, 0},
      {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 1.276e-7,
       0},
      {"sqrt.approx.f32", std::sqrt, 0x1p-23, 0},
      {"tanh.approx.f32", std::tanh, 0x1p-11, 0},
      {"lg2.approx.f32", std::log2, 0x1p-22, 0x1p-22},
      {"sin.approx.f32", std::sin, 0, 6.75e-7}};
  for (const Case &line : cases) {
    unsigned different = 0;
    std::vector<uint32_t> exact;
    for (const char *seed : {"0", "7"}) {
      Device device({{"APPROXIMATE", seed}});
      std::vector<uint64_t> x;
      for (int i = 0; i < 32; ++i)
        x.push_back(std::bit_cast<uint32_t>(0.3f + 0.17f * i));
      CUdeviceptr in = device.upload(x), out = device.upload(x);
      CUfunction function = device.load(
          kernel(std::string("ld.global.b32 %r1, [%rd10];\n") + line.opcode +
                 " %r2, %r1;\nst.global.b32 [%rd11], %r2;"));
      ASSERT_TRUE(function) << line.opcode;
      ASSERT_EQ(device.run(function, 1, 32, {in, out, in, in}), CUDA_SUCCESS);
      auto got = device.download<uint64_t>(out, 32);
      for (int i = 0; i < 32; ++i) {
        double want = line.function(number(x[i])), have = number(got[i]);
        EXPECT_LE(std::fabs(have - want),
                  std::max(line.relative * std::fabs(want), line.absolute))
            << line.opcode << " " << number(x[i]);
        if (*seed == '0') {
          exact.push_back(got[i]);
          EXPECT_EQ(float(want), have) << line.opcode;
        } else {
          different += exact[i] != got[i];
        }
      }
    }
    // Where the bound is one unit of the last place, little room is left.
    EXPECT_GT(different, 2u) << line.opcode;
  }
}

TEST(Instructions, WarpOperations) {
  Device device;
  std::vector<uint64_t> in;
  for (uint64_t i = 0; i < 32; ++i)
    in.push_back(i * i + 1);
  CUdeviceptr from = device.upload(in), to = device.allocate(32 * 8 * 8);
  std::string body =
      "ld.global.b32 %r1, [%rd10];\nmul.wide.u32 %rd20, %r0, 64;\nadd.s64 "
      "%rd20, %rd1, %rd20;\n"
      "shfl.sync.bfly.b32 %r10, %r1, 5, 31, -1;\n"
      "shfl.sync.down.b32 %r11|%p1, %r1, 3, 31, -1;\n"
      "shfl.sync.up.b32 %r12, %r1, 4, 0, -1;\n"
      "shfl.sync.idx.b32 %r13, %r1, 2, 0x1807, -1;\n"
      "setp.gt.s32 %p2, %r0, 20;\nvote.sync.ballot.b32 %r14, %p2, -1;\n"
      "redux.sync.add.s32 %r15, %r1, -1;\nselp.b32 %r16, 1, 0, %p1;\n"
      "vote.sync.any.pred %p3, %p2, -1;\nselp.b32 %r17, 1, 0, %p3;\n";
  for (int i = 0; i < 8; ++i)
    body += "st.global.b32 [%rd20+" + std::to_string(8 * i) + "], %r1" +
            std::to_string(i) + ";\n";
  CUfunction function = device.load(kernel(body));
  ASSERT_TRUE(function);
  ASSERT_EQ(device.run(function, 1, 32, {from, to, from, from}), CUDA_SUCCESS)
      << tenonEmulatedCudaError();
  auto got = device.download<uint32_t>(to, 32 * 16);
  for (unsigned i = 0; i < 32; ++i) {
    auto square = [](unsigned lane) { return lane * lane + 1; };
    const uint32_t *row = &got[i * 16];
    EXPECT_EQ(row[0], square(i ^ 5));
    EXPECT_EQ(row[2], square(i + 3 < 32 ? i + 3 : i));
    EXPECT_EQ(row[4], square(i >= 4 ? i - 4 : i));
    EXPECT_EQ(row[6], square((i & 24) | 2));
    EXPECT_EQ(row[8], 0xFFE00000u);
    EXPECT_EQ(row[10], 31u * 32 * 63 / 6 + 32);
    EXPECT_EQ(row[12], i + 3 < 32 ? 1u : 0u);
    EXPECT_EQ(row[14], 1u);
  }
}

/// Element e of an 8 by 8 matrix in shared memory has the value e.
TEST(Instructions, MatricesAndAtomics) {
  Device device;
  CUdeviceptr to = device.upload(std::vector<uint32_t>(32 * 8));
  CUdeviceptr sums = device.upload(std::vector<uint32_t>{5, 9, 100, 0});
  std::string body =
      "mul.wide.u32 %rd20, %r0, 4;\nmov.b64 %rd21, s;\nadd.s64 %rd22, %rd21, "
      "%rd20;\n"
      "shl.b32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nshl.b32 %r2, %r2, "
      "16;\nor.b32 %r1, %r1, %r2;\n"
      "st.shared.b32 [%rd22], %r1;\nbar.sync 0;\nrem.u32 %r3, %r0, 8;\n"
      "mul.wide.u32 %rd23, %r3, 16;\nadd.s64 %rd23, %rd21, %rd23;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%rd23];\n"
      "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r11}, [%rd23];\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r12, %r10;\n"
      "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%rd23+128], "
      "{%r11};\nbar.sync 0;\n"
      "ld.shared.b32 %r13, [%rd22+128];\n"
      "atom.global.add.u32 %r14, [%rd1], %r0;\nred.global.max.s32 [%rd1+4], "
      "%r0;\n"
      "atom.global.cas.b32 %r15, [%rd1+8], 100, %r0;\nred.global.or.b32 "
      "[%rd1+12], %r0;\n"
      "mul.wide.u32 %rd24, %r0, 32;\nadd.s64 %rd24, %rd0, %rd24;\n";
  for (int i = 0; i < 6; ++i)
    body += "st.global.b32 [%rd24+" + std::to_string(4 * i) + "], %r1" +
            std::to_string(i) + ";\n";
  CUfunction function =
      device.load(kernel(body, ".shared .align 16 .b8 s[256];\n"));
  ASSERT_TRUE(function);
  ASSERT_EQ(device.run(function, 1, 32, {to, sums, to, to}), CUDA_SUCCESS)
      << tenonEmulatedCudaError();
  auto got = device.download<uint32_t>(to, 32 * 8);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t *row = &got[lane * 8];
    const uint32_t straight = 2 * lane | (2 * lane + 1) << 16;
    const uint32_t first = 2 * (lane % 4) * 8 + lane / 4,
                   transposed = first | (first + 8) << 16;
    EXPECT_EQ(row[0], straight);
    EXPECT_EQ(row[1], transposed);
    EXPECT_EQ(row[2], transposed);
    EXPECT_EQ(row[3], straight);
    EXPECT_EQ(row[4], 5 + lane * (lane - 1) / 2);
    EXPECT_EQ(row[5], lane == 0 ? 100u : 0u);
  }
  EXPECT_EQ(device.download<uint32_t>(sums, 4),
            (std::vector<uint32_t>{5 + 31 * 16, 31, 0, 31}));
}

TEST(Instructions, DivergentLoopsMeetAgain) {
  // Each lane adds its number up tid times; lanes leave the loop one after
  // another.
  Device device;
  CUdeviceptr to = device.upload(std::vector<uint64_t>(32));
  CUfunction function = device.load(kernel(
      "mov.b32 %r1, 0;\nmov.b32 %r2, 0;\nloop:\nsetp.ge.u32 %p1, %r1, "
      "%r0;\n@%p1 bra done;\n"
      "add.s32 %r2, %r2, %r0;\nadd.s32 %r1, %r1, 1;\nbra.uni "
      "loop;\ndone:\nbar.warp.sync -1;\n"
      "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nst.global.b32 [%rd10], %r3;"));
  ASSERT_TRUE(function);
  ASSERT_EQ(device.run(function, 1, 32, {to, to, to, to}), CUDA_SUCCESS)
      << tenonEmulatedCudaError();
  auto got = device.download<uint64_t>(to, 32);
  for (uint64_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], (i ^ 1) * (i ^ 1));
}

/// LLVM puts vectors together from lanes that nobody reads: bytes without a
/// value may be moved, and not be stored.
TEST(Instructions, MoveBytesWithoutValue) {
  Device device;
  CUdeviceptr to = device.upload(std::vector<uint64_t>(32));
  auto run = [&](const std::string &selector) {
    CUfunction function = device.load(kernel(
        "cvt.u16.u32 %rs15, %r0;\nsetp.lt.u32 %p1, %r0, 16;\n"
        "mov.b32 %r1, {%rs15, %rs16};\n" // its upper half has no value
        "selp.b32 %r2, %r1, %r0, %p1;\n" // of lanes from 16 on it has one
        "prmt.b32 %r3, %r2, 0, " +
        selector + // bytes of %r2 and zeros
        ";\nst.global.b32 [%rd10], %r3;"));
    EXPECT_TRUE(function);
    return device.run(function, 1, 32, {to, to, to, to});
  };
  ASSERT_EQ(run("0x4104"), CUDA_SUCCESS) << tenonEmulatedCudaError();
  auto got = device.download<uint64_t>(to, 32);
  for (uint64_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i << 8);
  EXPECT_NE(run("0x4204"), CUDA_SUCCESS);
  std::string error = tenonEmulatedCudaError();
  EXPECT_NE(error.find("thread (0, 0, 0)"), std::string::npos) << error;
  EXPECT_NE(error.find("(st.global.b32): reads a register that was never"),
            std::string::npos)
      << error;
}

/// Four ways by a lane's number modulo 4, of which two are one label.
TEST(Instructions, IndexedBranchesPartAndMeetAgain) {
  auto program = [](const std::string &index) {
    return kernel("mov.b32 %r1, 0;\n" + index +
                  "ways: .branchtargets one, two, one, three;\n"
                  "brx.idx %r2, ways;\n"
                  "one:\nadd.s32 %r1, %r0, 100;\nbra.uni done;\n"
                  "two:\nadd.s32 %r1, %r0, 200;\nbra.uni done;\n"
                  "three:\nadd.s32 %r1, %r0, 300;\n"
                  "done:\nbar.warp.sync -1;\n"
                  "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
                  "st.global.b32 [%rd10], %r3;");
  };
  Device device;
  CUdeviceptr to = device.upload(std::vector<uint64_t>(32));
  CUfunction function = device.load(program("and.b32 %r2, %r0, 3;\n"));
  ASSERT_TRUE(function);
  ASSERT_EQ(device.run(function, 1, 32, {to, to, to, to}), CUDA_SUCCESS)
      << tenonEmulatedCudaError();
  auto got = device.download<uint64_t>(to, 32);
  const uint64_t ways[] = {100, 200, 100, 300};
  for (uint64_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], (i ^ 1) + ways[(i ^ 1) % 4]);

  CUfunction beyond = device.load(program("mov.b32 %r2, 4;\n"));
  ASSERT_TRUE(beyond);
  EXPECT_NE(device.run(beyond, 1, 32, {to, to, to, to}), CUDA_SUCCESS);
  EXPECT_NE(std::string(tenonEmulatedCudaError())
                .find("there is no label 4 in a list of 4"),
            std::string::npos);
}

TEST(Instructions, UnknownOnesAreNamedWithTheirLine) {
  for (auto [line, words] : std::vector<std::pair<std::string, std::string>>{
           {"add.f32 %r1, %r0, %r0;", "without a rounding modifier"},
           {"wgmma.fence.sync.aligned;",
            "'wgmma.fence.sync.aligned' is not supported"},
           {"add.rn.f32 %r1, %rs1, %r0;",
            "takes an operand of 32 bits, found one of 16"},
           {"mov.b32 %r1, %clock;", "unknown name '%clock'"},
           {"bra nowhere;", "unknown label 'nowhere'"},
           {"brx.idx %r0, none;", "unknown list of labels 'none'"}}) {
    Device device;
    EXPECT_FALSE(device.load(kernel(line)));
    std::string error = tenonEmulatedCudaError();
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_NE(error.find("PTX line 17"), std::string::npos) << error;
  }
}

} // namespace
