//===- ConvolutionTest.cpp - Convolutions against loops in double --------===//
//
// The three kinds over layouts, strides, paddings, dilations, groups, mirrored
// kernels and cuts, against the definition of a forward convolution and of its
// gradients.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "TestIsa.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::libraries;
using tenon::test::computeTypesOf;
using tenon::test::GuardedMemory;
using tenon::test::testIsa;

namespace {

using Spatial = ConvolutionDescription::Spatial;

/// Channels last, kernel [space, input, output], as JAX has them; strides
/// follow from the extents.
ConvolutionDescription channelsLast(ConvolutionDescription d) {
  int64_t in = d.inputChannels, out = d.outputChannels;
  int64_t kernel = in / d.groups * out;
  for (size_t i = d.spatial.size(); i-- > 0;) {
    Spatial &s = d.spatial[i];
    s.output =
        (s.input + s.padLow + s.padHigh - (s.kernel - 1) * s.dilation - 1) /
            s.stride +
        1;
    s.inputStride = in;
    s.outputStride = out;
    s.kernelStride = kernel;
    in *= s.input;
    out *= s.output;
    kernel *= s.kernel;
  }
  d.inputStrideBatch = in;
  d.outputStrideBatch = out;
  d.inputStrideChannel = d.outputStrideChannel = 1;
  d.kernelStrideOutput = 1;
  d.kernelStrideGroup = d.outputChannels / d.groups;
  d.kernelStrideInput = d.outputChannels;
  return d;
}

/// Channels before space, kernel [output, input, space].
ConvolutionDescription channelsFirst(ConvolutionDescription d) {
  d = channelsLast(d);
  int64_t in = 1, out = 1, kernel = 1;
  for (size_t i = d.spatial.size(); i-- > 0;) {
    Spatial &s = d.spatial[i];
    s.inputStride = in;
    s.outputStride = out;
    s.kernelStride = kernel;
    in *= s.input;
    out *= s.output;
    kernel *= s.kernel;
  }
  d.inputStrideChannel = in;
  d.outputStrideChannel = out;
  d.inputStrideBatch = in * d.inputChannels;
  d.outputStrideBatch = out * d.outputChannels;
  d.kernelStrideInput = kernel;
  d.kernelStrideOutput = kernel * (d.inputChannels / d.groups);
  d.kernelStrideGroup = d.kernelStrideOutput * (d.outputChannels / d.groups);
  return d;
}

ConvolutionDescription convolution(int64_t batch, int64_t in, int64_t out,
                                   std::vector<Spatial> spatial,
                                   int64_t groups = 1) {
  ConvolutionDescription d;
  d.batch = batch;
  d.inputChannels = in;
  d.outputChannels = out;
  d.groups = groups;
  d.spatial = std::move(spatial);
  return d;
}

Spatial window(int64_t input, int64_t kernel, int64_t stride, int64_t low,
               int64_t high, int64_t dilation = 1) {
  Spatial s;
  s.input = input;
  s.kernel = kernel;
  s.stride = stride;
  s.padLow = low;
  s.padHigh = high;
  s.dilation = dilation;
  return s;
}

/// Calls `visit(input element, kernel element, output element)` for every
/// product of the forward convolution.
template <typename Visit>
void forEachProduct(const ConvolutionDescription &d, Visit visit) {
  // What space adds to the three places is the same for all channels.
  struct Places {
    int64_t input = 0, kernel = 0, output = 0;
  };
  std::vector<Places> space(1);
  for (const Spatial &s : d.spatial) {
    std::vector<Places> next;
    for (Places outer : space)
      for (int64_t y = 0; y < s.output; ++y)
        for (int64_t w = 0; w < s.kernel; ++w) {
          int64_t x = y * s.stride - s.padLow + w * s.dilation;
          if (x < 0 || x >= s.input)
            continue;
          int64_t place = d.mirroredKernel ? s.kernel - 1 - w : w;
          next.push_back({outer.input + x * s.inputStride,
                          outer.kernel + place * s.kernelStride,
                          outer.output + y * s.outputStride});
        }
    space = std::move(next);
  }
  int64_t in = d.inputChannels / d.groups, out = d.outputChannels / d.groups;
  for (int64_t b = 0; b < d.batch; ++b)
    for (int64_t g = 0; g < d.groups; ++g)
      for (int64_t ci = 0; ci < in; ++ci)
        for (int64_t co = 0; co < out; ++co) {
          Places first{
              b * d.inputStrideBatch + (g * in + ci) * d.inputStrideChannel,
              g * d.kernelStrideGroup + ci * d.kernelStrideInput +
                  co * d.kernelStrideOutput,
              b * d.outputStrideBatch + (g * out + co) * d.outputStrideChannel};
          for (const Places &more : space)
            visit(first.input + more.input, first.kernel + more.kernel,
                  first.output + more.output);
        }
}

/// Marks every element of a result.
std::vector<bool> elementsOf(const ConvolutionDescription &d) {
  std::vector<std::pair<int64_t, int64_t>> dimensions; // extent, stride
  if (d.kind == ConvolutionKind::weightGradient)
    dimensions = {{d.groups, d.kernelStrideGroup},
                  {d.inputChannels / d.groups, d.kernelStrideInput},
                  {d.outputChannels / d.groups, d.kernelStrideOutput}};
  else if (d.kind == ConvolutionKind::forward)
    dimensions = {{d.batch, d.outputStrideBatch},
                  {d.outputChannels, d.outputStrideChannel}};
  else
    dimensions = {{d.batch, d.inputStrideBatch},
                  {d.inputChannels, d.inputStrideChannel}};
  for (const Spatial &s : d.spatial)
    dimensions.push_back(d.kind == ConvolutionKind::weightGradient
                             ? std::pair(s.kernel, s.kernelStride)
                         : d.kind == ConvolutionKind::forward
                             ? std::pair(s.output, s.outputStride)
                             : std::pair(s.input, s.inputStride));
  std::vector<int64_t> places{0};
  for (auto [extent, stride] : dimensions) {
    std::vector<int64_t> next;
    for (int64_t place : places)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(place + i * stride);
    places = std::move(next);
  }
  std::vector<bool> marks(
      size_t(*std::max_element(places.begin(), places.end()) + 1));
  for (int64_t place : places)
    marks[size_t(place)] = true;
  return marks;
}

/// The result's bytes. With `check` its elements are compared with sums in
/// double; `error` gets how far they are apart, relative to the sums, as root
/// mean squares, for operands with all their digits: sums of few digits would
/// be exact.
std::vector<std::byte> compute(const ConvolutionDescription &d,
                               unsigned threads, bool check,
                               double *error = nullptr) {
  std::string message;
  auto call = Call::create(d, testIsa(), message);
  // In pairs of bf16 an odd number of channels may need what comes after them.
  const bool mayBeRefused =
      d.computeType == ElementType::bf16 &&
      (d.kind == ConvolutionKind::forward        ? d.inputChannels % 2 != 0
       : d.kind == ConvolutionKind::dataGradient ? d.outputChannels % 2 != 0
                                                 : false);
  EXPECT_TRUE(call ||
              (mayBeRefused && message.find("odd number") != std::string::npos))
      << message;
  if (!call)
    return {};
  std::vector<GuardedMemory> memories;
  std::vector<void *> arguments;
  for (int64_t i = 0; i < call->argumentCount(); ++i)
    memories.emplace_back(call->argumentBytes(i));
  tenon::test::Values values;
  for (size_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < memories[i].bytes() / byteWidth(d.type); ++j)
      memories[i].set(
          j, d.type,
          values.next() +
              (error ? values.next() * 0x1p-7f + values.next() * 0x1p-14f : 0));
  GuardedMemory &result = memories[2];
  std::fill_n(result.data(), result.bytes(), std::byte(0x33));
  if (memories.size() > 3) // what was in the workspace does not matter
    std::fill_n(memories[3].data(), memories[3].bytes(), std::byte(0xff));
  for (GuardedMemory &memory : memories)
    arguments.push_back(memory.data());
  EXPECT_TRUE(tenon::test::runCall(*call, arguments, threads));
  for (GuardedMemory &memory : memories)
    EXPECT_TRUE(memory.intact());
  std::vector<std::byte> bytes(result.data(), result.data() + result.bytes());
  if (!check)
    return bytes;

  size_t elements = size_t(result.bytes() / byteWidth(d.resultType));
  std::vector<double> sum(elements), size(elements);
  std::vector<double> lhs = memories[0].elements(d.type);
  std::vector<double> rhs = memories[1].elements(d.type);
  forEachProduct(d, [&](int64_t i, int64_t k, int64_t o) {
    auto [a, b, r] = d.kind == ConvolutionKind::forward ? std::array{i, k, o}
                     : d.kind == ConvolutionKind::dataGradient
                         ? std::array{o, k, i}
                         : std::array{i, o, k};
    double product = lhs[size_t(a)] * rhs[size_t(b)];
    sum[size_t(r)] += product;
    size[size_t(r)] += std::fabs(product);
  });
  auto isElement = elementsOf(d);
  double worst = 0, unit = tenon::test::unitOf(d.resultType);
  double squares = 0, errorSquares = 0;
  size_t width = size_t(byteWidth(d.resultType));
  for (size_t i = 0; i < elements; ++i) {
    if (i < isElement.size() && isElement[i]) {
      squares += sum[i] * sum[i];
      double computed = result.get(int64_t(i), d.resultType);
      errorSquares += std::pow(computed - sum[i], 2);
      double deviation =
          std::fabs(computed - sum[i]) / (unit * (size[i] + 1e-3));
      worst = std::max(worst, std::isnan(deviation) ? INFINITY : deviation);
    } else {
      for (size_t b = 0; b < width; ++b)
        EXPECT_EQ(bytes[i * width + b], std::byte(0x33)) << i;
    }
  }
  EXPECT_LE(worst, 1.0) << call->implementation();
  if (error)
    *error = std::sqrt(errorSquares / squares);
  return bytes;
}

/// All three kinds of `d`, cut in several ways.
void checkKinds(ConvolutionDescription d) {
  for (ConvolutionKind kind :
       {ConvolutionKind::forward, ConvolutionKind::dataGradient,
        ConvolutionKind::weightGradient})
    for (int64_t pieces : {1, 2, 3}) {
      SCOPED_TRACE("kind " + std::to_string(int(kind)) + " pieces " +
                   std::to_string(pieces));
      d.kind = kind;
      d.pieces = pieces;
      auto one = compute(d, 1, true);
      EXPECT_EQ(one, compute(d, 2, false));
      if (pieces == 3) {
        EXPECT_EQ(one, compute(d, 3, false));
      }
    }
}

} // namespace

