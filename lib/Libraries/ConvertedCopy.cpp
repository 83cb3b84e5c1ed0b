//===- ConvertedCopy.cpp - Copies that change the element type ------------===//
//
// Dimensions that lie in both arrays as one are merged, so that most copies are
// a few long runs; runs are converted in vectors of AVX2, which every processor
// has that a file runs on.
//
//===----------------------------------------------------------------------===//

#include "ConvertedCopy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <immintrin.h>

using namespace tenon;
using namespace tenon::libraries;

#define TENON_AVX2 __attribute__((target("avx2,f16c")))

namespace {

constexpr int64_t lanes = 8;

// Each converts a vector, and up to a vector's elements one by one.

struct SameF32 {
  using From = float;
  using To = float;
  TENON_AVX2 static void vector(const float *from, float *to) {
    _mm256_storeu_ps(to, _mm256_loadu_ps(from));
  }
};

struct WidenBf16 {
  using From = uint16_t;
  using To = float;
  TENON_AVX2 static void vector(const uint16_t *from, float *to) {
    __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
    __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(narrow), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), bits);
  }
};

struct WidenF16 {
  using From = uint16_t;
  using To = float;
  TENON_AVX2 static void vector(const uint16_t *from, float *to) {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(
                             reinterpret_cast<const __m128i *>(from))));
  }
};

struct RoundToBf16 {
  using From = float;
  using To = uint16_t;
  TENON_AVX2 static void vector(const float *from, uint16_t *to) {
    __m256 value = _mm256_loadu_ps(from);
    __m256i bits = _mm256_castps_si256(value);
    __m256i upper = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits,
                         _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))),
        16);
    // Rounding could make an infinity of what is not a number.
    __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    __m256i isNaN =
        _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    __m256i words = _mm256_blendv_epi8(rounded, quiet, isNaN);
    __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words),
                                      _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to), packed);
  }
};

struct RoundToF16 {
  using From = float;
  using To = uint16_t;
  TENON_AVX2 static void vector(const float *from, uint16_t *to) {
    _mm_storeu_si128(
        reinterpret_cast<__m128i *>(to),
        _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
  }
};

template <typename Convert>
TENON_AVX2 void convertRun(const typename Convert::From *from,
                           typename Convert::To *to, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    Convert::vector(from + i, to + i);
  if (i == count)
    return;
  typename Convert::From last[lanes] = {};
  typename Convert::To converted[lanes];
  std::memcpy(last, from + i, size_t(count - i) * sizeof(*from));
  Convert::vector(last, converted);
  std::memcpy(to + i, converted, size_t(count - i) * sizeof(*to));
}

/// Elements that do not lie side by side are collected in a vector.
template <typename Convert>
void convertApart(const typename Convert::From *from, int64_t fromStride,
                  typename Convert::To *to, int64_t toStride, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes) {
    typename Convert::From some[lanes] = {};
    typename Convert::To converted[lanes];
    int64_t here = std::min(lanes, count - i);
    for (int64_t j = 0; j < here; ++j)
      some[j] = from[(i + j) * fromStride];
    convertRun<Convert>(some, converted, lanes);
    for (int64_t j = 0; j < here; ++j)
      to[(i + j) * toStride] = converted[j];
  }
}

} // namespace

ConvertedCopy::ConvertedCopy(const std::vector<int64_t> &extents,
                             ElementType from,
                             const std::vector<int64_t> &fromStrides,
                             ElementType to,
                             const std::vector<int64_t> &toStrides)
    : from(from), to(to) {
  std::vector<Dimension> sorted;
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] != 1)
      sorted.push_back({extents[i], fromStrides[i], toStrides[i]});
  std::sort(sorted.begin(), sorted.end(),
            [](const Dimension &a, const Dimension &b) { return a.to > b.to; });
  for (const Dimension &inner : sorted) {
    if (!dimensions.empty())
      if (Dimension &outer = dimensions.back();
          outer.from == inner.from * inner.extent &&
          outer.to == inner.to * inner.extent) {
        outer = {outer.extent * inner.extent, inner.from, inner.to};
        continue;
      }
    dimensions.push_back(inner);
  }
  if (dimensions.empty())
    dimensions.push_back({1, 1, 1});
}

template <typename Convert>
void ConvertedCopy::walk(const Convert &convert, size_t level,
                         const typename Convert::From *from,
                         typename Convert::To *to) const {
  const Dimension &d = dimensions[level];
  if (level + 1 < dimensions.size())
    for (int64_t i = 0; i < d.extent; ++i)
      walk(convert, level + 1, from + i * d.from, to + i * d.to);
  else if (d.from == 1 && d.to == 1)
    convertRun<Convert>(from, to, d.extent);
  else
    convertApart<Convert>(from, d.from, to, d.to, d.extent);
}

void ConvertedCopy::run(const void *source, void *target) const {
  auto convert = [&]<typename Convert>(Convert conversion) {
    walk(conversion, 0, static_cast<const typename Convert::From *>(source),
         static_cast<typename Convert::To *>(target));
  };
  if (from == ElementType::bf16)
    convert(WidenBf16());
  else if (from == ElementType::f16)
    convert(WidenF16());
  else if (to == ElementType::bf16)
    convert(RoundToBf16());
  else if (to == ElementType::f16)
    convert(RoundToF16());
  else
    convert(SameF32());
}
