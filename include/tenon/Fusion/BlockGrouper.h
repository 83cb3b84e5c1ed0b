//===- BlockGrouper.h - Merge the operations of a block into groups ------===//
//
// Every operation of one block starts as a group of its own and is merged with
// the writers of its operands, largest value first, if GroupLegality finds a
// template for the union, GroupGraph finds no detour, and the merged kernel is
// predicted to take no longer than the two. Then reductions over the same
// columns that read a common value are merged likewise. The result is a
// GroupGraph that can be looked at, or written out as step.group operations.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_BLOCKGROUPER_H
#define TENON_FUSION_BLOCKGROUPER_H

#include "tenon/Cost/KernelCost.h"
#include "tenon/Fusion/GroupGraph.h"
#include "tenon/Fusion/RecomputeAcrossPeak.h"

namespace tenon::fusion {

/// Whether `user` takes `read`, a read that costs nothing, into its own group
/// rather than from memory.
bool absorbs(mlir::Operation *user, mlir::Operation *read);

class BlockGrouper {
public:
  BlockGrouper(mlir::Block &block, const RecomputedOperations &recomputed,
               const target::Target &machine)
      : block(block), graph(block), recomputed(recomputed), machine(machine) {}

  /// Free reads join their reader; nothing else is merged.
  void absorbFreeReads();
  /// All merges that are allowed and save memory traffic.
  void mergeGroups();
  const GroupGraph &groups() const { return graph; }
  /// Says what each merge was predicted to save, and for each value that stays
  /// in memory between two groups why they were not merged.
  void explain();
  /// Replaces the operations by groups.
  void writeGroups();

private:
  using Id = GroupGraph::Id;

  /// Predicted seconds of two groups, as one kernel and as two.
  struct Prediction {
    double together = 0, apart = 0;
  };
  static std::string predictionText(const Prediction &seconds);
  /// Two groups as one.
  struct Candidate {
    cost::KernelWork work;
    Prediction seconds;
  };
  /// A merge that was made along a value.
  struct Merge {
    mlir::Operation *writer, *reader;
    Prediction seconds;
  };

  /// Why the two groups stay apart; nothing if they may be merged, with what
  /// is predicted in `candidate`. `first` runs before `second`.
  std::optional<std::string> whyNotMerge(Id first, Id second,
                                         Candidate &candidate);
  Prediction predict(const cost::KernelWork &first,
                     const cost::KernelWork &second,
                     const cost::KernelWork &both);
  cost::KernelWork workOf(Id group);
  /// Merges the groups of two operations if that is allowed and is predicted to
  /// save `leastSaved` seconds.
  void tryMerge(mlir::Operation *writer, mlir::Operation *reader,
                double leastSaved = 0);
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
  const target::Target &machine;
  llvm::DenseMap<Id, cost::KernelWork> works; // of groups that were asked for
  std::vector<Merge> merges;
};

} // namespace tenon::fusion

#endif // TENON_FUSION_BLOCKGROUPER_H
