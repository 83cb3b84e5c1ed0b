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
#define TENON_VECTORS __attribute__((target("avx512f,prfchw")))

namespace tenon::libraries {

inline constexpr int64_t lanes = 16; // words of a vector

inline __mmask16 firstLanes(int64_t count) {
  return __mmask16((1u << std::clamp<int64_t>(count, 0, lanes)) - 1);
}

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
