//===- Winograd.cpp - The transforms of F(2 x 2, 3 x 3) -------------------===//
//
// Every function says for itself which instructions it has, so that this file
// is compiled as the others are.
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"

#include "VectorWords.h"

#include <algorithm>
#include <span>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::libraries::winograd;

#define TENON_MAPPED TENON_VECTORS __attribute__((always_inline)) static

namespace {

/// Loads up to 16 elements that lie `stride` apart as f32.
template <typename Type>
TENON_MAPPED __m512 loadApart(const typename Type::Element *from,
                              int64_t stride, int64_t count) {
  alignas(64) typename Type::Element elements[lanes] = {};
  for (int64_t i = 0; i < count; ++i)
    elements[i] = from[i * stride];
  return Type::load(elements, 0xffff);
}

template <typename Type>
TENON_MAPPED void storeApart(typename Type::Element *to, int64_t stride,
                             int64_t count, __m512 value) {
  alignas(64) typename Type::Element elements[lanes];
  Type::store(elements, 0xffff, value);
  for (int64_t i = 0; i < count; ++i)
    to[i * stride] = elements[i];
}

template <typename Visit>
void withType(ElementType type, Visit visit) {
  if (type == ElementType::bf16)
    visit(Bf16Lanes());
  else if (type == ElementType::f16)
    visit(F16Lanes());
  else
    visit(F32Lanes());
}

// The maps along one dimension, see Winograd.h.

/// B^T, or the first three rows of it, which the fourth position is not in.
template <int Side>
struct PatchMap {
  static constexpr int from = Side, to = Side;
  TENON_MAPPED void apply(const __m512 (&d)[from], __m512 (&y)[to]) {
    y[0] = _mm512_sub_ps(d[0], d[2]);
    y[1] = _mm512_add_ps(d[1], d[2]);
    y[2] = _mm512_sub_ps(d[2], d[1]);
    if constexpr (Side == patchSide)
      y[3] = _mm512_sub_ps(d[1], d[3]);
  }
};

struct WindowMap { // G
  static constexpr int from = windowSide, to = patchSide;
  TENON_MAPPED void apply(const __m512 (&g)[from], __m512 (&y)[to]) {
    __m512 half = _mm512_set1_ps(0.5f);
    __m512 outer = _mm512_add_ps(g[0], g[2]);
    y[0] = g[0];
    y[1] = _mm512_mul_ps(half, _mm512_add_ps(outer, g[1]));
    y[2] = _mm512_mul_ps(half, _mm512_sub_ps(outer, g[1]));
    y[3] = g[2];
  }
};

struct ResultMap { // A^T
  static constexpr int from = patchSide, to = resultSide;
  TENON_MAPPED void apply(const __m512 (&m)[from], __m512 (&y)[to]) {
    y[0] = _mm512_add_ps(m[0], _mm512_add_ps(m[1], m[2]));
    y[1] = _mm512_sub_ps(_mm512_sub_ps(m[1], m[2]), m[3]);
  }
};

struct SquareMap { // A
  static constexpr int from = resultSide, to = patchSide;
  TENON_MAPPED void apply(const __m512 (&d)[from], __m512 (&y)[to]) {
    y[0] = d[0];
    y[1] = _mm512_add_ps(d[0], d[1]);
    y[2] = _mm512_sub_ps(d[0], d[1]);
    y[3] = _mm512_sub_ps(_mm512_setzero_ps(), d[1]);
  }
};

struct WindowGradientMap { // G^T
  static constexpr int from = patchSide, to = windowSide;
  TENON_MAPPED void apply(const __m512 (&m)[from], __m512 (&y)[to]) {
    __m512 half = _mm512_set1_ps(0.5f);
    __m512 even = _mm512_mul_ps(half, _mm512_add_ps(m[1], m[2]));
    y[0] = _mm512_add_ps(m[0], even);
    y[1] = _mm512_mul_ps(half, _mm512_sub_ps(m[1], m[2]));
    y[2] = _mm512_add_ps(even, m[3]);
  }
};

/// Applies a map to columns and one to rows: `load(row, column)` gives what is
/// mapped, `store(row, column, value)` takes what comes out.
template <typename Rows, typename Columns = Rows, typename Load, typename Store>
TENON_MAPPED void applyTwice(const Load &load, const Store &store) {
  __m512 half[Rows::to][Columns::from];
#pragma clang loop unroll(full)
  for (int column = 0; column < Columns::from; ++column) {
    __m512 in[Rows::from], out[Rows::to];
#pragma clang loop unroll(full)
    for (int row = 0; row < Rows::from; ++row)
      in[row] = load(row, column);
    Rows::apply(in, out);
#pragma clang loop unroll(full)
    for (int row = 0; row < Rows::to; ++row)
      half[row][column] = out[row];
  }
#pragma clang loop unroll(full)
  for (int row = 0; row < Rows::to; ++row) {
    __m512 out[Columns::to];
    Columns::apply(half[row], out);
#pragma clang loop unroll(full)
    for (int column = 0; column < Columns::to; ++column)
      store(row, column, out[column]);
  }
}

/// Walks the squares of all images in order.
struct Walk {
  Walk(const Squares &squares, int64_t first)
      : squares(squares), column(first % squares.columns),
        row(first / squares.columns % squares.rows),
        image(first / squares.columns / squares.rows) {}

