//===- XlaProblem.h - A step as a recomputation problem for XLA -----------===//
//
// Between clusters and Solver/RecomputeChoice.h. Nodes are clusters in the
// order they are planned to run: the program's, except that what frees as many
// bytes as it needs runs at once, and that what overwrites an argument waits
// for the argument's readers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_STABLEHLO_XLAPROBLEM_H
#define TENON_LIB_CODEGEN_STABLEHLO_XLAPROBLEM_H

#include "tenon/Codegen/StableHLO/XlaMemory.h"
#include "tenon/Solver/RecomputeChoice.h"
#include "tenon/Target/Target.h"

namespace tenon::codegen {

/// From how many nodes between them on two of so many are far apart.
inline int32_t farApart(size_t nodes) {
  return std::max<int32_t>(8, int32_t(nodes / 20));
}

/// A cluster that computes what an argument is overwritten with, or something
/// on the way to it, and clusters that read the argument and would else not be
/// known to run before.
struct OverwrittenArgument {
  mlir::Value gradient; // read on the way to the new value
  llvm::SmallVector<int32_t> readers;
};

class XlaProblem {
public:
  XlaProblem(mlir::func::FuncOp main, const XlaClusters &clusters,
             const target::Target &machine);

  const solver::RecomputeProblem &problem() const { return model; }
  /// Clusters in the problem's order; node i is cluster order()[i].
  llvm::ArrayRef<int32_t> order() const { return sequence; }
  llvm::ArrayRef<OverwrittenArgument> overwritten() const { return waits; }
  /// Whether a node runs later than in the program, so that XLA has to be told.
  bool isPostponed(int32_t node) const { return postponed[sequence[node]]; }

private:
  void keepEffectsInOrder();
  void findOverwritten(mlir::func::FuncOp main);
  llvm::SmallVector<int32_t> computing(
      const llvm::DenseMap<mlir::Value, llvm::SmallVector<int32_t>> &readersOf,
      mlir::Value value) const;
  void orderClusters();
  void postponeLarge();
  void addNodes(const target::Target &machine);

  const XlaClusters &clusters;
  llvm::ArrayRef<XlaCluster> all;
  llvm::DenseSet<mlir::Value> results;
  std::vector<OverwrittenArgument> waits;
  std::vector<llvm::SmallVector<int32_t>> after; // clusters to wait for
  std::vector<int32_t> sequence;
  std::vector<bool> postponed; // by cluster
  solver::RecomputeProblem model;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_STABLEHLO_XLAPROBLEM_H
