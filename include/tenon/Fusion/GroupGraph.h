//===- GroupGraph.h - Groups of operations in a topological order --------===//
//
// The operations of one block as a graph of groups that only ever merge. The
// graph keeps its groups in a topological order and refuses a merge that would
// close a cycle:
//
//     a ──► b ──► c          merging {a} and {c} would leave b both after and
//     └───────────┘          before the merged group
//
// Keeping the order costs time proportional to the groups between the two that
// merge (the idea of Pearce and Kelly's dynamic topological sort), so nearby
// merges, which are nearly all, are cheap.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_GROUPGRAPH_H
#define TENON_FUSION_GROUPGRAPH_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::fusion {

class GroupGraph {
public:
  using Id = unsigned;

  /// One group per operation of `block` in program order, terminator excluded.
  explicit GroupGraph(mlir::Block &block);

  Id groupOf(mlir::Operation *op) const { return groups.lookup(op); }
  bool contains(mlir::Operation *op) const { return groups.contains(op); }
  /// Members in program order.
  llvm::ArrayRef<mlir::Operation *> members(Id group) const {
    return nodes[group].members;
  }
  /// Groups in the order to run them in: a topological order close to the
  /// program's (Solver/DueOrder.h). A group is due where its last member
  /// stands, unless something that stands earlier needs it; what reads nothing
  /// of this block is due right before its first reader.
  llvm::SmallVector<Id> executionOrder() const;

  /// Whether a path leads from `from` to `to` through a third group. `from`
  /// must come first in the order.
  bool hasDetour(Id from, Id to) const;

  /// Whether `to` needs `from`, itself or through other groups.
  bool hasPath(Id from, Id to) const;
  /// Calls `visit` with the groups that read a result of this one, or whose
  /// results it reads, once for each use.
  void forEachReader(Id group, llvm::function_ref<void(Id)> visit) const;
  void forEachWriter(Id group, llvm::function_ref<void(Id)> visit) const;

  /// Merges two groups without a detour between them and returns the result.
  Id merge(Id first, Id second);

  /// Members of both groups in program order.
  llvm::SmallVector<mlir::Operation *> unionOf(Id first, Id second) const;

  /// Values computed by `operations` (all of this block) that something else
  /// reads, in program order.
  static llvm::SmallVector<mlir::Value>
  resultsOf(llvm::ArrayRef<mlir::Operation *> operations);

  bool isBefore(Id first, Id second) const {
    return nodes[first].position < nodes[second].position;
  }

private:
  struct Node {
    llvm::SmallVector<mlir::Operation *, 4> members;
    unsigned position = 0;
  };

  /// Groups that read a result of this one.
  llvm::SmallSetVector<Id, 8> readersOf(Id group) const;
  /// The operation of this block that holds `op`, itself or an ancestor.
  mlir::Operation *ancestor(mlir::Operation *op) const;
  /// Groups positioned before `limit` that can be reached from `from`, `from`
  /// excluded.
  llvm::SmallVector<Id> reachable(Id from, unsigned limit) const;

  mlir::Block &block;
  llvm::SmallVector<Node, 0> nodes;
  llvm::DenseMap<mlir::Operation *, Id> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> programOrder;
  static constexpr Id none = ~Id(0);
  llvm::SmallVector<Id, 0> byPosition; // `none` where a merge left a gap
};

} // namespace tenon::fusion

#endif // TENON_FUSION_GROUPGRAPH_H
