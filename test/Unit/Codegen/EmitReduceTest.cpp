//===- EmitReduceTest.cpp - Reductions against the written-out order ------===//
//
// The order in which a reduction combines its elements is part of its meaning
// here, so plain C++ loops in that order must give the same bits, whatever the
// kernel around it and however many parts run.
//
//===----------------------------------------------------------------------===//

#include "EmittedKernel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace {

/// The sum of a row, `stride` apart, in the documented order.
float treeSum(const float *x, size_t n, float start = 0) {
  size_t count = std::min<size_t>(4, std::max<size_t>(1, (n + 15) / 16));
  float lanes[4][16];
  for (auto &accumulator : lanes)
    for (float &lane : accumulator)
      lane = start;
  for (size_t i = 0; i < n; ++i) {
    float &lane = lanes[(i / 16) % count][i % 16];
    lane = lane + x[i];
  }
  float sum[16];
  for (int l = 0; l < 16; ++l) {
    if (count == 1)
      sum[l] = lanes[0][l];
    else if (count == 2)
      sum[l] = lanes[0][l] + lanes[1][l];
    else if (count == 3)
      sum[l] = (lanes[0][l] + lanes[1][l]) + lanes[2][l];
    else
      sum[l] = (lanes[0][l] + lanes[1][l]) + (lanes[2][l] + lanes[3][l]);
  }
  for (int half = 8; half; half /= 2)
    for (int l = 0; l < half; ++l)
      sum[l] = sum[l] + sum[l + half];
  return sum[0];
}

template <typename T>
void expectSameBits(const Array<T> &actual, const Array<T> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(std::memcmp(&actual[i], &expected[i], sizeof(T)), 0)
        << "element " << i << ": " << +actual[i] << ", expected "
        << +expected[i];
}

TEST(EmitReduce, SumsRowsOfAnyLength) {
  for (int n : {2, 10, 16, 33, 48, 64, 127, 128, 300}) {
    std::string text = R"(
    func.func private @kernel(%x: tensor<7xNxf32>) -> tensor<7xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<7xNxf32>, tensor<f32>) -> tensor<7xf32>
      return %0 : tensor<7xf32>
    })";
    for (size_t at; (at = text.find("N")) != std::string::npos;)
      text.replace(at, 1, std::to_string(n));
    EmittedKernel kernel(text);
    Array<float> x = someNumbers(7 * n), sums(7), expected(7);
    for (int i = 0; i < 7; ++i)
      expected[i] = treeSum(&x[i * n], n);
    for (int64_t parts : {1, 3}) {
      kernel.run({x.data(), sums.data()}, parts);
      expectSameBits(sums, expected);
    }
  }
}

TEST(EmitReduce, StartsAtTheInitialValue) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<7x20xf32>, %i: tensor<f32>) -> tensor<7xf32> {
      %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<7x20xf32>, tensor<f32>) -> tensor<7xf32>
      return %0 : tensor<7xf32>
    })");
  Array<float> x = someNumbers(140), sums(7), expected(7), initial = {2.5f};
  for (int i = 0; i < 7; ++i)
    expected[i] = 2.5f + treeSum(&x[i * 20], 20, -0.0f);
  kernel.run({x.data(), initial.data(), sums.data()});
  expectSameBits(sums, expected);
}

/// The sum of 5 x 9 numbers `stride` apart in blocks of 8 and 1.
float blockSum(const float *x, size_t stride) {
  float sum = 0;
  for (size_t row = 0; row < 5; ++row)
    for (size_t begin : {0, 8}) {
      float block = 0;
      for (size_t i = begin; i < std::min<size_t>(begin + 8, 9); ++i)
        block = block + x[(row * 9 + i) * stride];
      sum = sum + block;
    }
  return sum;
}

