//===- VectorProduct.cpp - Products of f32 by vectors of 16 ---------------===//
//
// See VectorProduct.h. Every function says for itself which instructions it
// has, so that this file is compiled as the others are.
//
//===----------------------------------------------------------------------===//

#include "VectorProduct.h"

#include "VectorWords.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

using namespace tenon::libraries;

namespace {

constexpr int64_t tileRows = 14, tileColumns = VectorProduct::columns;
/// Terms of a run at most: 32 columns of them fill most of the first level of
/// the cache.
constexpr int64_t longestRun = 256;
/// Rows whose terms of a run lie in the second level at most.
constexpr int64_t mostRows = 320;
/// Panels of columns whose sums are made together if they have several runs.
constexpr int64_t mostPanels = 24;
constexpr int64_t lineBytes = 64;

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// `extent` in as few parts of nearly the same length as there must be.
struct Parts {
  Parts(int64_t extent, int64_t longest)
      : extent(extent), count(ceilDivide(extent, longest)) {}
  int64_t begin(int64_t part) const { return part * extent / count; }
  int64_t size(int64_t part) const { return begin(part + 1) - begin(part); }
  int64_t largest() const { return ceilDivide(extent, count); }

  int64_t extent, count;
};

/// Walks the pairs of lines that hold a matrix, one pair after the other, and
/// asks for them to be brought into the second level of the cache.
class Fetch {
public:
  Fetch() = default;
  /// `rows` rows, `stride` elements apart, of `length` elements each. Pairs of
  /// lines are walked column by column.
  Fetch(const float *from, int64_t rows, int64_t stride, int64_t length)
      : top(reinterpret_cast<const char *>(from)), at(top), rows(rows),
        left(rows), rowBytes(stride * int64_t(sizeof(float))),
        remaining(rows *
                  ceilDivide(length * int64_t(sizeof(float)), pairBytes)) {}

  int64_t pairs() const { return remaining; }

  void next() {
    // Where rows do not start with a line, the line in front of the second one
    // was the last one of the pair before.
    _mm_prefetch(at + lineBytes - 1, _MM_HINT_T1);
    _mm_prefetch(at + pairBytes - 1, _MM_HINT_T1);
    at += rowBytes;
    --remaining;
    if (--left == 0) {
      left = rows;
      at = top += pairBytes;
    }
  }

private:
  static constexpr int64_t pairBytes = 2 * lineBytes;