  void next() {
    if (++column < squares.columns)
      return;
    column = 0;
    if (++row < squares.rows)
      return;
    row = 0;
    ++image;
  }

  const Squares &squares;
  int64_t column, row, image;
};

/// Transforms some channels of what lies in so many rows and columns as are
/// mapped of each image from `(row * 2 - lowRows, column * 2 - lowColumns)` on.
template <typename Rows, typename Columns, typename Type>
TENON_VECTORS void
transformChannels(const Images &images, const Squares &squares, int64_t lowRows,
                  int64_t lowColumns, int64_t first, int64_t count,
                  const typename Type::Element *from,
                  std::span<const Channels> some, int64_t componentStride,
                  int64_t place, float *to) {
  Walk walk(squares, first);
  for (int64_t patch = 0; patch < count; ++patch, walk.next()) {
    const int64_t row = walk.row * resultSide - lowRows;
    const int64_t column = walk.column * resultSide - lowColumns;
    const auto *corner = from + walk.image * images.imageStride +
                         row * images.rowStride + column * images.columnStride;
    const bool isInside = row >= 0 && row + Rows::from <= images.rows &&
                          column >= 0 &&
                          column + Columns::from <= images.columns;
    __mmask16 exists[Rows::from][Columns::from];
    if (!isInside)
      for (int i = 0; i < Rows::from; ++i)
        for (int j = 0; j < Columns::from; ++j)
          exists[i][j] = row + i >= 0 && row + i < images.rows &&
                                 column + j >= 0 && column + j < images.columns
                             ? 0xffff
                             : 0;
    for (const Channels &channels : some) {
      const auto *source = corner + channels.begin;
      float *target = to + channels.offset + (place + patch) * channels.pitch;
      const __mmask16 mask = firstLanes(channels.count);
      auto store = [&](int i, int j, __m512 value) TENON_VECTORS
          __attribute__((always_inline)) {
        _mm512_storeu_ps(target + (i * patchSide + j) * componentStride, value);
      };
      auto at = [&](int i, int j) __attribute__((always_inline)) {
        return source + i * images.rowStride + j * images.columnStride;
      };
      if (isInside)
        applyTwice<Rows, Columns>(
            [&](int i, int j) TENON_VECTORS __attribute__((always_inline)) {
              return Type::load(at(i, j), mask);
            },
            store);
      else
        // What does not exist is not read, but an address of it may be that of
        // no memory, which takes the processor long to ignore.
        applyTwice<Rows, Columns>(
            [&](int i, int j) TENON_VECTORS __attribute__((always_inline)) {
              return Type::load(exists[i][j] ? at(i, j) : from,
                                exists[i][j] & mask);
            },
            store);
    }
  }
}

/// All channels, a few at a time, so that only so many lines of the cache are
/// being written.
template <typename Rows, typename Columns = Rows>
void transform(const Images &images, const Squares &squares, int64_t lowRows,
               int64_t lowColumns, int64_t first, int64_t count,
               const void *from, const Layout &layout, int64_t place,
               float *to) {
  constexpr size_t most = 4;
  withType(images.type, [&]<typename Type>(Type) {
    for (std::span<const Channels> left = layout.channels; !left.empty();) {
      std::span<const Channels> some = left.first(std::min(most, left.size()));
      left = left.subspan(some.size());
      transformChannels<Rows, Columns, Type>(
          images, squares, lowRows, lowColumns, first, count,
          static_cast<const typename Type::Element *>(from), some,
          layout.componentStride, place, to);
    }
  });
}

template <typename Type>
TENON_VECTORS void storeResults(const Images &images, const Squares &squares,
                                int64_t first, int64_t count, const float *sums,
                                int64_t componentStride, int64_t channels,
                                typename Type::Element *to) {
  constexpr int64_t pitch = 2 * lanes;
  Walk walk(squares, first);
  for (int64_t square = 0; square < count; ++square, walk.next()) {
    const int64_t row = walk.row * resultSide,
                  column = walk.column * resultSide;
    auto *corner = to + walk.image * images.imageStride +
                   row * images.rowStride + column * images.columnStride;
    const int64_t rows = images.rows - row, columns = images.columns - column;
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const __mmask16 mask = firstLanes(channels - channel);
      const float *from = sums + square * pitch + channel;
      applyTwice<ResultMap>(
          [&](int i, int j) TENON_VECTORS __attribute__((always_inline)) {
            return _mm512_loadu_ps(from +
                                   (i * patchSide + j) * componentStride);
          },
          [&](int i, int j, __m512 value) TENON_VECTORS
          __attribute__((always_inline)) {
            if (i < rows && j < columns)
              Type::store(corner + i * images.rowStride +
                              j * images.columnStride + channel,
                          mask, value);
          });
    }
  }
}

