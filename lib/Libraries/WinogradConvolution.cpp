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
/// How many bytes of an operand's part, or of sums, stay in a core's cache.
constexpr int64_t cachedPatchBytes = 1 << 20;
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

  /// The squares `first` to `first + count`, whose patches begin with number
  /// `firstPatch` of the transformed ones, and 32 columns.
  void multiplyPanel(const RowLayout &layout, const float *patches,
                     int64_t firstPatch, int64_t first, int64_t count,
                     int64_t panel, const float *panelWindows, float *sums,
                     void *result) const {
    const Parts groups(count, tileRows), runs(terms, mostTerms);
    Tile tile;
    tile.leftStride = 1;
    tile.rightStride = tile.resultStride = tile.columns = tileColumns;
    for (int64_t component = 0; component < components; ++component)
      for (int64_t run = 0; run * mostTerms < terms; ++run) {
        tile.terms = std::min(mostTerms, terms - run * mostTerms);
        tile.adds = run > 0;
        tile.right = panelWindows + component * windowStride() +
                     run * mostTerms * tileColumns;
        const float *left = patches + component * layout.componentStride +
                            run * layout.runStride + firstPatch * rowPitch;
        for (int64_t group = 0; group < groups.count; ++group) {
          tile.left = left + groups.begin(group) * rowPitch;
          tile.result = sums + component * sumStride(count) +
                        groups.begin(group) * tileColumns;
          multiplyRows(tile, groups.size(group));
        }
      }
    const int64_t column = panel * tileColumns;
    storeSquares(target, squares, first, count, sums, sumStride(count), column,
                 std::min(tileColumns, columns - column), result);
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

  /// Adds to the sums of some columns, for one component after the other, what
  /// `count` patches from `first` on give; `adds` to what is there.
  void multiply(const TermLayout &left, const float *patches,
                const TermLayout &right, const float *gradients,
                int64_t patchCount, int64_t first, int64_t count, bool adds,
                float *sums, int64_t sumStride, int64_t sumPitch) const {
    const Parts runs(count, mostTerms);
    Tile tile;
    tile.resultStride = sumPitch;
    for (int64_t component = 0; component < components; ++component)
      for (int64_t run = 0; run < runs.count; ++run) {
        const int64_t term = first + runs.begin(run);
        tile.terms = runs.size(run);
        tile.adds = adds || run > 0;
        for (int64_t panel = 0; panel < right.groups.count; ++panel) {
          const int64_t size = right.groups.size(panel);
          tile.columns = tile.rightStride = size;
          tile.right = gradients + component * right.componentStride +
                       right.offset(panel, patchCount) + term * size;
          for (int64_t group = 0; group < left.groups.count; ++group) {
            const int64_t pitch = left.groups.size(group);
            tile.leftStride = pitch;
            tile.left = patches + component * left.componentStride +
                        left.offset(group, patchCount) + term * pitch;
            tile.result = sums + component * sumStride +
                          left.groups.begin(group) * sumPitch +
                          right.groups.begin(panel);
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

  // Whole groups of rows in a block, and at least one.
  const int64_t patchBytes = components * bytesOf(p.terms);
  const int64_t mostPatches =
      std::max<int64_t>(cachedPatchBytes / patchBytes / tileRows, 1) * tileRows;
  Phase multiplying;
  for (auto [first, count] : cut(p.squares.count(), d.pieces)) {
    const Parts blocks(count, mostPatches);
    const int64_t largest = blocks.largest();
    Step step;
    step.operands = {argument(0), argument(2), workspace(windows),
                     workspace(reserve(RowLayout(p.terms, largest).elements())),
                     workspace(reserve(components * p.sumStride(largest)))};
    step.function = [product, blocks, first = first,
                     layout = RowLayout(p.terms, largest)](
                        std::span<void *const> pointers) {
      const DataProduct &p = *product;
      const auto *windows = static_cast<const float *>(pointers[2]);
      auto *patches = static_cast<float *>(pointers[3]);
      for (int64_t block = 0; block < blocks.count; ++block) {
        const int64_t begin = first + blocks.begin(block);
        transformPatches(p.source, p.squares, p.lowRows, p.lowColumns, begin,
                         blocks.size(block), pointers[0], layout, patches);
        for (int64_t panel = 0; panel < p.panels(); ++panel)
          p.multiplyPanel(layout, patches, 0, begin, blocks.size(block), panel,
                          windows + panel * p.panelElements(),
                          static_cast<float *>(pointers[4]), pointers[1]);
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
  constexpr int64_t mostPatches = 8 * tileRows;
  Phase multiplying;
  for (auto [first, count] : cut(p.panels(), d.pieces)) {
    const Parts blocks(total, mostPatches);
    Step step;
    step.operands = {
        argument(1), argument(2), workspace(patches),
        workspace(reserve(p.panelElements())),
        workspace(reserve(components * p.sumStride(blocks.largest())))};
    step.function = [product, layout, blocks, first = first,
                     count = count](std::span<void *const> pointers) {
      const DataProduct &p = *product;
      auto *windows = static_cast<float *>(pointers[3]);
      for (int64_t panel = first; panel < first + count; ++panel) {
        p.transformPanel(panel, pointers[0], windows);
        for (int64_t block = 0; block < blocks.count; ++block)
          p.multiplyPanel(layout, static_cast<const float *>(pointers[2]),
                          blocks.begin(block), blocks.begin(block),
                          blocks.size(block), panel, windows,
                          static_cast<float *>(pointers[4]), pointers[1]);
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
  if (components * bytesOf(g.rows * g.columns) <= cachedPatchBytes)
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
        g.multiply(left, patches, right, gradients, largest, 0, size, block > 0,
                   static_cast<float *>(pointers[2]), sumStride, g.columns);
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
                   gradients, total, 0, total, /*adds=*/false, sums, sumStride,
                   tileColumns);
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