TEST(Convolution, ThreeByThree) {
  checkKinds(channelsLast(
      convolution(4, 16, 32, {window(8, 3, 1, 1, 1), window(9, 3, 1, 1, 1)})));
  checkKinds(channelsFirst(
      convolution(3, 16, 32, {window(8, 3, 1, 1, 1), window(7, 3, 1, 1, 1)})));
}

TEST(Convolution, FewAndOddChannels) {
  checkKinds(channelsLast(
      convolution(4, 3, 16, {window(9, 3, 1, 1, 1), window(8, 3, 1, 1, 1)})));
  checkKinds(channelsLast(
      convolution(2, 1, 7, {window(10, 5, 1, 2, 2), window(8, 5, 1, 2, 2)})));
  checkKinds(channelsLast(
      convolution(2, 21, 35, {window(6, 3, 1, 1, 1), window(5, 2, 1, 0, 1)})));
  checkKinds(channelsFirst(
      convolution(2, 5, 3, {window(6, 3, 1, 1, 1), window(5, 2, 1, 0, 1)})));
}

TEST(Convolution, Strides) {
  checkKinds(channelsLast(
      convolution(3, 16, 16, {window(8, 3, 2, 0, 1), window(8, 3, 2, 0, 1)})));
  checkKinds(channelsLast(
      convolution(3, 16, 32, {window(8, 1, 2, 0, 0), window(8, 1, 2, 0, 0)})));
  checkKinds(channelsLast(
      convolution(2, 3, 8, {window(12, 4, 4, 0, 0), window(12, 4, 4, 0, 0)})));
}

