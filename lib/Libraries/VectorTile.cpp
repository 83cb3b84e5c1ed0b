//===- VectorTile.cpp - A tile of sums of f32 in registers ----------------===//
//
// See VectorTile.h. Every function says for itself which instructions it has,
// so that this file is compiled as the others are.
//
//===----------------------------------------------------------------------===//

#include "VectorTile.h"

#include <array>
#include <type_traits>
#include <utility>

using namespace tenon::libraries;

namespace {

/// Between two pairs of lines that are fetched.
constexpr int64_t termsPerFetch = 4;

/// `Pitch` elements of the left operand lie from one row to the next.
template <int Rows, int Vectors, int64_t Pitch>
TENON_VECTORS void multiplyTile(const Tile &tile) {
  __m512 sums[Rows][Vectors];
#pragma clang loop unroll(full)
  for (int row = 0; row < Rows; ++row)
#pragma clang loop unroll(full)
    for (int vector = 0; vector < Vectors; ++vector)
      sums[row][vector] = _mm512_setzero_ps();
  const float *left = tile.left, *right = tile.right;
  const int64_t leftStride = tile.leftStride, rightStride = tile.rightStride;
  auto addTerm = [&]() TENON_VECTORS __attribute__((always_inline)) {
    __m512 columns[Vectors];
#pragma clang loop unroll(full)
    for (int vector = 0; vector < Vectors; ++vector)
      columns[vector] = _mm512_loadu_ps(right + vector * lanes);
#pragma clang loop unroll(full)
    for (int row = 0; row < Rows; ++row) {
      __m512 factor = _mm512_set1_ps(left[row * Pitch]);
#pragma clang loop unroll(full)
      for (int vector = 0; vector < Vectors; ++vector)
        sums[row][vector] =
            _mm512_fmadd_ps(factor, columns[vector], sums[row][vector]);
    }
    left += leftStride;
    right += rightStride;
  };
  constexpr auto width = int64_t(sizeof(float));
  const bool hasNext = tile.next != nullptr;
  const auto *written =
      static_cast<const char *>(hasNext ? tile.next : tile.result);
  const int64_t writtenWidth = hasNext ? tile.nextWidth : width;
  const int64_t writtenStride =
      writtenWidth * (hasNext ? tile.nextStride : tile.resultStride);
  const int64_t steps = tile.terms / termsPerFetch;
  for (int64_t step = 0; step < steps; ++step) {
    if (step < Rows) {
      __builtin_prefetch(written, /*write=*/1);
      __builtin_prefetch(written + (Vectors * lanes - 1) * writtenWidth,
                         /*write=*/1);
      written += writtenStride;
    }
    if (step < tile.rightPairs)
      tile.rightFetch->next();
    if (step < tile.leftPairs)
      tile.leftFetch->next();
#pragma clang loop unroll(full)
    for (int64_t term = 0; term < termsPerFetch; ++term)
      addTerm();
  }
  for (int64_t term = steps * termsPerFetch; term < tile.terms; ++term)
    addTerm();

  auto store = [&](auto adds, auto hasBias) TENON_VECTORS
      __attribute__((always_inline)) {
#pragma clang loop unroll(full)
    for (int vector = 0; vector < Vectors; ++vector) {
      const __mmask16 mask = firstLanes(tile.columns - vector * lanes);
      __m512 bias = _mm512_setzero_ps();
      if (hasBias)
        bias = _mm512_maskz_loadu_ps(mask, tile.bias + vector * lanes);
#pragma clang loop unroll(full)
      for (int row = 0; row < Rows; ++row) {
        float *to = tile.result + row * tile.resultStride + vector * lanes;
        __m512 sum = sums[row][vector];
        if (adds)
          sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum);
        if (hasBias)
          sum = _mm512_add_ps(sum, bias);
        _mm512_mask_storeu_ps(to, mask, sum);
      }
    }
  };
  if (tile.adds && tile.bias)
    store(std::true_type(), std::true_type());
  else if (tile.adds)
    store(std::true_type(), std::false_type());
  else if (tile.bias)
    store(std::false_type(), std::true_type());
  else
    store(std::false_type(), std::false_type());
}

using TileFunction = void (*)(const Tile &);

template <int Vectors, int64_t Pitch, size_t... Row>
constexpr std::array<TileFunction, tileRows>
functionsOf(std::index_sequence<Row...>) {
  return {multiplyTile<int(Row) + 1, Vectors, Pitch>...};
}

template <int Vectors, int64_t Pitch>
constexpr std::array<TileFunction, tileRows> tileFunctions =
    functionsOf<Vectors, Pitch>(std::make_index_sequence<tileRows>());

template <int64_t Pitch>
void multiplyAny(const Tile &tile, int64_t rows) {
  const bool isNarrow = tile.columns <= lanes;
  (isNarrow ? tileFunctions<1, Pitch>
            : tileFunctions<2, Pitch>)[rows - 1](tile);
}

} // namespace

void tenon::libraries::multiply(const Tile &tile, int64_t rows) {
  multiplyAny<1>(tile, rows);
}

void tenon::libraries::multiplyRows(const Tile &tile, int64_t rows) {
  multiplyAny<rowPitch>(tile, rows);
}
