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
#include "tenon/Fusion/KnownKernels.h"
#include "tenon/Fusion/RecomputeAcrossPeak.h"

namespace tenon::fusion {

/// Whether `user` takes `read`, a read that costs nothing, into its own group
/// rather than from memory, on a processor or a GPU.
bool absorbs(mlir::Operation *user, mlir::Operation *read, bool onGpu);

class BlockGrouper {
public:
  BlockGrouper(mlir::Block &block, const RecomputedOperations &recomputed,
               const target::Target &machine)
      : block(block), graph(block), kernels(graph), recomputed(recomputed),
        machine(machine) {}

  /// Free reads join their reader; nothing else is merged.
  void absorbFreeReads();
  /// All merges that are allowed and save memory traffic.
  void mergeGroups();
  const GroupGraph &groups() const { return graph; }
  KnownKernels &knownKernels() { return kernels; }
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

  /// Whether the two groups may be merged, with what is predicted in
  /// `candidate`; if not, `whyNot` says why. `first` runs before `second`.
  bool mayMerge(Id first, Id second, Candidate &candidate,
                std::string *whyNot = nullptr);
  Prediction predict(const cost::KernelWork &first,
                     const cost::KernelWork &second,
                     const cost::KernelWork &both);
  cost::KernelWork workOf(Id group);
  /// Merges the groups of two operations if that is allowed and is predicted to
  /// save `leastSaved` seconds.
  void tryMerge(mlir::Operation *writer, mlir::Operation *reader,
                double leastSaved = 0);
  /// Whether reading as many bytes takes less than a launch.
  bool isReadAtOnce(double bytes) const;
  /// Whether that holds for each value that the group reads or computes.
  bool isSmall(Id group);
  /// Whether a merge would have the other readers of a small kernel wait for a
  /// large one, which only this reader needs.
  bool keepsOthersWaiting(mlir::Operation *writer, mlir::Operation *reader);
  /// Whether the first group picks a little from a large value and as one with
  /// the second would have to wait for another reader of it, which could
  /// otherwise be the last and overwrite it.
  bool picksTooLate(Id first, Id second) const;
  void mergeAlongValues();
  void mergeColumnSiblings();
  /// Values of other operations that the operation reads, itself or through
  /// reads it absorbed, and may be merged along.
  llvm::SmallVector<mlir::Value> operandsOf(mlir::Operation *op) const;
  void writeGroup(Id id);
  /// Why the group stays as it is; null if it is a kernel that others may join.
  const char *whyAlone(Id group);

  mlir::Block &block;
  GroupGraph graph;
  KnownKernels kernels;
  const RecomputedOperations &recomputed;
  const target::Target &machine;
  llvm::DenseMap<Id, cost::KernelWork> works; // of groups that were asked for
  /// What whyAlone() said; a kernel that others join remains one.
  llvm::DenseMap<Id, const char *> alone;
  /// What isSmall() said of a group of so many members.
  llvm::DenseMap<Id, std::pair<size_t, bool>> small;
  /// How many members the two groups had when they were found to stay apart:
  /// groups only grow, and what keeps two of them apart does not go away.
  llvm::DenseMap<std::pair<Id, Id>, std::pair<size_t, size_t>> apart;
  std::vector<Merge> merges;
};

} // namespace tenon::fusion

#endif // TENON_FUSION_BLOCKGROUPER_H
