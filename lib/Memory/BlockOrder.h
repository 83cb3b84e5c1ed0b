//===- BlockOrder.h - An order that is changed move by move ---------------===//
//
// Private to this folder. An order of a block's operations, the places of each
// in it, and the bytes that are live at every place, as if no result took the
// place of an operand. Collectives may work beside operations behind them:
// until these have run, what they work on is live.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_BLOCKORDER_H
#define TENON_LIB_MEMORY_BLOCKORDER_H

#include "tenon/Solver/OperationOrdering.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tenon::memory {

class BlockOrder {
public:
  /// In the given order.
  explicit BlockOrder(const solver::OrderingProblem &problem);

  /// How long each operation takes, while others are under way.
  void setTimes(llvm::ArrayRef<int64_t> nanoseconds) { times = nanoseconds; }
  /// How long others run beside an operation, 0 before it is set.
  void runBeside(int32_t operation, int64_t nanoseconds) {
    wanted[size_t(operation)] = nanoseconds;
  }

  llvm::ArrayRef<int32_t> operations() const { return order; }
  size_t placeOf(int32_t operation) const { return places[size_t(operation)]; }
  /// What an operation waits for.
  llvm::ArrayRef<int32_t> before(int32_t operation) const {
    return earlier[size_t(operation)];
  }
  /// The place of the first operation that waits for this one; behind the last
  /// place if there is none.
  size_t dueOf(int32_t operation) const;
  /// The first place behind all operations that this one waits for.
  size_t readyOf(int32_t operation) const;
  /// The last place that runs beside the operation: as long as it wants, and
  /// before the first that waits for it.
  size_t lastBeside(int32_t operation) const;
  /// What runs at the places from `begin` up to before `end`.
  int64_t timeOf(size_t begin, size_t end) const;

  /// Operations from behind `from` up to before `to` come one place earlier,
  /// those from `to` up to before `from` one place later.
  void move(size_t from, size_t to);

  /// Per place.
  std::vector<int64_t> liveBytes() const;
  /// What liveBytes() is behind move(from, to), of what it is now. Only while
  /// nothing runs beside anything.
  std::vector<int64_t> liveBytesBehindMove(std::vector<int64_t> live,
                                           size_t from, size_t to) const;
  int64_t peak() const;

private:
  int64_t workspaceOf(size_t place) const {
    return problem.operations[size_t(order[place])].workspace;
  }

  const solver::OrderingProblem &problem;
  std::vector<llvm::SmallVector<int32_t>> touched;   // values, per operation
  std::vector<llvm::SmallVector<int32_t>> touchedBy; // operations, per value
  std::vector<bool> isKept;                          // per value
  std::vector<llvm::SmallVector<int32_t>> earlier, after; // per operation
  std::vector<int32_t> order;
  std::vector<size_t> places; // per operation, in the order
  llvm::ArrayRef<int64_t> times;
  std::vector<int64_t> wanted; // per operation
};

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_BLOCKORDER_H
