//===- MatmulTest.cpp - Matrix multiplications against loops in double ---===//
//
// Many shapes, strides, batches, types and cuts against the definition, and the
// bits of one and several threads against each other.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "TestIsa.h"

#include "tenon/Libraries/CallOverhead.h"
#include "tenon/Libraries/WidenedProducts.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::libraries;
using tenon::test::computeTypesOf;
using tenon::test::GuardedMemory;
using tenon::test::testIsa;

namespace {

MatmulDescription plain(int64_t m, int64_t n, int64_t k,
                        ElementType type = ElementType::f32) {
  MatmulDescription d;
  d.lhsType = d.rhsType = d.resultType = type;
  d.m = m;
  d.n = n;
  d.k = k;
  d.lhsStrideM = k;
  d.lhsStrideK = 1;
  d.rhsStrideK = n;
  d.rhsStrideN = 1;
  d.resultStrideM = n;
  d.resultStrideN = 1;
  return d;
}

MatmulDescription transposed(MatmulDescription d, bool lhs, bool rhs,
                             bool result = false) {
  if (lhs) {
    d.lhsStrideM = 1;
    d.lhsStrideK = d.m;
  }
  if (rhs) {
    d.rhsStrideK = 1;
    d.rhsStrideN = d.k;
  }
  if (result) {
    d.resultStrideM = 1;
    d.resultStrideN = d.m;
  }
  return d;
}

/// `rows` rows of `length` elements, one after the other.
std::vector<double> packedRows(const std::vector<double> &elements, int64_t at,
                               int64_t rows, int64_t rowStride, int64_t length,
                               int64_t stride) {
  std::vector<double> packed;
  packed.reserve(size_t(rows * length));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < length; ++k)
      packed.push_back(elements[size_t(at + i * rowStride + k * stride)]);
  return packed;
}

struct Sum {
  double value = 0, size = 0; // of the terms and of their magnitudes
};

/// The sum of products. It is most of what these tests take, so it adds in four
/// rows, and no sanitizer looks at it.
__attribute__((no_sanitize("address", "undefined", "thread"))) Sum
sumOfProducts(const double *row, const double *column, int64_t length) {
  // Not std::array, whose functions are sanitized and would not be inlined.
  double values[4] = {}, sizes[4] = {};
  for (int64_t k = 0; k < length; ++k) {
    double product = row[k] * column[k];
    values[k % 4] += product;
    sizes[k % 4] += std::fabs(product);
  }
  return {values[0] + values[1] + values[2] + values[3],
          sizes[0] + sizes[1] + sizes[2] + sizes[3]};
}