/// Vectors of columns, term by term, whether columns lie side by side or not.
template <bool areApart, typename Type>
TENON_VECTORS void
transformColumns(const WindowPart &part, int64_t terms, int64_t columns,
                 const typename Type::Element *from, int64_t componentStride,
                 float *to, int64_t pitch) {
  const __mmask16 mask = firstLanes(columns);
  for (int64_t term = 0; term < terms; ++term)
    applyTwice<WindowMap>(
        [&](int i, int j) TENON_VECTORS __attribute__((always_inline)) {
          const auto *tap = from + part.taps[i][j] + term * part.termStride;
          if (i >= part.rows || j >= part.columns)
            return _mm512_setzero_ps();
          if constexpr (areApart)
            return loadApart<Type>(tap, part.columnStride, columns);
          else
            return Type::load(tap, mask);
        },
        [&](int i, int j, __m512 value) TENON_VECTORS
        __attribute__((always_inline)) {
          _mm512_storeu_ps(
              to + term * pitch + (i * patchSide + j) * componentStride, value);
        });
}

/// The same where terms lie side by side: rows and columns of 16 by 16 are
/// exchanged first.
template <typename Type>
TENON_VECTORS void
transformTerms(const WindowPart &part, int64_t terms, int64_t columns,
               const typename Type::Element *from, int64_t componentStride,
               float *to, int64_t pitch) {
  alignas(64) float window[windowSide][windowSide][lanes][lanes];
  for (int64_t term = 0; term < terms; term += lanes) {
    const int64_t here = std::min(lanes, terms - term);
    const __mmask16 mask = firstLanes(here);
    for (int i = 0; i < part.rows; ++i)
      for (int j = 0; j < part.columns; ++j) {
        __m512i rows[lanes];
#pragma clang loop unroll(full)
        for (int column = 0; column < lanes; ++column)
          rows[column] = column < columns ? _mm512_castps_si512(Type::load(
                                                from + part.taps[i][j] + term +
                                                    column * part.columnStride,
                                                mask))
                                          : _mm512_setzero_si512();
        exchange(rows);
#pragma clang loop unroll(full)
        for (int row = 0; row < lanes; ++row)
          _mm512_store_si512(window[i][j][row], rows[row]);
      }
    for (int64_t row = 0; row < here; ++row)
      applyTwice<WindowMap>(
          [&](int i, int j) TENON_VECTORS __attribute__((always_inline)) {
            return i < part.rows && j < part.columns
                       ? _mm512_load_ps(window[i][j][row])
                       : _mm512_setzero_ps();
          },
          [&](int i, int j, __m512 value) TENON_VECTORS
          __attribute__((always_inline)) {
            _mm512_storeu_ps(to + (term + row) * pitch +
                                 (i * patchSide + j) * componentStride,
                             value);
          });
  }
}

