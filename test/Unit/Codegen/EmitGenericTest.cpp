//===- EmitGenericTest.cpp - The fallback templates against plain loops ---===//
//
// Contractions, windows, scatters, sorts and random bits, each compared with a
// C++ loop that follows the specification, for one part and for three.
//
//===----------------------------------------------------------------------===//

#include "EmittedKernel.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace {

template <typename T>
void expectSameBits(const Array<T> &actual, const Array<T> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(std::memcmp(&actual[i], &expected[i], sizeof(T)), 0)
        << "element " << i << ": " << +actual[i] << ", expected "
        << +expected[i];
}

void expectClose(const Array<float> &actual, const Array<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::abs(expected[i])))
        << "element " << i;
}

/// Runs with one part and with three: the same bits, near what is expected.
void checkClose(EmittedKernel &kernel, std::vector<void *> operands,
                const Array<double> &expected) {
  Array<float> first(expected.size(), 77), second(expected.size(), 78);
  std::vector<void *> arguments = operands;
  arguments.push_back(first.data());
  kernel.run(arguments, 1);
  arguments.back() = second.data();
  kernel.run(arguments, 3);
  expectClose(first, expected);
  expectSameBits(first, second);
}

std::string fill(std::string text,
                 std::vector<std::pair<std::string, std::string>> values) {
  for (auto &[name, value] : values)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), value);
  return text;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

TEST(EmitGeneric, MultipliesMatricesInAllLayouts) {
  int m = 13, n = 37, k = 21;
  for (bool leftTransposed : {false, true})
    for (bool rightTransposed : {false, true}) {
      EmittedKernel kernel(fill(
          R"(
      func.func private @kernel(%x: tensor<LEFTxf32>, %y: tensor<RIGHTxf32>) -> tensor<13x37xf32> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [LC] x [RC], precision = [DEFAULT, DEFAULT] : (tensor<LEFTxf32>, tensor<RIGHTxf32>) -> tensor<13x37xf32>
        return %0 : tensor<13x37xf32>
      })",
          {{"LEFT", leftTransposed ? "21x13" : "13x21"},
           {"RIGHT", rightTransposed ? "37x21" : "21x37"},
           {"LC", leftTransposed ? "0" : "1"},
           {"RC", rightTransposed ? "1" : "0"}}));
      Array<float> x = someNumbers(m * k), y = someNumbers(k * n, -1, 1, 2);
      Array<double> z(m * n, 0);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          for (int l = 0; l < k; ++l)
            z[i * n + j] +=
                double(leftTransposed ? x[l * m + i] : x[i * k + l]) *
                (rightTransposed ? y[j * k + l] : y[l * n + j]);
      checkClose(kernel, {x.data(), y.data()}, z);
    }
}

/// A batch of products of matrices, each operand transposed or not, the batch
/// around the matrices or between their dimensions.
struct SmallProduct {
  int batch, m, n, k;
  bool isLeftTransposed, isRightTransposed, isBatchInside;
  int sumsPerElement; // 1 or 16

  std::string typeOf(int rows, int columns) const {
    int outer = isBatchInside ? rows : batch;
    int middle = isBatchInside ? batch : rows;
    return "tensor<" + std::to_string(outer) + "x" + std::to_string(middle) +
           "x" + std::to_string(columns) + "xf32>";
  }
  std::string text() const {
    std::string left = isLeftTransposed ? typeOf(k, m) : typeOf(m, k);
    std::string right = isRightTransposed ? typeOf(n, k) : typeOf(k, n);
    std::string rows = isBatchInside ? "0" : "1";
    return fill(R"(
      func.func private @kernel(%x: LEFT, %y: RIGHT) -> RESULT {
        %0 = stablehlo.dot_general %x, %y, batching_dims = [BATCH] x [BATCH], contracting_dims = [LC] x [RC], precision = [DEFAULT, DEFAULT] : (LEFT, RIGHT) -> RESULT
        return %0 : RESULT
      })",
                {{"LEFT", left},
                 {"RIGHT", right},
                 {"RESULT", SmallProduct{batch, m, n, k}.typeOf(m, n)},
                 {"BATCH", isBatchInside ? "1" : "0"},
                 {"LC", isLeftTransposed ? rows : "2"},
                 {"RC", isRightTransposed ? "2" : rows}});
  }
  /// The position of an element of an operand.
  int at(int b, int row, int column, int rows, int columns) const {
    return isBatchInside ? (row * batch + b) * columns + column
                         : (b * rows + row) * columns + column;
  }
  /// In the order that Loops/Contraction.h states.
  float element(const float *x, const float *y, int b, int i, int j) const {
    std::vector<float> sums(sumsPerElement, 0);
    for (int l = 0; l < k; ++l) {
      float &sum = sums[l % sumsPerElement];
      sum = std::fma(
          x[isLeftTransposed ? at(b, l, i, k, m) : at(b, i, l, m, k)],
          y[isRightTransposed ? at(b, j, l, n, k) : at(b, l, j, k, n)], sum);
    }
    for (int half = sumsPerElement / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        sums[i] += sums[i + half];
    return sums.front();
  }
};