/// Runs `d` on `threads` threads; the bytes of the result.
std::vector<std::byte> compute(const MatmulDescription &d, unsigned threads,
                               bool check) {
  std::string error;
  auto call = Call::create(d, testIsa(), error);
  EXPECT_TRUE(call) << error;
  if (!call)
    return {};
  std::vector<GuardedMemory> memories;
  for (int64_t i = 0; i < call->argumentCount(); ++i)
    memories.emplace_back(call->argumentBytes(i));
  bool bias = d.epilogue != Epilogue::none;
  size_t resultIndex = bias ? 3 : 2;
  tenon::test::Values values;
  for (size_t i = 0; i < resultIndex; ++i) {
    ElementType type = i == 1   ? d.rhsType
                       : i == 2 ? ElementType::f32
                                : d.lhsType;
    for (int64_t j = 0; j < memories[i].bytes() / byteWidth(type); ++j)
      memories[i].set(j, type, values.next());
  }
  GuardedMemory &result = memories[resultIndex];
  std::fill_n(result.data(), result.bytes(), std::byte(0x33));
  std::vector<void *> arguments;
  for (GuardedMemory &memory : memories)
    arguments.push_back(memory.data());
  EXPECT_TRUE(tenon::test::runCall(*call, arguments, threads));
  for (GuardedMemory &memory : memories)
    EXPECT_TRUE(memory.intact());
  std::vector<std::byte> bytes(result.data(), result.data() + result.bytes());
  if (!check)
    return bytes;

  std::vector<bool> written(size_t(result.bytes() / byteWidth(d.resultType)));
  std::vector<int64_t> index(d.batch.size());
  std::vector<double> lhs = memories[0].elements(d.lhsType);
  std::vector<double> rhs = memories[1].elements(d.rhsType);
  double worst = 0;
  for (bool more = true; more;) {
    int64_t l = 0, r = 0, o = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      l += index[i] * d.batch[i].lhsStride;
      r += index[i] * d.batch[i].rhsStride;
      o += index[i] * d.batch[i].resultStride;
    }
    std::vector<double> rows =
        packedRows(lhs, l, d.m, d.lhsStrideM, d.k, d.lhsStrideK);
    std::vector<double> columns =
        packedRows(rhs, r, d.n, d.rhsStrideN, d.k, d.rhsStrideK);
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.n; ++j) {
        auto [sum, size] = sumOfProducts(&rows[size_t(i * d.k)],
                                         &columns[size_t(j * d.k)], d.k);
        if (bias) {
          sum += memories[2].floats()[j];
          size += 1;
        }
        int64_t place = o + i * d.resultStrideM + j * d.resultStrideN;
        written[size_t(place)] = true;
        double unit = tenon::test::unitOf(d.resultType);
        double deviation = std::fabs(result.get(place, d.resultType) - sum) /
                           (unit * (size + 1e-3));
        worst = std::max(worst, std::isnan(deviation) ? INFINITY : deviation);
      }
    more = false;
    for (size_t i = index.size(); i-- > 0 && !more;) {
      if (++index[i] < d.batch[i].size)
        more = true;
      else
        index[i] = 0;
    }
  }
  EXPECT_LE(worst, 1.0) << call->implementation();
  // Nothing between the elements is touched.
  int64_t width = byteWidth(d.resultType);
  for (size_t i = 0; i < written.size(); ++i)
    for (int64_t b = 0; b < width && !written[i]; ++b)
      EXPECT_EQ(bytes[i * size_t(width) + size_t(b)], std::byte(0x33)) << i;
  return bytes;
}

/// The code that computes `d`.
std::string implementationOf(const MatmulDescription &d) {
  std::string error;
  auto call = Call::create(d, testIsa(), error);
  return call ? call->implementation() : error;
}

/// Checks `d` and that its bits do not depend on threads.
void check(MatmulDescription d) {
  SCOPED_TRACE(std::to_string(d.m) + "x" + std::to_string(d.n) + "x" +
               std::to_string(d.k) + " pieces " + std::to_string(d.pieces));
  auto one = compute(d, 1, true);
  EXPECT_EQ(one, compute(d, 2, false));
  EXPECT_EQ(one, compute(d, 3, false));
}

/// Checks `d` with operands of 16 bits and results of 16 and 32, multiplied in
/// every type. Native code may be missing for an odd number of terms.
void checkNarrow(MatmulDescription d) {
  for (ElementType type : {ElementType::bf16, ElementType::f16})
    for (ElementType compute : computeTypesOf(type))
      for (ElementType result : {type, ElementType::f32}) {
        d.lhsType = d.rhsType = type;
        d.computeType = compute;
        d.resultType = result;
        SCOPED_TRACE(describe(d));
        std::string error;
        if (compute == ElementType::bf16 && d.k % 2 &&
            !Call::create(d, testIsa(), error))
          EXPECT_NE(error.find("odd number"), std::string::npos) << error;
        else
          check(d);
      }
}

} // namespace

TEST(Matmul, ShapesAndTranspositions) {
  int64_t shapes[][3] = {{1, 1, 1},    {1, 17, 5},    {23, 1, 9},
                         {64, 64, 64}, {33, 130, 47}, {128, 10, 70},
                         {10, 200, 3}, {7, 5, 1000},  {1, 300, 70}};
  for (auto [m, n, k] : shapes)
    for (int form = 0; form < 8; ++form)
      for (int64_t pieces : {1, 2, 5}) {
        auto d = transposed(plain(m, n, k), form & 1, form & 2, form & 4);
        d.pieces = pieces;
        check(d);
      }
}

