//===- WinogradData.cpp - Convolutions by Winograd's algorithm ------------===//
//
// A convolution or its data gradient: patches x channels, times transformed
// windows, one product for each component. Of the two operands the smaller one
// is transformed as a whole, the other one part by part, in a core's cache,
// where the sums are transformed back as well:
//
//   windows are smaller      phase 0: the windows, in tasks by columns
//                            phase 1: pieces of all patches
//   patches are smaller      phase 0: the patches
//                            phase 1: pieces of the columns
//
//===----------------------------------------------------------------------===//

#include "WinogradConvolution.h"
#include "WinogradShape.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::libraries::winograd;

namespace {

/// How many bytes of transformed patches stay in a core's cache beside the
/// rest.
constexpr int64_t cachedPatchBytes = 1 << 19;
/// Groups of rows for which it pays to read all windows, from the second level
/// of the cache or from farther away.
constexpr int64_t fewestGroups = 2, fewestGroupsAway = 4;
constexpr int64_t cachedWindowBytes = 1 << 20;

/// Transformed patches as rows of a product: for each component runs of terms,
/// and in each of them `rowPitch` elements per patch.
struct RowLayout {
  /// `partTerms` terms are kept for each part, of which there are `terms`.
  RowLayout(int64_t parts, int64_t terms, int64_t partTerms, int64_t patches)
      : runStride(patches * rowPitch),
        componentStride(ceilDivide(parts * partTerms, mostTerms) * runStride +
                        apart) {
    for (int64_t part = 0; part < parts; ++part) {
      Layout &layout = ofParts.emplace_back();
      layout.componentStride = componentStride;
      for (int64_t term = 0; term < terms; term += lanes)
        layout.channels.push_back({term, std::min(lanes, terms - term),
                                   offset(part * partTerms + term), rowPitch});
    }
  }
  /// Of a term of the first patch, behind its component.
  int64_t offset(int64_t term) const {
    return term / mostTerms * runStride + term % mostTerms;
  }
  int64_t elements() const { return components * componentStride; }

  int64_t runStride, componentStride;
  std::vector<Layout> ofParts;
};

/// The source's patches times the windows are the target's squares. Each part
/// of the windows has patches of its own; its channels are more terms.
struct DataProduct {
  ConvolutionDescription d;
  Reading source;
  Images target;
  Squares squares;
  int64_t lowColumns = 0; // see transformPatches; of rows, source.low
  std::vector<WindowPart> parts;
  int64_t terms = 0, columns = 0; // channels
  int64_t partTerms = 0;          // that are kept for each part

  explicit DataProduct(const ConvolutionDescription &d);

  int64_t partCount() const { return int64_t(parts.size()); }
  int64_t panels() const { return ceilDivide(columns, tileColumns); }
  int64_t channelsOf(int64_t panel) const {
    return std::min(tileColumns, columns - panel * tileColumns);
  }
  RowLayout layoutOf(int64_t patches) const {
    return RowLayout(partCount(), terms, partTerms, patches);
  }
  /// Of the transformed windows of 32 columns.
  int64_t windowStride() const {
    return partCount() * partTerms * tileColumns + apart;
  }
  int64_t panelElements() const { return components * windowStride(); }
  /// Of the sums of some squares and 32 columns.
  static int64_t sumStride(int64_t count) {
    return count * tileColumns + apart;
  }
  /// How many tiles make the sums of 32 columns, or somewhat less.
  int64_t tilesPerPanel(int64_t groups) const {
    return ceilDivide(componentsOf(parts) * terms, mostTerms) * groups;
  }