TEST(EmitGeneric, MultipliesSmallMatricesWithTheBitsOfOneOrder) {
  using tenon::target::Isa;
  for (const SmallProduct &p : std::initializer_list<SmallProduct>{
           // Lanes along columns that lie apart: all of a packed block, of four
           // terms, of the last terms once more, of two and of three.
           {2, 31, 1, 2, false, true, false, 1},
           {1, 33, 20, 13, false, true, false, 1},
           {1, 21, 33, 7, true, true, false, 1},
           {5, 3, 40, 2, false, true, true, 1},
           {3, 9, 18, 3, true, true, true, 1},
           {40, 1, 1, 4, false, true, true, 1},
           {1, 1, 50, 3, false, true, false, 1},
           {2, 5, 7, 1, true, true, false, 1},
           // Along the rows of few columns.
           {3, 16, 3, 7, false, true, false, 1},
           {2, 64, 2, 8, false, true, false, 1},
           {2, 37, 4, 6, true, false, false, 1},
           {4, 20, 3, 3, false, false, true, 1},
           // Along the sums: whole rows, parts of them, single elements.
           {4, 7, 3, 31, false, true, false, 16},
           {1, 4, 10, 40, false, true, false, 16},
           {3, 1, 1, 64, false, true, false, 16},
       })
    for (Isa isa : {Isa::avx2, Isa::avx512}) {
      if (isa > *tenon::target::hostIsa())
        continue;
      EmittedKernel kernel(p.text(), {isa});
      ASSERT_TRUE(kernel.ok()) << p.text();
      Array<float> x = someNumbers(p.batch * p.m * p.k),
                   y = someNumbers(p.batch * p.k * p.n, -1, 1, 2), expected;
      for (int b = 0; b < p.batch; ++b)
        for (int i = 0; i < p.m; ++i)
          for (int j = 0; j < p.n; ++j)
            expected.push_back(p.element(x.data(), y.data(), b, i, j));
      for (int parts : {1, 3}) {
        // What is behind the result stays as it is.
        Array<float> z(expected.size() + 16, 77);
        kernel.run({x.data(), y.data(), z.data()}, parts);
        for (size_t i = expected.size(); i < z.size(); ++i)
          ASSERT_EQ(z[i], 77) << p.text();
        z.resize(expected.size());
        SCOPED_TRACE(p.text());
        expectSameBits(z, expected);
      }
    }
}

TEST(EmitGeneric, MultipliesBatchesWithSeveralDimensions) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<3x5x2x4x6xf32>, %y: tensor<3x7x2x6xf32>) -> tensor<3x2x5x4x7xf32> {
      %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<3x5x2x4x6xf32>, tensor<3x7x2x6xf32>) -> tensor<3x2x5x4x7xf32>
      return %0 : tensor<3x2x5x4x7xf32>
    })");
  Array<float> x = someNumbers(720), y = someNumbers(252, -1, 1, 2);
  Array<double> z(840, 0);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 5; ++c)
        for (int d = 0; d < 4; ++d)
          for (int e = 0; e < 7; ++e)
            for (int f = 0; f < 6; ++f)
              z[(((a * 2 + b) * 5 + c) * 4 + d) * 7 + e] +=
                  double(x[(((a * 5 + c) * 2 + b) * 4 + d) * 6 + f]) *
                  y[((a * 7 + e) * 2 + b) * 6 + f];
  checkClose(kernel, {x.data(), y.data()}, z);
}

TEST(EmitGeneric, MultipliesVectors) {
  EmittedKernel inner(R"(
    func.func private @kernel(%x: tensor<50xf32>, %y: tensor<50xf32>) -> tensor<f32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<50xf32>, tensor<50xf32>) -> tensor<f32>
      return %0 : tensor<f32>
    })");
  EmittedKernel outer(R"(
    func.func private @kernel(%x: tensor<9xf32>, %y: tensor<50xf32>) -> tensor<9x50xf32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<9xf32>, tensor<50xf32>) -> tensor<9x50xf32>
      return %0 : tensor<9x50xf32>
    })");
  Array<float> x = someNumbers(50), y = someNumbers(50, -1, 1, 2);
  Array<double> sum(1, 0), products(450);
  for (int i = 0; i < 50; ++i)
    sum[0] += double(x[i]) * y[i];
  for (int i = 0; i < 450; ++i)
    products[i] = double(x[i / 50]) * y[i % 50];
  checkClose(inner, {x.data(), y.data()}, sum);
  checkClose(outer, {x.data(), y.data()}, products);
}

