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

using namespace tenon;
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
/// terms, as f32: those of a term next to each other, terms `pitch` apart.
/// Either neighbours or terms are next to each other in `from`. What is written
/// behind the neighbours of a term is overwritten by the next one.
template <typename Type>
TENON_VECTORS void copyGroup(const typename Type::Element *from,
                             int64_t strideOfNeighbours, int64_t strideOfTerms,
                             int64_t count, int64_t terms, float *to,
                             int64_t pitch) {
  if (strideOfNeighbours == 1) {
    const __mmask16 mask = firstLanes(count);
    for (int64_t term = 0; term < terms; ++term)
      _mm512_storeu_ps(to + term * pitch,
                       Type::load(from + term * strideOfTerms, mask));
    return;
  }
  for (int64_t term = 0; term < terms; term += lanes) {
    const int64_t here = std::min(lanes, terms - term);
    const __mmask16 mask = firstLanes(here);
    __m512i rows[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      rows[i] = i < count ? _mm512_castps_si512(Type::load(
                                from + i * strideOfNeighbours + term, mask))
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

/// Rounds rows of sums, `pitch` apart.
template <typename Type>
TENON_VECTORS void roundRows(const float *sums, int64_t pitch, int64_t rows,
                             int64_t columns, typename Type::Element *to,
                             int64_t stride) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += lanes)
      Type::store(to + row * stride + column, firstLanes(columns - column),
                  _mm512_loadu_ps(sums + row * pitch + column));
}

/// A tensor where it lies.
template <typename Byte>
struct Place {
  Byte *at;
  ElementType type;

  Place operator+(int64_t elements) const {
    return {at + elements * byteWidth(type), type};
  }
};
using Operand = Place<const char>;
using Result = Place<char>;

void copyGroup(Operand from, int64_t strideOfNeighbours, int64_t strideOfTerms,
               int64_t count, int64_t terms, float *to, int64_t pitch) {
  auto copy = [&]<typename Type>(Type) {
    copyGroup<Type>(reinterpret_cast<const typename Type::Element *>(from.at),
                    strideOfNeighbours, strideOfTerms, count, terms, to, pitch);
  };
  if (from.type == ElementType::bf16)
    copy(Bf16Lanes());
  else if (from.type == ElementType::f16)
    copy(F16Lanes());
  else
    copy(F32Lanes());
}

void roundRows(const float *sums, int64_t pitch, int64_t rows, int64_t columns,
               Result to, int64_t stride) {
  auto *elements = reinterpret_cast<uint16_t *>(to.at);
  if (to.type == ElementType::bf16)
    roundRows<Bf16Lanes>(sums, pitch, rows, columns, elements, stride);
  else
    roundRows<F16Lanes>(sums, pitch, rows, columns, elements, stride);
}

} // namespace

/// Whether the left operand is read where it lies, where that takes less time
/// than its copy: rows next to each other, and few columns.
static bool readsLeftInPlace(const VectorProduct &p) {
  constexpr int64_t mostColumns = 512;
  return p.lhsType == ElementType::f32 && p.lhsStrideM == 1 &&
         p.n <= mostColumns;
}

/// Columns next to each other. Terms that lie pages apart share sets of the
/// cache and push each other out.
bool VectorProduct::readsRightInPlace() const {
  constexpr int64_t page = 4096 / sizeof(float);
  return rhsType == ElementType::f32 && rhsStrideN == 1 &&
         (rhsStrideK <= page || rhsStrideK % page != 0);
}

/// Whether sums lie in the workspace until they are finished.
static bool roundsSums(const VectorProduct &p) {
  return p.resultType != ElementType::f32;
}

static Parts runsOf(const VectorProduct &p) { return Parts(p.k, longestRun); }
static Parts blocksOf(const VectorProduct &p) { return Parts(p.m, mostRows); }

/// Panels of columns, in strips whose sums are made together.
static Parts stripsOf(const VectorProduct &p) {
  const int64_t panels = ceilDivide(p.n, tileColumns);
  return Parts(panels, runsOf(p).count == 1 ? panels : mostPanels);
}

/// Elements from one row of unfinished sums to the next. A tile whose sums have
/// one run is finished at once.
static int64_t sumsPitch(const VectorProduct &p) {
  return runsOf(p).count == 1 ? tileColumns
                              : stripsOf(p).largest() * tileColumns;
}

static int64_t sumElements(const VectorProduct &p) {
  if (!roundsSums(p))
    return 0;
  return sumsPitch(p) *
         (runsOf(p).count == 1 ? tileRows : blocksOf(p).largest());
}

/// Elements of the copies of a run's operands.
static int64_t leftElements(const VectorProduct &p) {
  if (readsLeftInPlace(p))
    return 0;
  const Parts blocks = blocksOf(p), runs = runsOf(p);
  // The last group's last term is stored as a whole vector; the right operand
  // begins with a line, which has as many elements.
  return ceilDivide((blocks.largest() + 1) * runs.largest() + lanes, lanes) *
         lanes;
}

static int64_t rightElements(const VectorProduct &p) {
  return runsOf(p).largest() * tileColumns;
}