TEST(EmitReduce, SumsColumnsInBlocks) {
  for (int n : {8, 40, 128, 300}) {
    std::string text = R"(
    func.func private @kernel(%x: tensor<5x9xNxf32>, %b: tensor<Nxf32>) -> (tensor<Nxf32>, tensor<1xNxf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x9xNxf32>, tensor<f32>) -> tensor<Nxf32>
      %1 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<5x9xNxf32>, tensor<f32>) -> tensor<Nxf32>
      %2 = stablehlo.add %0, %b : tensor<Nxf32>
      %3 = stablehlo.reshape %1 : (tensor<Nxf32>) -> tensor<1xNxf32>
      return %2, %3 : tensor<Nxf32>, tensor<1xNxf32>
    })";
    for (size_t at; (at = text.find("N")) != std::string::npos;)
      text.replace(at, 1, std::to_string(n));
    EmittedKernel kernel(text);
    Array<float> x = someNumbers(45 * n), b = someNumbers(n, 1, 2, 3), sums(n),
                 largest(n), es(n), el(n);
    for (int j = 0; j < n; ++j) {
      float most = -INFINITY;
      for (int i = 0; i < 45; ++i)
        most = std::max(most, x[i * n + j]);
      es[j] = blockSum(&x[j], n) + b[j];
      el[j] = most;
    }
    for (int64_t parts : {1, 3}) {
      kernel.run({x.data(), b.data(), sums.data(), largest.data()}, parts);
      expectSameBits(sums, es);
      expectSameBits(largest, el);
    }
  }
}

TEST(EmitReduce, SumsFewColumnsInOrder) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<15x40xf32>) -> tensor<40xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<15x40xf32>, tensor<f32>) -> tensor<40xf32>
      return %0 : tensor<40xf32>
    })");
  Array<float> x = someNumbers(600), sums(40), expected(40);
  for (int i = 0; i < 15; ++i)
    for (int j = 0; j < 40; ++j)
      expected[j] = expected[j] + x[i * 40 + j];
  kernel.run({x.data(), sums.data()});
  expectSameBits(sums, expected);
}

TEST(EmitReduce, TakesWholeDimensionsIntoBlocks) {
  // 3 x 11 x 7 elements: b = 16, blocks of 2 x 7, the last of 1 x 7. The
  // initial value comes last, but first in a sum in the same kernel that is no
  // single operation. There blocks begin with their first element.
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<3x11x2x7x16xf32>, %i: tensor<f32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
      %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0, 1, 3] : (tensor<3x11x2x7x16xf32>, tensor<f32>) -> tensor<2x16xf32>
      %1 = stablehlo.reduce(%x init: %i) across dimensions = [0, 1, 3] : (tensor<3x11x2x7x16xf32>, tensor<f32>) -> tensor<2x16xf32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %2 = stablehlo.add %a, %b : tensor<f32>
        %3 = stablehlo.maximum %2, %2 : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }
      return %0, %1 : tensor<2x16xf32>, tensor<2x16xf32>
    })");
  Array<float> x = someNumbers(3 * 11 * 2 * 7 * 16), initial = {0.5f}, sums(32),
               others(32), expected(32), expectedOthers(32);
  for (int h = 0; h < 2; ++h)
    for (int j = 0; j < 16; ++j) {
      float sum = -0.0f, other = initial[0];
      for (int a = 0; a < 3; ++a)
        for (int begin = 0; begin < 11; begin += 2) {
          float block = -0.0f;
          for (int b = begin; b < std::min(begin + 2, 11); ++b)
            for (int c = 0; c < 7; ++c)
              block = block + x[(((a * 11 + b) * 2 + h) * 7 + c) * 16 + j];
          sum = sum + block;
          other = other + block;
        }
      expected[h * 16 + j] = initial[0] + sum;
      expectedOthers[h * 16 + j] = other;
    }
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), initial.data(), sums.data(), others.data()}, parts);
    expectSameBits(sums, expected);
    expectSameBits(others, expectedOthers);
  }
}