TEST(EmitGeneric, SumsProductsOfHalvesInSinglePrecision) {
  // Products of bf16 are exact in f32, in which they are summed.
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<5x40xbf16>, %y: tensor<40x20xbf16>) -> tensor<5x20xf32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x40xbf16>, tensor<40x20xbf16>) -> tensor<5x20xf32>
      return %0 : tensor<5x20xf32>
    })");
  auto toBf16 = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  };
  auto fromBf16 = [](uint16_t half) {
    uint32_t bits = uint32_t(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  };
  Array<float> x = someNumbers(200), y = someNumbers(800, -1, 1, 2), z(100),
               expected(100, 0);
  Array<uint16_t> left(200), halves(800);
  for (int i = 0; i < 200; ++i)
    left[i] = toBf16(x[i]);
  for (int i = 0; i < 800; ++i)
    halves[i] = toBf16(y[i]);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 20; ++j)
      for (int l = 0; l < 40; ++l)
        expected[i * 20 + j] =
            std::fma(fromBf16(left[i * 40 + l]), fromBf16(halves[l * 20 + j]),
                     expected[i * 20 + j]);
  for (int64_t parts : {1, 3}) {
    kernel.run({left.data(), halves.data(), z.data()}, parts);
    expectSameBits(z, expected);
  }
}

struct ConvolutionCase {
  const char *name;
  std::vector<int> input, kernel, output; // b 0 1 f, 0 1 i o, b 0 1 f
  int stride[2], low[2], high[2], inputDilation[2], kernelDilation[2];
  int featureGroups = 1, batchGroups = 1;
  bool reversed = false;
};

/// Convolution in the layout [b, 0, 1, f] x [0, 1, i, o], by the definition.
Array<double> convolve(const ConvolutionCase &c, const Array<float> &x,
                       const Array<float> &w) {
  auto &in = c.input, &ker = c.kernel, &out = c.output;
  Array<double> z(out[0] * out[1] * out[2] * out[3], 0);
  for (int b = 0; b < out[0]; ++b)
    for (int i = 0; i < out[1]; ++i)
      for (int j = 0; j < out[2]; ++j)
        for (int f = 0; f < out[3]; ++f) {
          double sum = 0;
          int batch =
              b + f / (ker[3] / c.batchGroups) * out[0] * (c.batchGroups > 1);
          int group = f / (ker[3] / c.featureGroups);
          for (int p = 0; p < ker[0]; ++p)
            for (int q = 0; q < ker[1]; ++q)
              for (int e = 0; e < ker[2]; ++e) {
                int pp = c.reversed ? ker[0] - 1 - p : p;
                int qq = c.reversed ? ker[1] - 1 - q : q;
                int y = i * c.stride[0] + pp * c.kernelDilation[0] - c.low[0];
                int v = j * c.stride[1] + qq * c.kernelDilation[1] - c.low[1];
                if (y < 0 || v < 0 || y % c.inputDilation[0] ||
                    v % c.inputDilation[1])
                  continue;
                y /= c.inputDilation[0];
                v /= c.inputDilation[1];
                if (y >= in[1] || v >= in[2])
                  continue;
                int feature = e + group * ker[2] * (c.featureGroups > 1);
                sum += double(x[((batch * in[1] + y) * in[2] + v) * in[3] +
                                feature]) *
                       w[((p * ker[1] + q) * ker[2] + e) * ker[3] + f];
              }
          z[((b * out[1] + i) * out[2] + j) * out[3] + f] = sum;
        }
  return z;
}

std::string shapeText(const std::vector<int> &shape) {
  std::string text;
  for (int extent : shape)
    text += std::to_string(extent) + "x";
  return text + "f32";
}

TEST(EmitGeneric, Convolves) {
  std::vector<ConvolutionCase> cases = {{"plain",
                                         {2, 7, 9, 3},
                                         {3, 3, 3, 20},
                                         {2, 7, 9, 20},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1}},
                                        {"strided and dilated",
                                         {2, 9, 11, 4},
                                         {3, 2, 4, 5},
                                         {2, 4, 5, 5},
                                         {2, 2},
                                         {1, 0},
                                         {1, 0},
                                         {1, 1},
                                         {2, 2}},
                                        {"transposed",
                                         {2, 4, 5, 6},
                                         {3, 3, 6, 17},
                                         {2, 8, 10, 17},
                                         {1, 1},
                                         {1, 1},
                                         {2, 2},
                                         {2, 2},
                                         {1, 1}},
                                        {"negative padding",
                                         {1, 6, 6, 2},
                                         {2, 2, 2, 3},
                                         {1, 3, 4, 3},
                                         {1, 1},
                                         {-1, 0},
                                         {-1, -1},
                                         {1, 1},
                                         {1, 1}},
                                        {"depthwise",
                                         {2, 5, 5, 18},
                                         {3, 3, 1, 18},
                                         {2, 5, 5, 18},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         18},
                                        {"feature groups",
                                         {2, 5, 5, 6},
                                         {3, 3, 3, 8},
                                         {2, 5, 5, 8},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         2},
                                        {"batch groups",
                                         {6, 5, 5, 4},
                                         {3, 3, 4, 6},
                                         {2, 5, 5, 6},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         1,
                                         3},
                                        {"reversed",
                                         {1, 6, 6, 2},
                                         {2, 3, 2, 3},
                                         {1, 5, 4, 3},
                                         {1, 1},
                                         {0, 0},
                                         {0, 0},
                                         {1, 1},
                                         {1, 1},
                                         1,
                                         1,
                                         true}};
  for (ConvolutionCase &c : cases) {
    SCOPED_TRACE(c.name);
    auto pair = [](int *values) {
      return std::to_string(values[0]) + ", " + std::to_string(values[1]);
    };
    auto padding = [&](int i) {
      return "[" + std::to_string(c.low[i]) + ", " + std::to_string(c.high[i]) +
             "]";
    };
    std::string reversal = c.reversed ? "true, true" : "false, false";
    EmittedKernel kernel(
        "func.func private @kernel(%x: tensor<" + shapeText(c.input) +
        ">, %w: tensor<" + shapeText(c.kernel) + ">) -> tensor<" +
        shapeText(c.output) + "> {\n%0 = stablehlo.convolution(%x, %w) " +
        "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = "
        "{stride = [" +
        pair(c.stride) + "], pad = [" + padding(0) + ", " + padding(1) +
        "], lhs_dilate = [" + pair(c.inputDilation) + "], rhs_dilate = [" +
        pair(c.kernelDilation) + "], reverse = [" + reversal +
        "]} {batch_group_count = " + std::to_string(c.batchGroups) +
        " : i64, feature_group_count = " + std::to_string(c.featureGroups) +
        " : i64, precision_config = [#stablehlo<precision DEFAULT>, "
        "#stablehlo<precision DEFAULT>]} : (tensor<" +
        shapeText(c.input) + ">, tensor<" + shapeText(c.kernel) +
        ">) -> tensor<" + shapeText(c.output) + ">\nreturn %0 : tensor<" +
        shapeText(c.output) + ">\n}");
    auto size = [](std::vector<int> &shape) {
      return shape[0] * shape[1] * shape[2] * shape[3];
    };
    Array<float> x = someNumbers(size(c.input)),
                 w = someNumbers(size(c.kernel), -1, 1, 2);
    checkClose(kernel, {x.data(), w.data()}, convolve(c, x, w));
  }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