namespace {

/// A product while it runs: strips of columns, in each of them runs of terms,
/// and for each of these blocks of rows. So the sums of a strip stay in the
/// second level of the cache, and so does the left operand of a block. Where
/// sums are rounded in the end, the runs of a block follow each other, so that
/// the unfinished sums of one block are all there are.
class Running {
public:
  Running(const VectorProduct &p, const void *lhs, const void *rhs,
          const float *bias, void *result, void *workspace)
      : p(p), lhs{static_cast<const char *>(lhs), p.lhsType},
        rhs{static_cast<const char *>(rhs), p.rhsType},
        bias(bias), result{static_cast<char *>(result), p.resultType},
        runs(runsOf(p)), blocks(blocksOf(p)), strips(stripsOf(p)),
        left(static_cast<float *>(workspace)), right(left + leftElements(p)),
        sums(right + rightElements(p)) {}

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
    const int64_t strip = i / blocks.count / runs.count;
    if (rounds)
      return {strip, i % runs.count, i / runs.count % blocks.count};
    return {strip, i / blocks.count % runs.count, i % blocks.count};
  }

  Operand lhsAt(int64_t row, int64_t term) const {
    return lhs + (row * p.lhsStrideM + term * p.lhsStrideK);
  }
  Operand rhsAt(int64_t term, int64_t column) const {
    return rhs + (term * p.rhsStrideK + column * p.rhsStrideN);
  }
  static const float *inPlace(Operand operand) {
    return reinterpret_cast<const float *>(operand.at);
  }
  int64_t columnsOf(int64_t panel) const {
    return std::min(tileColumns, p.n - panel * tileColumns);
  }

  static Fetch fetch(Operand from, int64_t rows, int64_t stride,
                     int64_t length) {
    const int64_t width = byteWidth(from.type);
    return {from.at, rows, stride * width, length * width};
  }
  Fetch fetchLeft(const Part &part) const {
    const int64_t rows = blocks.size(part.block), terms = runs.size(part.run);
    const Operand from = lhsAt(blocks.begin(part.block), runs.begin(part.run));
    return p.lhsStrideK == 1 ? fetch(from, rows, p.lhsStrideM, terms)
                             : fetch(from, terms, p.lhsStrideK, rows);
  }
  Fetch fetchRight(int64_t run, int64_t panel) const {
    const int64_t columns = columnsOf(panel), terms = runs.size(run);
    const Operand from = rhsAt(runs.begin(run), panel * tileColumns);
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
      const bool isInPlace = rightInPlace && columns == tileColumns;
      if (!isInPlace)
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
        tile.left = leftInPlace ? inPlace(lhsAt(row, firstTerm))
                                : left + groups.begin(group) * terms;
        tile.leftStride = leftInPlace ? p.lhsStrideK : groups.size(group);
        tile.right = isInPlace ? inPlace(rhsAt(firstTerm, column)) : right;
        tile.rightStride = isInPlace ? p.rhsStrideK : tileColumns;
        const Result target = result + (row * p.resultStrideM + column);
        tile.result = rounds ? sumsOf(part, groups.begin(group), panel)
                             : reinterpret_cast<float *>(target.at);
        tile.resultStride = rounds ? sumsPitch(p) : p.resultStrideM;
        tile.columns = columns;
        const bool isLast = part.run + 1 == runs.count;
        if (rounds && isLast) {
          tile.next = target.at;
          tile.nextStride = p.resultStrideM;
          tile.nextWidth = byteWidth(target.type);
        }
        tile.bias = bias && isLast ? bias + column : nullptr;
        tile.adds = part.run > 0;
        tile.leftFetch = &leftFetch;
        tile.rightFetch = &rightFetch;
        tile.leftPairs = std::min(leftPairs, leftFetch.pairs());
        tile.rightPairs = std::min(rightPairs, rightFetch.pairs());
        multiply(tile, groups.size(group));
        if (rounds && isLast)
          roundRows(tile.result, tile.resultStride, groups.size(group), columns,
                    target, p.resultStrideM);
      }
    }
  }

  /// Where the unfinished sums of a tile lie, whose first row is `row` of the
  /// block.
  float *sumsOf(const Part &part, int64_t row, int64_t panel) const {
    if (runs.count == 1)
      return sums;
    return sums + row * sumsPitch(p) +
           (panel - strips.begin(part.strip)) * tileColumns;
  }

  void copyPanel(int64_t firstTerm, int64_t terms, int64_t column,
                 int64_t columns) {
    for (int64_t half = 0; half < columns; half += lanes)
      copyGroup(rhsAt(firstTerm, column + half), p.rhsStrideN, p.rhsStrideK,
                std::min(lanes, columns - half), terms, right + half,
                tileColumns);
  }

  const VectorProduct &p;
  const Operand lhs, rhs;
  const float *bias;
  const Result result;
  Parts runs, blocks, strips; // of terms, of rows, of panels
  float *left, *right;        // the copies
  float *sums;                // that are not finished
  const bool leftInPlace = readsLeftInPlace(p);
  const bool rightInPlace = p.readsRightInPlace();
  const bool rounds = roundsSums(p);
};

} // namespace

int64_t VectorProduct::workspaceBytes() const {
  return (leftElements(*this) + rightElements(*this) + sumElements(*this)) *
         int64_t(sizeof(float));
}

void VectorProduct::run(const void *lhs, const void *rhs, const float *bias,
                        void *result, void *workspace) const {
  Running(*this, lhs, rhs, bias, result, workspace).run();
}
