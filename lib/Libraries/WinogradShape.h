//===- WinogradShape.h - What Winograd's products have in common ----------===//
//
// Private to this folder: how a convolution is seen as patches and windows, and
// how what is needed next is fetched while tiles of sums are made.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_WINOGRADSHAPE_H
#define TENON_LIB_LIBRARIES_WINOGRADSHAPE_H

#include "PrimitiveCall.h"
#include "VectorTile.h"
#include "Winograd.h"

#include <algorithm>
#include <utility>

namespace tenon::libraries::winograd {

/// Terms of a run: each run of a sum begins with zero and adds its terms in
/// order, the runs are added in order.
constexpr int64_t mostTerms = rowPitch;
/// Between components lies no multiple of a page, so that what is written to
/// all of them does not share sets of the cache. Elements.
constexpr int64_t apart = 16;

inline int64_t bytesOf(int64_t elements) {
  return elements * int64_t(sizeof(float));
}

/// An argument of the call, from its beginning.
inline Operand argument(int64_t index) { return {0, {}, index, 0}; }

/// New memory of the workspace.
inline Operand newMemory(PrimitiveCall &call, int64_t elements) {
  return {0, {}, call.workspaceArgument(), call.reserve(bytesOf(elements))};
}

/// A range in at most `pieces`.
std::vector<Range> cut(int64_t extent, int64_t pieces);

/// The squares of all images of a result.
Squares squaresOf(const Images &images, int64_t count);

Images inputImages(const ConvolutionDescription &d);
Images outputImages(const ConvolutionDescription &d);

/// So many squares are copied at a time.
constexpr int64_t squaresPerCopy = 64;

/// How what some squares need is read: where it is, or, if channels do not lie
/// side by side, from a copy of the rows of a few squares at a time.
struct Reading {
  Images images;
  Squares squares;
  int64_t low = 0; // see rowsOf
  int64_t side = 0;
  int64_t firstChannel = 0, channels = 1;

  Range rows(int64_t first, int64_t count) const;
  /// Elements that `copy` has to have for squares `first` to `first + count`.
  int64_t copyElements(int64_t first, int64_t count) const;
  /// Images with channels last, and where they begin.
  std::pair<Images, const void *> read(int64_t first, int64_t count,
                                       const void *from, float *copy) const;

  /// Calls `visit(images, begin, done, count)` for all squares of a range, a
  /// few at a time: `done` of them came before.
  template <typename Visit>
  void forEachCopy(int64_t first, int64_t count, const void *from, float *copy,
                   const Visit &visit) const {
    const int64_t most = images.hasChannelsLast() ? count : squaresPerCopy;
    for (int64_t done = 0; done < count; done += most) {
      const int64_t here = std::min(most, count - done);
      auto [last, begin] = read(first + done, here, from, copy);
      visit(last, begin, done, here);
    }
  }
};

/// The parts of a convolution's windows, as correlations: the data gradient
/// sees windows in reverse.
std::vector<WindowPart> partsOf(const ConvolutionDescription &d,
                                ElementType type, int64_t termStride,
                                int64_t columnStride);

/// How many components all parts have that are not zero.
int64_t componentsOf(const std::vector<WindowPart> &parts);

/// What is fetched while tiles are made: a share with each of them.
class Ahead {
public:
  Ahead() = default;
  Ahead(const Fetch &fetch, int64_t tiles)
      : fetch(fetch), share(ceilDivide(fetch.pairs(), tiles)) {}

  /// What comes with the next tile.
  int64_t pairs() const { return std::min(share, fetch.pairs()); }

  Fetch fetch;

private:
  int64_t share = 0;
};

/// Gives a tile its share of both.
inline void fetchWith(Tile &tile, Ahead &one, Ahead &other) {
  tile.leftFetch = &one.fetch;
  tile.leftPairs = one.pairs();
  tile.rightFetch = &other.fetch;
  tile.rightPairs = other.pairs();
}

/// The rows of all images, one after the other, that squares `first` to
/// `first + count` have if each has `side` of them from `2 y - low` on.
Range rowsOf(const Images &images, const Squares &squares, int64_t low,
             int64_t side, int64_t first, int64_t count);

// The following fetch nothing where memory is not dense.

/// Rows of images.
Fetch fetchRows(const Images &images, const Range &rows, const void *from);

/// Some channels of rows of images.
Fetch fetchChannels(const Images &images, const Range &rows, int64_t channel,
                    int64_t count, const void *from);

/// Some columns of all windows, where columns lie side by side.
Fetch fetchWindows(const ConvolutionDescription &d, const WindowPart &part,
                   int64_t terms, int64_t column, int64_t columns,
                   const void *from);

} // namespace tenon::libraries::winograd

#endif // TENON_LIB_LIBRARIES_WINOGRADSHAPE_H
