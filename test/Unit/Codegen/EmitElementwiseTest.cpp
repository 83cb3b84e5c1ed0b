//===- EmitElementwiseTest.cpp - Element-wise kernels against plain loops -===//
//
// Each kernel is compiled from text and compared with a C++ loop, bit for bit
// where every operation rounds once, for one part and for three.
//
//===----------------------------------------------------------------------===//

#include "EmittedKernel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

namespace {

template <typename T>
void expectSameBits(const Array<T> &actual, const Array<T> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(std::memcmp(&actual[i], &expected[i], sizeof(T)), 0)
        << "element " << i << ": " << +actual[i] << ", expected "
        << +expected[i];
}

/// Runs with 1 and 3 parts and compares both with what is expected.
template <typename T>
void check(EmittedKernel &kernel, std::vector<void *> operands,
           const Array<T> &expected) {
  for (int64_t parts : {1, 3}) {
    Array<T> result(expected.size(), T(77));
    std::vector<void *> arguments = operands;
    arguments.push_back(result.data());
    kernel.run(arguments, parts);
    expectSameBits(result, expected);
  }
}

TEST(EmitElementwise, AddsTensors) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<37x5xf32>, %y: tensor<37x5xf32>) -> tensor<37x5xf32> {
      %0 = stablehlo.add %x, %y : tensor<37x5xf32>
      return %0 : tensor<37x5xf32>
    })");
  Array<float> x = someNumbers(185), y = someNumbers(185, -1, 5, 2), z(185);
  for (size_t i = 0; i < z.size(); ++i)
    z[i] = x[i] + y[i];
  check(kernel, {x.data(), y.data()}, z);
}

TEST(EmitElementwise, BroadcastsAlongEitherDimension) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<21x50xf32>, %r: tensor<21xf32>, %c: tensor<50xf32>) -> tensor<21x50xf32> {
      %0 = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<21xf32>) -> tensor<21x50xf32>
      %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<50xf32>) -> tensor<21x50xf32>
      %2 = stablehlo.multiply %x, %0 : tensor<21x50xf32>
      %3 = stablehlo.subtract %2, %1 : tensor<21x50xf32>
      return %3 : tensor<21x50xf32>
    })");
  Array<float> x = someNumbers(21 * 50), r = someNumbers(21, -1, 5, 2),
               c = someNumbers(50, -1, 5, 3), z(21 * 50);
  for (int i = 0; i < 21; ++i)
    for (int j = 0; j < 50; ++j) {
      volatile float product = x[i * 50 + j] * r[i];
      z[i * 50 + j] = product - c[j];
    }
  check(kernel, {x.data(), r.data(), c.data()}, z);
}

/// A value per group of a few channels is loaded and repeated, not gathered.
TEST(EmitElementwise, RepeatsGroups) {
  for (int width : {2, 4, 8}) {
    std::string text = R"(
    func.func private @kernel(%x: tensor<3x5x8xWxf32>, %g: tensor<3x8xf32>) -> tensor<3x5x8xWxf32> {
      %0 = stablehlo.broadcast_in_dim %g, dims = [0, 2] : (tensor<3x8xf32>) -> tensor<3x5x8xWxf32>
      %1 = stablehlo.multiply %x, %0 : tensor<3x5x8xWxf32>
      return %1 : tensor<3x5x8xWxf32>
    })";
    for (size_t at; (at = text.find('W')) != std::string::npos;)
      text.replace(at, 1, std::to_string(width));
    EmittedKernel kernel(text);
    EXPECT_EQ(kernel.loops.find("vector.gather"), std::string::npos)
        << kernel.loops;
    size_t count = size_t(3 * 5 * 8 * width);
    Array<float> x = someNumbers(count), g = someNumbers(24, -1, 5, 2),
                 z(count);
    for (size_t i = 0; i < count; ++i)
      z[i] = x[i] * g[i / (5 * 8 * width) * 8 + i / width % 8];
    check(kernel, {x.data(), g.data()}, z);
  }
}

