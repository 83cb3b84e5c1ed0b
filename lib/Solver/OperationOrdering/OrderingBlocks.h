//===- OrderingBlocks.h - what an order can go on with --------------------===//
//
// Call an operation a grower where it frees nothing and needs no workspace. A
// grower may as well run later: behind an operation that does not depend on it,
// and that does not free an operand of it by having been left the last reader.
// Until then there is less, and what it frees stays nothing. So any order can
// be brought into blocks of the same peak or less: growers, then one operation
// that is none, where the growers are
//
// - those that this operation depends on, and
// - the other readers of operands that die with it, and what these depend on.
//
// To go on with an order, then, means to choose the last operation of a block
// and which of its operands die with it; and not in which order growers that
// have nothing to do with each other run. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGBLOCKS_H
#define TENON_LIB_SOLVER_ORDERINGBLOCKS_H

#include "OrderingProgress.h"

namespace tenon::solver {

/// Growers in id order, then the operation that is none.
using OrderBlock = std::vector<int32_t>;

class OrderBlocks {
public:
  OrderBlocks(const OrderingGraph &graph, const OrderingDeferral &deferral,
              OrderProgress &progress, int64_t &looks)
      : graph(graph), deferral(deferral), progress(progress), looks(looks),
        reachedBefore(graph.operations, 0), mayPrecede(graph.operations, 0),
        growers(graph.operations) {}

  struct Next {
    OrderBlock block;
    int64_t net; ///< growth after it
  };
  /// All blocks with fewer than `peak` bytes live.
  std::vector<Next> all(int64_t peak);
  /// Whether any were left out, since an operation has too many operands or
  /// there were no looks left.
  bool leftOut() const { return isIncomplete; }

private:
  void reach(int64_t peak);
  std::vector<OrderBlock> deaths(int32_t operation) const;

  const OrderingGraph &graph;
  const OrderingDeferral &deferral;
  OrderProgress &progress;
  int64_t &looks;
  bool isIncomplete = false;
  // Those that could run after growers alone, and what they would do.
  std::vector<int32_t> reached;
  std::vector<OrderProgress::Look> looked;
  std::vector<int32_t> reachedBefore; // per operation: predecessors reached
  std::vector<char> mayPrecede;       // per operation: reached, and a grower
  std::vector<OrderBlock> growers;    // per operation reached: needed before it
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGBLOCKS_H
