//===- WinogradConvolution.cpp - 3 x 3 with fewer multiplications ---------===//
//
// What Winograd.h transforms is multiplied here, one matrix product for each
// of the 16 components of a patch:
//
//   forward, data gradient   patches x channels, times the transformed windows
//   weight gradient          channels x patches, times the transformed squares
//
// Of the two operands of a data product the smaller one is transformed as a
// whole, the other one part by part, in a core's cache, where the sums are
// transformed back as well:
//
//   windows are smaller      phase 0: the windows, in tasks by columns
//                            phase 1: pieces of all patches
//   patches are smaller      phase 0: the patches
//                            phase 1: pieces of the columns
//
// A weight gradient adds up all patches. Where its sums fit a core's cache,
// each piece of the patches has sums of its own; else pieces of the columns
// have all patches:
//
//   by patches               phase 0: pieces of all patches
//                            phase 1: the pieces' sums added up and stored
//   by columns               phase 0: the patches
//                            phase 1: pieces of the columns
//
// Every sum is made of runs of at most 64 terms: each run begins with zero and
// adds its terms in order, the runs are added in order. How an operand is cut
// follows from the description alone, and so do the bits.
//
//===----------------------------------------------------------------------===//

#include "WinogradConvolution.h"

#include "Parts.h"
#include "VectorTile.h"
#include "Winograd.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::libraries::winograd;

using Spatial = ConvolutionDescription::Spatial;

namespace {

constexpr int64_t mostTerms = rowPitch;
/// How many bytes of transformed patches, and of a gradient's sums, stay in a
/// core's cache beside the rest.
constexpr int64_t cachedPatchBytes = 1 << 19;
constexpr int64_t cachedSumBytes = 1 << 20;
/// Groups of rows for which it pays to read all windows from farther away.
constexpr int64_t fewestGroups = 4;
/// Elements between two components are not a multiple of a page's, so that what
/// is written to all of them does not share sets of the cache.
constexpr int64_t apart = 16;

int64_t bytesOf(int64_t elements) { return elements * int64_t(sizeof(float)); }

/// A part of a range.
struct Range {
  int64_t begin = 0, size = 0;
};

std::vector<Range> cut(int64_t extent, int64_t pieces) {
  Parts parts(extent, ceilDivide(extent, pieces));
  std::vector<Range> ranges;
  for (int64_t i = 0; i < parts.count; ++i)
    ranges.push_back({parts.begin(i), parts.size(i)});
  return ranges;
}

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
void fetchWith(Tile &tile, Ahead &one, Ahead &other) {
  tile.leftFetch = &one.fetch;
  tile.leftPairs = one.pairs();
  tile.rightFetch = &other.fetch;
  tile.rightPairs = other.pairs();
}

/// The rows of all images, one after the other, that squares `first` to
/// `first + count` have if each has `side` of them from `2 y - low` on.
Range rowsOf(const Images &images, const Squares &squares, int64_t low,
             int64_t side, int64_t first, int64_t count) {
  auto rowAt = [&](int64_t square, int64_t shift) {
    const int64_t row = square / squares.columns;
    return row / squares.rows * images.rows +
           std::clamp<int64_t>(row % squares.rows * resultSide - low + shift, 0,
                               images.rows - 1);
  };
  const int64_t begin = rowAt(first, 0);
  return {begin, rowAt(first + count - 1, side - 1) + 1 - begin};
}

/// Fetches rows of images that follow each other.
Fetch fetchRows(const Images &images, const Range &rows, const void *from) {
  if (images.imageStride != images.rows * images.rowStride)
    return Fetch();
  const int64_t stride = images.rowStride * byteWidth(images.type);
  return Fetch(static_cast<const char *>(from) + rows.begin * stride, rows.size,
               stride,
               images.columns * images.columnStride * byteWidth(images.type));
}

/// Fetches some channels of rows of images that are dense.
Fetch fetchChannels(const Images &images, const Range &rows, int64_t channel,
                    int64_t count, const void *from) {
  const int64_t width = byteWidth(images.type);
  if (images.imageStride != images.rows * images.rowStride ||
      images.rowStride != images.columns * images.columnStride)
    return Fetch();
  return Fetch(static_cast<const char *>(from) +
                   (rows.begin * images.rowStride + channel) * width,
               rows.size * images.columns, images.columnStride * width,
               count * width);
}

/// Fetches some columns of all windows, where columns lie side by side and
/// windows are dense.
Fetch fetchWindows(const Windows &windows, int64_t terms, int64_t column,
                   int64_t columns, const void *from) {
  constexpr int64_t last = windowSide - 1, taps = windowSide * windowSide;
  const int64_t width = byteWidth(windows.type);
  const int64_t begin = std::min(windows.taps[0][0], windows.taps[last][last]);
  const int64_t end = std::max(windows.taps[0][0], windows.taps[last][last]);
  if (windows.columnStride != 1 ||
      end - begin != (taps - 1) * terms * windows.termStride)
    return Fetch();
  return Fetch(static_cast<const char *>(from) + (begin + column) * width,
               taps * terms, windows.termStride * width, columns * width);
}

/// Transformed patches as rows of a product: for each component runs of terms,
/// and in each of them `rowPitch` elements per patch.
struct RowLayout : Layout {
  RowLayout(int64_t terms, int64_t patches) : runStride(patches * rowPitch) {
    for (int64_t term = 0; term < terms; term += lanes)
      channels.push_back({term, std::min(lanes, terms - term),
                          term / mostTerms * runStride + term % mostTerms,
                          rowPitch});
    componentStride = ceilDivide(terms, mostTerms) * runStride + apart;
  }
  int64_t elements() const { return components * componentStride; }

