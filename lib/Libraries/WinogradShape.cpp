//===- WinogradShape.cpp - What Winograd's products have in common --------===//

#include "WinogradShape.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::libraries::winograd;

std::vector<Range> winograd::cut(int64_t extent, int64_t pieces) {
  Parts parts(extent, ceilDivide(extent, pieces));
  std::vector<Range> ranges;
  for (int64_t i = 0; i < parts.count; ++i)
    ranges.push_back({parts.begin(i), parts.size(i)});
  return ranges;
}

Squares winograd::squaresOf(const Images &images, int64_t count) {
  return {ceilDivide(images.rows, resultSide),
          ceilDivide(images.columns, resultSide), count};
}

Images winograd::inputImages(const ConvolutionDescription &d) {
  return {d.type,
          d.spatial[0].input,
          d.spatial[1].input,
          d.inputStrideBatch,
          d.spatial[0].inputStride,
          d.spatial[1].inputStride,
          d.inputStrideChannel};
}

Images winograd::outputImages(const ConvolutionDescription &d) {
  return {d.type,
          d.spatial[0].output,
          d.spatial[1].output,
          d.outputStrideBatch,
          d.spatial[0].outputStride,
          d.spatial[1].outputStride,
          d.outputStrideChannel};
}

std::vector<WindowPart> winograd::partsOf(const ConvolutionDescription &d,
                                          ElementType type, int64_t termStride,
                                          int64_t columnStride) {
  const bool isReversed =
      d.mirroredKernel != (d.kind == ConvolutionKind::dataGradient);
  auto tapAt = [&](size_t dimension, int64_t tap) {
    const auto &s = d.spatial[dimension];
    return (isReversed ? s.kernel - 1 - tap : tap) * s.kernelStride;
  };
  std::vector<WindowPart> parts;
  for (int64_t row = 0; row < d.spatial[0].kernel; row += windowSide)
    for (int64_t column = 0; column < d.spatial[1].kernel;
         column += windowSide) {
      WindowPart part{type, termStride, columnStride, row, column};
      part.rows = std::min(windowSide, d.spatial[0].kernel - row);
      part.columns = std::min(windowSide, d.spatial[1].kernel - column);
      for (int64_t i = 0; i < part.rows; ++i)
        for (int64_t j = 0; j < part.columns; ++j)
          part.taps[i][j] = tapAt(0, row + i) + tapAt(1, column + j);
      parts.push_back(part);
    }
  return parts;
}

int64_t winograd::componentsOf(const std::vector<WindowPart> &parts) {
  int64_t count = 0;
  for (const WindowPart &part : parts)
    for (int64_t component = 0; component < components; ++component)
      count += part.has(component);
  return count;
}

Range winograd::rowsOf(const Images &images, const Squares &squares,
                       int64_t low, int64_t side, int64_t first,
                       int64_t count) {
  auto rowAt = [&](int64_t square, int64_t shift) {
    const int64_t row = square / squares.columns;
    return row / squares.rows * images.rows +
           std::clamp<int64_t>(row % squares.rows * resultSide - low + shift, 0,
                               images.rows - 1);
  };
  const int64_t begin = rowAt(first, 0);
  return {begin, rowAt(first + count - 1, side - 1) + 1 - begin};
}

Range Reading::rows(int64_t first, int64_t count) const {
  return rowsOf(images, squares, low, side, first, count);
}

int64_t Reading::copyElements(int64_t first, int64_t count) const {
  int64_t largest = 0;
  if (!images.hasChannelsLast())
    for (int64_t begin = 0; begin < count; begin += squaresPerCopy)
      largest = std::max(
          largest,
          rows(first + begin, std::min(squaresPerCopy, count - begin)).size);
  return largest * images.columns * channels;
}

std::pair<Images, const void *> Reading::read(int64_t first, int64_t count,
                                              const void *from,
                                              float *copy) const {
  if (images.hasChannelsLast())
    return {images, from};
  const Range copied = rows(first, count);
  copyRows(images, copied, firstChannel, channels, from, copy);
  const int64_t row = images.columns * channels;
  return {Images{ElementType::f32, images.rows, images.columns,
                 images.rows * row, row, channels},
          copy - copied.begin * row - firstChannel};
}

Fetch winograd::fetchRows(const Images &images, const Range &rows,
                          const void *from) {
  if (images.imageStride != images.rows * images.rowStride)
    return Fetch();
  const int64_t stride = images.rowStride * byteWidth(images.type);
  return Fetch(static_cast<const char *>(from) + rows.begin * stride, rows.size,
               stride,
               images.columns * images.columnStride * byteWidth(images.type));
}

Fetch winograd::fetchChannels(const Images &images, const Range &rows,
                              int64_t channel, int64_t count,
                              const void *from) {
  if (images.imageStride != images.rows * images.rowStride ||
      images.rowStride != images.columns * images.columnStride)
    return Fetch();
  const int64_t width = byteWidth(images.type);
  return Fetch(static_cast<const char *>(from) +
                   (rows.begin * images.rowStride + channel) * width,
               rows.size * images.columns, images.columnStride * width,
               count * width);
}

Fetch winograd::fetchWindows(const ConvolutionDescription &d,
                             const WindowPart &part, int64_t terms,
                             int64_t column, int64_t columns,
                             const void *from) {
  int64_t taps = 1, last = 0;
  for (const auto &s : d.spatial) {
    taps *= s.kernel;
    last += (s.kernel - 1) * s.kernelStride;
  }
  if (part.columnStride != 1 || last != (taps - 1) * terms * part.termStride)
    return Fetch();
  const int64_t width = byteWidth(part.type);
  return Fetch(static_cast<const char *>(from) + column * width, taps * terms,
               part.termStride * width, columns * width);
}
