//===- VectorTile.h - A tile of sums of f32 in registers ------------------===//
//
// Private to this folder: the innermost part of our own products of f32 on
// processors with AVX-512. Up to 14 rows and 32 columns of sums are held in
// registers while terms are added to them, each by one fused multiply-add.
// Meanwhile the lines that are needed next are fetched.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_VECTORTILE_H
#define TENON_LIB_LIBRARIES_VECTORTILE_H

#include "Parts.h"
#include "VectorWords.h"

#include <cstdint>

namespace tenon::libraries {

constexpr int64_t tileRows = 14, tileColumns = 32;
constexpr int64_t lineBytes = 64; // of the cache

/// Walks the pairs of lines that hold a matrix, one pair after the other, and
/// asks for them to be brought into the second level of the cache.
class Fetch {
public:
  Fetch() = default;
  /// `rows` rows, `stride` bytes apart, of `length` bytes each. Pairs of lines
  /// are walked column by column.
  Fetch(const void *from, int64_t rows, int64_t stride, int64_t length)
      : top(static_cast<const char *>(from)), at(top), rows(rows), left(rows),
        rowBytes(stride), remaining(rows * ceilDivide(length, pairBytes)) {}

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
  /// Where the caller takes the result next, in elements of `nextWidth` bytes:
  /// its lines are fetched instead of the result's. Null if it stays.
  const void *next = nullptr;
  int64_t nextStride = 0, nextWidth = 0;
  /// What is fetched meanwhile: so many pairs of lines of each.
  Fetch *leftFetch = nullptr, *rightFetch = nullptr;
  int64_t leftPairs = 0, rightPairs = 0;
};

/// Adds up a tile of `rows` rows, whose elements of the left operand lie side
/// by side. The sums begin with zero and get their terms in order.
void multiply(const Tile &tile, int64_t rows);

/// The same where rows of the left operand lie `rowPitch` elements apart, and
/// `leftStride` is 1 as a rule.
constexpr int64_t rowPitch = 64;
void multiplyRows(const Tile &tile, int64_t rows);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_VECTORTILE_H