TEST(EmitGeneric, PoolsAndItsGradient) {
  EmittedKernel pool(R"(
    func.func private @kernel(%x: tensor<2x7x6x19xf32>) -> tensor<2x4x3x19xf32> {
      %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %m) <{padding = dense<[[0, 0], [1, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.maximum %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<2x7x6x19xf32>, tensor<f32>) -> tensor<2x4x3x19xf32>
      return %0 : tensor<2x4x3x19xf32>
    })");
  EmittedKernel gradient(R"(
    func.func private @kernel(%x: tensor<2x7x6x19xf32>, %s: tensor<2x4x3x19xf32>) -> tensor<2x7x6x19xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{padding = dense<[[0, 0], [1, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }, {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<2x7x6x19xf32>, tensor<2x4x3x19xf32>, tensor<f32>) -> tensor<2x7x6x19xf32>
      return %0 : tensor<2x7x6x19xf32>
    })");
  Array<float> x = someNumbers(2 * 42 * 19), s = someNumbers(2 * 12 * 19, 0, 1);
  for (float &value : x)                  // ties
    value = std::round(value * 2) + 0.0f; // no -0: its order is open
  Array<float> pooled(s.size()), ep(s.size()), g(x.size()), eg(x.size(), 0);
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 3; ++j)
        for (int c = 0; c < 19; ++c) {
          int best = -1;
          for (int p = 0; p < 2; ++p)
            for (int q = 0; q < 3; ++q) {
              int y = 2 * i + p - 1, v = 2 * j + q;
              if (y < 0 || y >= 7 || v >= 6)
                continue;
              int at = ((b * 7 + y) * 6 + v) * 19 + c;
              if (best < 0 || !(x[best] >= x[at]))
                best = at;
            }
          int at = ((b * 4 + i) * 3 + j) * 19 + c;
          ep[at] = x[best];
          eg[best] += s[at];
        }
  for (int64_t parts : {1, 3}) {
    pool.run({x.data(), pooled.data()}, parts);
    expectSameBits(pooled, ep);
    gradient.run({x.data(), s.data(), g.data()}, parts);
    expectSameBits(g, eg);
  }
}

/// Windows that cover the operand exactly write every element once; larger ones
/// than are written out, and those that leave elements out, take the same
/// values from loops.
TEST(EmitGeneric, PoolsInBlocks) {
  struct Case {
    int rows, size; // of the operand; of the window, which is its stride
    bool tiles, fast;
  };
  for (Case c : {Case{8, 2, true, true}, Case{9, 2, false, true},
                 Case{12, 6, false, false}}) {
    int count = c.rows / c.size, channels = 35, images = 3;
    auto text = [&](const char *kernel) {
      return fill(kernel, {{"ROWS", std::to_string(c.rows)},
                           {"COUNT", std::to_string(count)},
                           {"SIZE", std::to_string(c.size)}});
    };
    EmittedKernel gradient(text(R"(
    func.func private @kernel(%x: tensor<3xROWSxROWSx35xf32>, %s: tensor<3xCOUNTxCOUNTx35xf32>) -> tensor<3xROWSxROWSx35xf32> {
      %z = stablehlo.constant dense<0.5> : tensor<f32>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 1, SIZE, SIZE, 1>, window_strides = array<i64: 1, SIZE, SIZE, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }, {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<3xROWSxROWSx35xf32>, tensor<3xCOUNTxCOUNTx35xf32>, tensor<f32>) -> tensor<3xROWSxROWSx35xf32>
      return %0 : tensor<3xROWSxROWSx35xf32>
    })"));
    EmittedKernel pool(text(R"(
    func.func private @kernel(%x: tensor<3xROWSxROWSx35xf32>) -> tensor<3xCOUNTxCOUNTx35xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, SIZE, SIZE, 1>, window_strides = array<i64: 1, SIZE, SIZE, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<3xROWSxROWSx35xf32>, tensor<f32>) -> tensor<3xCOUNTxCOUNTx35xf32>
      return %0 : tensor<3xCOUNTxCOUNTx35xf32>
    })"));
    // A part is a window where they tile, else an image.
    EXPECT_EQ(gradient.maxParts, c.tiles ? images * count * count : images);
    EXPECT_EQ(gradient.isFallback, !c.fast);
    EXPECT_EQ(pool.isFallback, !c.fast);

    Array<float> x = someNumbers(size_t(images * c.rows * c.rows * channels)),
                 s = someNumbers(size_t(images * count * count * channels));
    for (float &value : x) // ties, and not-a-numbers, which compare false
      value = std::round(value * 2) + 0.0f;
    for (size_t i = 0; i < x.size(); i += 97)
      x[i] = NAN;
    Array<float> g(x.size(), 9), eg(x.size(), 0.5f), p(s.size(), 9),
        ep(s.size());
    for (int b = 0; b < images; ++b)
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j)
          for (int f = 0; f < channels; ++f) {
            int best = -1;
            float sum = 0;
            for (int y = i * c.size; y < (i + 1) * c.size; ++y)
              for (int v = j * c.size; v < (j + 1) * c.size; ++v) {
                int at = ((b * c.rows + y) * c.rows + v) * channels + f;
                if (best < 0 || !(x[best] >= x[at]))
                  best = at;
                sum += x[at];
              }
            int at = ((b * count + i) * count + j) * channels + f;
            eg[best] += s[at];
            ep[at] = sum;
          }
    for (int64_t parts : {1, 3}) {
      gradient.run({x.data(), s.data(), g.data()}, parts);
      expectSameBits(g, eg);
      pool.run({x.data(), p.data()}, parts);
      for (size_t i = 0; i < p.size(); ++i)
        ASSERT_TRUE(p[i] == ep[i] || (std::isnan(p[i]) && std::isnan(ep[i])))
            << i;
    }
  }
}

