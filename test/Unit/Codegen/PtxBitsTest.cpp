//===- PtxBitsTest.cpp - Kernels on an emulated GPU and on the CPU --------===//
//
// The PTX of a kernel is executed by the emulated driver, which checks every
// access, and gives the bits that the same kernel gives on this processor. NaN
// is NaN: its bits are left open by PTX.
//
//===----------------------------------------------------------------------===//

#include "BothTargets.h"

#include <bit>
#include <gtest/gtest.h>
#include <string>

using namespace tenon;

namespace {

/// The kernel of one operation of one operand.
std::string unary(const std::string &operation, const std::string &type) {
  return "func.func private @kernel(%x: " + type + ") -> " + type +
         " {\n  %0 = " + operation + " %x : " + type +
         "\n  return %0 : " + type + "\n}";
}

TEST(PtxBits, FunctionsOfF32) {
  for (const char *name :
       {"exponential", "exponential_minus_one", "log", "log_plus_one", "tanh",
        "logistic", "sine", "cosine", "sqrt", "rsqrt", "cbrt", "abs", "negate",
        "floor", "ceil", "round_nearest_even", "round_nearest_afz", "sign"}) {
    SCOPED_TRACE(name);
    compareTargets(unary("stablehlo." + std::string(name), "tensor<777xf32>"));
  }
}

/// Exponentials where their results are large and small numbers, and around the
/// arguments of the largest and the least normal one.
TEST(PtxBits, Exponentials) {
  const std::string functions = R"(
      %x = stablehlo.bitcast_convert %b : (tensor<65536xui32>) -> tensor<65536xf32>
      %e = stablehlo.exponential %x : tensor<65536xf32>
      %t = stablehlo.tanh %x : tensor<65536xf32>
      return %e, %t : tensor<65536xf32>, tensor<65536xf32>
    })";
  const std::string head = R"(
    func.func private @kernel(%o: tensor<65536xui32>) -> (tensor<65536xf32>, tensor<65536xf32>) {)";
  // |x| from 2 to 512.
  const std::string wide = R"(
      %m = stablehlo.constant dense<0x83FFFFFF> : tensor<65536xui32>
      %k = stablehlo.constant dense<0x40000000> : tensor<65536xui32>
      %a = stablehlo.and %o, %m : tensor<65536xui32>
      %b = stablehlo.or %a, %k : tensor<65536xui32>)";
  auto around = [](float border) {
    const uint32_t first = std::bit_cast<uint32_t>(border) - 32768;
    return R"(
      %m = stablehlo.constant dense<0> : tensor<65536xui32>
      %z = stablehlo.and %o, %m : tensor<65536xui32>
      %i = stablehlo.iota dim = 0 : tensor<65536xui32>
      %k = stablehlo.constant dense<)" +
           std::to_string(first) + R"(> : tensor<65536xui32>
      %a = stablehlo.add %i, %k : tensor<65536xui32>
      %b = stablehlo.or %a, %z : tensor<65536xui32>)";
  };
  for (Subnormals subnormals : {Subnormals::flush, Subnormals::keep})
    for (const std::string &operand :
         {wide, around(88.72284f), around(-87.33655f), around(-103.97f)}) {
      SCOPED_TRACE(operand);
      BothTargets(head + operand + functions, subnormals, "sm_90")
          .compare(1, "forward");
    }
}

TEST(PtxBits, FunctionsOfHalves) {
  for (const char *type : {"tensor<777xbf16>", "tensor<777xf16>"})
    for (const char *name : {"exponential", "tanh", "sqrt", "negate", "abs"}) {
      SCOPED_TRACE(std::string(name) + " " + type);
      compareTargets(unary("stablehlo." + std::string(name), type));
    }
}