TEST(Convolution, Dilation) {
  checkKinds(channelsLast(convolution(
      2, 16, 16, {window(10, 3, 1, 2, 2, 2), window(9, 3, 1, 0, 1, 2)})));
}

TEST(Convolution, NegativePadding) {
  checkKinds(channelsLast(convolution(
      2, 16, 16, {window(10, 3, 1, -1, 1), window(9, 3, 1, 1, -2)})));
}

TEST(Convolution, Groups) {
  checkKinds(channelsLast(convolution(
      3, 32, 32, {window(6, 3, 1, 1, 1), window(6, 3, 1, 1, 1)}, 2)));
  checkKinds(channelsLast(convolution(
      3, 16, 16, {window(6, 3, 1, 1, 1), window(6, 3, 1, 1, 1)}, 16)));
}

TEST(Convolution, OneAndThreeDimensions) {
  checkKinds(channelsLast(convolution(3, 16, 16, {window(20, 5, 1, 2, 2)})));
  checkKinds(channelsLast(convolution(
      2, 8, 16,
      {window(4, 3, 1, 1, 1), window(5, 3, 1, 1, 1), window(4, 2, 2, 0, 0)})));
}

TEST(Convolution, MirroredKernel) {
  auto d = channelsLast(
      convolution(3, 16, 32, {window(8, 3, 1, 1, 0), window(7, 2, 2, 1, 0)}));
  d.mirroredKernel = true;
  checkKinds(d);
}