TEST(EmitReduce, SumsOverOuterAndInnerDimensionsTogether) {
  // Group norm's sum: kept, reduced, reduced, kept, reduced.
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<3x4x5x2x20xf32>) -> tensor<3x2xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<3x4x5x2x20xf32>, tensor<f32>) -> tensor<3x2xf32>
      return %0 : tensor<3x2xf32>
    })");
  Array<float> x = someNumbers(3 * 20 * 40), sums(6), expected(6);
  for (int i = 0; i < 3; ++i)
    for (int g = 0; g < 2; ++g) {
      float lanes[2][16] = {};
      for (int r = 0; r < 20; ++r)
        for (int c = 0; c < 20; ++c) {
          float &lane = lanes[c / 16][c % 16];
          lane = lane + x[((i * 20 + r) * 2 + g) * 20 + c];
        }
      float sum[16];
      for (int l = 0; l < 16; ++l)
        sum[l] = lanes[0][l] + lanes[1][l];
      for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; ++l)
          sum[l] = sum[l] + sum[l + half];
      expected[i * 2 + g] = sum[0];
    }
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), sums.data()}, parts);
    expectSameBits(sums, expected);
  }
}

TEST(EmitReduce, NormalisesRowsLikeTheSeparateKernels) {
  // Softmax as one kernel, and as four: the same bits.
  EmittedKernel whole(R"(
    func.func private @kernel(%x: tensor<9x70xf32>) -> tensor<9x70xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<9x70xf32>, tensor<f32>) -> tensor<9xf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<9xf32>) -> tensor<9x70xf32>
      %2 = stablehlo.subtract %x, %1 : tensor<9x70xf32>
      %3 = stablehlo.exponential %2 : tensor<9x70xf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<9x70xf32>, tensor<f32>) -> tensor<9xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<9xf32>) -> tensor<9x70xf32>
      %6 = stablehlo.divide %3, %5 : tensor<9x70xf32>
      return %6 : tensor<9x70xf32>
    })");
  EmittedKernel exponential(R"(
    func.func private @kernel(%x: tensor<630xf32>) -> tensor<630xf32> {
      %0 = stablehlo.exponential %x : tensor<630xf32>
      return %0 : tensor<630xf32>
    })");
  EXPECT_EQ(whole.scratchBytes, 0) << "exp is kept in the result";
  Array<float> x = someNumbers(630, -5, 5), shifted(630), powers(630), y(630),
               expected(630);
  for (int i = 0; i < 9; ++i) {
    float most = *std::max_element(&x[i * 70], &x[i * 70 + 70]);
    for (int j = 0; j < 70; ++j)
      shifted[i * 70 + j] = x[i * 70 + j] - most;
  }
  exponential.run({shifted.data(), powers.data()});
  for (int i = 0; i < 9; ++i) {
    float sum = treeSum(&powers[i * 70], 70);
    for (int j = 0; j < 70; ++j)
      expected[i * 70 + j] = powers[i * 70 + j] / sum;
  }
  for (int64_t parts : {1, 3}) {
    whole.run({x.data(), y.data()}, parts);
    expectSameBits(y, expected);
  }
}

TEST(EmitReduce, KeepsExponentialsInScratchMemory) {
  // The results are booleans: there is no place for exp but scratch memory. In
  // place over the operand it must not be lost either.
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<9x70xf32>) -> (tensor<9x70xi1>, tensor<9xf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %3 = stablehlo.exponential %x : tensor<9x70xf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<9x70xf32>, tensor<f32>) -> tensor<9xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<9xf32>) -> tensor<9x70xf32>
      %6 = stablehlo.add %3, %3 : tensor<9x70xf32>
      %7 = stablehlo.compare GT, %6, %5, FLOAT : (tensor<9x70xf32>, tensor<9x70xf32>) -> tensor<9x70xi1>
      return %7, %4 : tensor<9x70xi1>, tensor<9xf32>
    })");
  EXPECT_GT(kernel.scratchBytes, 0);
  Array<float> x = someNumbers(630, -1, 1), sums(9);
  x[100] = 9;
  Array<uint8_t> larger(630);
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), larger.data(), sums.data()}, parts);
    for (int i = 0; i < 630; ++i)
      EXPECT_EQ(larger[i], i == 100) << i;
  }
}

