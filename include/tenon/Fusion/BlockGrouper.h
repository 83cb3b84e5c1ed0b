//===- BlockGrouper.h - Merge the operations of a block into groups ------===//
//
// Every operation of one block starts as a group of its own and is merged with
// the writers of its operands, largest value first, as long as GroupLegality
// finds a template for the union and GroupGraph finds no detour. Then
// reductions over the same columns that read a common value are merged. The
// result is a GroupGraph that can be looked at, or written out as step.group
// operations.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_BLOCKGROUPER_H
#define TENON_FUSION_BLOCKGROUPER_H

#include "tenon/Fusion/GroupGraph.h"
#include "tenon/Fusion/RecomputeAcrossPeak.h"

namespace tenon::fusion {

/// Whether `user` takes `read`, a read that costs nothing, into its own group
/// rather than from memory.
bool absorbs(mlir::Operation *user, mlir::Operation *read);

class BlockGrouper {
public:
  BlockGrouper(mlir::Block &block, const RecomputedOperations &recomputed)
      : block(block), graph(block), recomputed(recomputed) {}

  /// Free reads join their reader; nothing else is merged.
  void absorbFreeReads();
  /// All merges that are allowed and save memory traffic.
  void mergeGroups();
  const GroupGraph &groups() const { return graph; }
  /// Says for each value that stays in memory between two groups why they were
  /// not merged.
  void explain() const;
  /// Replaces the operations by groups.
  void writeGroups();

private:
  using Id = GroupGraph::Id;

  /// Why the two groups stay apart; nothing if they may be merged. `first` runs
  /// before `second`.
  std::optional<std::string> whyNotMerge(Id first, Id second) const;
  bool tryMerge(Id first, Id second);
  void mergeAlongValues();
  void mergeColumnSiblings();
  /// Values of other operations that the operation reads, itself or through
  /// reads it absorbed, and may be merged along.
  llvm::SmallVector<mlir::Value> operandsOf(mlir::Operation *op) const;
  void writeGroup(llvm::ArrayRef<mlir::Operation *> members);
  bool canGroup(Id group) const;

  mlir::Block &block;
  GroupGraph graph;
  const RecomputedOperations &recomputed;
};

} // namespace tenon::fusion

#endif // TENON_FUSION_BLOCKGROUPER_H