TEST(EmitElementwise, MovesElements) {
  // transpose, reverse, slice with stride, pad on all sides and inside,
  // concatenate
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<6x40xf32>, %y: tensor<9x20xf32>) -> tensor<40x17xf32> {
      %p = stablehlo.constant dense<-1.5> : tensor<f32>
      %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x40xf32>) -> tensor<40x6xf32>
      %1 = stablehlo.reverse %0, dims = [0, 1] : tensor<40x6xf32>
      %2 = stablehlo.pad %y, %p, low = [1, 1], high = [0, 0], interior = [0, 1] : (tensor<9x20xf32>, tensor<f32>) -> tensor<10x40xf32>
      %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<10x40xf32>) -> tensor<40x10xf32>
      %4 = stablehlo.slice %3 [0:40, 0:10:2] : (tensor<40x10xf32>) -> tensor<40x5xf32>
      %5 = stablehlo.concatenate %1, %4, %0, dim = 1 : (tensor<40x6xf32>, tensor<40x5xf32>, tensor<40x6xf32>) -> tensor<40x17xf32>
      return %5 : tensor<40x17xf32>
    })");
  Array<float> x = someNumbers(240), y = someNumbers(180, 3, 5, 2), z(40 * 17);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 17; ++j) {
      float value;
      if (j < 6) {
        value = x[(5 - j) * 40 + (39 - i)];
      } else if (j < 11) {
        int row = 2 * (j - 6) - 1, column = i - 1;
        value = row < 0 || column < 0 || column % 2 ? -1.5f
                                                    : y[row * 20 + column / 2];
      } else {
        value = x[(j - 11) * 40 + i];
      }
      z[i * 17 + j] = value;
    }
  check(kernel, {x.data(), y.data()}, z);
}

TEST(EmitElementwise, ReadsNothingInFrontOfAPart) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<7x11xf32>, %last: tensor<7x11xf32>) -> tensor<7x44xf32> {
      %0 = stablehlo.multiply %x, %x : tensor<7x11xf32>
      %1 = stablehlo.add %x, %x : tensor<7x11xf32>
      %2 = stablehlo.negate %last : tensor<7x11xf32>
      %3 = stablehlo.concatenate %x, %0, %1, %2, dim = 1 : (tensor<7x11xf32>, tensor<7x11xf32>, tensor<7x11xf32>, tensor<7x11xf32>) -> tensor<7x44xf32>
      %4 = stablehlo.multiply %3, %3 : tensor<7x44xf32>
      return %4 : tensor<7x44xf32>
    })");
  // The part begins behind a page that nobody may read.
  const auto page = size_t(sysconf(_SC_PAGESIZE));
  void *pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, page, PROT_NONE), 0);
  auto *last = reinterpret_cast<float *>(static_cast<char *>(pages) + page);
  Array<float> x = someNumbers(77), y = someNumbers(77, -1, 5, 2), z(308);
  std::copy(y.begin(), y.end(), last);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 44; ++j) {
      const float a = x[i * 11 + j % 11], b = y[i * 11 + j % 11];
      const float part = j < 11 ? a : j < 22 ? a * a : j < 33 ? a + a : -b;
      z[i * 44 + j] = part * part;
    }
  check(kernel, {x.data(), last}, z);
  munmap(pages, 2 * page);
}

TEST(EmitElementwise, ReshapesWithoutMoving) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<4x3x32xf32>, %y: tensor<12x2x16xf32>) -> tensor<4x96xf32> {
      %0 = stablehlo.reshape %x : (tensor<4x3x32xf32>) -> tensor<4x96xf32>
      %1 = stablehlo.reshape %y : (tensor<12x2x16xf32>) -> tensor<4x96xf32>
      %2 = stablehlo.add %0, %1 : tensor<4x96xf32>
      return %2 : tensor<4x96xf32>
    })");
  EXPECT_EQ(kernel.loops.find("divui %arg"), std::string::npos);
  Array<float> x = someNumbers(384), y = someNumbers(384, 1, 2, 9), z(384);
  for (size_t i = 0; i < z.size(); ++i)
    z[i] = x[i] + y[i];
  check(kernel, {x.data(), y.data()}, z);
}