/// Products of more than four million multiplications, which run by our own
/// code where there are vectors of 512 bits: in every order of the operands,
/// with ends of rows, columns and runs of terms, in one piece and in several.
TEST(Matmul, LargeShapesAndTranspositions) {
  int64_t shapes[][3] = {
      {301, 131, 130}, {64, 520, 257}, {520, 65, 300}, {97, 120, 513}};
  int inVectors = 0;
  for (auto [m, n, k] : shapes)
    for (int form = 0; form < 8; ++form) {
      auto d = transposed(plain(m, n, k), form & 1, form & 2, form & 4);
      std::vector<std::byte> whole;
      for (int64_t pieces : {1, 2, 3}) {
        d.pieces = pieces;
        SCOPED_TRACE(describe(d) + ", form " + std::to_string(form));
        auto bytes = compute(d, 2, pieces != 2);
        if (pieces == 1)
          whole = bytes;
        if (implementationOf(d) == "vectors:avx512") {
          ++inVectors;
          EXPECT_EQ(bytes, whole);
        }
      }
    }
  EXPECT_EQ(inVectors, testIsa() >= Isa::avx512 ? 60 : 0);
}

/// Far more columns than are made at a time, and rows that are not dense.
TEST(Matmul, LargeShapesInStrips) {
  auto d = plain(72, 2000, 300);
  d.lhsStrideM = 310;
  d.rhsStrideK = 2011;
  d.resultStrideM = 2003;
  d.epilogue = Epilogue::bias;
  for (int64_t pieces : {1, 2}) {
    d.pieces = pieces;
    check(d);
  }
}

TEST(Matmul, RowsApart) {
  auto d = plain(50, 70, 40);
  d.lhsStrideM = 48;
  d.rhsStrideK = 75;
  d.resultStrideM = 81;
  for (int64_t pieces : {1, 2, 4}) {
    d.pieces = pieces;
    check(d);
  }
}

TEST(Matmul, BatchesWithHeadsInsideFeatures) {
  // q k^T over [batch 2, time 20, heads 3, features 16], then scores * v.
  constexpr int64_t b = 2, t = 20, h = 3, f = 16;
  MatmulDescription scores = plain(t, t, f);
  scores.batch = {{b, t * 3 * h * f, t * 3 * h * f, h * t * t},
                  {h, f, f, t * t}};
  scores.lhsStrideM = 3 * h * f;
  scores.rhsStrideN = 3 * h * f;
  scores.rhsStrideK = 1;
  MatmulDescription mixed = plain(t, f, t);
  mixed.batch = {{b, h * t * t, t * h * f, t * h * f}, {h, t * t, f, f}};
  mixed.rhsStrideK = h * f;
  mixed.resultStrideM = h * f;
  MatmulDescription gradient = mixed; // scores^T * d
  gradient.lhsStrideM = 1;
  gradient.lhsStrideK = t;
  for (MatmulDescription d : {scores, mixed, gradient})
    for (int64_t pieces : {1, 2, 3, 6}) {
      d.pieces = pieces;
      check(d);
    }
}

TEST(Matmul, BatchesThatOneOperandDoesNotHave) {
  auto d = plain(12, 24, 18);
  d.batch = {{4, 12 * 18, 0, 12 * 24}};
  check(d); // folds into the rows
  d.batch = {{4, 0, 18 * 24, 12 * 24}};
  check(d);
  d.batch = {{3, 5 * 12 * 18, 18 * 24, 5 * 12 * 24}, {5, 12 * 18, 0, 12 * 24}};
  d.pieces = 3;
  check(d);
  d.batch = {{3, 5 * 12 * 18, 0, 5 * 12 * 24}, {5, 12 * 18, 18 * 24, 12 * 24}};
  check(d);
}