  /// Transforms squares `first` to `first + count`; the first one gets the
  /// place of patch `place`.
  void transformPatchesOf(int64_t first, int64_t count, const void *from,
                          float *copy, const RowLayout &layout, int64_t place,
                          float *to) const {
    source.forEachCopy(first, count, from, copy,
                       [&](const Images &images, const void *begin,
                           int64_t done, int64_t here) {
                         for (size_t i = 0; i < parts.size(); ++i)
                           transformPatches(
                               images, squares, parts[i], source.low,
                               lowColumns, first + done, here, begin,
                               layout.ofParts[i], place + done, to);
                       });
  }
  void transformPanel(int64_t panel, const void *kernel, float *to) const {
    for (const WindowPart &part : parts) {
      transformWindows(part, terms, panel * tileColumns, channelsOf(panel),
                       kernel, windowStride(), to);
      to += partTerms * tileColumns;
    }
  }
  /// Where the terms of component `component` end that are those of `part`, or
  /// follow them.
  int64_t endOfTerms(int64_t part, int64_t component) const {
    int64_t end = part * partTerms + terms;
    while (partTerms == terms && ++part < partCount() &&
           parts[size_t(part)].has(component))
      end += partTerms;
    return end;
  }
  /// The squares of a block of groups, counted from the first group on.
  static Range squaresOfBlock(const Parts &groups, const Parts &blocks,
                              int64_t block) {
    const int64_t begin = groups.begin(blocks.begin(block));
    return {begin, groups.begin(blocks.begin(block + 1)) - begin};
  }
  /// Elements of the copy that the results of any block are made in if their
  /// channels do not lie side by side.
  int64_t resultElements(const Parts &groups, const Parts &blocks,
                         int64_t firstSquare) const;
  void storeSums(int64_t first, int64_t count, const float *sums,
                 int64_t column, int64_t columnCount, float *copy,
                 void *result) const;

  /// The squares of `block`, a range of groups, and 32 columns. Their patches
  /// are the first ones of `patches`. `ahead` is what is needed next.
  void multiplyPanel(const RowLayout &layout, const float *patches,
                     const Parts &groups, const Range &block,
                     int64_t firstSquare, int64_t panel, const float *windows,
                     float *sums, float *copy, void *result,
                     Ahead &ahead) const;
};

} // namespace

DataProduct::DataProduct(const ConvolutionDescription &d) : d(d) {
  const bool isForward = d.kind == ConvolutionKind::forward;
  source.images = isForward ? inputImages(d) : outputImages(d);
  target = isForward ? outputImages(d) : inputImages(d);
  target.type = d.resultType;
  squares = squaresOf(target, d.batch);
  auto low = [&](const ConvolutionDescription::Spatial &s) {
    return isForward ? s.padLow : s.kernel - 1 - s.padLow;
  };
  lowColumns = low(d.spatial[1]);
  parts =
      partsOf(d, d.type, isForward ? d.kernelStrideInput : d.kernelStrideOutput,
              isForward ? d.kernelStrideOutput : d.kernelStrideInput);
  terms = isForward ? d.inputChannels : d.outputChannels;
  columns = isForward ? d.outputChannels : d.inputChannels;
  source.squares = squares;
  source.low = low(d.spatial[0]);
  source.side = d.spatial[0].kernel + resultSide - 1;
  source.channels = terms;
  // Runs may hold terms of several parts, unless those of one end within a
  // vector.
  partTerms =
      terms % lanes == 0 ? terms : ceilDivide(terms, mostTerms) * mostTerms;
}

int64_t DataProduct::resultElements(const Parts &groups, const Parts &blocks,
                                    int64_t firstSquare) const {
  int64_t rows = 0;
  if (!target.hasChannelsLast())
    for (int64_t i = 0; i < blocks.count; ++i) {
      const auto [begin, count] = squaresOfBlock(groups, blocks, i);
      rows = std::max(rows, rowsOf(target, squares, 0, resultSide,
                                   firstSquare + begin, count)
                                .size);
    }
  return rows * target.columns * tileColumns;
}