TEST(PtxBits, OperationsOfTwo) {
  for (const char *type : {"f32", "f64", "bf16", "f16", "i32", "ui32", "i64"})
    for (const char *name :
         {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
      // Integers are not divided by what may be zero here.
      if (std::string(name) == "divide" && type[0] != 'f' && type[0] != 'b')
        continue;
      SCOPED_TRACE(std::string(name) + " " + type);
      std::string t = "tensor<33x21x" + std::string(type) + ">";
      compareTargets("func.func private @kernel(%x: " + t + ", %y: " + t +
                     ") -> " + t + " {\n  %0 = stablehlo." + name +
                     " %x, %y : " + t + "\n  return %0 : " + t + "\n}");
    }
}

TEST(PtxBits, Conversions) {
  for (const char *from : {"f32", "f64", "bf16", "f16", "i32", "ui8", "i1"})
    for (const char *to : {"f32", "f64", "bf16", "f16", "i32", "ui8", "i1"}) {
      SCOPED_TRACE(std::string(from) + " to " + to);
      std::string a = "tensor<515x" + std::string(from) + ">",
                  b = "tensor<515x" + std::string(to) + ">";
      compareTargets("func.func private @kernel(%x: " + a + ") -> " + b +
                     " {\n  %0 = stablehlo.convert %x : (" + a + ") -> " + b +
                     "\n  return %0 : " + b + "\n}");
    }
}

/// Rows that are multiples of the vector and not, and of all small sizes.
TEST(PtxBits, SpreadsRows) {
  for (int64_t width : {1, 2, 3, 4, 5, 8, 12, 31, 128, 1027}) {
    SCOPED_TRACE(width);
    std::string w = std::to_string(width), x = "tensor<13x" + w + "xf32>";
    compareTargets(
        "func.func private @kernel(%x: " + x + ", %b: tensor<" + w +
        "xbf16>, %s: tensor<13xf32>) -> (" + x + ", tensor<13x" + w +
        "xbf16>) {\n"
        "  %0 = stablehlo.convert %b : (tensor<" +
        w + "xbf16>) -> tensor<" + w +
        "xf32>\n"
        "  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<" +
        w + "xf32>) -> " + x +
        "\n"
        "  %2 = stablehlo.broadcast_in_dim %s, dims = [0] : "
        "(tensor<13xf32>) -> " +
        x +
        "\n"
        "  %3 = stablehlo.multiply %x, %2 : " +
        x +
        "\n"
        "  %4 = stablehlo.add %3, %1 : " +
        x +
        "\n"
        "  %5 = stablehlo.convert %4 : (" +
        x + ") -> tensor<13x" + w + "xbf16>\n  return %4, %5 : " + x +
        ", tensor<13x" + w + "xbf16>\n}");
  }
}

TEST(PtxBits, MovesElements) {
  compareTargets(
      R"(func.func private @kernel(%x: tensor<6x50xf32>, %y: tensor<4x50xf32>, %z: tensor<f32>, %i: tensor<i32>) -> tensor<50x14xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<6x50xf32>, tensor<4x50xf32>) -> tensor<10x50xf32>
  %1 = stablehlo.pad %0, %z, low = [1, 2], high = [3, -2], interior = [0, 0] : (tensor<10x50xf32>, tensor<f32>) -> tensor<14x50xf32>
  %2 = stablehlo.reverse %1, dims = [1] : tensor<14x50xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.dynamic_slice %2, %i, %c, sizes = [14, 50] : (tensor<14x50xf32>, tensor<i32>, tensor<i32>) -> tensor<14x50xf32>
  %4 = stablehlo.add %3, %3 : tensor<14x50xf32>
  %5 = stablehlo.iota dim = 0 : tensor<50x14xi32>
  %6 = stablehlo.convert %5 : (tensor<50x14xi32>) -> tensor<50x14xf32>
  %7 = stablehlo.reshape %4 : (tensor<14x50xf32>) -> tensor<50x14xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<50x14xf32>
  return %8 : tensor<50x14xf32>
})");
}

TEST(PtxBits, ReadsConstants) {
  std::string numbers;
  for (int i = 0; i < 40; ++i)
    numbers += (i ? ", " : "") + std::to_string(i) + ".5";
  compareTargets(
      "func.func private @kernel(%x: tensor<7x40xf32>) -> tensor<7x40xf32> "
      "{\n  %c = stablehlo.constant dense<[" +
      numbers +
      "]> : tensor<40xf32>\n"
      "  %0 = stablehlo.broadcast_in_dim %c, dims = [1] : "
      "(tensor<40xf32>) -> tensor<7x40xf32>\n"
      "  %1 = stablehlo.maximum %x, %0 : tensor<7x40xf32>\n"
      "  return %1 : tensor<7x40xf32>\n}");
}

/// An optimizer's update in place: no element is read behind its write.
TEST(PtxBits, OverwritesOperands) {
  compareTargets(
      R"(func.func private @kernel(%w: tensor<1027xf32>, %m: tensor<1027xf32>, %g: tensor<1027xf32>, %rate: tensor<f32>) -> (tensor<1027xf32>, tensor<1027xf32>) attributes {exec.in_place = array<i64: 0, 1>} {
  %c = stablehlo.constant dense<0.9> : tensor<1027xf32>
  %0 = stablehlo.multiply %m, %c : tensor<1027xf32>
  %1 = stablehlo.add %0, %g : tensor<1027xf32>
  %2 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<1027xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<1027xf32>
  %4 = stablehlo.subtract %w, %3 : tensor<1027xf32>
  return %4, %1 : tensor<1027xf32>, tensor<1027xf32>
})");
}

/// Tiles of several vectors per thread, a last tile that is short, and all
/// bytes moved by wide accesses.
TEST(PtxBits, LargeKernels) {
  const std::string type = "tensor<2101251xf32>";
  BothTargets both("func.func private @kernel(%x: " + type + ", %y: " + type +
                       ") -> " + type + " {\n  %0 = stablehlo.add %x, %y : " +
                       type + "\n  return %0 : " + type + "\n}",
                   Subnormals::flush, "sm_90");
  both.compare(3, "forward");
  EXPECT_GE(double(both.counters.globalWideBytes),
            0.999 * double(both.counters.globalBytes));
  EXPECT_LE(double(both.counters.globalSectors),
            1.001 * double(both.counters.globalBytes) / 32);
}

} // namespace
