//===- DueOrder.h - Operations in order of when they are due -------------===//
//
// The quick way to order operations: each is due at some time, usually where it
// stood in a program, and of those that are ready the one due first runs. But
// an operation that frees at least the bytes it needs runs as soon as it is
// ready: it can only make room. In a training step these are the updates, which
// turn a gradient into new state that lies where the old one did. Groups are
// formed and steps are first ordered this way (Fusion/GroupGraph,
// Memory/OrderOperations); OperationOrdering then looks for fewer bytes.
//
// A worked example: a makes 8 bytes, b (due 2) makes 8 bytes, c (due 3) reads
// a's for the last time and makes none. Ready after a are b and c; c runs first
// although b is due before it, and the peak is 8 bytes instead of 16.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_DUEORDER_H
#define TENON_SOLVER_DUEORDER_H

#include <cstdint>
#include <vector>

namespace tenon::solver {

struct DueOrderProblem {
  struct Operation {
    uint64_t due = 0;
    /// Bytes of memory that its results take and nothing else gives up.
    int64_t bytesNeeded = 0;
    /// Values it reads, each once.
    std::vector<uint32_t> reads;
    /// Operations that wait for this one, readers of its results among them.
    std::vector<uint32_t> before;
  };
  struct Value {
    /// Freed after its last read; 0 if it stays.
    int64_t bytes = 0;
    /// Read by something besides the operations, so never freed.
    bool stays = false;
  };
  std::vector<Operation> operations;
  std::vector<Value> values;
  /// An operation that needs this many bytes more than it frees still runs at
  /// once; scalars that updates wait for are such.
  int64_t negligibleBytes = 64;
};

/// All operations in the order to run them in. Of several due at the same time
/// the one listed first runs first. `before` must not lead in a circle.
std::vector<uint32_t> dueOrder(const DueOrderProblem &problem);

} // namespace tenon::solver

#endif // TENON_SOLVER_DUEORDER_H