void DataProduct::multiplyPanel(const RowLayout &layout, const float *patches,
                                const Parts &groups, const Range &block,
                                int64_t firstSquare, int64_t panel,
                                const float *windows, float *sums, float *copy,
                                void *result, Ahead &ahead) const {
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
  for (int64_t component = 0; component < components; ++component) {
    tile.adds = false;
    int64_t term = 0;
    for (int64_t part = 0; part < partCount(); ++part) {
      if (part * partTerms < term || !parts[size_t(part)].has(component))
        continue;
      const int64_t end = endOfTerms(part, component);
      for (term = part * partTerms; term < end; term += tile.terms) {
        tile.terms = std::min(mostTerms - term % mostTerms, end - term);
        tile.right = windows + component * windowStride() + term * tileColumns;
        const float *left =
            patches + component * layout.componentStride + layout.offset(term);
        for (int64_t group = 0; group < block.size; ++group) {
          const int64_t row = groups.begin(block.begin + group) - first;
          tile.left = left + row * rowPitch;
          tile.result = sums + component * sumStride(count) + row * tileColumns;
          fetchWith(tile, ahead, results);
          multiplyRows(tile, groups.size(block.begin + group));
        }
        tile.adds = true;
      }
    }
  }
  storeSums(square, count, sums, column, here, copy, result);
}

void DataProduct::storeSums(int64_t first, int64_t count, const float *sums,
                            int64_t column, int64_t columnCount, float *copy,
                            void *result) const {
  if (target.hasChannelsLast()) {
    storeSquares(target, squares, first, count, sums, sumStride(count), column,
                 columnCount, result);
    return;
  }
  const int64_t firstRow =
      rowsOf(target, squares, 0, resultSide, first, count).begin;
  const int64_t row = target.columns * tileColumns;
  storeSquares({ElementType::f32, target.rows, target.columns,
                target.rows * row, row, tileColumns},
               squares, first, count, sums, sumStride(count), 0, columnCount,
               copy - firstRow * row);
  copySquares(target, squares, first, count, firstRow, copy, column,
              columnCount, result);
}