TEST(Matmul, FourBatchDimensions) {
  auto d = plain(6, 8, 10);
  d.batch = {{2, 3 * 2 * 5 * 60, 2 * 80, 3 * 2 * 5 * 48},
             {3, 2 * 5 * 60, 0, 2 * 5 * 48},
             {2, 5 * 60, 80, 5 * 48},
             {5, 60, 0, 48}};
  for (int64_t pieces : {1, 2, 5}) {
    d.pieces = pieces;
    check(d);
  }
}

TEST(Matmul, BiasHasTheBitsOfASeparateAddition) {
  // Odd shapes, and some of projections in attention.
  for (auto [m, n, k] : {std::array<int64_t, 3>{40, 72, 8},
                         {40, 72, 300},
                         {40, 72, 1500},
                         {1, 40, 300},
                         {256, 384, 128},
                         {65, 576, 192},
                         {32, 1024, 256}})
    for (int64_t pieces : {1, 2})
      for (bool transposeRhs : {false, true}) {
        auto d = transposed(plain(m, n, k), false, transposeRhs);
        d.pieces = pieces;
        d.epilogue = Epilogue::bias;
        ASSERT_EQ(whyNotSupported(d, testIsa()), "");
        check(d);
        auto fused = compute(d, 1, false);
        d.epilogue = Epilogue::none;
        auto separate = compute(d, 1, false);
        // The same values in the same order fill lhs, rhs and then the bias.
        tenon::test::Values values;
        for (int64_t i = 0; i < d.m * d.k + d.k * d.n; ++i)
          values.next();
        auto *result = reinterpret_cast<float *>(separate.data());
        for (int64_t j = 0; j < d.n; ++j) {
          float bias = values.next();
          for (int64_t i = 0; i < d.m; ++i)
            result[i * d.n + j] += bias;
        }
        EXPECT_EQ(fused, separate);
      }
}

TEST(Matmul, BiasIsAddedBeforeTheSumIsRounded) {
  int supported = 0;
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{40, 72, 300}, {256, 384, 128}, {65, 576, 192}})
    for (ElementType multiplied : computeTypesOf(ElementType::bf16)) {
      auto d = plain(m, n, k, ElementType::bf16);
      d.computeType = multiplied;
      d.pieces = 2;
      d.epilogue = Epilogue::bias;
      SCOPED_TRACE(describe(d));
      if (std::string whyNot = whyNotSupported(d, testIsa()); !whyNot.empty()) {
        EXPECT_NE(whyNot.find("other code"), std::string::npos) << whyNot;
        continue;
      }
      ++supported;
      check(d);
      auto rounded = compute(d, 1, false);
      d.resultType = ElementType::f32;
      auto sums = compute(d, 1, false);
      auto *narrow = reinterpret_cast<uint16_t *>(rounded.data());
      auto *wide = reinterpret_cast<float *>(sums.data());
      for (int64_t i = 0; i < m * n; ++i)
        ASSERT_EQ(narrow[i], tenon::test::floatToBf16(wide[i])) << i;
    }
  EXPECT_GT(supported, 0);
}

TEST(Matmul, NarrowTypes) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{64, 64, 64},
                         {33, 130, 47},
                         {1, 40, 300},
                         {40, 1, 301},
                         {20, 3, 515}})
    for (int form = 0; form < 8; ++form) {
      auto d = transposed(plain(m, n, k), form & 1, form & 2, form & 4);
      d.pieces = 2;
      checkNarrow(d);
    }
}

// More than the blocks that are widened at a time, in rows, columns, batches
// and with operands that do not vary.
TEST(Matmul, NarrowTypesInBlocks) {
  auto d = plain(700, 130, 513);
  d.pieces = 2;
  checkNarrow(d);
  checkNarrow(transposed(plain(100, 900, 600), true, true));
  d = plain(65, 64, 65);
  d.lhsStrideM = 3 * 65;
  d.resultStrideM = 3 * 64;
  d.batch = {{30, 65 * 3 * 65, 0, 65 * 3 * 64}, {3, 65, 65 * 64, 64}};
  for (int64_t pieces : {1, 2}) {
    d.pieces = pieces;
    checkNarrow(d);
  }
}

