//===- Winograd.h - The transforms of F(2 x 2, 3 x 3) ---------------------===//
//
// Private to this folder. A patch of 4 x 4 positions of the source gives 2 x 2
// of the result. Along one dimension, with d the patch and g the window,
//
//   y = A^T ((G g) * (B^T d))
//
//         1  0 -1  0          1    0    0
//   B^T = 0  1  1  0      G = 1/2  1/2  1/2     A^T = 1  1  1  0
//         0 -1  1  0          1/2 -1/2  1/2           0  1 -1 -1
//         0  1  0 -1          0    0    1
//
// and along two the same twice. Sums over channels are made between the two
// transforms, one matrix product for each of the 16 elements of a transformed
// patch, its components. The gradient of the window is the transposed map:
//
//   dg = G^T ((A dy) * (B^T d))
//
// A larger window is the sum of windows of at most 3 x 3, its parts. Where a
// part has less than 3 taps along a dimension, the last ones are zero, and so
// is the last element of G g, which is not multiplied then.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_WINOGRAD_H
#define TENON_LIB_LIBRARIES_WINOGRAD_H

#include "tenon/Support/ElementType.h"

#include <cstdint>
#include <vector>

namespace tenon::libraries::winograd {

constexpr int64_t patchSide = 4, resultSide = 2, windowSide = 3;
constexpr int64_t components = patchSide * patchSide;

/// Images. Strides are in elements; that of channels or that of columns is 1.
struct Images {
  ElementType type = ElementType::f32;
  int64_t rows = 1, columns = 1;
  int64_t imageStride = 0, rowStride = 0, columnStride = 0;
  int64_t channelStride = 1;

  bool hasChannelsLast() const { return channelStride == 1; }
};

/// A part of a range.
struct Range {
  int64_t begin = 0, size = 0;
};

/// All images' positions in squares of 2 x 2, row by row; those at the end of a
/// row or column of squares may be half outside.
struct Squares {
  int64_t rows = 1, columns = 1; // of squares in an image
  int64_t images = 1;

  int64_t count() const { return images * rows * columns; }
};

/// Up to 16 channels of a transformed patch: where they come from, and where
/// they go, which is `offset + patch * pitch` elements behind the component.
/// 16 elements are written for each patch; the next one may overwrite the rest.
struct Channels {
  int64_t begin = 0, count = 0;
  int64_t offset = 0, pitch = 0;
};

/// Where transformed patches lie.
struct Layout {
  std::vector<Channels> channels;
  int64_t componentStride = 0; // elements
};

/// A part of windows between two sets of channels, terms and columns. Strides
/// are in elements.
struct WindowPart {
  ElementType type = ElementType::f32;
  int64_t termStride = 0, columnStride = 0;
  int64_t firstRow = 0, firstColumn = 0;           // taps in front of it
  int64_t rows = windowSide, columns = windowSide; // taps
  int64_t taps[windowSide][windowSide] = {}; // where the element of each begins

  /// Whether a component is not zero whatever the taps are.
  bool has(int64_t component) const {
    constexpr int64_t last = patchSide - 1;
    return (rows == windowSide || component / patchSide != last) &&
           (columns == windowSide || component % patchSide != last);
  }
};

// What follows works on images with channels last. Rows of others are copied
// before and after. Rows of all images are numbered one after the other.

/// Copies some channels of `rows`, as f32 and with channels last: `channels` of
/// them at each position.
void copyRows(const Images &images, const Range &rows, int64_t firstChannel,
              int64_t channels, const void *from, float *to);

/// Copies `channels` channels of the squares `first` to `first + count` back,
/// from rows of 32 channels per position that begin with row `firstRow`.
void copySquares(const Images &images, const Squares &squares, int64_t first,
                 int64_t count, int64_t firstRow, const float *from,
                 int64_t firstChannel, int64_t channels, void *to);

/// B^T d B of the patches `first` to `first + count`, in the components that a
/// part of the windows has. That of the square at row y and column x begins at
/// 2 y - lowRows and 2 x - lowColumns, behind the taps in front of the part;
/// positions outside of an image are zero. The first one gets the place of
/// patch `place`.
void transformPatches(const Images &images, const Squares &squares,
                      const WindowPart &part, int64_t lowRows,
                      int64_t lowColumns, int64_t first, int64_t count,
                      const void *from, const Layout &layout, int64_t place,
                      float *to);

/// A dy A^T of squares.
void transformSquares(const Images &images, const Squares &squares,
                      int64_t first, int64_t count, const void *from,
                      const Layout &layout, int64_t place, float *to);

/// A^T m A: stores the squares `first` to `first + count`, `channels` of them
/// from `firstChannel` on. `sums` has 32 channels per square.
void storeSquares(const Images &images, const Squares &squares, int64_t first,
                  int64_t count, const float *sums, int64_t componentStride,
                  int64_t firstChannel, int64_t channels, void *to);

/// G g G^T of `terms` terms of a part and up to 32 columns from `firstColumn`
/// on: 32 columns of a term side by side, those that do not exist being zero.
void transformWindows(const WindowPart &part, int64_t terms,
                      int64_t firstColumn, int64_t columns, const void *from,
                      int64_t componentStride, float *to);

/// G^T m G of one term: `columns` columns, which lie side by side in `sums`.
/// Each sum is that of `pieces` ones, `pieceStride` elements apart, in order.
/// What a part has no component for may be anything.
void storeWindows(const WindowPart &part, int64_t term, int64_t firstColumn,
                  int64_t columns, const float *sums, int64_t componentStride,
                  int64_t pieces, int64_t pieceStride, void *to);

} // namespace tenon::libraries::winograd

#endif // TENON_LIB_LIBRARIES_WINOGRAD_H