static void buildWithAllWindows(std::shared_ptr<const DataProduct> product,
                                PrimitiveCall &call) {
  const DataProduct &p = *product;
  const Operand windows = newMemory(call, p.panels() * p.panelElements());
  Phase transforming;
  for (auto [first, count] : cut(p.panels(), p.d.pieces)) {
    Step step;
    step.operands = {argument(1), windows};
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

  const int64_t patchBytes = components * bytesOf(p.partCount() * p.partTerms);
  const bool areAway =
      bytesOf(p.panels() * p.panelElements()) > cachedWindowBytes;
  const int64_t mostGroups =
      std::max(cachedPatchBytes / patchBytes / tileRows,
               areAway ? fewestGroupsAway : fewestGroups);
  Phase multiplying;
  for (auto [first, count] : cut(p.squares.count(), p.d.pieces)) {
    const Parts groups(count, tileRows), blocks(groups.count, mostGroups);
    const int64_t largest = blocks.largest() * groups.largest();
    const RowLayout layout = p.layoutOf(largest);
    Step step;
    int64_t copy = 0;
    for (int64_t i = 0; i < blocks.count; ++i) {
      const auto [begin, size] = p.squaresOfBlock(groups, blocks, i);
      copy = std::max(copy, p.source.copyElements(first + begin, size));
    }
    step.operands = {argument(0),
                     argument(2),
                     windows,
                     newMemory(call, layout.elements()),
                     newMemory(call, components * p.sumStride(largest)),
                     newMemory(call, copy),
                     newMemory(call, p.resultElements(groups, blocks, first))};
    step.function = [product, groups, blocks, layout,
                     first = first](std::span<void *const> pointers) {
      const DataProduct &p = *product;
      const auto *windows = static_cast<const float *>(pointers[2]);
      auto *patches = static_cast<float *>(pointers[3]);
      for (int64_t i = 0; i < blocks.count; ++i) {
        const Range block{blocks.begin(i), blocks.size(i)};
        const auto [begin, size] = p.squaresOfBlock(groups, blocks, i);
        p.transformPatchesOf(first + begin, size, pointers[0],
                             static_cast<float *>(pointers[5]), layout, 0,
                             patches);
        Ahead ahead;
        if (i + 1 < blocks.count) {
          const auto [next, nextSize] = p.squaresOfBlock(groups, blocks, i + 1);
          ahead = Ahead(fetchRows(p.source.images,
                                  p.source.rows(first + next, nextSize),
                                  pointers[0]),
                        p.panels() * p.tilesPerPanel(block.size));
        }
        for (int64_t panel = 0; panel < p.panels(); ++panel)
          p.multiplyPanel(layout, patches, groups, block, first, panel,
                          windows + panel * p.panelElements(),
                          static_cast<float *>(pointers[4]),
                          static_cast<float *>(pointers[6]), pointers[1],
                          ahead);
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));
}

static void buildWithAllPatches(std::shared_ptr<const DataProduct> product,
                                PrimitiveCall &call) {
  const DataProduct &p = *product;
  const int64_t total = p.squares.count();
  const RowLayout layout = p.layoutOf(total);
  const Operand patches = newMemory(call, layout.elements());
  Phase transforming;
  for (auto [first, count] : cut(total, p.d.pieces)) {
    Step step;
    step.operands = {argument(0), patches,
                     newMemory(call, p.source.copyElements(first, count))};
    step.function = [product, layout, first = first,
                     count = count](std::span<void *const> pointers) {
      product->transformPatchesOf(first, count, pointers[0],
                                  static_cast<float *>(pointers[2]), layout,
                                  first, static_cast<float *>(pointers[1]));
    };
    transforming.push_back({std::move(step)});
  }
  call.work.push_back(std::move(transforming));

  // The sums of a block stay in the cache beside the windows of 32 columns.
  constexpr int64_t mostGroups = 8;
  const Parts groups(total, tileRows), blocks(groups.count, mostGroups);
  const int64_t largest = blocks.largest() * groups.largest();
  Phase multiplying;
  for (auto [first, count] : cut(p.panels(), p.d.pieces)) {
    Step step;
    step.operands = {argument(1),
                     argument(2),
                     patches,
                     newMemory(call, p.panelElements()),
                     newMemory(call, components * p.sumStride(largest)),
                     newMemory(call, p.resultElements(groups, blocks, 0))};
    step.function = [product, layout, groups, blocks, first = first,
                     count = count](std::span<void *const> pointers) {
      const DataProduct &p = *product;
      const auto *patches = static_cast<const float *>(pointers[2]);
      auto *windows = static_cast<float *>(pointers[3]);
      for (int64_t panel = first; panel < first + count; ++panel) {
        p.transformPanel(panel, pointers[0], windows);
        Ahead ahead;
        if (panel + 1 < first + count)
          ahead = Ahead(fetchWindows(p.d, p.parts[0], p.terms,
                                     (panel + 1) * tileColumns,
                                     p.channelsOf(panel + 1), pointers[0]),
                        p.tilesPerPanel(groups.count));
        for (int64_t i = 0; i < blocks.count; ++i) {
          const Range block{blocks.begin(i), blocks.size(i)};
          p.multiplyPanel(
              layout, patches + groups.begin(block.begin) * rowPitch, groups,
              block, 0, panel, windows, static_cast<float *>(pointers[4]),
              static_cast<float *>(pointers[5]), pointers[1], ahead);
        }
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));
}

void winograd::appendDataProduct(const ConvolutionDescription &d,
                                 PrimitiveCall &call) {
  auto product = std::make_shared<const DataProduct>(d);
  if (product->panels() * tileColumns <= product->squares.count())
    buildWithAllWindows(std::move(product), call);
  else
    buildWithAllPatches(std::move(product), call);
}
