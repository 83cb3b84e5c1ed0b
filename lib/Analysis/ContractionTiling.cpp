//===- ContractionTiling.cpp - How generated products are cut into tiles --===//
//
// See ContractionTiling.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/ContractionTiling.h"

#include "tenon/Analysis/Shapes.h"

#include <algorithm>

using namespace tenon;

namespace {

/// The largest divisor of `extent` up to `most`, or `most` if there is none
/// worth having.
int64_t tileOf(int64_t extent, int64_t most) {
  if (extent <= most)
    return extent;
  for (int64_t tile = most; tile > most / 2; --tile)
    if (extent % tile == 0)
      return tile;
  return most;
}

int64_t blocksOf(int64_t extent, int64_t size) {
  return (extent + size - 1) / size;
}

/// Lanes run along the rows of at most this many columns.
constexpr int64_t fewColumns = 4;

/// Sums up to this length may be one chain where operands are turned; longer
/// ones have a sum per lane, which has smaller errors.
constexpr int64_t longestChain = 64;

/// About how many cycles a core needs, by which alternatives are compared: two
/// multiply-adds of vectors per cycle, all else one at a time.
class Cycles {
public:
  explicit Cycles(const ContractionAccess &access) : access(access) {}

  double along(ContractionLanes lanes) const {
    const bool alongRows = lanes == ContractionLanes::rows;
    const int64_t extent = alongRows ? access.rows() : access.columns();
    const int64_t other = alongRows ? access.columns() : access.rows();
    const auto vectors = double(blocksOf(extent, contractionLanes));
    double cycles = vectors * double(other) * double(access.lastSum) / 2;
    for (const ContractionSteps *operand : {&access.left, &access.right}) {
      if (operand->isNear(lanes))
        continue;
      const int64_t otherStep = alongRows ? operand->column : operand->row;
      const auto times =
          double(otherStep ? other : blocksOf(other, contractionLanes));
      const auto elements = times * double(extent * access.lastSum);
      cycles += operand->isTurned(lanes) ? elements / double(contractionTerms)
                                         : elements;
    }
    // Along the rows, results are interleaved.
    return cycles + vectors * double(alongRows ? other * other : other);
  }

  double alongSums() const {
    const auto vectors = double(blocksOf(access.lastSum, contractionLanes));
    return double(access.rows() * access.columns()) * (0.75 * vectors + 2);
  }

private:
  const ContractionAccess &access;
};

} // namespace

ContractionLanes tenon::chooseLanes(const ContractionAccess &access) {
  using enum ContractionLanes;
  const ContractionSteps &left = access.left, &right = access.right;
  const Cycles cycles(access);
  auto areNear = [&](ContractionLanes lanes) {
    return left.isNear(lanes) && right.isNear(lanes);
  };
  auto gathersNothing = [&](ContractionLanes lanes) {
    return (left.isNear(lanes) || left.isTurned(lanes)) &&
           (right.isNear(lanes) || right.isTurned(lanes));
  };
  const int64_t count = access.columns();
  const bool isFew = access.shape.size() >= 2 && count <= fewColumns;
  const ContractionLanes ofResult =
      isFew && gathersNothing(rows) &&
              cycles.along(rows) < cycles.along(columns)
          ? rows
          : columns;
  if (access.lastSum == 1 || !areNear(sums))
    return ofResult;
  if (!access.shape.empty() && areNear(columns)) {
    bool isShort = count < contractionLanes && access.lastSum >= 2 * count;
    return isShort ? sums : ofResult;
  }
  const bool isChain = access.lastSum <= longestChain &&
                       !access.shape.empty() && gathersNothing(ofResult) &&
                       cycles.along(ofResult) <= cycles.alongSums();
  return isChain ? ofResult : sums;
}

ContractionTiling::ContractionTiling(const ContractionAccess &access,
                                     bool wideRegisters)
    : lanes(chooseLanes(access)), rows(access.rows()),
      columns(access.columns()) {
  llvm::ArrayRef<int64_t> shape = access.shape;
  outer.assign(shape.begin(), shape.end() - std::min<size_t>(shape.size(), 2));

  // Accumulators: 16 of 32 registers, or 6 pairs of 16.
  if (lanes == ContractionLanes::sums) {
    tileColumns = tileOf(columns, wideRegisters ? 4 : 2);
    tileRows = tileOf(rows, wideRegisters ? 4 : 3);
    return;
  }
  const int64_t accumulators = wideRegisters ? 16 : 6;
  const bool alongRows = lanes == ContractionLanes::rows;
  const int64_t others = alongRows ? columns : rows;
  int64_t vectors =
      std::min<int64_t>(blocksOf(alongRows ? rows : columns, contractionLanes),
                        wideRegisters ? 4 : 2);
  // What is turned is used for all of the other dimension that a tile has, or
  // for one index of it, and then there is nothing to gain from more of them.
  int64_t mostOthers = accumulators;
  for (const ContractionSteps *operand : {&access.left, &access.right})
    if (operand->isTurned(lanes)) {
      if (alongRows ? operand->column : operand->row)
        mostOthers = std::min<int64_t>(mostOthers, 4);
      else if (others > accumulators / 4)
        vectors = 1;
    }
  if (alongRows) {
    tileColumns = columns;
    tileRows = contractionLanes *
               std::max<int64_t>(1, std::min(vectors, accumulators / columns));
    return;
  }
  tileColumns = vectors * contractionLanes;
  tileRows = tileOf(
      rows, std::max<int64_t>(1, std::min(mostOthers, accumulators) / vectors));
}

int64_t ContractionTiling::units() const {
  return elementCount(outer) * rowBlocks() * columnBlocks();
}
