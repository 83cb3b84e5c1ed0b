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

#include <optional>
#include <vector>

namespace tenon::fusion {

class GroupGraph {
public:
  using Id = unsigned;

  /// One group per operation of `block` in program order, terminator excluded.
  explicit GroupGraph(mlir::Block &block);

  Id groupOf(mlir::Operation *op) const {
    return vertices[numbers.lookup(op)].group;
  }
  bool contains(mlir::Operation *op) const { return numbers.contains(op); }
  /// Members in program order.
  llvm::ArrayRef<mlir::Operation *> members(Id group) const {
    return nodes[group].members;
  }
  /// Operations have numbers, from 0 up in program order.
  size_t size() const { return vertices.size(); }
  llvm::ArrayRef<unsigned> memberNumbers(Id group) const {
    return nodes[group].numbers;
  }
  mlir::Operation *operation(unsigned number) const {
    return vertices[number].op;
  }
  llvm::SmallVector<mlir::Operation *>
  operations(llvm::ArrayRef<unsigned> numbers) const;
  /// The number of the operation that holds `op`, itself or an ancestor; none
  /// for the terminator.
  std::optional<unsigned> numberOf(mlir::Operation *op) const;
  /// Those that read results of an operation, themselves or in their regions;
  /// none twice.
  llvm::ArrayRef<unsigned> readersOf(unsigned number) const {
    return vertices[number].readers;
  }
  /// Whether the terminator reads a result of the operation.
  bool leavesBlock(unsigned number) const {
    return vertices[number].leavesBlock;
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
  /// results it reads, maybe several times.
  void forEachReader(Id group, llvm::function_ref<void(Id)> visit) const;
  void forEachWriter(Id group, llvm::function_ref<void(Id)> visit) const;

  /// Merges two groups without a detour between them and returns the result.
  Id merge(Id first, Id second);

  /// Numbers of the members of both groups.
  llvm::SmallVector<unsigned> unionOf(Id first, Id second) const;

  /// Values computed by `operations` (all of this block) that something else
  /// reads, in program order.
  static llvm::SmallVector<mlir::Value>
  resultsOf(llvm::ArrayRef<mlir::Operation *> operations);

  bool isBefore(Id first, Id second) const {
    return nodes[first].position < nodes[second].position;
  }

private:
  struct Node {
    llvm::SmallVector<mlir::Operation *> members;
    llvm::SmallVector<unsigned> numbers; // of the members, in order
    unsigned position = 0;
  };
  /// An operation of the block, its number being its place there.
  struct Vertex {
    mlir::Operation *op = nullptr;
    Id group = 0;
    bool leavesBlock = false;
    /// Numbers of those that read its results, and of those whose results it
    /// reads.
    llvm::SmallVector<unsigned, 4> readers, writers;
  };

  void findReaders(unsigned number);
  /// Groups that read a result of this one.
  llvm::SmallSetVector<Id, 8> readersOfGroup(Id group) const;
  /// Groups positioned before `limit` that can be reached from `from`, `from`
  /// excluded. They and it have the last mark.
  llvm::SmallVector<Id> reachable(Id from, unsigned limit) const;

  mlir::Block &block;
  llvm::SmallVector<Node, 0> nodes;
  std::vector<Vertex> vertices;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  static constexpr Id none = ~Id(0);
  llvm::SmallVector<Id, 0> byPosition; // `none` where a merge left a gap
  /// Which walk has seen a group last.
  mutable std::vector<unsigned> marks;
  mutable unsigned lastMark = 0;
};

} // namespace tenon::fusion

#endif // TENON_FUSION_GROUPGRAPH_H