  const char *top = nullptr, *at = nullptr;
  int64_t rows = 0, left = 0, rowBytes = 0, remaining = 0;
};

/// A tile of sums.
struct Tile {
  int64_t terms = 0;
  const float *left = nullptr, *right = nullptr;
  int64_t leftStride = 0, rightStride = 0; // from term to term
  float *result = nullptr;
  int64_t resultStride = 0;
  int64_t columns = 0;         // that there are
  const float *bias = nullptr; // added in the end; null for none
  bool adds = false;           // to what is there
  /// What is fetched meanwhile: so many pairs of lines of each.
  Fetch *leftFetch = nullptr, *rightFetch = nullptr;
  int64_t leftPairs = 0, rightPairs = 0;
};

/// Between two pairs of lines that are fetched.
constexpr int64_t termsPerFetch = 4;

template <int Rows, int Vectors>
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
      __m512 factor = _mm512_set1_ps(left[row]);
#pragma clang loop unroll(full)
      for (int vector = 0; vector < Vectors; ++vector)
        sums[row][vector] =
            _mm512_fmadd_ps(factor, columns[vector], sums[row][vector]);
    }
    left += leftStride;
    right += rightStride;
  };
  const float *resultRow = tile.result;
  const int64_t steps = tile.terms / termsPerFetch;
  for (int64_t step = 0; step < steps; ++step) {
    if (step < Rows) {
      __builtin_prefetch(resultRow, /*write=*/1);
      __builtin_prefetch(resultRow + Vectors * lanes - 1, /*write=*/1);
      resultRow += tile.resultStride;
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

template <int Vectors, size_t... Row>
constexpr std::array<TileFunction, tileRows>
functionsOf(std::index_sequence<Row...>) {
  return {multiplyTile<int(Row) + 1, Vectors>...};
}

template <int Vectors>
constexpr std::array<TileFunction, tileRows>
    tileFunctions = functionsOf<Vectors>(std::make_index_sequence<tileRows>());

void multiply(const Tile &tile, int64_t rows) {
  const bool isNarrow = tile.columns <= lanes;
  (isNarrow ? tileFunctions<1> : tileFunctions<2>)[rows - 1](tile);
}

/// Copies a group of up to 16 neighbours, `count` of them there, for `terms`
/// terms: those of a term next to each other, terms `pitch` apart. Either
/// neighbours or terms are next to each other in `from`. What is written behind
/// the neighbours of a term is overwritten by the next one.
TENON_VECTORS void copyGroup(const float *from, int64_t strideOfNeighbours,
                             int64_t strideOfTerms, int64_t count,
                             int64_t terms, float *to, int64_t pitch) {
  if (strideOfNeighbours == 1) {
    const __mmask16 mask = firstLanes(count);
    for (int64_t term = 0; term < terms; ++term)
      _mm512_storeu_ps(
          to + term * pitch,
          _mm512_maskz_loadu_ps(mask, from + term * strideOfTerms));
    return;
  }
  for (int64_t term = 0; term < terms; term += lanes) {
    const int64_t here = std::min(lanes, terms - term);
    const __mmask16 mask = firstLanes(here);
    __m512i rows[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      rows[i] = i < count ? _mm512_maskz_loadu_epi32(
                                mask, from + i * strideOfNeighbours + term)
                          : _mm512_setzero_si512();
    exchange(rows);
    if (here == lanes) {
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i)
        _mm512_storeu_si512(to + (term + i) * pitch, rows[i]);
    } else {
      for (int i = 0; i < here; ++i)
        _mm512_storeu_si512(to + (term + i) * pitch, rows[i]);
    }
  }
}

} // namespace

/// Whether the left operand is read where it lies, where that takes less time
/// than its copy: rows next to each other, and few columns.
static bool readsLeftInPlace(const VectorProduct &p) {
  constexpr int64_t mostColumns = 512;
  return p.lhsStrideM == 1 && p.n <= mostColumns;
}

/// The same of the right operand: columns next to each other. Terms that lie
/// pages apart share sets of the cache and push each other out.
static bool readsRightInPlace(const VectorProduct &p) {
  constexpr int64_t page = 4096 / sizeof(float);
  return p.rhsStrideN == 1 &&
         (p.rhsStrideK <= page || p.rhsStrideK % page != 0);
}

/// Elements of the copies of a run's operands.
static int64_t leftElements(const VectorProduct &p) {
  if (readsLeftInPlace(p))
    return 0;
  Parts blocks(p.m, mostRows), runs(p.k, longestRun);
  // The last group's last term is stored as a whole vector; the right operand
  // begins with a line, which has as many elements.
  return ceilDivide((blocks.largest() + 1) * runs.largest() + lanes, lanes) *
         lanes;
}

static int64_t rightElements(const VectorProduct &p) {
  return Parts(p.k, longestRun).largest() * tileColumns;
}

namespace {

/// A product while it runs: strips of columns, in each of them runs of terms,
/// and for each of these blocks of rows. So the sums of a strip stay in the
/// second level of the cache, and so does the left operand of a block.
class Running {
public:
  Running(const VectorProduct &p, const float *lhs, const float *rhs,
          const float *bias, float *result, void *workspace)
      : p(p), lhs(lhs), rhs(rhs), bias(bias), result(result),
        runs(p.k, longestRun), blocks(p.m, mostRows),
        strips(ceilDivide(p.n, tileColumns),
               runs.count == 1 ? p.n : mostPanels),
        left(static_cast<float *>(workspace)), right(left + leftElements(p)) {}

  void run() {
    const int64_t count = strips.count * runs.count * blocks.count;
    for (int64_t part = 0; part < count; ++part) {
      const Part next = part + 1 < count ? partAt(part + 1) : Part{};
      multiplyPart(partAt(part), part + 1 < count ? &next : nullptr);
    }
  }

private:
  /// A block of a run in a strip.
  struct Part {
    int64_t strip = 0, run = 0, block = 0;
  };

  Part partAt(int64_t i) const {
    return {i / blocks.count / runs.count, i / blocks.count % runs.count,
            i % blocks.count};
  }

  const float *lhsAt(int64_t row, int64_t term) const {
    return lhs + row * p.lhsStrideM + term * p.lhsStrideK;
  }
  const float *rhsAt(int64_t term, int64_t column) const {
    return rhs + term * p.rhsStrideK + column * p.rhsStrideN;
  }
  int64_t columnsOf(int64_t panel) const {
    return std::min(tileColumns, p.n - panel * tileColumns);
  }

  Fetch fetchLeft(const Part &part) const {
    const int64_t rows = blocks.size(part.block), terms = runs.size(part.run);
    const float *from = lhsAt(blocks.begin(part.block), runs.begin(part.run));
    return p.lhsStrideK == 1 ? Fetch(from, rows, p.lhsStrideM, terms)
                             : Fetch(from, terms, p.lhsStrideK, rows);
  }
  Fetch fetchRight(int64_t run, int64_t panel) const {
    const int64_t columns = columnsOf(panel), terms = runs.size(run);
    const float *from = rhsAt(runs.begin(run), panel * tileColumns);
    return p.rhsStrideN == 1 ? Fetch(from, terms, p.rhsStrideK, columns)
                             : Fetch(from, columns, p.rhsStrideN, terms);
  }

  /// Multiplies a part and fetches what `next`, if there is one, begins with.
  void multiplyPart(const Part &part, const Part *next) {
    const int64_t firstTerm = runs.begin(part.run), terms = runs.size(part.run);
    const int64_t firstRow = blocks.begin(part.block);
    const Parts groups(blocks.size(part.block), tileRows);
    if (!leftInPlace)
      for (int64_t group = 0; group < groups.count; ++group)
        copyGroup(lhsAt(firstRow + groups.begin(group), firstTerm),
                  p.lhsStrideM, p.lhsStrideK, groups.size(group), terms,
                  left + groups.begin(group) * terms, groups.size(group));
    Fetch leftFetch = next ? fetchLeft(*next) : Fetch();
    const int64_t leftPairs =
        ceilDivide(leftFetch.pairs(), groups.count * strips.size(part.strip));
    const int64_t endOfPanels = strips.begin(part.strip + 1);
    for (int64_t panel = strips.begin(part.strip); panel < endOfPanels;
         ++panel) {
      const int64_t column = panel * tileColumns, columns = columnsOf(panel);
      const bool inPlace = rightInPlace && columns == tileColumns;
      if (!inPlace)
        copyPanel(firstTerm, terms, column, columns);
      Fetch rightFetch;
      if (panel + 1 < endOfPanels)
        rightFetch = fetchRight(part.run, panel + 1);
      else if (next)
        rightFetch = fetchRight(next->run, strips.begin(next->strip));
      const int64_t rightPairs = ceilDivide(rightFetch.pairs(), groups.count);
      for (int64_t group = 0; group < groups.count; ++group) {
        const int64_t row = firstRow + groups.begin(group);
        Tile tile;
        tile.terms = terms;
        tile.left = leftInPlace ? lhsAt(row, firstTerm)
                                : left + groups.begin(group) * terms;
        tile.leftStride = leftInPlace ? p.lhsStrideK : groups.size(group);
        tile.right = inPlace ? rhsAt(firstTerm, column) : right;
        tile.rightStride = inPlace ? p.rhsStrideK : tileColumns;
        tile.result = result + row * p.resultStrideM + column;
        tile.resultStride = p.resultStrideM;
        tile.columns = columns;
        tile.bias =
            bias && part.run + 1 == runs.count ? bias + column : nullptr;
        tile.adds = part.run > 0;
        tile.leftFetch = &leftFetch;
        tile.rightFetch = &rightFetch;
        tile.leftPairs = std::min(leftPairs, leftFetch.pairs());
        tile.rightPairs = std::min(rightPairs, rightFetch.pairs());
        multiply(tile, groups.size(group));
      }
    }
  }

  void copyPanel(int64_t firstTerm, int64_t terms, int64_t column,
                 int64_t columns) {
    for (int64_t half = 0; half < columns; half += lanes)
      copyGroup(rhsAt(firstTerm, column + half), p.rhsStrideN, p.rhsStrideK,
                std::min(lanes, columns - half), terms, right + half,
                tileColumns);
  }

  const VectorProduct &p;
  const float *lhs, *rhs, *bias;
  float *result;
  Parts runs, blocks, strips; // of terms, of rows, of panels
  float *left, *right;        // the copies
  const bool leftInPlace = readsLeftInPlace(p);
  const bool rightInPlace = readsRightInPlace(p);
};

} // namespace

int64_t VectorProduct::workspaceBytes() const {
  return (leftElements(*this) + rightElements(*this)) * int64_t(sizeof(float));
}

void VectorProduct::run(const float *lhs, const float *rhs, const float *bias,
                        float *result, void *workspace) const {
  Running(*this, lhs, rhs, bias, result, workspace).run();
}
