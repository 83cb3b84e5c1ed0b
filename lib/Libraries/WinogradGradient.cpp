//===- WinogradGradient.cpp - Weight gradients by Winograd's algorithm ----===//
//
// The gradient of windows: channels x patches, times transformed squares, one
// product for each component. It adds up all patches. Where its sums fit a
// core's cache, each piece of the patches has sums of its own; else pieces of
// the columns have all patches:
//
//   by patches               phase 0: pieces of all patches
//                            phase 1: the pieces' sums added up and stored
//   by columns               phase 0: the patches
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

/// How many bytes of sums stay in a core's cache beside the rest.
constexpr int64_t cachedSumBytes = 1 << 20;

/// Transformed patches as terms of a sum: for each component groups of
/// channels, and in each of them those of a patch side by side.
struct TermLayout : Layout {
  TermLayout(int64_t firstChannel, int64_t channelCount, int64_t largestGroup,
             int64_t patches)
      : groups(channelCount, largestGroup) {
    for (int64_t group = 0; group < groups.count; ++group) {
      const int64_t size = groups.size(group);
      for (int64_t begin = 0; begin < size; begin += lanes)
        channels.push_back({firstChannel + groups.begin(group) + begin,
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

/// Where sums lie.
struct Sums {
  float *begin = nullptr;
  int64_t pitch = 0;           // from row to row
  int64_t componentStride = 0; // elements
};

/// Input channels are rows, output channels columns, patches terms.
struct WindowGradient {
  ConvolutionDescription d;
  Squares squares;
  Reading input, output;
  std::vector<WindowPart> parts;

  explicit WindowGradient(const ConvolutionDescription &d);

  int64_t rows() const { return d.inputChannels; }
  int64_t columns() const { return d.outputChannels; }

  /// How many tiles make the sums of all parts.
  int64_t tiles(const TermLayout &left, const TermLayout &right,
                int64_t count) const {
    return componentsOf(parts) * ceilDivide(count, mostTerms) *
           left.groups.count * right.groups.count;
  }

  /// Makes the sums of a part over the first `count` of `room` patches; `adds`
  /// to what is there. `ahead` and `more` are what is needed next.
  void multiply(const WindowPart &part, const TermLayout &left,
                const float *patches, const TermLayout &right,
                const float *gradients, int64_t room, int64_t count, bool adds,
                const Sums &sums, Ahead &ahead, Ahead &more) const;
};

} // namespace

WindowGradient::WindowGradient(const ConvolutionDescription &d)
    : d(d),
      squares(squaresOf(outputImages(d), d.batch)), input{inputImages(d),
                                                          squares,
                                                          d.spatial[0].padLow,
                                                          d.spatial[0].kernel +
                                                              resultSide - 1,
                                                          0,
                                                          d.inputChannels},
      output{outputImages(d), squares, 0, resultSide, 0, d.outputChannels},
      parts(partsOf(d, d.resultType, d.kernelStrideInput,
                    d.kernelStrideOutput)) {}

void WindowGradient::multiply(const WindowPart &part, const TermLayout &left,
                              const float *patches, const TermLayout &right,
                              const float *gradients, int64_t room,
                              int64_t count, bool adds, const Sums &sums,
                              Ahead &ahead, Ahead &more) const {
  const Parts runs(count, mostTerms);
  Tile tile;
  tile.resultStride = sums.pitch;
  for (int64_t component = 0; component < components; ++component) {
    if (!part.has(component))
      continue;
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
          tile.result = sums.begin + component * sums.componentStride +
                        left.groups.begin(group) * sums.pitch +
                        right.groups.begin(panel);
          fetchWith(tile, ahead, more);
          libraries::multiply(tile, pitch);
        }
      }
    }
  }
}

static void buildByPatches(std::shared_ptr<const WindowGradient> gradient,
                           PrimitiveCall &call) {
  const WindowGradient &g = *gradient;
  const int64_t componentStride = g.rows() * g.columns() + apart;
  const int64_t partStride = components * componentStride;
  const int64_t pieceStride = int64_t(g.parts.size()) * partStride;
  const auto pieces = cut(g.squares.count(), g.d.pieces);
  const Operand sums = newMemory(call, pieceStride * int64_t(pieces.size()));
  Phase multiplying;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    const auto [first, count] = pieces[piece];
    const Parts blocks(count, mostTerms);
    const int64_t room = blocks.largest();
    const TermLayout left(0, g.rows(), tileRows, room);
    const TermLayout right(0, g.columns(), tileColumns, room);
    int64_t inputCopy = 0, outputCopy = 0;
    for (int64_t block = 0; block < blocks.count; ++block) {
      const int64_t begin = first + blocks.begin(block);
      const int64_t size = blocks.size(block);
      inputCopy = std::max(inputCopy, g.input.copyElements(begin, size));
      outputCopy = std::max(outputCopy, g.output.copyElements(begin, size));
    }
    Operand own = sums;
    own.offset += int64_t(piece) * bytesOf(pieceStride);
    Step step;
    step.operands = {argument(0),
                     argument(1),
                     own,
                     newMemory(call, left.elements()),
                     newMemory(call, right.elements()),
                     newMemory(call, inputCopy),
                     newMemory(call, outputCopy)};
    step.function = [gradient, blocks, left, right, room, componentStride,
                     partStride,
                     first = first](std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      auto *patches = static_cast<float *>(pointers[3]);
      auto *gradients = static_cast<float *>(pointers[4]);
      for (int64_t block = 0; block < blocks.count; ++block) {
        const int64_t begin = first + blocks.begin(block);
        const int64_t size = blocks.size(block);
        Ahead nextInputs, nextOutputs;
        if (block + 1 < blocks.count) {
          const int64_t next = begin + size, nextSize = blocks.size(block + 1);
          const int64_t tiles = g.tiles(left, right, size);
          nextInputs = {fetchRows(g.input.images, g.input.rows(next, nextSize),
                                  pointers[0]),
                        tiles};
          nextOutputs = {fetchRows(g.output.images,
                                   g.output.rows(next, nextSize), pointers[1]),
                         tiles};
        }
        const auto [inputs, input] = g.input.read(
            begin, size, pointers[0], static_cast<float *>(pointers[5]));
        const auto [outputs, output] = g.output.read(
            begin, size, pointers[1], static_cast<float *>(pointers[6]));
        transformSquares(outputs, g.squares, begin, size, output, right, 0,
                         gradients);
        Sums sums{static_cast<float *>(pointers[2]), g.columns(),
                  componentStride};
        for (const WindowPart &part : g.parts) {
          transformPatches(inputs, g.squares, part, g.d.spatial[0].padLow,
                           g.d.spatial[1].padLow, begin, size, input, left, 0,
                           patches);
          g.multiply(part, left, patches, right, gradients, room, size,
                     block > 0, sums, nextInputs, nextOutputs);
          sums.begin += partStride;
        }
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));

  Phase storing;
  for (auto [first, count] : cut(g.rows(), g.d.pieces)) {
    Step step;
    step.operands = {sums, argument(2)};
    step.function =
        [gradient, componentStride, partStride, pieceStride, first = first,
         count = count,
         pieces = int64_t(pieces.size())](std::span<void *const> pointers) {
          const WindowGradient &g = *gradient;
          const auto *sums = static_cast<const float *>(pointers[0]);
          for (const WindowPart &part : g.parts) {
            for (int64_t row = first; row < first + count; ++row)
              storeWindows(part, row, 0, g.columns(), sums + row * g.columns(),
                           componentStride, pieces, pieceStride, pointers[1]);
            sums += partStride;
          }
        };
    storing.push_back({std::move(step)});
  }
  call.work.push_back(std::move(storing));
}

static void buildByColumns(std::shared_ptr<const WindowGradient> gradient,
                           PrimitiveCall &call) {
  const WindowGradient &g = *gradient;
  const int64_t total = g.squares.count();
  const TermLayout left(0, g.rows(), tileRows, total);
  const Operand patches =
      newMemory(call, left.elements() * int64_t(g.parts.size()));
  Phase transforming;
  // Groups of channels, since what is written behind one patch of a group
  // belongs to the next one.
  for (auto [first, count] : cut(int64_t(left.channels.size()), g.d.pieces)) {
    Layout some{
        {left.channels.begin() + first, left.channels.begin() + first + count},
        left.componentStride};
    Reading reading = g.input;
    reading.firstChannel = some.channels.front().begin;
    reading.channels = some.channels.back().begin + some.channels.back().count -
                       reading.firstChannel;
    Step step;
    step.operands = {argument(0), patches,
                     newMemory(call, reading.copyElements(0, total))};
    step.function = [gradient, reading, some = std::move(some), total,
                     elements =
                         left.elements()](std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      reading.forEachCopy(
          0, total, pointers[0], static_cast<float *>(pointers[2]),
          [&](const Images &images, const void *begin, int64_t done,
              int64_t here) {
            auto *patches = static_cast<float *>(pointers[1]);
            for (const WindowPart &part : g.parts) {
              transformPatches(images, g.squares, part, g.d.spatial[0].padLow,
                               g.d.spatial[1].padLow, done, here, begin, some,
                               done, patches);
              patches += elements;
            }
          });
    };
    transforming.push_back({std::move(step)});
  }
  call.work.push_back(std::move(transforming));

  Phase multiplying;
  const int64_t componentStride = g.rows() * tileColumns + apart;
  for (auto [first, count] :
       cut(ceilDivide(g.columns(), tileColumns), g.d.pieces)) {
    // Made here, so that a step does not allocate.
    std::vector<TermLayout> panels;
    for (int64_t panel = first; panel < first + count; ++panel)
      panels.emplace_back(
          panel * tileColumns,
          std::min(tileColumns, g.columns() - panel * tileColumns), tileColumns,
          total);
    Step step;
    Reading reading = g.output;
    reading.channels = tileColumns;
    step.operands = {argument(1),
                     argument(2),
                     patches,
                     newMemory(call, panels.front().elements()),
                     newMemory(call, components * componentStride),
                     newMemory(call, reading.copyElements(0, total))};
    step.function = [gradient, reading, left, panels = std::move(panels), total,
                     componentStride](std::span<void *const> pointers) {
      const WindowGradient &g = *gradient;
      auto *gradients = static_cast<float *>(pointers[3]);
      const Sums sums{static_cast<float *>(pointers[4]), tileColumns,
                      componentStride};
      for (const TermLayout &right : panels) {
        const int64_t column = right.channels.front().begin;
        const int64_t columns = right.groups.extent;
        Reading some = reading;
        some.firstChannel = column;
        some.channels = columns;
        some.forEachCopy(0, total, pointers[0],
                         static_cast<float *>(pointers[5]),
                         [&](const Images &images, const void *begin,
                             int64_t done, int64_t here) {
                           transformSquares(images, g.squares, done, here,
                                            begin, right, done, gradients);
                         });
        Ahead none, results(fetchWindows(g.d, g.parts[0], g.rows(), column,
                                         columns, pointers[1]),
                            g.tiles(left, right, total));
        const auto *patches = static_cast<const float *>(pointers[2]);
        for (const WindowPart &part : g.parts) {
          g.multiply(part, left, patches, right, gradients, total, total,
                     /*adds=*/false, sums, none, results);
          patches += left.elements();
          for (int64_t row = 0; row < g.rows(); ++row)
            storeWindows(part, row, column, columns,
                         sums.begin + row * tileColumns, componentStride, 1, 0,
                         pointers[1]);
        }
      }
    };
    multiplying.push_back({std::move(step)});
  }
  call.work.push_back(std::move(multiplying));
}

void winograd::appendWeightGradient(const ConvolutionDescription &d,
                                    PrimitiveCall &call) {
  auto gradient = std::make_shared<const WindowGradient>(d);
  if (componentsOf(gradient->parts) *
          bytesOf(gradient->rows() * gradient->columns()) <=
      cachedSumBytes)
    buildByPatches(std::move(gradient), call);
  else
    buildByColumns(std::move(gradient), call);
}
