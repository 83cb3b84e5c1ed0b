//===- OrderingProgress.h - how far an order has come ---------------------===//
//
// The state of the search for an order: what has run, what could run next and
// the bytes that are live. Operations that wait (OrderingDeferral.h) run just
// before what needs them; all else here speaks of the others. Internal to
// lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGPROGRESS_H
#define TENON_LIB_SOLVER_ORDERINGPROGRESS_H

#include "OrderingDeferral.h"

namespace tenon::solver {

/// Tells sets of operations apart.
struct OperationSet {
  uint64_t first = 0, second = 0;
  auto operator<=>(const OperationSet &) const = default;
};

class OrderProgress {
public:
  /// `looks` is counted down by one per operation looked at.
  OrderProgress(const OrderingGraph &graph, const OrderingDeferral &deferral,
                int64_t &looks);

  /// What running it, after what it needs of those that wait, would do. Those
  /// only add and are there while it runs, so the bytes during it are the most.
  LiveBytes::Step look(int32_t operation) { return look({}, operation).step; }

  /// An operation that frees nothing where it runs, needs no workspace, and
  /// makes what others read is a grower there.
  struct Look {
    bool growing; ///< all of those first were growers when they ran
    bool grows;   ///< the operation itself is one
    LiveBytes::Step step;
  };
  /// What running it would do after those `first`, in their order.
  Look look(std::span<const int32_t> first, int32_t operation);

  void perform(int32_t operation);
  /// Takes back all but the first `count` of done().
  void takeBackTo(size_t count);

  int64_t live() const { return state.live(); }
  int32_t left(int32_t value) const { return state.left(value); }
  bool hasRun(int32_t operation) const { return ran[operation] != 0; }
  /// Predecessors that have not run.
  int32_t lacks(int32_t operation) const { return missing[operation]; }
  /// Those that could run next and may hold fewer than `peak` bytes meanwhile.
  void readyBelow(int64_t peak, std::vector<int32_t> &result) const;
  /// Whether it holds at least so many whatever has run before it, now that so
  /// much is live.
  bool reaches(int64_t peak, int32_t operation) const {
    return state.live() + graph.leastRise[operation] >= peak;
  }
  /// All that have run, in order, those that wait included.
  const std::vector<int32_t> &done() const { return order; }
  OperationSet set() const { return signature; }
  /// The fewest bytes that were live after the first `count` of done(), or
  /// after any later ones.
  int64_t leastSince(size_t count) const;

private:
  bool growsIn(int32_t operation, LiveBytes::Step step) const;
  void performOne(int32_t operation);

  const OrderingGraph &graph;
  const OrderingDeferral &deferral;
  int64_t &looks;
  LiveBytes state;
  std::vector<int32_t> missing, ready, order;
  std::vector<char> ran;
  std::vector<OperationSet> codes;
  OperationSet signature;
  std::vector<LiveBytes::Step> steps;                     // of each done
  std::vector<std::pair<int32_t, LiveBytes::Step>> tried; // within look()
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGPROGRESS_H