TEST(Convolution, MoreWeightsThanData) {
  checkKinds(channelsLast(
      convolution(2, 96, 128, {window(4, 3, 1, 1, 1), window(4, 3, 1, 1, 1)})));
}

TEST(Convolution, RowsApart) {
  auto d = channelsLast(
      convolution(2, 16, 16, {window(6, 3, 1, 1, 1), window(6, 3, 1, 1, 1)}));
  d.inputStrideBatch = 1000;
  d.outputStrideBatch = 700;
  d.spatial[0].inputStride = 160;
  d.kernelStrideInput = 20;
  d.spatial[1].kernelStride = 16 * 20;
  d.spatial[0].kernelStride = 16 * 20 * 3;
  checkKinds(d);
}

/// Convolutions that run by Winograd's algorithm, cut in several ways.
void checkWinograd(ConvolutionDescription d) {
  d.mayTransform = true;
  for (ConvolutionKind kind :
       {ConvolutionKind::forward, ConvolutionKind::dataGradient,
        ConvolutionKind::weightGradient}) {
    d.kind = kind;
    std::string message;
    auto call = Call::create(d, testIsa(), message);
    ASSERT_TRUE(call) << message;
    EXPECT_EQ(call->implementation(), "winograd:avx512");
  }
  checkKinds(d);
}

TEST(Convolution, Winograd) {
  if (testIsa() == Isa::avx2)
    GTEST_SKIP() << "Winograd's algorithm is for AVX-512";
  // All windows in a cache, channels that do not fill vectors; squares half
  // outside in one dimension.
  auto windows = channelsLast(
      convolution(5, 40, 56, {window(9, 3, 1, 1, 1), window(8, 3, 1, 1, 1)}));
  checkWinograd(windows);
  for (ElementType type : {ElementType::bf16, ElementType::f16})
    for (ElementType result : {type, ElementType::f32}) {
      windows.type = type;
      windows.resultType = result;
      checkWinograd(windows);
    }
  // All patches in a cache; runs of terms that are not whole.
  checkWinograd(channelsLast(convolution(
      2, 136, 160, {window(4, 3, 1, 1, 1), window(5, 3, 1, 1, 1)})));
  // Cropped, without padding, and rows apart.
  auto cropped = channelsLast(
      convolution(6, 33, 47, {window(12, 3, 1, -1, 2), window(9, 3, 1, 0, 0)}));
  cropped.mirroredKernel = true;
  cropped.inputStrideBatch += 100;
  cropped.outputStrideBatch += 30;
  cropped.kernelStrideInput += 3;
  cropped.spatial[1].kernelStride = 33 * cropped.kernelStrideInput;
  cropped.spatial[0].kernelStride = 3 * cropped.spatial[1].kernelStride;
  checkWinograd(cropped);
}

TEST(Convolution, WinogradOfLargerWindows) {
  if (testIsa() == Isa::avx2)
    GTEST_SKIP() << "Winograd's algorithm is for AVX-512";
  // Parts of 3 x 3, 3 x 2, 2 x 3 and 2 x 2 taps, whose terms share runs.
  checkWinograd(channelsLast(
      convolution(3, 32, 48, {window(7, 5, 1, 2, 2), window(8, 5, 1, 2, 2)})));
  // Parts with one tap, terms that end within a vector.
  checkWinograd(channelsLast(
      convolution(3, 40, 33, {window(10, 7, 1, 3, 3), window(5, 3, 1, 0, 2)})));
  // All patches in a cache, and all sums not.
  auto mirrored = channelsLast(
      convolution(1, 100, 130, {window(6, 5, 1, 2, 2), window(4, 3, 1, 1, 1)}));
  mirrored.mirroredKernel = true;
  checkWinograd(mirrored);
}