TEST(EmitReduce, KeepsAValueUntilItsLastReader) {
  // The quotient is needed in all three passes; the first result, which is
  // written in the second, is no place to keep it.
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<5x20xf32>, %y: tensor<5x20xf32>) -> (tensor<5x20xf32>, tensor<5x20xf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.divide %x, %y : tensor<5x20xf32>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<5x20xf32>, tensor<f32>) -> tensor<5xf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<5xf32>) -> tensor<5x20xf32>
      %3 = stablehlo.subtract %0, %2 : tensor<5x20xf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<5x20xf32>, tensor<f32>) -> tensor<5xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<5xf32>) -> tensor<5x20xf32>
      %6 = stablehlo.multiply %0, %5 : tensor<5x20xf32>
      return %3, %6 : tensor<5x20xf32>, tensor<5x20xf32>
    })");
  Array<float> x = someNumbers(100), y = someNumbers(100, 1, 2, 7);
  Array<float> centered(100), scaled(100), es(100), ec(100);
  for (int i = 0; i < 5; ++i) {
    float quotients[20], *c = &ec[i * 20];
    for (int j = 0; j < 20; ++j)
      quotients[j] = x[i * 20 + j] / y[i * 20 + j];
    float sum = treeSum(quotients, 20);
    for (int j = 0; j < 20; ++j)
      c[j] = quotients[j] - sum;
    float rest = treeSum(c, 20);
    for (int j = 0; j < 20; ++j)
      es[i * 20 + j] = quotients[j] * rest;
  }
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), y.data(), centered.data(), scaled.data()}, parts);
    expectSameBits(centered, ec);
    expectSameBits(scaled, es);
  }
}

// The operand's place holds the exponential until the row's sum is known.
TEST(EmitReduce, OverwritesAnOperandRowByRow) {
  std::string text = R"(
    func.func private @kernel(%x: tensor<9x70xf32>, %g: tensor<70xf32>) -> tensor<9x70xf32> attributes {exec.in_place = array<i64: PLACE>} {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %3 = stablehlo.exponential %x : tensor<9x70xf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<9x70xf32>, tensor<f32>) -> tensor<9xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<9xf32>) -> tensor<9x70xf32>
      %6 = stablehlo.divide %3, %5 : tensor<9x70xf32>
      %7 = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<70xf32>) -> tensor<9x70xf32>
      %8 = stablehlo.multiply %6, %7 : tensor<9x70xf32>
      return %8 : tensor<9x70xf32>
    })";
  std::string inPlace = text;
  inPlace.replace(inPlace.find("PLACE"), 5, "0");
  text.replace(text.find("PLACE"), 5, "-1");
  EmittedKernel separate(text), overwriting(inPlace);
  Array<float> x = someNumbers(630), g = someNumbers(70, 0, 1, 7), y(630);
  separate.run({x.data(), g.data(), y.data()});
  overwriting.run({x.data(), g.data()}, 3);
  expectSameBits(x, y);
}

TEST(EmitReduce, FindsTheLargestAndItsIndex) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<6x11xf32>) -> (tensor<6xf32>, tensor<6xi32>) {
      %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %i = stablehlo.iota dim = 1 : tensor<6x11xi32>
      %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [1] : (tensor<6x11xf32>, tensor<6x11xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
          %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
          %3 = stablehlo.select %1, %c, %d : tensor<i1>, tensor<i32>
          stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
        }
      return %0#0, %0#1 : tensor<6xf32>, tensor<6xi32>
    })");
  Array<float> x = someNumbers(66), largest(6);
  Array<int32_t> index(6);
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), largest.data(), index.data()}, parts);
    for (int i = 0; i < 6; ++i) {
      const float *row = &x[i * 11];
      EXPECT_EQ(index[i], std::max_element(row, row + 11) - row);
      EXPECT_EQ(largest[i], row[index[i]]);
    }
  }
}

