//===- TileConvolution.cpp - Convolutions of bf16 in tiles ----------------===//
//
// A convolution is a sum over the taps of its window: each is a matrix product
// of shifted positions of the source with the tap's weights. Tiles of AMX take
// 16 positions whose channels lie at one distance, so what lies at the edges of
// rows and images has to be put in between. This is done once per chunk of
// images, in a copy that stays in a core's cache:
//
//   dimensions after `dense`   one copy per tap of theirs, which has exactly
//                              the positions of the result, side by side
//   dimensions before it       all positions that any tap sees; taps are
//                              offsets
//
// Example: 3 x 3 on 4 x 4 with padding 1 is dense in its last dimension: three
// copies of 6 x 4 positions each, one per column of the window; the 16
// positions of a result are 16 positions in a row from 4 * tap row on. With
// `dense` at the first dimension there are nine copies of 4 x 4, and the
// positions of several images follow each other without a gap.
//
//   forward, data gradient   phase 0: the weights, the two terms of a pair side
//                            by side
//                            phase 1: pieces of the batch, or of the channels
//                            where weights are larger than a cache
//   weight gradient          phase 0: pieces of the batch, one sum each, or of
//                            the channels where weights are large
//                            phase 1: the sums of pieces of the batch added up
//                            in order and stored
//
// A data gradient with strides is one convolution with unit strides for each
// remainder that a position of the input leaves: only some taps reach it.
// Positions outside of the source are zeros that are multiplied.
//
//===----------------------------------------------------------------------===//

#include "TileConvolution.h"

#include "StridedCopy.h"
#include "TileProduct.h"

#include <algorithm>
#include <map>

using namespace tenon;
using namespace tenon::libraries;

using Spatial = ConvolutionDescription::Spatial;

namespace {

/// How many bytes of copies stay in a core's cache.
constexpr int64_t bytesInCache = 1 << 20;
/// Steps between two visits of the sums: their operands stay in the first
/// cache.
constexpr int64_t stepsPerVisit = 18;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/// One dimension of space as a product sees it: position p and tap t read the
/// source at p * step + shifts[t].
struct Axis {
  int64_t positions = 1, step = 1;
  int64_t extent = 1, stride = 1; // of the source, elements
  std::vector<int64_t> shifts;
  std::vector<int64_t> kernel; // where the taps' weights are, elements

  int64_t taps() const { return int64_t(shifts.size()); }
};

/// Calls `visit(indices)` in order of the last index first.
template <typename Visit>
void forEachIndex(const std::vector<int64_t> &extents, Visit visit) {
  std::vector<int64_t> indices(extents.size());
  if (std::any_of(extents.begin(), extents.end(),
                  [](int64_t extent) { return extent == 0; }))
    return;
  while (true) {
    visit(indices);
    size_t i = extents.size();
    while (i > 0 && ++indices[i - 1] == extents[i - 1])
      indices[--i] = 0;
    if (i == 0)
      return;
  }
}

/// Positions of a result that lie in a row of the copies.
struct Run {
  int64_t row;   // of the first tap's copy
  int64_t first; // position, over all images
  int64_t count;
};

/// The copies of a source; see the top of this file.
class TapCopies {
public:
  /// Runs have `unit` positions; with `pairs` they are whole, and begin at even
  /// rows.
  TapCopies(std::vector<Axis> axes, int64_t batch, int64_t unit, bool pairs);

  /// Where the rows of all copies of some images come from.
  std::vector<int64_t> rows(int64_t images, int64_t imageStride) const;
  std::vector<Run> runs(int64_t images) const;
  /// From the first tap's row to another's, for each tap.
  std::vector<int64_t> tapRows(int64_t images) const;
  /// Rows from one position of a run to the next.
  int64_t runStep() const {
    return dense == axes.size() ? axes.back().step : 1;
  }
  int64_t rowsPerImage() const { return copies() * imageRows; }
  int64_t positions() const { return total; }

private:
  std::vector<int64_t> extents(size_t from, size_t to) const {
    std::vector<int64_t> result;
    for (size_t i = from; i < to; ++i)
      result.push_back(axes[i].positions);
    return result;
  }
  int64_t least(size_t axis) const {
    return *std::min_element(axes[axis].shifts.begin(),
                             axes[axis].shifts.end());
  }
  /// All positions of an axis that any tap sees.
  int64_t seen(size_t axis) const {
    return (axes[axis].positions - 1) * axes[axis].step + 1 +
           *std::max_element(axes[axis].shifts.begin(),
                             axes[axis].shifts.end()) -
           least(axis);
  }
  int64_t copies() const {
    int64_t count = 1;
    for (size_t i = dense; i < axes.size(); ++i)
      count *= axes[i].taps();
    return count;
  }
  int64_t copyRows(int64_t images) const {
    bool overruns = dense > 0 && plane % unit != 0;
    return roundUp(images * imageRows, unit) +
           (overruns ? unit * runStep() : 0);
  }
  void layOut(size_t from);

  std::vector<Axis> axes;
  int64_t unit;
  size_t dense = 0;             // the first dimension that is
  int64_t total = 1;            // positions of an image
  int64_t plane = 1;            // positions without a gap
  int64_t imageRows = 1;        // of one copy
  std::vector<int64_t> pitches; // rows per position of the others
};

} // namespace