TEST(EmitElementwise, GathersRowsAndSingleElements) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%t: tensor<11x24xf32>, %i: tensor<30x1xi32>, %k: tensor<30x24x1xi32>) -> tensor<30x24xf32> {
      %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 24>}> : (tensor<11x24xf32>, tensor<30x1xi32>) -> tensor<30x24xf32>
      %1 = "stablehlo.gather"(%0, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<30x24xf32>, tensor<30x24x1xi32>) -> tensor<30x24xf32>
      return %1 : tensor<30x24xf32>
    })");
  Array<float> t = someNumbers(11 * 24), z(30 * 24);
  Array<int32_t> rows(30), columns(30 * 24);
  for (int i = 0; i < 30; ++i)
    rows[i] = i * 7 % 15 - 2; // some are out of range and are clamped
  for (int i = 0; i < 30 * 24; ++i)
    columns[i] = i * 13 % 31 - 3;
  auto clamp = [](int v, int high) { return std::max(0, std::min(v, high)); };
  for (int i = 0; i < 30; ++i)
    for (int j = 0; j < 24; ++j)
      z[i * 24 + j] =
          t[clamp(rows[i], 10) * 24 + clamp(columns[i * 24 + j], 23)];
  check(kernel, {t.data(), rows.data(), columns.data()}, z);
}

TEST(EmitElementwise, UpdatesInPlace) {
  // p = p - 0.1 v where v = 0.9 v + g, with p and v overwritten.
  EmittedKernel kernel(R"(
    func.func private @kernel(%p: tensor<100xf32>, %g: tensor<100xf32>, %v: tensor<100xf32>) -> (tensor<100xf32>, tensor<100xf32>) attributes {exec.in_place = array<i64: 0, 2>} {
      %m = stablehlo.constant dense<0.9> : tensor<100xf32>
      %r = stablehlo.constant dense<0.1> : tensor<100xf32>
      %0 = stablehlo.multiply %v, %m : tensor<100xf32>
      %1 = stablehlo.add %0, %g : tensor<100xf32>
      %2 = stablehlo.multiply %1, %r : tensor<100xf32>
      %3 = stablehlo.subtract %p, %2 : tensor<100xf32>
      return %3, %1 : tensor<100xf32>, tensor<100xf32>
    })");
  for (int64_t parts : {1, 3}) {
    Array<float> p = someNumbers(100), g = someNumbers(100, -1, 1, 4),
                 v = someNumbers(100, -1, 1, 5), ep = p, ev = v;
    for (int i = 0; i < 100; ++i) {
      volatile float decayed = ev[i] * 0.9f;
      ev[i] = decayed + g[i];
      volatile float step = ev[i] * 0.1f;
      ep[i] = ep[i] - step;
    }
    kernel.run({p.data(), g.data(), v.data()}, parts);
    expectSameBits(p, ep);
    expectSameBits(v, ev);
  }
}

