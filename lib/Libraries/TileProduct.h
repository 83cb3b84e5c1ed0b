//===- TileProduct.h - Products of bf16 by the tiles of AMX ---------------===//
//
// Private to this folder: what our own convolutions are made of. A block of 32
// by 32 sums is held in four tiles while steps of 32 terms are added to it. The
// left operand has a row per row of the block, its terms side by side; the
// right one has a row per two terms, with both of a column side by side. The
// copies here bring operands into these orders, and blocks out of them.
//
// Only for processors with the instructions (Isa::amxBf16). Sums are f32;
// subnormal numbers count as zero.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_TILEPRODUCT_H
#define TENON_LIB_LIBRARIES_TILEPRODUCT_H

#include <cstdint>
#include <span>

namespace tenon::libraries {

using Bf16 = uint16_t; // its bits

constexpr int64_t tileSide = 16;  // rows of a tile, and sums in each
constexpr int64_t blockSide = 32; // rows and columns of a block of sums
constexpr int64_t stepTerms = 32;
constexpr int64_t tileBytes = 1024;
constexpr int64_t blockElements = blockSide * blockSide;

/// A row that does not exist; its elements are zeros.
constexpr int64_t noRow = -1;

/// Where the terms of a step begin, in bytes from where the operands do.
struct TileStep {
  int64_t left = 0, right = 0;
};

/// While it lives, this thread's tiles have 16 rows of 64 bytes.
class TileShapes {
public:
  TileShapes();
  ~TileShapes();
  TileShapes(const TileShapes &) = delete;
  TileShapes &operator=(const TileShapes &) = delete;
};

/// The operands of a block: each is two tiles, which need not be neighbours.
struct TileOperands {
  const char *left[2];
  int64_t leftStride; // bytes from row to row; rows of `right` are 64 apart
  const char *right[2];
};

/// Adds the products of all steps to `block`, which has 32 rows of 32 sums, or
/// begins with zero. The order of the sums is that of the steps.
void multiplyBlock(const TileOperands &operands,
                   std::span<const TileStep> steps, float *block, bool adds);

/// Copies rows of `elements`, each at an offset or noRow, to rows of `pitch`,
/// which are filled up with zeros.
void copyRows(const Bf16 *from, std::span<const int64_t> rows, int64_t elements,
              Bf16 *to, int64_t pitch);

/// Takes an even number of rows two at a time: from every 16 columns, the two
/// elements of each column side by side make a row of 64 bytes. The rows of one
/// group of columns follow each other, groups are `groupBytes` apart, and there
/// are as many of them as fill blocks.
void pairRows(const Bf16 *from, std::span<const int64_t> rows, int64_t elements,
              char *to, int64_t groupBytes);

/// Exchanges rows and columns of 16 rows of 16 words of four bytes. Rows are
/// read whole.
void transposeWords(const char *from, int64_t fromStride, char *to,
                    int64_t toStride);

/// The same, of `rows` rows of `elements` bf16, with zeros for the rest.
void transposePairs(const Bf16 *from, int64_t stride, int64_t rows,
                    int64_t elements, char *to);

/// Up to 32 sums, as they are or rounded.
void storeRow(const float *sums, int64_t count, float *to);
void storeRow(const float *sums, int64_t count, Bf16 *to);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_TILEPRODUCT_H