TEST(EmitGeneric, PoolsAlongTheLastDimension) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<3x20xf32>, %i: tensor<f32>) -> tensor<3x20xf32> {
      %0 = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[[0, 0], [2, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 2>, window_dilations = array<i64: 1, 4>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 2>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<3x20xf32>, tensor<f32>) -> tensor<3x20xf32>
      return %0 : tensor<3x20xf32>
    })");
  Array<float> x = someNumbers(60), initial = {0.25f};
  Array<double> expected(60);
  for (int r = 0; r < 3; ++r)
    for (int j = 0; j < 20; ++j) {
      double sum = initial[0];
      for (int w = 0; w < 2; ++w) {
        int place = 2 * j + 4 * w - 2;
        bool exists = place >= 0 && place % 2 == 0 && place / 2 < 20;
        sum += exists ? x[r * 20 + place / 2] : initial[0];
      }
      expected[r * 20 + j] = sum;
    }
  checkClose(kernel, {x.data(), initial.data()}, expected);
}

TEST(EmitGeneric, SumsUpTo) {
  for (bool backwards : {false, true}) {
    EmittedKernel kernel(fill(
        R"(
    func.func private @kernel(%x: tensor<30x20xf32>) -> tensor<30x20xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[PAD], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 30, 1>, window_strides = array<i64: 1, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<30x20xf32>, tensor<f32>) -> tensor<30x20xf32>
      return %0 : tensor<30x20xf32>
    })",
        {{"PAD", backwards ? "0, 29" : "29, 0"}}));
    Array<float> x = someNumbers(600), y(600), expected(600);
    for (int j = 0; j < 20; ++j) {
      float sum = 0;
      for (int i = 0; i < 30; ++i) {
        int row = backwards ? 29 - i : i;
        sum = sum + x[row * 20 + j];
        expected[row * 20 + j] = sum;
      }
    }
    for (int64_t parts : {1, 3}) {
      kernel.run({x.data(), y.data()}, parts);
      expectSameBits(y, expected);
    }
  }
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

const char *embeddingGradient = R"(
    func.func private @kernel(%t: tensor<11x24xf32>, %i: tensor<30x1xi32>, %u: tensor<30x24xf32>) -> tensor<11x24xf32> attributes {exec.in_place = array<i64: PLACE>} {
      %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<11x24xf32>, tensor<30x1xi32>, tensor<30x24xf32>) -> tensor<11x24xf32>
      return %0 : tensor<11x24xf32>
    })";

