//===- ContractionTiling.h - How generated products are cut into tiles ----===//
//
// The kernel of a contraction that no library runs holds a tile of the result
// in registers: some rows times vectors along the columns, or along the sums.
// The template that emits it and the prediction of its time both ask here.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_CONTRACTIONTILING_H
#define TENON_ANALYSIS_CONTRACTIONTILING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tenon {

/// Elements of a vector, on every processor.
inline constexpr int64_t contractionLanes = 16;

/// Whether lanes run along the last summed dimension rather than along the last
/// one of the result; `friendly` says along which of them neighbouring lanes
/// read neighbouring elements, or one, of both operands.
bool lanesRunAlongSums(int64_t columns, int64_t lastSum, bool friendlyColumns,
                       bool friendlySums);

struct ContractionTiling {
  bool lanesAlongSums = false;
  /// The result's dimensions as [outer..., rows, columns], without those of
  /// extent 1; rows and columns may be 1.
  llvm::SmallVector<int64_t> outer;
  int64_t rows = 1, columns = 1;
  int64_t tileRows = 1;
  /// Columns per tile: whole vectors, or single columns.
  int64_t tileColumns = 1;

  /// For a result of `shape`, which has no extents of 1.
  ContractionTiling(llvm::ArrayRef<int64_t> shape, bool lanesAlongSums,
                    bool wideRegisters);

  int64_t rowBlocks() const { return (rows + tileRows - 1) / tileRows; }
  int64_t columnBlocks() const {
    return (columns + tileColumns - 1) / tileColumns;
  }
  int64_t units() const;
};

} // namespace tenon

#endif // TENON_ANALYSIS_CONTRACTIONTILING_H