// What calls convert beyond the copies of f32 that they make anyway.
TEST(Matmul, ElementsConverted) {
  auto converted = [](MatmulDescription d) {
    return elementsConverted(d, Isa::avx512);
  };
  MatmulDescription d = plain(256, 768, 768);
  EXPECT_EQ(converted(d), 0);
  EXPECT_FALSE(widensInCopies(d, Isa::avx512)); // nothing is narrow
  d.lhsType = ElementType::bf16;
  EXPECT_TRUE(widensInCopies(d, Isa::avx512));
  EXPECT_EQ(converted(d), 0);
  EXPECT_FALSE(widensInCopies(d, Isa::avx2));
  EXPECT_EQ(elementsConverted(d, Isa::avx2), 256 * 768);
  // Rows of f32 that meet few columns are read where they lie.
  d = plain(2080, 192, 768);
  d.rhsType = ElementType::bf16;
  EXPECT_TRUE(widensInCopies(d, Isa::avx512));
  EXPECT_EQ(converted(d), 2080 * 768);
  // A small product is computed in blocks, which are converted in front.
  d = plain(32, 48, 64, ElementType::bf16);
  EXPECT_FALSE(widensInCopies(d, Isa::avx512));
  EXPECT_EQ(converted(d), 32 * 64 + 64 * 48 + 32 * 48);
}

// What a piece of a call reads of the right operand, and copies of it.
TEST(Matmul, BytesMetByRows) {
  MatmulDescription d = plain(1024, 512, 128);
  constexpr int64_t bytes = 512 * 128 * 4;
  // The library copies it, our own code reads it where it lies.
  EXPECT_EQ(bytesMetByRows(d, Isa::avx2), 2 * bytes);
  EXPECT_EQ(bytesMetByRows(d, Isa::avx512), bytes);
  // As often for few rows as for many. Pieces of columns have parts of it.
  d.m = 128;
  EXPECT_EQ(bytesMetByRows(d, Isa::avx512), bytes);
  d.pieces = 2;
  EXPECT_EQ(bytesMetByRows(d, Isa::avx512), bytes / 2);
  // A transposed one is turned while it is copied.
  d = transposed(plain(1024, 512, 128), /*lhs=*/false, /*rhs=*/true);
  EXPECT_EQ(bytesMetByRows(d, Isa::avx512), 2 * bytes);
  // What is widened is multiplied as f32 is.
  d.rhsType = ElementType::bf16;
  EXPECT_EQ(bytesMetByRows(d, Isa::avx512), 2 * bytes);
  EXPECT_EQ(bytesMetByRows(d, Isa::avx2), 2 * bytes);
  // Each matrix of a batch has its own.
  d = plain(16, 16, 16);
  d.batch = {{8, 256, 256, 256}};
  EXPECT_EQ(bytesMetByRows(d, Isa::avx512), 8 * 2 * 16 * 16 * 4);
}

TEST(Matmul, BiasOfAWidenedProduct) {
  for (ElementType type : {ElementType::bf16, ElementType::f16})
    for (ElementType compute : computeTypesOf(type)) {
      auto d = plain(100, 900, 600);
      d.lhsType = d.rhsType = type;
      d.computeType = compute;
      d.epilogue = Epilogue::bias;
      d.pieces = 2;
      check(d);
    }
}