TEST(Convolution, WinogradOfChannelsFirst) {
  if (testIsa() == Isa::avx2)
    GTEST_SKIP() << "Winograd's algorithm is for AVX-512";
  // Rows longer than a vector, of which the last columns fill none.
  auto windows = channelsFirst(
      convolution(4, 40, 35, {window(5, 3, 1, 1, 1), window(18, 3, 1, 1, 1)}));
  checkWinograd(windows);
  windows.type = windows.resultType = ElementType::bf16;
  checkWinograd(windows);
  checkWinograd(channelsFirst(convolution(
      2, 136, 160, {window(4, 3, 1, 1, 1), window(5, 3, 1, 1, 1)})));
  checkWinograd(channelsFirst(
      convolution(3, 32, 48, {window(7, 5, 1, 2, 2), window(8, 5, 1, 2, 2)})));
  // Only one of both, and images apart.
  auto mixed = channelsLast(
      convolution(5, 36, 40, {window(10, 3, 1, 0, 1), window(8, 3, 1, 1, 1)}));
  mixed.inputStrideChannel = 10 * 8;
  mixed.inputStrideBatch = 36 * mixed.inputStrideChannel + 16;
  mixed.spatial[0].inputStride = 8;
  mixed.spatial[1].inputStride = 1;
  checkWinograd(mixed);
}

TEST(Convolution, WinogradOfWindowsInOtherOrders) {
  if (testIsa() == Isa::avx2)
    GTEST_SKIP() << "Winograd's algorithm is for AVX-512";
  auto d = channelsLast(
      convolution(5, 40, 56, {window(9, 3, 1, 1, 1), window(8, 3, 1, 1, 1)}));
  // [output, space, input].
  d.kernelStrideInput = 1;
  d.spatial[1].kernelStride = 40;
  d.spatial[0].kernelStride = 120;
  d.kernelStrideOutput = 360;
  checkWinograd(d);
}

TEST(Convolution, LongSumsKeepTheirDigits) {
  if (testIsa() == Isa::avx2)
    GTEST_SKIP() << "with AVX2 the library's kernels add up all terms in a row";
  // 1152 terms in a row have an error of 6e-7, 16384 of 2e-6.
  auto many = channelsLast(
      convolution(4, 128, 128, {window(8, 3, 1, 1, 1), window(8, 3, 1, 1, 1)}));
  auto few = channelsLast(
      convolution(16, 3, 16, {window(32, 3, 1, 1, 1), window(32, 3, 1, 1, 1)}));
  auto strided = channelsLast(convolution(
      16, 16, 16, {window(64, 3, 2, 0, 1), window(64, 3, 2, 0, 1)}));
  auto errorOf = [](ConvolutionDescription d, ConvolutionKind kind) {
    d.kind = kind;
    d.pieces = 2;
    double error = 1;
    compute(d, 1, true, &error);
    return error;
  };
  EXPECT_LE(errorOf(many, ConvolutionKind::forward), 3e-7);
  EXPECT_LE(errorOf(many, ConvolutionKind::dataGradient), 3e-7);
  many.mayTransform = true;
  auto large = channelsLast(
      convolution(4, 32, 64, {window(8, 5, 1, 2, 2), window(8, 5, 1, 2, 2)}));
  large.mayTransform = true;
  EXPECT_LE(errorOf(large, ConvolutionKind::forward), 3e-7);
  EXPECT_LE(errorOf(many, ConvolutionKind::forward), 3e-7);
  EXPECT_LE(errorOf(many, ConvolutionKind::dataGradient), 3e-7);
  EXPECT_LE(errorOf(many, ConvolutionKind::weightGradient), 3e-7);
  EXPECT_LE(errorOf(few, ConvolutionKind::weightGradient), 8e-7);
  EXPECT_LE(errorOf(strided, ConvolutionKind::weightGradient), 8e-7);
}

/// Operands of 16 bits and results of 16 and 32, multiplied in every type.
void checkNarrow(ConvolutionDescription d) {
  for (ElementType type : {ElementType::bf16, ElementType::f16})
    for (ElementType compute : computeTypesOf(type))
      for (ElementType result : {type, ElementType::f32}) {
        SCOPED_TRACE(std::string(name(type)) + " in " +
                     std::string(name(compute)) + " to " +
                     std::string(name(result)));
        d.type = type;
        d.computeType = compute;
        d.resultType = result;
        checkKinds(d);
      }
}

