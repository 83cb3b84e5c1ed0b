//===- VectorProduct.cpp - Products of f32 by vectors of 16 ---------------===//
//
// See VectorProduct.h. Every function says for itself which instructions it
// has, so that this file is compiled as the others are.
//
//===----------------------------------------------------------------------===//

#include "VectorProduct.h"

#include "Parts.h"
#include "VectorTile.h"

#include <algorithm>

using namespace tenon::libraries;

namespace {

static_assert(tileColumns == VectorProduct::columns);
/// Terms of a run at most: 32 columns of them fill most of the first level of
/// the cache.
constexpr int64_t longestRun = 256;
/// Rows whose terms of a run lie in the second level at most.
constexpr int64_t mostRows = 320;
/// Panels of columns whose sums are made together if they have several runs.
constexpr int64_t mostPanels = 24;

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

  static Fetch fetch(const float *from, int64_t rows, int64_t stride,
                     int64_t length) {
    return {from, rows, stride * int64_t(sizeof(float)),
            length * int64_t(sizeof(float))};
  }
  Fetch fetchLeft(const Part &part) const {
    const int64_t rows = blocks.size(part.block), terms = runs.size(part.run);
    const float *from = lhsAt(blocks.begin(part.block), runs.begin(part.run));
    return p.lhsStrideK == 1 ? fetch(from, rows, p.lhsStrideM, terms)
                             : fetch(from, terms, p.lhsStrideK, rows);
  }
  Fetch fetchRight(int64_t run, int64_t panel) const {
    const int64_t columns = columnsOf(panel), terms = runs.size(run);
    const float *from = rhsAt(runs.begin(run), panel * tileColumns);
    return p.rhsStrideN == 1 ? fetch(from, terms, p.rhsStrideK, columns)
                             : fetch(from, columns, p.rhsStrideN, terms);
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