// With an odd number of terms, an infinite last factor gives infinities, or the
// library is not asked. Code that takes terms in pairs makes them NaN.
TEST(Matmul, BrainFloatInfinityLast) {
  if (!target::describe(testIsa()).hasBf16)
    GTEST_SKIP() << "there are no instructions for bf16";
  unsigned computed = 0;
  for (int64_t k : {1, 15, 257})
    for (int form = 0; form < 4; ++form)
      for (int64_t pieces : {1, 2}) {
        auto d = transposed(plain(64, 128, k, ElementType::bf16), form & 1,
                            form & 2);
        d.resultType = ElementType::f32;
        d.computeType = ElementType::bf16;
        d.pieces = pieces;
        std::string error;
        auto call = Call::create(d, testIsa(), error);
        if (!call) {
          EXPECT_NE(error.find("odd number"), std::string::npos) << error;
          continue;
        }
        ++computed;
        std::vector<GuardedMemory> memories;
        std::vector<void *> arguments;
        for (int64_t i = 0; i < call->argumentCount(); ++i)
          memories.emplace_back(call->argumentBytes(i));
        for (GuardedMemory &memory : memories)
          arguments.push_back(memory.data());
        for (int64_t i = 0; i < d.m * k; ++i)
          memories[0].set(i, ElementType::bf16, 1);
        for (int64_t i = 0; i < d.n * k; ++i)
          memories[1].set(i, ElementType::bf16, 1);
        memories[0].set(3 * d.lhsStrideM + (k - 1) * d.lhsStrideK,
                        ElementType::bf16, INFINITY);
        EXPECT_TRUE(tenon::test::runCall(*call, arguments, 1));
        for (int64_t i = 0; i < d.m * d.n; ++i)
          ASSERT_EQ(memories[2].floats()[i], i / d.n == 3 ? INFINITY : float(k))
              << call->implementation() << " at " << i << ", k " << k
              << ", form " << form << ", pieces " << pieces;
      }
  EXPECT_GT(computed, 16u);
}

// Operands that are copied in parts before they are used.
TEST(Matmul, BrainFloatOfManyTransposedRows) {
  if (!target::describe(testIsa()).hasBf16)
    GTEST_SKIP() << "there are no instructions for bf16";
  auto d = transposed(plain(1300, 600, 1500, ElementType::bf16), true, false);
  d.computeType = ElementType::bf16;
  d.pieces = 2;
  check(d);
}

// The gradient of a weight. The library's other code keeps all of it in f32.
TEST(Matmul, BrainFloatOfTransposedRowsNeedsNoSecondResult) {
  if (!target::describe(testIsa()).hasBf16)
    GTEST_SKIP() << "there are no instructions for bf16";
  auto d = transposed(plain(784, 512, 128, ElementType::bf16), true, false);
  d.computeType = ElementType::bf16;
  d.pieces = 2;
  check(d);
  EXPECT_LE(workspaceBytes(d, testIsa()), d.m * d.n);
}

// What the library packs in every call, or is given packed, is the same
// product.
TEST(Matmul, PackedOperand) {
  for (ElementType result : {ElementType::bf16, ElementType::f32})
    for (auto [m, n, k] : {std::array<int64_t, 3>{32, 1024, 256},
                           {32, 256, 1024},
                           {7, 64, 32}}) {
      auto d = plain(m, n, k, ElementType::bf16);
      d.computeType = ElementType::bf16;
      d.resultType = result;
      d.pieces = 2;
      PackedMatmulDescription packed(d);
      SCOPED_TRACE(describe(packed));
      EXPECT_EQ(whyInvalid(packed), "");
      std::string error;
      auto call = Call::create(packed, testIsa(), error);
      if (testIsa() != target::Isa::amxBf16) {
        EXPECT_FALSE(call);
        continue;
      }
      ASSERT_TRUE(call) << error;
      ASSERT_EQ(call->argumentBytes(1), k * n * 2);
      auto unpacked = Call::create(d, testIsa(), error);
      ASSERT_TRUE(unpacked) << error;
      tenon::test::Values values;
      auto memoriesOf = [](const Call &call) {
        std::vector<GuardedMemory> memories;
        for (int64_t i = 0; i < call.argumentCount(); ++i)
          memories.emplace_back(call.argumentBytes(i));
        return memories;
      };
      auto ours = memoriesOf(*call), theirs = memoriesOf(*unpacked);
      for (int64_t i = 0; i < m * k; ++i) {
        double value = values.next();
        ours[0].set(i, ElementType::bf16, value);
        theirs[0].set(i, ElementType::bf16, value);
      }
      for (int64_t row = 0; row < k; ++row)
        for (int64_t column = 0; column < n; ++column) {
          double value = values.next();
          theirs[1].set(row * n + column, ElementType::bf16, value);
          int64_t block = column / 64 * (k / 32) + row / 32;
          ours[1].set(((block * 16 + row % 32 / 2) * 64 + column % 64) * 2 +
                          row % 2,
                      ElementType::bf16, value);
        }
      for (auto [made, memories] :
           {std::pair(call.get(), &ours), {unpacked.get(), &theirs}}) {
        std::vector<void *> arguments;
        for (GuardedMemory &memory : *memories)
          arguments.push_back(memory.data());
        EXPECT_TRUE(tenon::test::runCall(*made, arguments, 2));
        for (GuardedMemory &memory : *memories)
          EXPECT_TRUE(memory.intact());
      }
      double unit = tenon::test::unitOf(result);
      for (int64_t i = 0; i < m * n; ++i)
        ASSERT_NEAR(ours[2].get(i, result), theirs[2].get(i, result),
                    unit * double(k))
            << i;
    }
}