void TapCopies::layOut(size_t from) {
  dense = from;
  pitches.assign(dense, 0);
  imageRows = 1;
  for (size_t i = dense; i < axes.size(); ++i)
    imageRows *= axes[i].positions;
  plane = dense > 0 ? imageRows * axes[dense - 1].positions : imageRows;
  for (size_t i = dense; i-- > 0;) {
    pitches[i] = imageRows;
    imageRows *= seen(i);
  }
}

TapCopies::TapCopies(std::vector<Axis> given, int64_t batch, int64_t unit,
                     bool pairs)
    : axes(std::move(given)), unit(unit) {
  for (const Axis &axis : axes)
    total *= axis.positions;
  // The fewest positions that are multiplied for nothing, then the fewest
  // copies.
  int64_t best = 0, bestRows = 0;
  for (size_t from = axes.size() + 1; from-- > 0;) {
    bool hasUnitStep = from == 0 || axes[from - 1].step == 1;
    if (!hasUnitStep && (pairs || from < axes.size()))
      continue;
    layOut(from);
    if (from > 0 && pairs && (plane % unit != 0 || pitches[from - 1] % 2 != 0))
      continue;
    int64_t rows = from > 0 ? batch * total / plane * roundUp(plane, unit)
                            : roundUp(batch * total, unit);
    if (bestRows == 0 || rows < bestRows) {
      best = int64_t(from);
      bestRows = rows;
    }
  }
  layOut(size_t(best));
}

std::vector<int64_t> TapCopies::rows(int64_t images,
                                     int64_t imageStride) const {
  std::vector<int64_t> result;
  std::vector<int64_t> taps, places = extents(0, axes.size());
  for (size_t i = dense; i < axes.size(); ++i)
    taps.push_back(axes[i].taps());
  for (size_t i = 0; i < dense; ++i)
    places[i] = seen(i);
  forEachIndex(taps, [&](const std::vector<int64_t> &tap) {
    size_t end = result.size() + size_t(copyRows(images));
    for (int64_t image = 0; image < images; ++image)
      forEachIndex(places, [&](const std::vector<int64_t> &place) {
        int64_t offset = image * imageStride;
        bool inside = true;
        for (size_t i = 0; i < axes.size(); ++i) {
          int64_t at = i < dense ? place[i] + least(i)
                                 : place[i] * axes[i].step +
                                       axes[i].shifts[size_t(tap[i - dense])];
          inside &= at >= 0 && at < axes[i].extent;
          offset += at * axes[i].stride;
        }
        result.push_back(inside ? offset : noRow);
      });
    result.resize(end, noRow);
  });
  return result;
}

std::vector<Run> TapCopies::runs(int64_t images) const {
  std::vector<Run> result;
  auto cut = [&](int64_t row, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i += unit)
      result.push_back(
          {row + i * runStep(), first + i, std::min(unit, count - i)});
  };
  if (dense == 0) {
    cut(0, 0, images * total);
    return result;
  }
  for (int64_t image = 0; image < images; ++image) {
    int64_t first = image * total;
    forEachIndex(extents(0, dense - 1), [&](const std::vector<int64_t> &place) {
      int64_t row = image * imageRows;
      for (size_t i = 0; i < place.size(); ++i)
        row += place[i] * axes[i].step * pitches[i];
      cut(row, first, plane);
      first += plane;
    });
  }
  return result;
}