TEST(EmitElementwise, ComputesOnIntegersAndBooleans) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<70xi32>, %y: tensor<70xi32>, %b: tensor<70xi1>) -> (tensor<70xi32>, tensor<70xi32>, tensor<70xi1>, tensor<70xi32>) {
      %0 = stablehlo.divide %x, %y : tensor<70xi32>
      %1 = stablehlo.remainder %x, %y : tensor<70xi32>
      %2 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<70xi32>, tensor<70xi32>) -> tensor<70xi1>
      %3 = stablehlo.xor %2, %b : tensor<70xi1>
      %4 = stablehlo.shift_left %x, %y : tensor<70xi32>
      return %0, %1, %3, %4 : tensor<70xi32>, tensor<70xi32>, tensor<70xi1>, tensor<70xi32>
    })");
  Array<int32_t> x(70), y(70), q(70), r(70), s(70);
  Array<uint8_t> b(70), less(70);
  for (int i = 0; i < 70; ++i) {
    x[i] = i * 1000003 - 30000000;
    y[i] = i % 9 - 4;
    b[i] = i % 3 == 0;
  }
  x[5] = std::numeric_limits<int32_t>::min();
  y[5] = -1;
  y[6] = 33;
  Array<int32_t> eq(70), er(70), es(70);
  Array<uint8_t> el(70);
  for (int i = 0; i < 70; ++i) {
    eq[i] = y[i] == 0 ? -1 : int32_t(int64_t(x[i]) / y[i]);
    er[i] = y[i] == 0 ? x[i] : int32_t(int64_t(x[i]) % y[i]);
    el[i] = (x[i] < y[i]) != b[i];
    es[i] = uint32_t(y[i]) >= 32 ? 0 : int32_t(uint32_t(x[i]) << y[i]);
  }
  for (int64_t parts : {1, 3}) {
    kernel.run({x.data(), y.data(), b.data(), q.data(), r.data(), less.data(),
                s.data()},
               parts);
    expectSameBits(q, eq);
    expectSameBits(r, er);
    expectSameBits(less, el);
    expectSameBits(s, es);
  }
}

TEST(EmitElementwise, ConvertsAndSaturates) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<20xf32>) -> (tensor<20xi32>, tensor<20xui8>, tensor<20xi1>) {
      %0 = stablehlo.convert %x : (tensor<20xf32>) -> tensor<20xi32>
      %1 = stablehlo.convert %x : (tensor<20xf32>) -> tensor<20xui8>
      %2 = stablehlo.convert %x : (tensor<20xf32>) -> tensor<20xi1>
      return %0, %1, %2 : tensor<20xi32>, tensor<20xui8>, tensor<20xi1>
    })");
  float nan = std::numeric_limits<float>::quiet_NaN();
  float infinity = std::numeric_limits<float>::infinity();
  Array<float> x = {0,         1.9f,          -1.9f,          255.5f, 256,
                    -0.5f,     3e9f,          -3e9f,          nan,    infinity,
                    -infinity, 2147483520.0f, -2147483648.0f, 1e-30f, -0.0f,
                    127.5f,    128,           1e20f,          5,      6};
  Array<int32_t> i(20);
  Array<uint8_t> u(20), b(20);
  kernel.run({x.data(), i.data(), u.data(), b.data()});
  for (int k = 0; k < 20; ++k) {
    double v = x[k];
    int32_t ei = std::isnan(v)       ? 0
                 : v >= 2147483648.0 ? std::numeric_limits<int32_t>::max()
                 : v < -2147483648.0 ? std::numeric_limits<int32_t>::min()
                                     : int32_t(v);
    uint8_t eu = std::isnan(v) || v <= 0 ? 0 : v >= 255 ? 255 : uint8_t(v);
    EXPECT_EQ(i[k], ei) << v;
    EXPECT_EQ(u[k], eu) << v;
    EXPECT_EQ(b[k], v != 0) << v;
  }
}

TEST(EmitElementwise, SlicesAndUpdatesAtRunTimeIndices) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<9x30xf32>, %u: tensor<3x30xf32>, %i: tensor<i32>, %j: tensor<i64>) -> tensor<9x30xf32> {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %k = stablehlo.convert %j : (tensor<i64>) -> tensor<i32>
      %0 = stablehlo.dynamic_slice %x, %i, %z, sizes = [3, 30] : (tensor<9x30xf32>, tensor<i32>, tensor<i32>) -> tensor<3x30xf32>
      %1 = stablehlo.add %0, %u : tensor<3x30xf32>
      %2 = stablehlo.dynamic_update_slice %x, %1, %k, %z : (tensor<9x30xf32>, tensor<3x30xf32>, tensor<i32>, tensor<i32>) -> tensor<9x30xf32>
      return %2 : tensor<9x30xf32>
    })");
  Array<float> x = someNumbers(270), u = someNumbers(90, 1, 2, 8);
  for (int from : {-5, 2, 8})
    for (int64_t to : {-1, 1, 50}) {
      int32_t i = from;
      int a = std::clamp(from, 0, 6), b = std::clamp<int>(to, 0, 6);
      Array<float> z = x;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 30; ++c)
          z[(b + r) * 30 + c] = x[(a + r) * 30 + c] + u[r * 30 + c];
      check(kernel, {x.data(), u.data(), &i, &to}, z);
    }
}