TEST(Matmul, PackedOperandsAreWholeBlocks) {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{96, 64}, {64, 48}}) {
    PackedMatmulDescription packed(plain(16, n, k, ElementType::bf16));
    EXPECT_NE(whyInvalid(packed).find("multiple"), std::string::npos);
  }
  PackedMatmulDescription packed(
      transposed(plain(16, 128, 64, ElementType::bf16), false, true));
  EXPECT_NE(whyInvalid(packed).find("strides"), std::string::npos);
}

TEST(Matmul, WideResultsOfFewRows) {
  for (int64_t n : {320, 70 * 48})
    for (bool transposeRhs : {false, true}) {
      auto d = transposed(plain(48, n, 100), false, transposeRhs);
      d.pieces = 2;
      check(d);
    }
}

TEST(Matmul, SaysWhatIsNotSupported) {
  auto d = plain(8, 8, 8);
  d.lhsType = d.rhsType = d.resultType = ElementType::f64;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("f64"), std::string::npos);
  EXPECT_EQ(workspaceBytes(d, testIsa()), -1);
  d = plain(8, 8, 8);
  d.rhsType = d.computeType = ElementType::bf16;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("f32 and bf16"),
            std::string::npos);
  d.lhsType = ElementType::bf16;
  EXPECT_EQ(whyNotSupported(d, testIsa()).find("no instructions") ==
                std::string::npos,
            target::describe(testIsa()).hasBf16);
  d = plain(8, 8, 8);
  d.lhsStrideM = 32;
  d.lhsStrideK = 2;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("reference code"),
            std::string::npos);
  d = plain(0, 8, 8);
  EXPECT_NE(whyNotSupported(d, testIsa()).find("m 0"), std::string::npos);
  d = plain(8, 8, 8);
  d.resultStrideM = 0;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("overlaps itself"),
            std::string::npos);
  d = plain(8, 8, 8);
  d.lhsStrideM = int64_t(1) << 39;
  EXPECT_NE(whyNotSupported(d, testIsa()), "");
}

TEST(Matmul, OnlyOneInstructionSetPerProcess) {
  ASSERT_EQ(whyNotSupported(plain(8, 8, 8), testIsa()), "");
  Isa other = testIsa() == Isa::avx2 ? Isa::avx512 : Isa::avx2;
  EXPECT_NE(whyNotSupported(plain(8, 8, 8), other).find("process of its own"),
            std::string::npos);
}

TEST(Matmul, PiecesDependOnTheWorkAlone) {
  EXPECT_EQ(preferredPieces(plain(8, 8, 8)), 1);
  EXPECT_EQ(preferredPieces(plain(128, 512, 784)), 2);
  EXPECT_EQ(preferredPieces(plain(2048, 2048, 2048)), 4);
  auto d = plain(128, 512, 784);
  d.pieces = 64;
  EXPECT_EQ(preferredPieces(d), 2);
}