TEST(EmitGeneric, AddsRowsAtIndices) {
  EmittedKernel separate(fill(embeddingGradient, {{"PLACE", "-1"}}));
  EmittedKernel inPlace(fill(embeddingGradient, {{"PLACE", "0"}}));
  Array<float> t = someNumbers(264), u = someNumbers(720, -1, 1, 3), y(264),
               expected = t;
  Array<int32_t> rows(30);
  for (int i = 0; i < 30; ++i) {
    rows[i] = i * 7 % 15 - 2; // those out of range are dropped
    if (rows[i] >= 0 && rows[i] < 11)
      for (int j = 0; j < 24; ++j)
        expected[rows[i] * 24 + j] += u[i * 24 + j];
  }
  for (int64_t parts : {1, 3}) {
    separate.run({t.data(), rows.data(), u.data(), y.data()}, parts);
    expectSameBits(y, expected);
    Array<float> overwritten = t;
    inPlace.run({overwritten.data(), rows.data(), u.data()}, parts);
    expectSameBits(overwritten, expected);
  }
}

TEST(EmitGeneric, PutsSingleElementsIntoZeros) {
  // The gradient of picking one logit per row, with batching dimensions.
  EmittedKernel kernel(R"(
    func.func private @kernel(%i: tensor<4x6x1x1xi32>, %u: tensor<4x6x1xf32>) -> tensor<4x6x33xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<4x6x33xf32>
      %0 = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<4x6x33xf32>, tensor<4x6x1x1xi32>, tensor<4x6x1xf32>) -> tensor<4x6x33xf32>
      return %0 : tensor<4x6x33xf32>
    })");
  Array<int32_t> index(24);
  Array<float> u = someNumbers(24), y(24 * 33), expected(24 * 33, 0);
  for (int i = 0; i < 24; ++i) {
    index[i] = i * 5 % 35;
    if (index[i] < 33)
      expected[i * 33 + index[i]] = u[i];
  }
  for (int64_t parts : {1, 3}) {
    kernel.run({index.data(), u.data(), y.data()}, parts);
    expectSameBits(y, expected);
  }
}

TEST(EmitGeneric, ScattersWindowsThatReachOver) {
  // Windows of 3 x 20 at computed corners; elements outside are dropped.
  EmittedKernel kernel(R"(
    func.func private @kernel(%t: tensor<8x40xf32>, %i: tensor<2x5xi64>, %u: tensor<3x5x20xf32>) -> tensor<8x40xf32> {
      %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 0>, unique_indices = false}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      }) : (tensor<8x40xf32>, tensor<2x5xi64>, tensor<3x5x20xf32>) -> tensor<8x40xf32>
      return %0 : tensor<8x40xf32>
    })");
  Array<float> t = someNumbers(320), u = someNumbers(300, 5, 6, 2), y(320),
               expected = t;
  Array<int64_t> corner = {-1, 2, 6, 100, 3, 5, -7, 30, 0, 20};
  for (int n = 0; n < 5; ++n)
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 20; ++q) {
        int64_t i = corner[n] + p, j = corner[5 + n] + q;
        if (i >= 0 && i < 8 && j >= 0 && j < 40)
          expected[i * 40 + j] = u[(p * 5 + n) * 20 + q];
      }
  for (int64_t parts : {1, 3}) {
    kernel.run({t.data(), corner.data(), u.data(), y.data()}, parts);
    expectSameBits(y, expected);
  }
}

TEST(EmitGeneric, UpdatesASliceInPlace) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<9x4x30xf32>, %u: tensor<1x4x30xf32>, %i: tensor<i32>) -> tensor<9x4x30xf32> attributes {exec.in_place = array<i64: 0>} {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %z, %z : (tensor<9x4x30xf32>, tensor<1x4x30xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<9x4x30xf32>
      return %0 : tensor<9x4x30xf32>
    })");
  for (int64_t parts : {1, 3})
    for (int32_t at : {-3, 4, 12}) {
      Array<float> x = someNumbers(9 * 120), u = someNumbers(120, 3, 4, 2),
                   expected = x;
      std::copy(u.begin(), u.end(),
                expected.begin() + std::clamp(at, 0, 8) * 120);
      kernel.run({x.data(), u.data(), &at}, parts);
      expectSameBits(x, expected);
    }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST(EmitGeneric, SortsPairsStably) {
  for (int n : {1, 2, 7, 16, 33}) {
    EmittedKernel kernel(fill(
        R"(
    func.func private @kernel(%x: tensor<5xNx3xf32>, %i: tensor<5xNx3xi32>) -> (tensor<5xNx3xf32>, tensor<5xNx3xi32>) {
      %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<5xNx3xf32>, tensor<5xNx3xi32>) -> (tensor<5xNx3xf32>, tensor<5xNx3xi32>)
      return %0#0, %0#1 : tensor<5xNx3xf32>, tensor<5xNx3xi32>
    })",
        {{"xNx", "x" + std::to_string(n) + "x"}}));
    Array<float> x = someNumbers(15 * n), y(15 * n), ey(15 * n);
    for (float &value : x)
      value = std::round(value * 3);
    Array<int32_t> i(15 * n), p(15 * n), ep(15 * n);
    std::iota(i.begin(), i.end(), 0);
    for (int a = 0; a < 5; ++a)
      for (int c = 0; c < 3; ++c) {
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        auto at = [&](int b) { return (a * n + b) * 3 + c; };
        std::sort(order.begin(), order.end(), [&](int s, int t) {
          return std::pair(-x[at(s)], s) < std::pair(-x[at(t)], t);
        });
        for (int b = 0; b < n; ++b) {
          ey[at(b)] = x[at(order[b])];
          ep[at(b)] = i[at(order[b])];
        }
      }
    for (int64_t parts : {1, 3}) {
      kernel.run({x.data(), i.data(), y.data(), p.data()}, parts);
      expectSameBits(y, ey);
      expectSameBits(p, ep);
    }
  }
}

