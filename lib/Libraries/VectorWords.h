//===- VectorWords.h - Vectors of 16 words of four bytes ------------------===//
//
// Private to this folder, for code that has AVX-512.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_VECTORWORDS_H
#define TENON_LIB_LIBRARIES_VECTORWORDS_H

#include <algorithm>
#include <cstdint>
#include <immintrin.h>

/// What a function that uses vectors of 512 bits has.
#define TENON_VECTORS                                                          \
  __attribute__((target("avx512f,avx512bw,avx512vl,prfchw")))

namespace tenon::libraries {

inline constexpr int64_t lanes = 16; // words of a vector

inline __mmask16 firstLanes(int64_t count) {
  return __mmask16((1u << std::clamp<int64_t>(count, 0, lanes)) - 1);
}

#define TENON_LANES TENON_VECTORS __attribute__((always_inline)) static

// Up to 16 elements as f32, where a mask has ones. Widening is exact, rounding
// is to nearest, ties to even.

struct F32Lanes {
  using Element = float;
  TENON_LANES __m512 load(const float *from, __mmask16 mask) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
  TENON_LANES void store(float *to, __mmask16 mask, __m512 value) {
    _mm512_mask_storeu_ps(to, mask, value);
  }
};

struct Bf16Lanes {
  using Element = uint16_t;
  TENON_LANES __m512 load(const uint16_t *from, __mmask16 mask) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
  }
  TENON_LANES void store(uint16_t *to, __mmask16 mask, __m512 value) {
    __m512i bits = _mm512_castps_si512(value);
    __m512i upper = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i words = _mm512_srli_epi32(
        _mm512_add_epi32(bits,
                         _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))),
        16);
    // Rounding could make an infinity of what is not a number.
    __mmask16 isNaN = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    words = _mm512_mask_or_epi32(words, isNaN, upper, _mm512_set1_epi32(0x40));
    _mm256_mask_storeu_epi16(to, mask, _mm512_cvtepi32_epi16(words));
  }
};

struct F16Lanes {
  using Element = uint16_t;
  TENON_LANES __m512 load(const uint16_t *from, __mmask16 mask) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
  }
  TENON_LANES void store(uint16_t *to, __mmask16 mask, __m512 value) {
    _mm256_mask_storeu_epi16(to, mask,
                             _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
};

#undef TENON_LANES

/// Exchanges rows and columns of 16 vectors.
TENON_VECTORS inline void exchange(__m512i (&rows)[lanes]) {
  __m512i a[lanes], b[lanes];
  // Pairs of rows, then fours: part j of each quarter of a vector has columns
  // j, j + 4, j + 8 and j + 12.
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; i += 2) {
    a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
#pragma clang loop unroll(full)
  for (int j = 0; j < 4; ++j) {
    __m512i upperEven = _mm512_shuffle_i32x4(b[j], b[4 + j], 0x88);
    __m512i upperOdd = _mm512_shuffle_i32x4(b[j], b[4 + j], 0xdd);
    __m512i lowerEven = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0x88);
    __m512i lowerOdd = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0xdd);
    rows[j] = _mm512_shuffle_i32x4(upperEven, lowerEven, 0x88);
    rows[4 + j] = _mm512_shuffle_i32x4(upperOdd, lowerOdd, 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(upperEven, lowerEven, 0xdd);
    rows[12 + j] = _mm512_shuffle_i32x4(upperOdd, lowerOdd, 0xdd);
  }
}

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_VECTORWORDS_H