  int64_t runStride;
};

/// Transformed patches as terms of a sum: for each component groups of
/// channels, and in each of them those of a patch side by side.
struct TermLayout : Layout {
  TermLayout(int64_t channelCount, int64_t largestGroup, int64_t patches)
      : groups(channelCount, largestGroup) {
    for (int64_t group = 0; group < groups.count; ++group) {
      const int64_t size = groups.size(group);
      for (int64_t begin = 0; begin < size; begin += lanes)
        channels.push_back({groups.begin(group) + begin,
                            std::min(lanes, size - begin),
                            offset(group, patches) + begin, size});
    }
    componentStride = offset(groups.count, patches) + apart;
  }
  /// Behind each group a vector may be written past its end.
  int64_t offset(int64_t group, int64_t patches) const {
    return groups.begin(group) * patches + group * lanes;
  }
  int64_t elements() const { return components * componentStride; }

  Parts groups;
};

/// A convolution or its data gradient: the source's patches times the windows
/// are the target's squares.
struct DataProduct {
  Images source, target;
  Squares squares;
  int64_t lowRows = 0, lowColumns = 0;
  Windows windows;
  int64_t terms = 0, columns = 0;

  int64_t panels() const { return ceilDivide(columns, tileColumns); }
  /// Of the transformed windows of 32 columns.
  int64_t windowStride() const { return terms * tileColumns + apart; }
  int64_t panelElements() const { return components * windowStride(); }
  /// Of the sums of some squares and 32 columns.
  static int64_t sumStride(int64_t count) {
    return count * tileColumns + apart;
  }

  void transformPanel(int64_t panel, const void *kernel, float *to) const {
    const int64_t first = panel * tileColumns;
    transformWindows(windows, terms, first,
                     std::min(tileColumns, columns - first), kernel,
                     windowStride(), to);
  }

  int64_t channelsOf(int64_t panel) const {
    return std::min(tileColumns, columns - panel * tileColumns);
  }
  /// How many tiles make the sums of 32 columns.
  int64_t tilesPerPanel(int64_t groups) const {
    return components * ceilDivide(terms, mostTerms) * groups;
  }