TEST(EmitReduce, SumsRowsByARegionInBlocks) {
  // The same of rows: 5 x 9 elements are blocks of 8 and of 1.
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<5x3x9xf32>, %i: tensor<f32>) -> tensor<3xf32> {
      %0 = stablehlo.reduce(%x init: %i) across dimensions = [0, 2] : (tensor<5x3x9xf32>, tensor<f32>) -> tensor<3xf32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %1 = stablehlo.add %a, %b : tensor<f32>
        %2 = stablehlo.maximum %1, %1 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }
      return %0 : tensor<3xf32>
    })");
  Array<float> x = someNumbers(135), initial = {0.5f}, sums(3), expected(3);
  for (int j = 0; j < 3; ++j) {
    float sum = initial[0];
    for (int a = 0; a < 5; ++a) {
      const float *row = &x[(a * 3 + j) * 9];
      sum = sum + std::accumulate(row + 1, row + 8, row[0]);
      sum = sum + row[8];
    }
    expected[j] = sum;
  }
  kernel.run({x.data(), initial.data(), sums.data()});
  expectSameBits(sums, expected);
}

TEST(EmitReduce, SumsBlocksOfARowInLanes) {
  // Blocks of 32: lanes are full once, overlap, or overlap with a short block
  // behind them.
  for (int length : {512, 960, 1000}) {
    EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<2x)" +
                         std::to_string(length) +
                         R"(xf32>, %i: tensor<f32>) -> tensor<2xf32> {
      %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<2x)" +
                         std::to_string(length) +
                         R"(xf32>, tensor<f32>) -> tensor<2xf32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %1 = stablehlo.add %a, %b : tensor<f32>
        %2 = stablehlo.maximum %1, %1 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }
      return %0 : tensor<2xf32>
    })");
    Array<float> x = someNumbers(2 * length), initial = {0.5f}, sums(2),
                 expected(2);
    for (int j = 0; j < 2; ++j) {
      const float *row = &x[j * length], *end = row + length;
      expected[j] = initial[0];
      for (; row < end; row += 32)
        expected[j] = expected[j] +
                      std::accumulate(row + 1, std::min(row + 32, end), row[0]);
    }
    kernel.run({x.data(), initial.data(), sums.data()});
    expectSameBits(sums, expected);
  }
}

TEST(EmitReduce, TakesEverythingToOneNumber) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<30x10xf32>, %b: tensor<5xi1>) -> (tensor<f32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.constant dense<300.0> : tensor<f32>
      %s = stablehlo.multiply %x, %x : tensor<30x10xf32>
      %0 = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<30x10xf32>, tensor<f32>) -> tensor<f32>
      %1 = stablehlo.divide %0, %n : tensor<f32>
      %2 = stablehlo.sqrt %1 : tensor<f32>
      return %2 : tensor<f32>
    })");
  Array<float> x = someNumbers(300), squares(300), y(1), expected(1);
  Array<uint8_t> b(5);
  for (int i = 0; i < 300; ++i)
    squares[i] = x[i] * x[i];
  expected[0] = std::sqrt(treeSum(squares.data(), 300) / 300.0f);
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), b.data(), y.data()}, parts);
    expectSameBits(y, expected);
  }
}

TEST(EmitReduce, CombinesIntegersAndBooleans) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<3x20xui32>, %b: tensor<3x20xi1>) -> (tensor<3xui32>, tensor<3xi1>) {
      %z = stablehlo.constant dense<0> : tensor<ui32>
      %t = stablehlo.constant dense<true> : tensor<i1>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<3x20xui32>, tensor<ui32>) -> tensor<3xui32>
      %1 = stablehlo.reduce(%b init: %t) applies stablehlo.and across dimensions = [1] : (tensor<3x20xi1>, tensor<i1>) -> tensor<3xi1>
      return %0, %1 : tensor<3xui32>, tensor<3xi1>
    })");
  Array<uint32_t> x(60), most(3);
  Array<uint8_t> b(60, 1), every(3);
  for (uint32_t i = 0; i < 60; ++i)
    x[i] = i * 2654435761u;
  b[25] = 0;
  kernel.run({x.data(), b.data(), most.data(), every.data()});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(most[i], *std::max_element(&x[i * 20], &x[i * 20 + 20]));
    EXPECT_EQ(every[i], i != 1);
  }
}

} // namespace