TEST(EmitGeneric, FindsTheLargest) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<6x20xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>) {
      %0, %1 = chlo.top_k(%x, k = 4) : tensor<6x20xf32> -> (tensor<6x4xf32>, tensor<6x4xi32>)
      return %0, %1 : tensor<6x4xf32>, tensor<6x4xi32>
    })");
  Array<float> x = someNumbers(120), y(24), ey(24);
  for (float &value : x)
    value = std::round(value * 3);
  x[7] = -0.0f;
  x[25] = std::numeric_limits<float>::quiet_NaN();
  Array<int32_t> p(24), ep(24);
  for (int r = 0; r < 6; ++r) {
    std::vector<int> order(20);
    std::iota(order.begin(), order.end(), 0);
    auto key = [&](int c) {
      int32_t bits;
      std::memcpy(&bits, &x[r * 20 + c], 4);
      return bits < 0 ? bits ^ 0x7fffffff : bits;
    };
    std::sort(order.begin(), order.end(), [&](int s, int t) {
      return std::pair(-int64_t(key(s)), s) < std::pair(-int64_t(key(t)), t);
    });
    for (int c = 0; c < 4; ++c) {
      ey[r * 4 + c] = x[r * 20 + order[c]];
      ep[r * 4 + c] = order[c];
    }
  }
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), y.data(), p.data()}, parts);
    expectSameBits(y, ey);
    expectSameBits(p, ep);
  }
}

// Results that nobody asks for are kept in scratch memory, or not made.
TEST(EmitGeneric, LeavesOutResults) {
  EmittedKernel order(R"(
    func.func private @kernel(%x: tensor<5x33xf32>) -> tensor<5x33xi32> {
      %i = stablehlo.iota dim = 1 : tensor<5x33xi32>
      %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<5x33xf32>, tensor<5x33xi32>) -> (tensor<5x33xf32>, tensor<5x33xi32>)
      return %0#1 : tensor<5x33xi32>
    })");
  EmittedKernel largest(R"(
    func.func private @kernel(%x: tensor<5x33xf32>) -> tensor<5x2xi32> {
      %0, %1 = chlo.top_k(%x, k = 2) : tensor<5x33xf32> -> (tensor<5x2xf32>, tensor<5x2xi32>)
      return %1 : tensor<5x2xi32>
    })");
  EmittedKernel bits(R"(
    func.func private @kernel(%s: tensor<2xui64>) -> tensor<3x5xui32> {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
      return %1 : tensor<3x5xui32>
    })");
  EmittedKernel state(R"(
    func.func private @kernel(%s: tensor<2xui64>) -> tensor<2xui64> attributes {exec.in_place = array<i64: 0>} {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
      return %0 : tensor<2xui64>
    })");
  Array<float> x = someNumbers(165);
  Array<int32_t> sorted(165), top(10);
  for (int64_t parts : {1, 3}) {
    order.run({x.data(), sorted.data()}, parts);
    largest.run({x.data(), top.data()}, parts);
    for (int r = 0; r < 5; ++r) {
      for (int j = 0; j + 1 < 33; ++j)
        EXPECT_LE(x[r * 33 + sorted[r * 33 + j]],
                  x[r * 33 + sorted[r * 33 + j + 1]]);
      EXPECT_EQ(top[2 * r], sorted[r * 33 + 32]);
      EXPECT_EQ(top[2 * r + 1], sorted[r * 33 + 31]);
    }
    Array<uint64_t> words = {0x0123456789abcdef, 0xfedcba9876543210};
    Array<uint32_t> drawn(15);
    bits.run({words.data(), drawn.data()}, parts);
    EXPECT_EQ(drawn[0], 0x1ec53d42u);
    EXPECT_EQ(drawn[4], 0xcb472319u);
    state.run({words.data()}, parts);
    EXPECT_EQ(words, (Array<uint64_t>{0x123456789abcdef, 0xfedcba9876543214}));
  }
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

std::string generator(const std::string &algorithm, const std::string &type) {
  return fill(R"(
    func.func private @kernel(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<TYPE>) {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = ALGORITHM : (tensor<2xui64>) -> (tensor<2xui64>, tensor<TYPE>)
      return %0, %1 : tensor<2xui64>, tensor<TYPE>
    })",
              {{"TYPE", type}, {"ALGORITHM", algorithm}});
}