  /// The squares of `block`, a range of groups, and 32 columns. Their patches
  /// are the first ones of `patches`. `ahead` is what is needed next.
  void multiplyPanel(const RowLayout &layout, const float *patches,
                     const Parts &groups, const Range &block,
                     int64_t firstSquare, int64_t panel,
                     const float *panelWindows, float *sums, void *result,
                     Ahead &ahead) const {
    const int64_t first = groups.begin(block.begin);
    const int64_t count = groups.begin(block.begin + block.size) - first;
    const int64_t square = firstSquare + first;
    const int64_t column = panel * tileColumns, here = channelsOf(panel);
    Ahead results(
        fetchChannels(target,
                      rowsOf(target, squares, 0, resultSide, square, count),
                      column, here, result),
        tilesPerPanel(block.size));
    Tile tile;
    tile.leftStride = 1;
    tile.rightStride = tile.resultStride = tile.columns = tileColumns;
    for (int64_t component = 0; component < components; ++component)
      for (int64_t term = 0; term < terms; term += mostTerms) {
        tile.terms = std::min(mostTerms, terms - term);
        tile.adds = term > 0;
        tile.right =
            panelWindows + component * windowStride() + term * tileColumns;
        const float *left = patches + component * layout.componentStride +
                            term / mostTerms * layout.runStride;
        float *made = sums + component * sumStride(count);
        for (int64_t group = 0; group < block.size; ++group) {
          const int64_t row = groups.begin(block.begin + group) - first;
          tile.left = left + row * rowPitch;
          tile.result = made + row * tileColumns;
          fetchWith(tile, ahead, results);
          multiplyRows(tile, groups.size(block.begin + group));
        }
      }
    storeSquares(target, squares, square, count, sums, sumStride(count), column,
                 here, result);
  }
};

/// The gradient of the windows: input channels are rows, output channels
/// columns, patches terms.
struct WindowGradient {
  Images input, output;
  Squares squares;
  int64_t lowRows = 0, lowColumns = 0;
  Windows windows;
  int64_t rows = 0, columns = 0;

  /// Makes the sums of some columns, for one component after the other, over
  /// the first `count` of `room` patches; `adds` to what is there. `ahead` and
  /// `more` are what is needed next.
  void multiply(const TermLayout &left, const float *patches,
                const TermLayout &right, const float *gradients, int64_t room,
                int64_t count, bool adds, float *sums, int64_t sumStride,
                int64_t sumPitch, Fetch next, Fetch more) const {
    const Parts runs(count, mostTerms);
    const int64_t tiles =
        components * runs.count * left.groups.count * right.groups.count;
    Ahead ahead(next, tiles), results(more, tiles);
    Tile tile;
    tile.resultStride = sumPitch;
    for (int64_t component = 0; component < components; ++component)
      for (int64_t run = 0; run < runs.count; ++run) {
        const int64_t term = runs.begin(run);
        tile.terms = runs.size(run);
        tile.adds = adds || run > 0;
        for (int64_t panel = 0; panel < right.groups.count; ++panel) {
          const int64_t size = right.groups.size(panel);
          tile.columns = tile.rightStride = size;
          tile.right = gradients + component * right.componentStride +
                       right.offset(panel, room) + term * size;
          for (int64_t group = 0; group < left.groups.count; ++group) {
            const int64_t pitch = left.groups.size(group);
            tile.leftStride = pitch;
            tile.left = patches + component * left.componentStride +
                        left.offset(group, room) + term * pitch;
            tile.result = sums + component * sumStride +
                          left.groups.begin(group) * sumPitch +
                          right.groups.begin(panel);
            fetchWith(tile, ahead, results);
            libraries::multiply(tile, pitch);
          }
        }
      }
  }
};

class WinogradBuilder {
public:
  WinogradBuilder(const ConvolutionDescription &description,
                  PrimitiveCall &call)
      : d(description), call(call) {}

