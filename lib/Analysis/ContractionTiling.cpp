//===- ContractionTiling.cpp - How generated products are cut into tiles --===//
//
// See ContractionTiling.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/ContractionTiling.h"

#include "tenon/Analysis/Shapes.h"

#include <algorithm>

using namespace tenon;

/// The largest divisor of `extent` up to `most`, or `most` if there is none
/// worth having.
static int64_t tileOf(int64_t extent, int64_t most) {
  if (extent <= most)
    return extent;
  for (int64_t tile = most; tile > most / 2; --tile)
    if (extent % tile == 0)
      return tile;
  return most;
}

bool tenon::lanesRunAlongSums(int64_t columns, int64_t lastSum,
                              bool friendlyColumns, bool friendlySums) {
  bool shortColumns = columns < contractionLanes && lastSum >= 2 * columns;
  return friendlySums && (!friendlyColumns || shortColumns);
}

ContractionTiling::ContractionTiling(llvm::ArrayRef<int64_t> shape,
                                     bool lanesAlongSums, bool wideRegisters)
    : lanesAlongSums(lanesAlongSums) {
  columns = shape.empty() ? 1 : shape.back();
  rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  outer.assign(shape.begin(), shape.end() - std::min<size_t>(shape.size(), 2));

  // Accumulators: 16 of 32 registers, or 6 pairs of 16.
  if (lanesAlongSums) {
    tileColumns = tileOf(columns, wideRegisters ? 4 : 2);
    tileRows = tileOf(rows, wideRegisters ? 4 : 3);
    return;
  }
  int64_t vectors = (columns + contractionLanes - 1) / contractionLanes;
  int64_t tileVectors = std::min<int64_t>(vectors, wideRegisters ? 4 : 2);
  tileColumns = tileVectors * contractionLanes;
  tileRows = tileOf(rows, (wideRegisters ? 16 : 6) / tileVectors);
}

int64_t ContractionTiling::units() const {
  return elementCount(outer) * rowBlocks() * columnBlocks();
}