template <bool areApart, typename Type>
TENON_VECTORS void storeGradients(const WindowPart &part, int64_t columns,
                                  const float *sums, int64_t componentStride,
                                  int64_t pieces, int64_t pieceStride,
                                  typename Type::Element *to) {
  for (int64_t column = 0; column < columns; column += lanes) {
    const __mmask16 mask = firstLanes(columns - column);
    applyTwice<WindowGradientMap>(
        [&](int i, int j) TENON_VECTORS __attribute__((always_inline)) {
          const float *from =
              sums + (i * patchSide + j) * componentStride + column;
          __m512 sum = _mm512_loadu_ps(from);
          for (int64_t piece = 1; piece < pieces; ++piece)
            sum =
                _mm512_add_ps(sum, _mm512_loadu_ps(from + piece * pieceStride));
          return sum;
        },
        [&](int i, int j, __m512 value) TENON_VECTORS
        __attribute__((always_inline)) {
          if (i >= part.rows || j >= part.columns)
            return;
          auto *tap = to + part.taps[i][j] + column * part.columnStride;
          if constexpr (areApart)
            storeApart<Type>(tap, part.columnStride,
                             std::min(lanes, columns - column), value);
          else
            Type::store(tap, mask, value);
        });
  }
}

/// A block of up to 16 channels, rows here, by 16 columns of a row of an image,
/// the other way around: `channels` elements per column.
template <typename Type>
TENON_VECTORS void copyBlock(const typename Type::Element *from,
                             int64_t channelStride, int64_t channelsHere,
                             int64_t columnsHere, float *to, int64_t channels) {
  const __mmask16 mask = firstLanes(columnsHere);
  __m512i rows[lanes];
#pragma clang loop unroll(full)
  for (int channel = 0; channel < lanes; ++channel)
    rows[channel] = channel < channelsHere
                        ? _mm512_castps_si512(
                              Type::load(from + channel * channelStride, mask))
                        : _mm512_setzero_si512();
  exchange(rows);
  const __mmask16 exists = firstLanes(channelsHere);
  for (int column = 0; column < columnsHere; ++column)
    _mm512_mask_storeu_epi32(to + column * channels, exists, rows[column]);
}

/// Back again: columns are `pitch` elements apart in `from`.
template <typename Type>
TENON_VECTORS void copyBlockBack(const float *from, int64_t pitch,
                                 int64_t channelsHere, int64_t columnsHere,
                                 typename Type::Element *to,
                                 int64_t channelStride) {
  __m512i rows[lanes];
#pragma clang loop unroll(full)
  for (int column = 0; column < lanes; ++column)
    rows[column] = column < columnsHere
                       ? _mm512_loadu_si512(from + column * pitch)
                       : _mm512_setzero_si512();
  exchange(rows);
  const __mmask16 mask = firstLanes(columnsHere);
  for (int channel = 0; channel < channelsHere; ++channel)
    Type::store(to + channel * channelStride, mask,
                _mm512_castsi512_ps(rows[channel]));
}

} // namespace

void winograd::transformPatches(const Images &images, const Squares &squares,
                                const WindowPart &part, int64_t lowRows,
                                int64_t lowColumns, int64_t first,
                                int64_t count, const void *from,
                                const Layout &layout, int64_t place,
                                float *to) {
  auto run = [&]<typename Rows, typename Columns>(Rows, Columns) {
    transform<Rows, Columns>(images, squares, lowRows - part.firstRow,
                             lowColumns - part.firstColumn, first, count, from,
                             layout, place, to);
  };
  using Whole = PatchMap<patchSide>;
  using Less = PatchMap<patchSide - 1>;
  if (part.rows == windowSide && part.columns == windowSide)
    run(Whole(), Whole());
  else if (part.rows == windowSide)
    run(Whole(), Less());
  else if (part.columns == windowSide)
    run(Less(), Whole());
  else
    run(Less(), Less());
}

void winograd::transformSquares(const Images &images, const Squares &squares,
                                int64_t first, int64_t count, const void *from,
                                const Layout &layout, int64_t place,
                                float *to) {
  transform<SquareMap>(images, squares, 0, 0, first, count, from, layout, place,
                       to);
}