TEST(Convolution, NarrowTypes) {
  auto d =
      convolution(4, 32, 48, {window(8, 3, 1, 1, 1), window(8, 3, 2, 1, 1)});
  checkNarrow(channelsLast(d));
  checkNarrow(channelsFirst(d));
}

TEST(Convolution, NarrowTypesOfFewAndOddChannels) {
  checkNarrow(channelsLast(
      convolution(3, 3, 16, {window(9, 3, 1, 1, 1), window(8, 3, 1, 1, 1)})));
  checkNarrow(channelsLast(
      convolution(2, 1, 7, {window(10, 5, 1, 2, 2), window(8, 5, 1, 2, 2)})));
  checkNarrow(channelsFirst(
      convolution(2, 21, 35, {window(6, 3, 2, 1, 1), window(5, 2, 1, 0, 1)})));
}

TEST(Convolution, NarrowTypesCroppedMirroredAndApart) {
  auto d = channelsLast(convolution(
      2, 16, 16, {window(10, 3, 1, -1, 1), window(9, 3, 1, 1, -2)}));
  d.mirroredKernel = true;
  d.inputStrideBatch += 100;
  checkNarrow(d);
}

TEST(Convolution, NarrowTypesWithMoreWeightsThanData) {
  checkNarrow(channelsLast(
      convolution(2, 96, 128, {window(4, 3, 1, 1, 1), window(4, 3, 1, 1, 1)})));
}

/// Gradients that run in tiles, with results of both types, cut in several
/// ways.
void checkTiles(ConvolutionDescription d) {
  d.type = d.computeType = ElementType::bf16;
  for (ElementType result : {ElementType::bf16, ElementType::f32}) {
    d.resultType = result;
    d.kind = ConvolutionKind::weightGradient;
    std::string message;
    auto call = Call::create(d, testIsa(), message);
    ASSERT_TRUE(call) << message;
    EXPECT_EQ(call->implementation(), "tiles:amx_bf16");
    checkKinds(d);
  }
}

TEST(Convolution, Tiles) {
  if (testIsa() != Isa::amxBf16)
    GTEST_SKIP() << "there are no tiles";
  // Rows of 4 and of 7, which do not fill tiles; images that do together.
  auto rows =
      convolution(5, 40, 56, {window(5, 3, 1, 1, 1), window(4, 3, 1, 1, 1)});
  checkTiles(channelsLast(rows));
  checkTiles(channelsLast(
      convolution(3, 33, 47, {window(7, 3, 1, 0, 2), window(7, 2, 1, 1, 0)})));
  // Whole tiles per plane, with taps as offsets in the first dimension.
  checkTiles(channelsLast(
      convolution(2, 32, 32, {window(8, 3, 1, 1, 1), window(8, 3, 1, 1, 1)})));
  // Strides leave remainders, to some of which no tap comes.
  checkTiles(channelsLast(
      convolution(3, 32, 64, {window(8, 3, 2, 1, 1), window(9, 3, 2, 0, 1)})));
  checkTiles(channelsLast(
      convolution(2, 64, 32, {window(6, 1, 2, 0, 0), window(6, 1, 2, 0, 0)})));
  checkTiles(channelsLast(convolution(
      2, 32, 32, {window(9, 2, 3, 1, 1, 2), window(11, 3, 2, 2, 2, 3)})));
  // Rows that are whole tiles, so that nothing is copied twice.
  checkTiles(channelsLast(
      convolution(2, 32, 32, {window(6, 3, 2, 1, 1), window(32, 3, 2, 0, 1)})));
  // Cropped, mirrored, one and three dimensions.
  auto cropped =
      convolution(2, 32, 48, {window(9, 3, 1, -1, 1), window(6, 3, 1, 1, -2)});
  cropped.mirroredKernel = true;
  checkTiles(channelsLast(cropped));
  checkTiles(channelsLast(convolution(4, 64, 32, {window(6, 3, 1, 1, 1)})));
  checkTiles(channelsLast(convolution(
      2, 32, 32,
      {window(3, 2, 1, 0, 1), window(4, 3, 2, 1, 1), window(4, 3, 1, 1, 1)})));
}