  void build() {
    if (d.kind == ConvolutionKind::weightGradient)
      buildWeightGradient();
    else
      buildDataProduct();
    call.code = "winograd:avx512";
  }

private:
  Images inputImages() const {
    return {d.type,
            d.spatial[0].input,
            d.spatial[1].input,
            d.inputStrideBatch,
            d.spatial[0].inputStride,
            d.spatial[1].inputStride};
  }
  Images outputImages() const {
    return {d.type,
            d.spatial[0].output,
            d.spatial[1].output,
            d.outputStrideBatch,
            d.spatial[0].outputStride,
            d.spatial[1].outputStride};
  }
  Squares squaresOf(const Images &images) const {
    return {ceilDivide(images.rows, resultSide),
            ceilDivide(images.columns, resultSide), d.batch};
  }
  /// Windows with their taps, which the data gradient sees in reverse.
  Windows windowsOf(ElementType type, int64_t termStride,
                    int64_t columnStride) const {
    Windows windows{type, termStride, columnStride, {}};
    const bool isReversed =
        d.mirroredKernel != (d.kind == ConvolutionKind::dataGradient);
    for (int64_t i = 0; i < windowSide; ++i)
      for (int64_t j = 0; j < windowSide; ++j)
        windows.taps[i][j] =
            (isReversed ? windowSide - 1 - i : i) * d.spatial[0].kernelStride +
            (isReversed ? windowSide - 1 - j : j) * d.spatial[1].kernelStride;
    return windows;
  }
  int64_t reserve(int64_t elements) { return call.reserve(bytesOf(elements)); }
  Operand workspace(int64_t offset) const {
    return {0, {}, call.workspaceArgument(), offset};
  }
  static Operand argument(int64_t index) { return {0, {}, index, 0}; }

  void buildDataProduct();
  void buildWithAllWindows(std::shared_ptr<const DataProduct> product);
  void buildWithAllPatches(std::shared_ptr<const DataProduct> product);
  void buildWeightGradient();
  void buildByPatches(std::shared_ptr<const WindowGradient> gradient);
  void buildByColumns(std::shared_ptr<const WindowGradient> gradient);

  const ConvolutionDescription &d;
  PrimitiveCall &call;
};

} // namespace

void WinogradBuilder::buildDataProduct() {
  const bool isForward = d.kind == ConvolutionKind::forward;
  auto product = std::make_shared<DataProduct>();
  DataProduct &p = *product;
  p.source = isForward ? inputImages() : outputImages();
  p.target = isForward ? outputImages() : inputImages();
  p.target.type = d.resultType;
  p.squares = squaresOf(p.target);
  auto low = [&](const Spatial &s) {
    return isForward ? s.padLow : windowSide - 1 - s.padLow;
  };
  p.lowRows = low(d.spatial[0]);
  p.lowColumns = low(d.spatial[1]);
  p.windows =
      windowsOf(d.type, isForward ? d.kernelStrideInput : d.kernelStrideOutput,
                isForward ? d.kernelStrideOutput : d.kernelStrideInput);
  p.terms = isForward ? d.inputChannels : d.outputChannels;
  p.columns = isForward ? d.outputChannels : d.inputChannels;
  if (p.panels() * tileColumns <= p.squares.count())
    buildWithAllWindows(std::move(product));
  else
    buildWithAllPatches(std::move(product));
}