/// Transposes of elements of one type, whole tiles and ragged ones.
template <typename T>
void checkTransposes(const std::string &element) {
  std::vector<std::pair<int, int>> sizes = {
      {16, 16}, {64, 32}, {70, 33}, {5, 200}, {130, 7}};
  for (auto [rows, columns] : sizes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    std::string from = "tensor<3x" + std::to_string(rows) + "x1x" +
                       std::to_string(columns) + "x" + element + ">";
    std::string to = "tensor<" + std::to_string(columns) + "x3x" +
                     std::to_string(rows) + "x1x" + element + ">";
    EmittedKernel kernel("func.func private @kernel(%x: " + from + ") -> " +
                         to +
                         " { %0 = stablehlo.transpose %x, dims = [3, 0, "
                         "1, 2] : (" +
                         from + ") -> " + to + "\n return %0 : " + to + "}");
    Array<T> x(3 * rows * columns), y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = T(i * 2654435761u >> 7);
    for (int a = 0; a < 3; ++a)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          y[(j * 3 + a) * rows + i] = x[(a * rows + i) * columns + j];
    check(kernel, {x.data()}, y);
    std::string back = "tensor<3x" + std::to_string(columns) + "x1x" +
                       std::to_string(rows) + "x" + element + ">";
    EmittedKernel swap("func.func private @kernel(%x: " + from + ") -> " +
                       back +
                       " { %0 = stablehlo.transpose %x, dims = [0, 3, "
                       "2, 1] : (" +
                       from + ") -> " + back + "\n return %0 : " + back + "}");
    for (int a = 0; a < 3; ++a)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          y[(a * columns + j) * rows + i] = x[(a * rows + i) * columns + j];
    check(swap, {x.data()}, y);
  }
}

TEST(EmitElementwise, TransposesTiles) {
  checkTransposes<uint32_t>("ui32");
  checkTransposes<uint16_t>("bf16");
  checkTransposes<int64_t>("i64");
  checkTransposes<int8_t>("i8");
}

TEST(EmitElementwise, MakesScalars) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
      %0 = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
      %1 = stablehlo.divide %x, %0 : tensor<f32>
      return %1 : tensor<f32>
    })");
  Array<float> x = {10}, z = {10.0f / 3};
  int32_t n = 3;
  check(kernel, {x.data(), &n}, z);
}

TEST(EmitElementwise, CountsAlongADimension) {
  EmittedKernel kernel(R"(
    func.func private @kernel(%s: tensor<33xi32>) -> (tensor<33x10xf32>, tensor<33x10xi1>) {
      %0 = stablehlo.iota dim = 1 : tensor<33x10xi32>
      %1 = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<33xi32>) -> tensor<33x10xi32>
      %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<33x10xi32>, tensor<33x10xi32>) -> tensor<33x10xi1>
      %3 = stablehlo.convert %2 : (tensor<33x10xi1>) -> tensor<33x10xf32>
      return %3, %2 : tensor<33x10xf32>, tensor<33x10xi1>
    })");
  Array<int32_t> s(33);
  Array<float> z(330), ez(330);
  Array<uint8_t> b(330), eb(330);
  for (int i = 0; i < 33; ++i)
    s[i] = i % 12;
  for (int i = 0; i < 330; ++i) {
    eb[i] = i % 10 == s[i / 10];
    ez[i] = eb[i];
  }
  for (int64_t parts : {1, 3}) {
    kernel.run({s.data(), z.data(), b.data()}, parts);
    expectSameBits(z, ez);
    expectSameBits(b, eb);
  }
}

} // namespace