// The numbers in these tests are what jax.lax.rng_bit_generator gives on the
// CPU (JAX 0.10.2).
TEST(EmitGeneric, DrawsPhiloxBits) {
  for (const char *algorithm : {"DEFAULT", "PHILOX"}) {
    EmittedKernel kernel(generator(algorithm, "3x5xui32"));
    Array<uint64_t> state = {0x0123456789abcdef, 0xfedcba9876543210}, next(2);
    Array<uint32_t> bits(15);
    kernel.run({state.data(), next.data(), bits.data()});
    EXPECT_EQ(next, (Array<uint64_t>{0x123456789abcdef, 0xfedcba9876543214}));
    Array<uint32_t> first(bits.begin(), bits.begin() + 5);
    EXPECT_EQ(first, (Array<uint32_t>{0x1ec53d42, 0xcfa390b5, 0xf2235702,
                                      0xe71ff917, 0xcb472319}));
  }
  EmittedKernel wide(generator("PHILOX", "9xui64"));
  EmittedKernel narrow(generator("PHILOX", "9xui16"));
  Array<uint64_t> state = {5, 7}, next(2), bits(9);
  Array<uint16_t> halves(9);
  wide.run({state.data(), next.data(), bits.data()});
  EXPECT_EQ(next, (Array<uint64_t>{5, 12}));
  EXPECT_EQ(bits[0], 0xc4a35ba874a851f1);
  EXPECT_EQ(bits[8], 0x24fb1313544d3ad3);
  narrow.run({state.data(), next.data(), halves.data()});
  EXPECT_EQ(next, (Array<uint64_t>{5, 10}));
  EXPECT_EQ(halves, (Array<uint16_t>{0x51f1, 0x5ba8, 0x0aa7, 0x7739, 0x503c,
                                     0x7eb1, 0xbbd9, 0x7b88, 0xfef0}));
}

TEST(EmitGeneric, DrawsPhiloxBitsInVectorsAndParts) {
  // A long output begins like a short one, in which blocks are scalars.
  EmittedKernel few(generator("PHILOX", "60xui32"));
  EmittedKernel many(generator("PHILOX", "70x61xui32"));
  // The low half of the counter wraps around.
  Array<uint64_t> state = {11, 0xfffffffffffffff8}, next(2), after(2);
  Array<uint32_t> short_(60), whole(4270), parts(4270);
  few.run({state.data(), next.data(), short_.data()});
  many.run({state.data(), next.data(), whole.data()});
  many.run({state.data(), after.data(), parts.data()}, 3);
  EXPECT_TRUE(std::equal(short_.begin(), short_.end(), whole.begin()));
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(next, after);
  EXPECT_EQ(next[1], 0xfffffffffffffff8 + 1068);
}

TEST(EmitGeneric, DrawsThreefryBits) {
  Array<uint64_t> state = {0x0123456789abcdef, 0x00000000fffffffe}, next(2);
  EmittedKernel line(generator("THREE_FRY", "9xui32"));
  Array<uint32_t> bits(9);
  line.run({state.data(), next.data(), bits.data()});
  EXPECT_EQ(next, (Array<uint64_t>{0x123456789abcdef, 0x100000003}));
  EXPECT_EQ(bits, (Array<uint32_t>{0xd6f05f18, 0x8ff237ca, 0x0af0500d,
                                   0xae583773, 0xba3918c0, 0x525310a8,
                                   0xcab60d48, 0x8b6ec1c2, 0xe74f725f}));
  EmittedKernel rows(generator("THREE_FRY", "4x3xui32"));
  bits.resize(12);
  rows.run({state.data(), next.data(), bits.data()}, 3);
  EXPECT_EQ(next, (Array<uint64_t>{0x123456789abcdef, 0x100000004}));
  EXPECT_EQ(bits,
            (Array<uint32_t>{0xd6f05f18, 0x0af0500d, 0xba3918c0, 0x8ff237ca,
                             0xae583773, 0x525310a8, 0xcab60d48, 0xe74f725f,
                             0x3487f584, 0x8b6ec1c2, 0xb4d15007, 0xaa68ef32}));
  // A long one, in vectors, begins like a short one.
  EmittedKernel longer(generator("THREE_FRY", "1001xui32"));
  Array<uint32_t> many(1001);
  longer.run({state.data(), next.data(), many.data()}, 3);
  EXPECT_EQ(next[1], uint64_t(0xfffffffe) + 501);
  Array<uint32_t> begin(many.begin(), many.begin() + 9);
  bits = {0xd6f05f18, 0x8ff237ca, 0x0af0500d, 0xae583773, 0xba3918c0,
          0x525310a8, 0xcab60d48, 0x8b6ec1c2, 0xe74f725f};
  EXPECT_EQ(begin, bits);
}

TEST(EmitGeneric, SaysWhatItCannotEmit) {
  EXPECT_NE(complaintAbout(R"(
    func.func private @kernel(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>
      return %0 : tensor<4x4xf32>
    })")
                .find("no native code for 'stablehlo.cholesky'"),
            std::string::npos);
}

} // namespace