void WinogradBuilder::buildWithAllWindows(
    std::shared_ptr<const DataProduct> product) {
  const DataProduct &p = *product;
  const int64_t windows = reserve(p.panels() * p.panelElements());
  Phase transforming;
  for (auto [first, count] : cut(p.panels(), d.pieces)) {
    Step step;
    step.operands = {argument(1), workspace(windows)};
    step.function = [product, first = first,
                     count = count](std::span<void *const> pointers) {
      for (int64_t panel = first; panel < first + count; ++panel)
        product->transformPanel(panel, pointers[0],
                                static_cast<float *>(pointers[1]) +
                                    panel * product->panelElements());
    };
    transforming.push_back({std::move(step)});
  }
  call.work.push_back(std::move(transforming));

  const int64_t patchBytes = components * bytesOf(p.terms);
  const int64_t mostGroups =
      std::max(cachedPatchBytes / patchBytes / tileRows, fewestGroups);
  Phase multiplying;
  for (auto [first, count] : cut(p.squares.count(), d.pieces)) {
    const Parts groups(count, tileRows), blocks(groups.count, mostGroups);
    const int64_t largest = blocks.largest() * groups.largest();
    Step step;
    step.operands = {argument(0), argument(2), workspace(windows),
                     workspace(reserve(RowLayout(p.terms, largest).elements())),
                     workspace(reserve(components * p.sumStride(largest)))};
    step.function = [product, groups, blocks, first = first,
                     layout = RowLayout(p.terms, largest)](
                        std::span<void *const> pointers) {
      const DataProduct &p = *product;
      const auto *windows = static_cast<const float *>(pointers[2]);
      auto *patches = static_cast<float *>(pointers[3]);
      for (int64_t i = 0; i < blocks.count; ++i) {
        const Range block{blocks.begin(i), blocks.size(i)};
        const int64_t begin = groups.begin(block.begin);
        const int64_t end = groups.begin(block.begin + block.size);
        transformPatches(p.source, p.squares, p.lowRows, p.lowColumns,
                         first + begin, end - begin, pointers[0], layout,
                         patches);
        Ahead ahead;
        if (i + 1 < blocks.count)
          ahead =
              Ahead(fetchRows(p.source,
                              rowsOf(p.source, p.squares, p.lowRows, patchSide,
                                     first + end,
                                     groups.begin(blocks.begin(i + 2)) - end),
                              pointers[0]),
                    p.panels() * p.tilesPerPanel(block.size));
        for (int64_t panel = 0; panel < p.panels(); ++panel)
          p.multiplyPanel(layout, patches, groups, block, first, panel,
                          windows + panel * p.panelElements(),
                          static_cast<float *>(pointers[4]), pointers[1],
                          ahead);
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));
}

void WinogradBuilder::buildWithAllPatches(
    std::shared_ptr<const DataProduct> product) {
  const DataProduct &p = *product;
  const int64_t total = p.squares.count();
  const RowLayout layout(p.terms, total);
  const int64_t patches = reserve(layout.elements());
  Phase transforming;
  for (auto [first, count] : cut(total, d.pieces)) {
    Step step;
    step.operands = {argument(0), workspace(patches)};
    step.function = [product, layout, first = first,
                     count = count](std::span<void *const> pointers) {
      const DataProduct &p = *product;
      transformPatches(p.source, p.squares, p.lowRows, p.lowColumns, first,
                       count, pointers[0], layout,
                       static_cast<float *>(pointers[1]) + first * rowPitch);
    };
    transforming.push_back({std::move(step)});
  }
  call.work.push_back(std::move(transforming));

  // The sums of a block stay in the cache beside the windows of 32 columns.
  constexpr int64_t mostGroups = 8;
  Phase multiplying;
  for (auto [first, count] : cut(p.panels(), d.pieces)) {
    const Parts groups(total, tileRows), blocks(groups.count, mostGroups);
    const int64_t largest = blocks.largest() * groups.largest();
    Step step;
    step.operands = {argument(1), argument(2), workspace(patches),
                     workspace(reserve(p.panelElements())),
                     workspace(reserve(components * p.sumStride(largest)))};
    step.function = [product, layout, groups, blocks, first = first,
                     count = count](std::span<void *const> pointers) {
      const DataProduct &p = *product;
      const auto *patches = static_cast<const float *>(pointers[2]);
      auto *windows = static_cast<float *>(pointers[3]);
      for (int64_t panel = first; panel < first + count; ++panel) {
        p.transformPanel(panel, pointers[0], windows);
        Ahead ahead;
        if (panel + 1 < first + count)
          ahead =
              Ahead(fetchWindows(p.windows, p.terms, (panel + 1) * tileColumns,
                                 p.channelsOf(panel + 1), pointers[0]),
                    p.tilesPerPanel(groups.count));
        for (int64_t i = 0; i < blocks.count; ++i) {
          const Range block{blocks.begin(i), blocks.size(i)};
          p.multiplyPanel(
              layout, patches + groups.begin(block.begin) * rowPitch, groups,
              block, 0, panel, windows, static_cast<float *>(pointers[4]),
              pointers[1], ahead);
        }
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));
}

void WinogradBuilder::buildWeightGradient() {
  auto gradient = std::make_shared<WindowGradient>();
  WindowGradient &g = *gradient;
  g.input = inputImages();
  g.output = outputImages();
  g.squares = squaresOf(g.output);
  g.lowRows = d.spatial[0].padLow;
  g.lowColumns = d.spatial[1].padLow;
  g.windows =
      windowsOf(d.resultType, d.kernelStrideInput, d.kernelStrideOutput);
  g.rows = d.inputChannels;
  g.columns = d.outputChannels;
  if (components * bytesOf(g.rows * g.columns) <= cachedSumBytes)
    buildByPatches(std::move(gradient));
  else
    buildByColumns(std::move(gradient));
}

void WinogradBuilder::buildByPatches(
    std::shared_ptr<const WindowGradient> gradient) {
  const WindowGradient &g = *gradient;
  const int64_t sumStride = g.rows * g.columns + apart;
  const auto pieces = cut(g.squares.count(), d.pieces);
  const int64_t partStride = components * sumStride;
  const int64_t sums = reserve(partStride * int64_t(pieces.size()));
  Phase multiplying;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    const auto [first, count] = pieces[piece];
    const Parts blocks(count, mostTerms);
    const int64_t largest = blocks.largest();
    const TermLayout left(g.rows, tileRows, largest);
    const TermLayout right(g.columns, tileColumns, largest);
    Step step;
    step.operands = {argument(0), argument(1),
                     workspace(sums + int64_t(piece) * bytesOf(partStride)),
                     workspace(reserve(left.elements())),
                     workspace(reserve(right.elements()))};
    step.function = [gradient, blocks, left, right, largest, sumStride,
                     first = first](std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      auto *patches = static_cast<float *>(pointers[3]);
      auto *gradients = static_cast<float *>(pointers[4]);
      for (int64_t block = 0; block < blocks.count; ++block) {
        const int64_t begin = first + blocks.begin(block);
        const int64_t size = blocks.size(block);
        transformPatches(g.input, g.squares, g.lowRows, g.lowColumns, begin,
                         size, pointers[0], left, patches);
        transformSquares(g.output, g.squares, begin, size, pointers[1], right,
                         gradients);
        Fetch inputs, outputs;
        if (block + 1 < blocks.count) {
          const int64_t next = begin + size, nextSize = blocks.size(block + 1);
          inputs = fetchRows(
              g.input,
              rowsOf(g.input, g.squares, g.lowRows, patchSide, next, nextSize),
              pointers[0]);
          outputs = fetchRows(
              g.output,
              rowsOf(g.output, g.squares, 0, resultSide, next, nextSize),
              pointers[1]);
        }
        g.multiply(left, patches, right, gradients, largest, size, block > 0,
                   static_cast<float *>(pointers[2]), sumStride, g.columns,
                   inputs, outputs);
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));

  Phase storing;
  for (auto [first, count] : cut(g.rows, d.pieces)) {
    Step step;
    step.operands = {workspace(sums), argument(2)};
    step.function = [gradient, sumStride, partStride, first = first,
                     count = count, parts = int64_t(pieces.size())](
                        std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      for (int64_t row = first; row < first + count; ++row)
        storeWindows(g.windows, row, 0, g.columns,
                     static_cast<const float *>(pointers[0]) + row * g.columns,
                     sumStride, parts, partStride, pointers[1]);
    };
    storing.push_back({std::move(step)});
  }
  call.work.push_back(std::move(storing));
}

void WinogradBuilder::buildByColumns(
    std::shared_ptr<const WindowGradient> gradient) {
  const WindowGradient &g = *gradient;
  const int64_t total = g.squares.count();
  const TermLayout left(g.rows, tileRows, total);
  const int64_t patches = reserve(left.elements());
  Phase transforming;
  // Groups of channels, since what is written behind one patch of a group
  // belongs to the next one.
  for (auto [first, count] : cut(int64_t(left.channels.size()), d.pieces)) {
    Layout some{
        {left.channels.begin() + first, left.channels.begin() + first + count},
        left.componentStride};
    Step step;
    step.operands = {argument(0), workspace(patches)};
    step.function = [gradient, some = std::move(some),
                     total](std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      transformPatches(g.input, g.squares, g.lowRows, g.lowColumns, 0, total,
                       pointers[0], some, static_cast<float *>(pointers[1]));
    };
    transforming.push_back({std::move(step)});
  }
  call.work.push_back(std::move(transforming));

  const int64_t panels = ceilDivide(g.columns, tileColumns);
  Phase multiplying;
  for (auto [first, count] : cut(panels, d.pieces)) {
    const TermLayout largest(tileColumns, tileColumns, total);
    const int64_t sumStride = g.rows * tileColumns + apart;
    // Made here, so that a step does not allocate.
    std::vector<TermLayout> layouts;
    for (int64_t panel = first; panel < first + count; ++panel) {
      const int64_t column = panel * tileColumns;
      layouts.emplace_back(std::min(tileColumns, g.columns - column),
                           tileColumns, total);
      for (Channels &channels : layouts.back().channels)
        channels.begin += column;
    }
    Step step;
    step.operands = {argument(1), argument(2), workspace(patches),
                     workspace(reserve(largest.elements())),
                     workspace(reserve(components * sumStride))};
    step.function = [gradient, left, layouts = std::move(layouts), total,
                     sumStride](std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      auto *gradients = static_cast<float *>(pointers[3]);
      auto *sums = static_cast<float *>(pointers[4]);
      for (const TermLayout &right : layouts) {
        const int64_t column = right.channels.front().begin;
        transformSquares(g.output, g.squares, 0, total, pointers[0], right,
                         gradients);
        g.multiply(left, static_cast<const float *>(pointers[2]), right,
                   gradients, total, total, /*adds=*/false, sums, sumStride,
                   tileColumns, Fetch(),
                   fetchWindows(g.windows, g.rows, column, right.groups.extent,
                                pointers[1]));
        for (int64_t row = 0; row < g.rows; ++row)
          storeWindows(g.windows, row, column, right.groups.extent,
                       sums + row * tileColumns, sumStride, 1, 0, pointers[1]);
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));
}

bool tenon::libraries::runsInWinograd(const ConvolutionDescription &d,
                                      Isa isa) {
  constexpr int64_t fewestChannels = 32;
  constexpr double smallestWork = 4e6; // multiplications of the definition
  if (!d.mayTransform || isa < Isa::avx512 ||
      d.computeType != ElementType::f32 || d.groups != 1 ||
      d.spatial.size() != 2 || d.inputStrideChannel != 1 ||
      d.outputStrideChannel != 1 ||
      std::min(d.inputChannels, d.outputChannels) < fewestChannels)
    return false;
  const bool isGradient = d.kind == ConvolutionKind::weightGradient;
  if (d.kernelStrideOutput != 1 && (isGradient || d.kernelStrideInput != 1))
    return false;
  double positions = double(d.batch), inSquares = double(d.batch);
  for (const Spatial &s : d.spatial) {
    if (s.kernel != windowSide || s.stride != 1 || s.dilation != 1)
      return false;
    const int64_t extent =
        d.kind == ConvolutionKind::dataGradient ? s.input : s.output;
    positions *= double(extent);
    inSquares *= double(ceilDivide(extent, resultSide) * resultSide);
  }
  // Where a third of all squares' positions is outside, little is won.
  return inSquares <= 1.5 * positions &&
         9 * positions * double(d.inputChannels) * double(d.outputChannels) >=
             smallestWork;
}

void tenon::libraries::appendWinogradConvolution(
    const ConvolutionDescription &d, PrimitiveCall &call) {
  WinogradBuilder(d, call).build();
}
