//===- ContractionTiling.h - How generated products are cut into tiles ----===//
//
// The kernel of a contraction that no library runs holds a tile of the result
// in registers: vectors along the columns times some rows, vectors along the
// rows times a few columns, or vectors along the sums. The template that emits
// it and the prediction of its time both ask here.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_CONTRACTIONTILING_H
#define TENON_ANALYSIS_CONTRACTIONTILING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>

namespace tenon {

/// Elements of a vector, on every processor.
inline constexpr int64_t contractionLanes = 16;

/// Neighbouring terms of a sum that are read at once where lanes lie apart.
inline constexpr int64_t contractionTerms = 4;

/// The dimension that lanes run along: the last one of the result, the one
/// before it, or the last summed one.
enum class ContractionLanes { columns, rows, sums };

/// How far an operand moves from an index of a dimension to the next one, in
/// elements.
struct ContractionSteps {
  /// There is no such number, or no code that makes use of it.
  static constexpr int64_t scattered = std::numeric_limits<int64_t>::max();
  int64_t column = 0, row = 0, sum = 0;

  int64_t along(ContractionLanes lanes) const {
    return lanes == ContractionLanes::columns ? column
           : lanes == ContractionLanes::rows  ? row
                                              : sum;
  }
  /// Whether lanes read one element, or neighbours.
  bool isNear(ContractionLanes lanes) const {
    return along(lanes) == 0 || along(lanes) == 1;
  }
  /// Whether lanes lie apart, but neighbouring terms of the sum beside each
  /// other: several terms are read at once and turned in registers.
  bool isTurned(ContractionLanes lanes) const {
    return !isNear(lanes) && along(lanes) != scattered && sum == 1;
  }
};

/// What decides how a contraction is computed.
struct ContractionAccess {
  /// The result's shape without extents of 1.
  llvm::SmallVector<int64_t> shape;
  int64_t lastSum = 1; // the last summed extent
  ContractionSteps left, right;

  int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  int64_t rows() const {
    return shape.size() < 2 ? 1 : shape[shape.size() - 2];
  }
};

/// The order of the sum follows from this, so it depends on the operation and
/// its shapes alone: along the sums, an element has one sum per lane.
ContractionLanes chooseLanes(const ContractionAccess &access);

struct ContractionTiling {
  ContractionLanes lanes;
  /// The result's dimensions as [outer..., rows, columns], without those of
  /// extent 1; rows and columns may be 1.
  llvm::SmallVector<int64_t> outer;
  int64_t rows = 1, columns = 1;
  /// Of a tile. Whole vectors in the dimension that lanes run along.
  int64_t tileRows = 1, tileColumns = 1;

  ContractionTiling(const ContractionAccess &access, bool wideRegisters);

  int64_t rowBlocks() const { return (rows + tileRows - 1) / tileRows; }
  int64_t columnBlocks() const {
    return (columns + tileColumns - 1) / tileColumns;
  }
  int64_t units() const;
};

} // namespace tenon

#endif // TENON_ANALYSIS_CONTRACTIONTILING_H