std::vector<int64_t> TapCopies::tapRows(int64_t images) const {
  std::vector<int64_t> result, taps;
  for (const Axis &axis : axes)
    taps.push_back(axis.taps());
  forEachIndex(taps, [&](const std::vector<int64_t> &tap) {
    int64_t copy = 0, row = 0;
    for (size_t i = 0; i < axes.size(); ++i)
      if (i < dense)
        row += (axes[i].shifts[size_t(tap[i])] - least(i)) * pitches[i];
      else
        copy = copy * axes[i].taps() + tap[i];
    result.push_back(copy * copyRows(images) + row);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Forward and data gradient
//===----------------------------------------------------------------------===//

namespace {

/// Begin and length of the runs a range is cut into.
std::vector<std::pair<int64_t, int64_t>> cutRange(int64_t extent,
                                                  int64_t pieces) {
  int64_t run = ceilDiv(extent, pieces);
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (int64_t begin = 0; begin < extent; begin += run)
    runs.emplace_back(begin, std::min(run, extent - begin));
  return runs;
}

/// The sum over all axes of one of their offsets, for each combination.
template <typename Offsets>
std::vector<int64_t> combined(const std::vector<Axis> &axes,
                              const Offsets &offsetsOf) {
  std::vector<int64_t> result{0};
  for (const Axis &axis : axes) {
    std::vector<int64_t> next;
    for (int64_t outer : result)
      for (int64_t offset : offsetsOf(axis))
        next.push_back(outer + offset);
    result = std::move(next);
  }
  return result;
}

/// What some images have in common: made once, so that a step neither
/// allocates nor looks anything up.
struct ProductChunk {
  std::vector<int64_t> rows;
  std::vector<Run> runs;
  std::vector<TileStep> steps;
  std::vector<int64_t> results; // offset of each position, elements
  int64_t terms = 0, columns = 0;
  int64_t runStep = 1;    // rows from one position of a run to the next
  int64_t groupBytes = 0; // of the packed weights, per 16 columns

  int64_t copyBytes() const {
    return int64_t(rows.size()) * roundUp(terms, stepTerms) *
           int64_t(sizeof(Bf16));
  }
  bool visitsOnce() const { return int64_t(steps.size()) <= stepsPerVisit; }
  int64_t sumBytes() const {
    int64_t blocks = visitsOnce() ? 1 : ceilDiv(int64_t(runs.size()), 2);
    return blocks * blockElements * int64_t(sizeof(float));
  }

  template <typename Element>
  void run(const Bf16 *source, const char *weights, Element *result,
           char *scratch, int64_t firstBlock, int64_t blocks) const;
};

} // namespace

template <typename Element>
void ProductChunk::run(const Bf16 *source, const char *weights, Element *result,
                       char *scratch, int64_t firstBlock,
                       int64_t blocks) const {
  const int64_t pitch = roundUp(terms, stepTerms);
  copyRows(source, rows, terms, reinterpret_cast<Bf16 *>(scratch), pitch);
  auto *sums = reinterpret_cast<float *>(scratch + alignTo64(copyBytes()));
  TileShapes shapes;
  TileOperands operands;
  operands.leftStride = pitch * runStep * int64_t(sizeof(Bf16));
  auto store = [&](const Run &run, const float *block, int64_t column) {
    for (int64_t i = 0; i < run.count; ++i)
      storeRow(block + i * blockSide, std::min(blockSide, columns - column),
               result + results[size_t(run.first + i)] + column);
  };
  for (int64_t block = firstBlock; block < firstBlock + blocks; ++block) {
    for (int i : {0, 1})
      operands.right[i] = weights + (2 * block + i) * groupBytes;
    size_t begin = 0;
    do {
      size_t count = std::min(steps.size() - begin, size_t(stepsPerVisit));
      bool isLast = begin + count == steps.size();
      for (size_t i = 0; i < runs.size(); i += 2) {
        const Run &upper = runs[i];
        const Run &lower = runs[std::min(i + 1, runs.size() - 1)];
        float *held =
            sums + (visitsOnce() ? 0 : int64_t(i / 2) * blockElements);
        operands.left[0] = scratch + upper.row * pitch * int64_t(sizeof(Bf16));
        operands.left[1] = scratch + lower.row * pitch * int64_t(sizeof(Bf16));
        multiplyBlock(operands, {steps.data() + begin, count}, held, begin > 0);
        if (!isLast)
          continue;
        store(upper, held, block * blockSide);
        if (i + 1 < runs.size())
          store(lower, held + tileSide * blockSide, block * blockSide);
      }
      begin += count;
    } while (begin < steps.size());
  }
}

namespace {

/// The weights of all taps, as right operands.
struct PackedWeights {
  int64_t terms = 0, columns = 0;
  int64_t termStride = 0, columnStride = 0;
  std::vector<int64_t> taps; // where they begin, elements
  std::vector<int64_t> rows; // of terms, where columns lie side by side

  int64_t steps() const { return ceilDiv(terms, stepTerms); }
  int64_t groupBytes() const {
    return int64_t(taps.size()) * steps() * tileBytes;
  }
  int64_t blocks() const { return ceilDiv(columns, blockSide); }
  int64_t bytes() const { return blocks() * 2 * groupBytes(); }

  void findRows() {
    for (int64_t tap : taps)
      for (int64_t term = 0; term < steps() * stepTerms; ++term)
        rows.push_back(term < terms ? tap + term * termStride : noRow);
  }
  void pack(const Bf16 *kernel, char *to, int64_t firstBlock,
            int64_t count) const {
    for (int64_t block = firstBlock; block < firstBlock + count; ++block) {
      int64_t column = block * blockSide;
      char *target = to + block * 2 * groupBytes();
      if (columnStride == 1) {
        pairRows(kernel + column, rows, std::min(blockSide, columns - column),
                 target, groupBytes());
        continue;
      }
      for (int64_t group : {0, 1})
        for (size_t tap = 0; tap < taps.size(); ++tap)
          for (int64_t step = 0; step < steps(); ++step) {
            int64_t first = column + group * tileSide;
            transposePairs(
                kernel + taps[tap] + first * columnStride + step * stepTerms,
                columnStride, std::clamp<int64_t>(columns - first, 0, tileSide),
                std::min(stepTerms, terms - step * stepTerms),
                target + group * groupBytes() +
                    (int64_t(tap) * steps() + step) * tileBytes);
          }
    }
  }
};

class Builder {
public:
  Builder(const ConvolutionDescription &description, PrimitiveCall &call)
      : d(description), call(call) {}

  void build() {
    if (d.kind == ConvolutionKind::weightGradient)
      buildWeightGradient();
    else
      buildProducts();
    call.code = "tiles:amx_bf16";
  }

private:
  bool isForward() const { return d.kind == ConvolutionKind::forward; }
  /// Where the weights of a tap are.
  int64_t kernelOffset(const Spatial &s, int64_t tap) const {
    return (d.mirroredKernel ? s.kernel - 1 - tap : tap) * s.kernelStride;
  }
  /// The taps of a forward convolution.
  std::vector<Axis> inputAxes() const;
  /// What position r, r + stride, ... of the input get from the output.
  Axis outputAxis(const Spatial &s, int64_t remainder) const;

  void buildProducts();
  void buildWeightGradient();
  PackedWeights packedWeights();

  ConvolutionDescription d;
  PrimitiveCall &call;
};

} // namespace

std::vector<Axis> Builder::inputAxes() const {
  std::vector<Axis> axes;
  for (const Spatial &s : d.spatial) {
    Axis axis{s.output, s.stride, s.input, s.inputStride, {}, {}};
    for (int64_t tap = 0; tap < s.kernel; ++tap) {
      axis.shifts.push_back(tap * s.dilation - s.padLow);
      axis.kernel.push_back(kernelOffset(s, tap));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

Axis Builder::outputAxis(const Spatial &s, int64_t remainder) const {
  Axis axis{ceilDiv(s.input - remainder, s.stride),
            1,
            s.output,
            s.outputStride,
            {},
            {}};
  for (int64_t tap = 0; tap < s.kernel; ++tap) {
    int64_t distance = remainder + s.padLow - tap * s.dilation;
    if (distance % s.stride != 0)
      continue;
    axis.shifts.push_back(distance / s.stride);
    axis.kernel.push_back(kernelOffset(s, tap));
  }
  return axis;
}

/// What is packed, without where its taps are.
PackedWeights Builder::packedWeights() {
  PackedWeights weights;
  weights.terms = isForward() ? d.inputChannels : d.outputChannels;
  weights.columns = isForward() ? d.outputChannels : d.inputChannels;
  weights.termStride = isForward() ? d.kernelStrideInput : d.kernelStrideOutput;
  weights.columnStride =
      isForward() ? d.kernelStrideOutput : d.kernelStrideInput;
  return weights;
}

void Builder::buildProducts() {
  PackedWeights weights = packedWeights();
  int64_t kernelArgument = 1, kernelBegin = 0;
  if (weights.termStride != 1 && weights.columnStride != 1) {
    // Channels that lie apart are brought together first, as [space, terms,
    // columns].
    std::vector<int64_t> extents, from, to;
    for (const Spatial &s : d.spatial) {
      extents.push_back(s.kernel);
      from.push_back(s.kernelStride);
    }
    extents.insert(extents.end(), {weights.terms, weights.columns});
    from.insert(from.end(), {weights.termStride, weights.columnStride});
    int64_t stride = 1;
    for (size_t i = extents.size(); i-- > 0;) {
      to.insert(to.begin(), stride);
      stride *= extents[i];
    }
    for (size_t i = 0; i < d.spatial.size(); ++i)
      d.spatial[i].kernelStride = to[i];
    weights.termStride = weights.columns;
    weights.columnStride = 1;
    kernelArgument = call.workspaceArgument();
    kernelBegin = call.reserve(stride * int64_t(sizeof(Bf16)));
    Step step;
    step.operands = {{0, {}, 1, 0}, {0, {}, kernelArgument, kernelBegin}};
    step.function = [copy = StridedCopy(extents, sizeof(Bf16), from, to)](
                        std::span<void *const> pointers) {
      copy.run(pointers[0], pointers[1]);
    };
    call.work.push_back({{std::move(step)}});
  }

  // The products that make the result: one, or one for each remainder.
  struct Part {
    std::vector<Axis> axes;
    std::vector<int64_t> results; // offset of each position of an image
  };
  std::vector<Part> parts;
  std::vector<int64_t> remainders;
  for (const Spatial &s : d.spatial)
    remainders.push_back(isForward() ? 1 : std::min(s.stride, s.input));
  int64_t resultImage = isForward() ? d.outputStrideBatch : d.inputStrideBatch;
  int64_t sourceImage = isForward() ? d.inputStrideBatch : d.outputStrideBatch;
  std::vector<Axis> forwardAxes = inputAxes();
  forEachIndex(remainders, [&](const std::vector<int64_t> &remainder) {
    Part &part = parts.emplace_back();
    std::vector<int64_t> places{0};
    for (size_t i = 0; i < d.spatial.size(); ++i) {
      const Spatial &s = d.spatial[i];
      part.axes.push_back(isForward() ? forwardAxes[i]
                                      : outputAxis(s, remainder[i]));
      std::vector<int64_t> next;
      for (int64_t outer : places)
        for (int64_t p = 0; p < part.axes.back().positions; ++p)
          next.push_back(outer + (isForward() ? p * s.outputStride
                                              : (p * s.stride + remainder[i]) *
                                                    s.inputStride));
      places = std::move(next);
    }
    part.results = std::move(places);
  });
  // Where each part's taps are among the packed ones.
  std::vector<size_t> firstTap;
  for (const Part &part : parts) {
    firstTap.push_back(weights.taps.size());
    auto taps =
        combined(part.axes, [](const Axis &axis) { return axis.kernel; });
    weights.taps.insert(weights.taps.end(), taps.begin(), taps.end());
  }
  if (weights.columnStride == 1)
    weights.findRows();
  auto shared = std::make_shared<const PackedWeights>(std::move(weights));
  int64_t packedBegin = call.reserve(shared->bytes());
  Phase packing;
  constexpr int64_t bytesPerTask = 1 << 18;
  int64_t packingTasks =
      std::clamp<int64_t>(shared->bytes() / bytesPerTask, 1, d.pieces);
  for (auto [first, count] : cutRange(shared->blocks(), packingTasks)) {
    Step step;
    step.operands = {{0, {}, kernelArgument, kernelBegin},
                     {0, {}, call.workspaceArgument(), packedBegin}};
    step.function = [shared, first = first,
                     count = count](std::span<void *const> pointers) {
      shared->pack(static_cast<const Bf16 *>(pointers[0]),
                   static_cast<char *>(pointers[1]), first, count);
    };
    packing.push_back({std::move(step)});
  }
  call.work.push_back(std::move(packing));

  bool byChannels = d.batch < d.pieces || (shared->bytes() > bytesInCache &&
                                           shared->blocks() >= d.pieces);
  auto pieces = cutRange(byChannels ? shared->blocks() : d.batch, d.pieces);
  std::vector<Task> tasks(pieces.size());
  std::vector<int64_t> scratchBytes(pieces.size(), 0);
  std::vector<std::pair<size_t, size_t>> scratchUsers; // task, step
  for (size_t p = 0; p < parts.size(); ++p) {
    const Part &part = parts[p];
    bool hasTaps =
        std::all_of(part.axes.begin(), part.axes.end(),
                    [](const Axis &axis) { return axis.taps() > 0; });
    std::optional<TapCopies> copies;
    if (hasTaps)
      copies.emplace(part.axes, d.batch, tileSide, false);
    auto chunkOf = [&](int64_t images) {
      auto chunk = std::make_shared<ProductChunk>();
      chunk->terms = shared->terms;
      chunk->columns = shared->columns;
      chunk->groupBytes = shared->groupBytes();
      for (int64_t image = 0; image < images; ++image)
        for (int64_t place : part.results)
          chunk->results.push_back(image * resultImage + place);
      int64_t positions = int64_t(chunk->results.size());
      if (!hasTaps) { // zeros
        for (int64_t i = 0; i < positions; i += tileSide)
          chunk->runs.push_back({0, i, std::min(tileSide, positions - i)});
        return chunk;
      }
      chunk->rows = copies->rows(images, sourceImage);
      chunk->runs = copies->runs(images);
      int64_t pitch = roundUp(chunk->terms, stepTerms) * int64_t(sizeof(Bf16));
      chunk->runStep = copies->runStep();
      auto tapRows = copies->tapRows(images);
      // Taps see much of the same rows, which stay in the first cache if few
      // terms are read at a time.
      constexpr int64_t together = 2;
      for (int64_t first = 0; first < shared->steps(); first += together)
        for (size_t tap = 0; tap < tapRows.size(); ++tap)
          for (int64_t step = first;
               step < std::min(first + together, shared->steps()); ++step)
            chunk->steps.push_back(
                {tapRows[tap] * pitch +
                     step * stepTerms * int64_t(sizeof(Bf16)),
                 (int64_t(firstTap[p] + tap) * shared->steps() + step) *
                     tileBytes});
      return chunk;
    };
    int64_t imageBytes = hasTaps ? copies->rowsPerImage() *
                                       roundUp(shared->terms, stepTerms) *
                                       int64_t(sizeof(Bf16))
                                 : 1;
    std::map<int64_t, std::shared_ptr<const ProductChunk>> chunks;
    for (size_t i = 0; i < pieces.size(); ++i) {
      auto [pieceBegin, pieceLength] = pieces[i];
      int64_t firstImage = byChannels ? 0 : pieceBegin;
      int64_t imageCount = byChannels ? d.batch : pieceLength;
      int64_t firstBlock = byChannels ? pieceBegin : 0;
      int64_t blocks = byChannels ? pieceLength : shared->blocks();
      int64_t passes = std::clamp<int64_t>(
          ceilDiv(imageCount * imageBytes, bytesInCache), 1, imageCount);
      for (auto [begin, images] : cutRange(imageCount, passes)) {
        auto &chunk = chunks[images];
        if (!chunk)
          chunk = chunkOf(images);
        scratchBytes[i] = std::max(
            scratchBytes[i], alignTo64(chunk->copyBytes()) + chunk->sumBytes());
        Step step;
        step.operands = {
            {0, {}, 0, (firstImage + begin) * sourceImage * byteWidth(d.type)},
            {0, {}, call.workspaceArgument(), packedBegin},
            {0,
             {},
             2,
             (firstImage + begin) * resultImage * byteWidth(d.resultType)},
            {0, {}, call.workspaceArgument(), 0}};
        step.function = [chunk, firstBlock, blocks,
                         isRounded = d.resultType == ElementType::bf16](
                            std::span<void *const> pointers) {
          auto run = [&](auto *result) {
            chunk->run(static_cast<const Bf16 *>(pointers[0]),
                       static_cast<const char *>(pointers[1]), result,
                       static_cast<char *>(pointers[3]), firstBlock, blocks);
          };
          if (isRounded)
            run(static_cast<Bf16 *>(pointers[2]));
          else
            run(static_cast<float *>(pointers[2]));
        };
        tasks[i].push_back(std::move(step));
      }
    }
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    int64_t scratch = call.reserve(scratchBytes[i]);
    for (Step &step : tasks[i])
      step.operands[3].offset = scratch;
  }
  call.work.push_back(std::move(tasks));
}

//===----------------------------------------------------------------------===//
// Weight gradient
//===----------------------------------------------------------------------===//

namespace {

/// The kernel as a result, a block of sums per tap.
struct KernelResult {
  std::vector<int64_t> taps; // where they begin, elements
  int64_t inputChannels = 0, outputChannels = 0;
  int64_t inputStride = 0, outputStride = 0;

  int64_t inputBlocks() const { return ceilDiv(inputChannels, blockSide); }
  int64_t outputBlocks() const { return ceilDiv(outputChannels, blockSide); }
  /// Sums of one block of input channels.
  int64_t sumsPerBlock() const {
    return outputBlocks() * int64_t(taps.size()) * blockElements;
  }

  /// Rows of `block` are output channels; it is overwritten.
  template <typename Element>
  void store(float *block, Element *kernel, size_t tap, int64_t inputBlock,
             int64_t outputBlock) const;
};

/// The products of some images.
struct GradientChunk {
  std::vector<int64_t> inputRows;
  std::vector<int64_t> outputRows; // 32 of each step
  std::vector<TileStep> steps;
  std::vector<int64_t> tapRows;
  std::shared_ptr<const KernelResult> result;

  int64_t leftBlockBytes() const {
    return int64_t(steps.size()) * 2 * tileBytes;
  }
  int64_t leftBytes() const {
    return result->outputBlocks() * leftBlockBytes();
  }
  int64_t groupBytes() const { return int64_t(inputRows.size()) * 32; }
  int64_t rightBytes() const { return 2 * groupBytes(); }
  /// One step's outputs in pairs.
  int64_t pairBytes() const { return result->outputBlocks() * 2 * tileBytes; }
  int64_t scratchBytes() const {
    return leftBytes() + rightBytes() + pairBytes();
  }

  /// Calls `held(input block, output block)` for where the sums of all taps of
  /// a block are, and `finish` with the same when they are complete.
  template <typename Held, typename Finish>
  void run(const Bf16 *input, const Bf16 *output, char *scratch,
           int64_t firstBlock, int64_t blocks, bool adds, Held held,
           Finish finish) const;
};

} // namespace

template <typename Element>
void KernelResult::store(float *block, Element *kernel, size_t tap,
                         int64_t inputBlock, int64_t outputBlock) const {
  int64_t input = inputBlock * blockSide, output = outputBlock * blockSide;
  int64_t inputs = std::min(blockSide, inputChannels - input);
  int64_t outputs = std::min(blockSide, outputChannels - output);
  Element *to =
      kernel + taps[tap] + input * inputStride + output * outputStride;
  constexpr int64_t rowBytes = blockSide * sizeof(float);
  if (outputStride == 1) {
    alignas(64) float turned[blockElements];
    for (int64_t i : {0, 1})
      for (int64_t j : {0, 1})
        transposeWords(reinterpret_cast<const char *>(
                           block + i * tileSide * blockSide + j * tileSide),
                       rowBytes,
                       reinterpret_cast<char *>(
                           turned + j * tileSide * blockSide + i * tileSide),
                       rowBytes);
    for (int64_t i = 0; i < inputs; ++i)
      storeRow(turned + i * blockSide, outputs, to + i * inputStride);
    return;
  }
  for (int64_t o = 0; o < outputs; ++o) {
    if (inputStride == 1) {
      storeRow(block + o * blockSide, inputs, to + o * outputStride);
      continue;
    }
    Element row[blockSide];
    storeRow(block + o * blockSide, inputs, row);
    for (int64_t i = 0; i < inputs; ++i)
      to[i * inputStride + o * outputStride] = row[i];
  }
}

template <typename Held, typename Finish>
void GradientChunk::run(const Bf16 *input, const Bf16 *output, char *scratch,
                        int64_t firstBlock, int64_t blocks, bool adds,
                        Held held, Finish finish) const {
  char *left = scratch, *right = left + leftBytes(),
       *pairs = right + rightBytes();
  for (size_t step = 0; step < steps.size(); ++step) {
    pairRows(output, std::span(outputRows).subspan(step * stepTerms, stepTerms),
             result->outputChannels, pairs, tileBytes);
    for (int64_t group = 0; group < 2 * result->outputBlocks(); ++group)
      transposeWords(pairs + group * tileBytes, 64,
                     left + group / 2 * leftBlockBytes() +
                         (int64_t(step) * 2 + group % 2) * tileBytes,
                     64);
  }
  TileShapes shapes;
  TileOperands operands;
  operands.leftStride = 64;
  for (int64_t i = firstBlock; i < firstBlock + blocks; ++i) {
    int64_t channel = i * blockSide;
    pairRows(input + channel, inputRows,
             std::min(blockSide, result->inputChannels - channel), right,
             groupBytes());
    for (int64_t o = 0; o < result->outputBlocks(); ++o) {
      for (int64_t half : {0, 1})
        operands.left[half] = left + o * leftBlockBytes() + half * tileBytes;
      float *sums = held(i, o);
      for (size_t begin = 0; begin < steps.size(); begin += stepsPerVisit) {
        size_t count = std::min(steps.size() - begin, size_t(stepsPerVisit));
        for (size_t tap = 0; tap < tapRows.size(); ++tap) {
          for (int64_t half : {0, 1})
            operands.right[half] =
                right + half * groupBytes() + tapRows[tap] * 32;
          multiplyBlock(operands, {steps.data() + begin, count},
                        sums + int64_t(tap) * blockElements, adds || begin > 0);
        }
      }
      finish(sums, i, o);
    }
  }
}

void Builder::buildWeightGradient() {
  std::vector<Axis> axes = inputAxes();
  TapCopies copies(axes, d.batch, stepTerms, true);
  auto result = std::make_shared<KernelResult>();
  result->taps = combined(axes, [](const Axis &axis) { return axis.kernel; });
  result->inputChannels = d.inputChannels;
  result->outputChannels = d.outputChannels;
  result->inputStride = d.kernelStrideInput;
  result->outputStride = d.kernelStrideOutput;
  const int64_t taps = int64_t(result->taps.size());

  std::vector<int64_t> outputs{0}; // of one image
  for (const Spatial &s : d.spatial) {
    std::vector<int64_t> next;
    for (int64_t outer : outputs)
      for (int64_t p = 0; p < s.output; ++p)
        next.push_back(outer + p * s.outputStride);
    outputs = std::move(next);
  }
  auto chunkOf = [&](int64_t images) {
    auto chunk = std::make_shared<GradientChunk>();
    chunk->result = result;
    chunk->inputRows = copies.rows(images, d.inputStrideBatch);
    chunk->tapRows = copies.tapRows(images);
    for (const Run &run : copies.runs(images)) {
      chunk->steps.push_back(
          {int64_t(chunk->steps.size()) * 2 * tileBytes, run.row * 32});
      for (int64_t i = 0; i < stepTerms; ++i) {
        int64_t image = (run.first + i) / copies.positions();
        int64_t position = (run.first + i) % copies.positions();
        chunk->outputRows.push_back(i < run.count
                                        ? image * d.outputStrideBatch +
                                              outputs[size_t(position)]
                                        : noRow);
      }
    }
    return chunk;
  };

  // Sums of all weights lie in a cache, or each piece makes some of them from
  // the whole batch.
  const int64_t inputBlocks = result->inputBlocks();
  const int64_t blockBytes = result->sumsPerBlock() * int64_t(sizeof(float));
  bool byChannels =
      inputBlocks >= d.pieces &&
      (d.batch < d.pieces || inputBlocks * blockBytes > bytesInCache);
  auto pieces = cutRange(byChannels ? inputBlocks : d.batch, d.pieces);
  const int64_t imageBytes =
      copies.rowsPerImage() * blockSide * int64_t(sizeof(Bf16)) +
      copies.positions() * result->outputBlocks() * blockSide *
          int64_t(sizeof(Bf16));
  const bool isSummedUp = !byChannels && pieces.size() > 1;
  struct Sums {
    int64_t begin = 0;
    int64_t bytes = 0;
  };
  std::vector<Sums> sums;
  std::map<int64_t, std::shared_ptr<const GradientChunk>> chunks;
  Phase phase;
  for (auto [pieceBegin, pieceLength] : pieces) {
    int64_t firstImage = byChannels ? 0 : pieceBegin;
    int64_t imageCount = byChannels ? d.batch : pieceLength;
    int64_t firstBlock = byChannels ? pieceBegin : 0;
    int64_t blocks = byChannels ? pieceLength : inputBlocks;
    int64_t passes = std::clamp<int64_t>(
        ceilDiv(imageCount * imageBytes, 2 * bytesInCache), 1, imageCount);
    auto runs = cutRange(imageCount, passes);
    const bool isKept = isSummedUp || runs.size() > 1;
    Sums &kept = sums.emplace_back();
    kept.bytes = isKept ? blocks * blockBytes
                        : taps * blockElements * int64_t(sizeof(float));
    kept.begin = call.reserve(kept.bytes);
    int64_t scratchBytes = 0;
    Task task;
    for (auto [begin, images] : runs) {
      auto &chunk = chunks[images];
      if (!chunk)
        chunk = chunkOf(images);
      scratchBytes = std::max(scratchBytes, chunk->scratchBytes());
      Step step;
      int64_t image = firstImage + begin;
      step.operands = {
          {0, {}, 0, image * d.inputStrideBatch * byteWidth(d.type)},
          {0, {}, 1, image * d.outputStrideBatch * byteWidth(d.type)},
          {0, {}, 2, 0},
          {0, {}, call.workspaceArgument(), kept.begin},
          {0, {}, call.workspaceArgument(), 0}};
      bool isLast = begin + images == imageCount;
      step.function = [chunk, firstBlock, blocks, isKept, adds = begin > 0,
                       stores = isLast && !isSummedUp,
                       isRounded = d.resultType == ElementType::bf16](
                          std::span<void *const> pointers) {
        auto *sums = static_cast<float *>(pointers[3]);
        const KernelResult &result = *chunk->result;
        const int64_t taps = int64_t(result.taps.size());
        auto held = [&](int64_t input, int64_t output) {
          return isKept ? sums + (input - firstBlock) * result.sumsPerBlock() +
                              output * taps * blockElements
                        : sums;
        };
        auto finish = [&](float *blocks, int64_t input, int64_t output) {
          if (!stores)
            return;
          for (int64_t tap = 0; tap < taps; ++tap) {
            float *block = blocks + tap * blockElements;
            if (isRounded)
              result.store(block, static_cast<Bf16 *>(pointers[2]), size_t(tap),
                           input, output);
            else
              result.store(block, static_cast<float *>(pointers[2]),
                           size_t(tap), input, output);
          }
        };
        chunk->run(static_cast<const Bf16 *>(pointers[0]),
                   static_cast<const Bf16 *>(pointers[1]),
                   static_cast<char *>(pointers[4]), firstBlock, blocks, adds,
                   held, finish);
      };
      task.push_back(std::move(step));
    }
    int64_t scratch = call.reserve(scratchBytes);
    for (Step &step : task)
      step.operands[4].offset = scratch;
    phase.push_back(std::move(task));
  }
  call.work.push_back(std::move(phase));
  if (!isSummedUp)
    return;
  Phase summing;
  int64_t tasks =
      std::clamp<int64_t>(inputBlocks * blockBytes >> 17, 1, d.pieces);
  for (auto [first, count] : cutRange(inputBlocks, tasks)) {
    Step step;
    step.operands = {{0, {}, 2, 0}};
    for (const Sums &piece : sums)
      step.operands.push_back({0, {}, call.workspaceArgument(), piece.begin});
    step.function = [result, first = first, count = count,
                     isRounded = d.resultType == ElementType::bf16](
                        std::span<void *const> pointers) {
      const int64_t taps = int64_t(result->taps.size());
      for (int64_t input = first; input < first + count; ++input)
        for (int64_t output = 0; output < result->outputBlocks(); ++output)
          for (int64_t tap = 0; tap < taps; ++tap) {
            int64_t place = input * result->sumsPerBlock() +
                            (output * taps + tap) * blockElements;
            alignas(64) float block[blockElements];
            const float *sums = static_cast<const float *>(pointers[1]) + place;
            std::copy_n(sums, blockElements, block);
            for (size_t i = 2; i < pointers.size(); ++i) {
              const float *next =
                  static_cast<const float *>(pointers[i]) + place;
              for (int64_t j = 0; j < blockElements; ++j)
                block[j] += next[j];
            }
            if (isRounded)
              result->store(block, static_cast<Bf16 *>(pointers[0]),
                            size_t(tap), input, output);
            else
              result->store(block, static_cast<float *>(pointers[0]),
                            size_t(tap), input, output);
          }
    };
    summing.push_back({std::move(step)});
  }
  call.work.push_back(std::move(summing));
}

/// Where oneDNN 2.6 leaves most of a tile empty. Measured with two threads on
/// an Intel Xeon (Emerald Rapids), GFLOP/s of oneDNN's code and of this:
///
///   3 x 3, 512 channels, 4 x 4   forward 732 and 1632, data 671 and 1628
///   3 x 3, 256 channels, 8 x 8   forward 2435 and 2003, data 1672 and 1979
///   3 x 3, 128 channels, 16 x 16 forward 3608 and 2677, data 2792 and 2571
///   with strides of 2            data 767 and 1562
///   weights, by the same extents 278 and 1947, 822 and 2082, 1014 and 1674;
///                                of 64 channels and 32 x 32 1354 and 1330, of
///                                32 channels and 28 x 28 1178 and 714
bool tenon::libraries::runsInTiles(const ConvolutionDescription &d, Isa isa) {
  const int64_t channels = std::min(d.inputChannels, d.outputChannels);
  if (isa != Isa::amxBf16 || d.type != ElementType::bf16 ||
      d.computeType != ElementType::bf16 || d.groups != 1 ||
      d.inputStrideChannel != 1 || d.outputStrideChannel != 1 ||
      channels < blockSide)
    return false;
  const Spatial &row = d.spatial.back();
  // Its tiles hold positions of one row: 16 where these are rows of the tile,
  // 32 where they are the terms of a sum.
  if (d.kind == ConvolutionKind::weightGradient)
    return row.output <= stepTerms / 2 || row.stride > 1 ||
           channels >= 2 * blockSide;
  if (d.kind == ConvolutionKind::forward)
    return row.output < tileSide / 2;
  return row.input < tileSide / 2 || (row.stride > 1 && row.kernel > 1);
}

void tenon::libraries::appendTileConvolution(const ConvolutionDescription &d,
                                             PrimitiveCall &call) {
  Builder(d, call).build();
}