TEST(Convolution, TilesOfWeightsInOtherOrders) {
  if (testIsa() != Isa::amxBf16)
    GTEST_SKIP() << "there are no tiles";
  auto d = channelsLast(
      convolution(2, 40, 36, {window(4, 3, 1, 1, 1), window(5, 2, 1, 1, 0)}));
  // [output, space, input] and [output, input, space].
  d.kernelStrideInput = 1;
  d.spatial[1].kernelStride = 40;
  d.spatial[0].kernelStride = 80;
  d.kernelStrideOutput = 240;
  checkTiles(d);
  d.kernelStrideInput = 6;
  d.spatial[1].kernelStride = 1;
  d.spatial[0].kernelStride = 2;
  checkTiles(d);
}

// Weights larger than a cache are cut by channels; images that are larger are
// taken a few at a time.
TEST(Convolution, TilesOfLargeOperands) {
  if (testIsa() != Isa::amxBf16)
    GTEST_SKIP() << "there are no tiles";
  checkTiles(channelsLast(convolution(
      2, 260, 300, {window(1, 3, 1, 1, 1), window(2, 3, 1, 1, 1)})));
  auto many = channelsLast(convolution(
      19, 32, 32, {window(64, 1, 1, 0, 0), window(16, 1, 1, 0, 0)}));
  many.type = many.computeType = ElementType::bf16;
  many.kind = ConvolutionKind::weightGradient;
  compute(many, 1, true);
  many.pieces = 2;
  EXPECT_EQ(compute(many, 1, true), compute(many, 2, false));
}

// Zeros that fill tiles meet no other operand: what is infinite changes what it
// is part of.
TEST(Convolution, TilesKeepInfinitiesApart) {
  if (testIsa() != Isa::amxBf16)
    GTEST_SKIP() << "there are no tiles";
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{4, 4}, {5, 7}})
    for (ConvolutionKind kind :
         {ConvolutionKind::forward, ConvolutionKind::dataGradient,
          ConvolutionKind::weightGradient}) {
      auto d = channelsLast(convolution(
          3, 33, 35, {window(rows, 3, 1, 1, 1), window(columns, 3, 1, 1, 1)}));
      d.kind = kind;
      d.type = d.computeType = d.resultType = ElementType::bf16;
      std::string message;
      auto call = Call::create(d, testIsa(), message);
      ASSERT_TRUE(call) << message;
      std::vector<GuardedMemory> memories;
      std::vector<void *> arguments;
      for (int64_t i = 0; i < call->argumentCount(); ++i)
        memories.emplace_back(call->argumentBytes(i));
      for (size_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < memories[i].bytes() / 2; ++j)
          memories[i].set(j, d.type, 1);
      memories[0].set(0, d.type, INFINITY); // a corner of the first image
      for (GuardedMemory &memory : memories)
        arguments.push_back(memory.data());
      ASSERT_TRUE(tenon::test::runCall(*call, arguments, 1));
      std::vector<double> lhs = memories[0].elements(d.type);
      std::vector<double> sums(size_t(memories[2].bytes() / 2));
      forEachProduct(d, [&](int64_t i, int64_t k, int64_t o) {
        auto [a, r] = kind == ConvolutionKind::forward        ? std::pair{i, o}
                      : kind == ConvolutionKind::dataGradient ? std::pair{o, i}
                                                              : std::pair{i, k};
        sums[size_t(r)] += lhs[size_t(a)];
      });
      for (size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(std::isfinite(memories[2].get(int64_t(i), d.type)),
                  std::isfinite(sums[i]))
            << call->implementation() << " kind " << int(kind) << " at " << i;
    }
}

TEST(Convolution, SaysWhatIsNotSupported) {
  auto d = channelsLast(convolution(2, 4, 4, {window(6, 3, 1, 1, 1)}));
  d.type = ElementType::f64;
  EXPECT_NE(whyNotSupported(d, testIsa()), "");
  EXPECT_EQ(workspaceBytes(d, testIsa()), -1);
  d.type = ElementType::f16;
  d.computeType = ElementType::bf16;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("f16 are multiplied in bf16"),
            std::string::npos);
  d.type = d.computeType = ElementType::f32;
  EXPECT_EQ(whyNotSupported(d, testIsa()), "");
  d.spatial[0].output = 5;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("its window gives 6"),
            std::string::npos);
  d.groups = 3;
  EXPECT_NE(whyNotSupported(d, testIsa()).find("do not divide"),
            std::string::npos);
}