void winograd::storeSquares(const Images &images, const Squares &squares,
                            int64_t first, int64_t count, const float *sums,
                            int64_t componentStride, int64_t firstChannel,
                            int64_t channels, void *to) {
  withType(images.type, [&]<typename Type>(Type) {
    storeResults<Type>(
        images, squares, first, count, sums, componentStride, channels,
        static_cast<typename Type::Element *>(to) + firstChannel);
  });
}

void winograd::transformWindows(const WindowPart &part, int64_t terms,
                                int64_t firstColumn, int64_t columns,
                                const void *from, int64_t componentStride,
                                float *to) {
  constexpr int64_t pitch = 2 * lanes;
  withType(part.type, [&]<typename Type>(Type) {
    for (int64_t half = 0; half < pitch; half += lanes) {
      const auto *begin = static_cast<const typename Type::Element *>(from) +
                          (firstColumn + half) * part.columnStride;
      const int64_t here = std::clamp<int64_t>(columns - half, 0, lanes);
      if (part.columnStride == 1 || here == 0)
        transformColumns<false, Type>(part, terms, here, begin, componentStride,
                                      to + half, pitch);
      else if (part.termStride == 1)
        transformTerms<Type>(part, terms, here, begin, componentStride,
                             to + half, pitch);
      else
        transformColumns<true, Type>(part, terms, here, begin, componentStride,
                                     to + half, pitch);
    }
  });
}

void winograd::storeWindows(const WindowPart &part, int64_t term,
                            int64_t firstColumn, int64_t columns,
                            const float *sums, int64_t componentStride,
                            int64_t pieces, int64_t pieceStride, void *to) {
  withType(part.type, [&]<typename Type>(Type) {
    auto *begin = static_cast<typename Type::Element *>(to) +
                  term * part.termStride + firstColumn * part.columnStride;
    if (part.columnStride == 1)
      storeGradients<false, Type>(part, columns, sums, componentStride, pieces,
                                  pieceStride, begin);
    else
      storeGradients<true, Type>(part, columns, sums, componentStride, pieces,
                                 pieceStride, begin);
  });
}

void winograd::copyRows(const Images &images, const Range &rows,
                        int64_t firstChannel, int64_t channels,
                        const void *from, float *to) {
  withType(images.type, [&]<typename Type>(Type) {
    for (int64_t row = rows.begin; row < rows.begin + rows.size; ++row) {
      const auto *begin = static_cast<const typename Type::Element *>(from) +
                          row / images.rows * images.imageStride +
                          row % images.rows * images.rowStride;
      for (int64_t channel = 0; channel < channels; channel += lanes)
        for (int64_t column = 0; column < images.columns; column += lanes)
          copyBlock<Type>(
              begin + (firstChannel + channel) * images.channelStride + column,
              images.channelStride, std::min(lanes, channels - channel),
              std::min(lanes, images.columns - column),
              to + column * channels + channel, channels);
      to += images.columns * channels;
    }
  });
}

void winograd::copySquares(const Images &images, const Squares &squares,
                           int64_t first, int64_t count, int64_t firstRow,
                           const float *from, int64_t firstChannel,
                           int64_t channels, void *to) {
  constexpr int64_t pitch = 2 * lanes;
  withType(images.type, [&]<typename Type>(Type) {
    // The squares of one row after the other.
    for (int64_t square = first; square < first + count;) {
      const Walk walk(squares, square);
      const int64_t here =
          std::min(squares.columns - walk.column, first + count - square);
      const int64_t begin = walk.column * resultSide;
      const int64_t end =
          std::min((walk.column + here) * resultSide, images.columns);
      const int64_t endOfRows =
          std::min((walk.row + 1) * resultSide, images.rows);
      for (int64_t row = walk.row * resultSide; row < endOfRows; ++row) {
        const float *source =
            from + (walk.image * images.rows + row - firstRow) *
                       images.columns * pitch;
        auto *target = static_cast<typename Type::Element *>(to) +
                       walk.image * images.imageStride +
                       row * images.rowStride +
                       firstChannel * images.channelStride;
        for (int64_t channel = 0; channel < channels; channel += lanes)
          for (int64_t column = begin; column < end; column += lanes)
            copyBlockBack<Type>(source + column * pitch + channel, pitch,
                                std::min(lanes, channels - channel),
                                std::min(lanes, end - column),
                                target + channel * images.channelStride +
                                    column,
                                images.channelStride);
      }
      square += here;
    }
  });
}
