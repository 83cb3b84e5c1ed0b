//===- TileProduct.cpp - Products of bf16 by the tiles of AMX -------------===//
//
// See TileProduct.h. Every function says for itself which instructions it has,
// so that this file is compiled as the others are.
//
//===----------------------------------------------------------------------===//

#include "TileProduct.h"

#include "VectorWords.h"

#include <algorithm>

using namespace tenon::libraries;

#define TENON_NARROW_VECTORS                                                   \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define TENON_TILES __attribute__((target("amx-tile,amx-bf16")))

namespace {

/// What LDTILECFG reads.
struct alignas(64) Shapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr Shapes shapes;
constexpr int64_t narrowLanes = 2 * lanes; // bf16 of a vector

__mmask32 firstHalves(int64_t count) {
  return __mmask32((uint64_t(1) << std::clamp<int64_t>(count, 0, narrowLanes)) -
                   1);
}

} // namespace

TENON_TILES TileShapes::TileShapes() { _tile_loadconfig(&shapes); }

TENON_TILES TileShapes::~TileShapes() { _tile_release(); }

TENON_TILES void
tenon::libraries::multiplyBlock(const TileOperands &operands,
                                std::span<const TileStep> steps, float *block,
                                bool adds) {
  constexpr int64_t rowBytes = blockSide * sizeof(float);
  float *lower = block + tileSide * blockSide;
  if (adds) {
    _tile_loadd(0, block, rowBytes);
    _tile_loadd(1, block + tileSide, rowBytes);
    _tile_loadd(2, lower, rowBytes);
    _tile_loadd(3, lower + tileSide, rowBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const char *left0 = operands.left[0], *left1 = operands.left[1];
  const char *right0 = operands.right[0], *right1 = operands.right[1];
  const int64_t leftStride = operands.leftStride;
  for (const TileStep &step : steps) {
    _tile_loadd(6, right0 + step.right, 64);
    _tile_loadd(4, left0 + step.left, leftStride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right1 + step.right, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, left1 + step.left, leftStride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, block, rowBytes);
  _tile_stored(1, block + tileSide, rowBytes);
  _tile_stored(2, lower, rowBytes);
  _tile_stored(3, lower + tileSide, rowBytes);
}

TENON_NARROW_VECTORS void
tenon::libraries::copyRows(const Bf16 *from, std::span<const int64_t> rows,
                           int64_t elements, Bf16 *to, int64_t pitch) {
  const int64_t whole = elements / narrowLanes * narrowLanes;
  for (int64_t row : rows) {
    const Bf16 *source = row == noRow ? nullptr : from + row;
    int64_t i = 0;
    if (source)
      for (; i < whole; i += narrowLanes)
        _mm512_storeu_si512(to + i, _mm512_loadu_si512(source + i));
    for (; i < pitch; i += narrowLanes)
      _mm512_storeu_si512(
          to + i, source ? _mm512_maskz_loadu_epi16(firstHalves(elements - i),
                                                    source + i)
                         : _mm512_setzero_si512());
    to += pitch;
  }
}

TENON_NARROW_VECTORS void
tenon::libraries::pairRows(const Bf16 *from, std::span<const int64_t> rows,
                           int64_t elements, char *to, int64_t groupBytes) {
  const int64_t whole = elements / lanes;
  const int64_t groups = (elements + blockSide - 1) / blockSide * 2;
  for (size_t pair = 0; pair < rows.size(); pair += 2, to += 64) {
    const Bf16 *first = rows[pair] == noRow ? nullptr : from + rows[pair];
    const Bf16 *second =
        rows[pair + 1] == noRow ? nullptr : from + rows[pair + 1];
    for (int64_t group = 0; group < groups; ++group) {
      auto words = [&](const Bf16 *row) TENON_NARROW_VECTORS {
        if (!row)
          return _mm512_setzero_si512();
        const Bf16 *here = row + group * lanes;
        return _mm512_cvtepu16_epi32(
            group < whole
                ? _mm256_loadu_si256(reinterpret_cast<const __m256i *>(here))
                : _mm256_maskz_loadu_epi16(firstLanes(elements - group * lanes),
                                           here));
      };
      _mm512_storeu_si512(
          to + group * groupBytes,
          _mm512_or_si512(words(first), _mm512_slli_epi32(words(second), 16)));
    }
  }
}

TENON_NARROW_VECTORS void tenon::libraries::transposeWords(const char *from,
                                                           int64_t fromStride,
                                                           char *to,
                                                           int64_t toStride) {
  __m512i rows[lanes];
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; ++i)
    rows[i] = _mm512_loadu_si512(from + i * fromStride);
  exchange(rows);
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; ++i)
    _mm512_storeu_si512(to + i * toStride, rows[i]);
}

TENON_NARROW_VECTORS void
tenon::libraries::transposePairs(const Bf16 *from, int64_t stride,
                                 int64_t count, int64_t elements, char *to) {
  __m512i rows[lanes];
  const __mmask32 mask = firstHalves(elements);
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; ++i)
    rows[i] = i < count ? _mm512_maskz_loadu_epi16(mask, from + i * stride)
                        : _mm512_setzero_si512();
  exchange(rows);
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; ++i)
    _mm512_storeu_si512(to + i * 64, rows[i]);
}

TENON_NARROW_VECTORS void tenon::libraries::storeRow(const float *sums,
                                                     int64_t count, float *to) {
  for (int64_t i = 0; i < count; i += lanes)
    _mm512_mask_storeu_ps(to + i, firstLanes(count - i),
                          _mm512_loadu_ps(sums + i));
}

TENON_NARROW_VECTORS void tenon::libraries::storeRow(const float *sums,
                                                     int64_t count, Bf16 *to) {
  for (int64_t i = 0; i < count; i += lanes)
    _mm256_mask_storeu_epi16(
        to + i, firstLanes(count - i),
        __m256i(_mm512_cvtneps_pbh(_mm512_loadu_ps(sums + i))));
}
