//===- RecomputeChoice.h - what to keep, what to compute again ------------===//
//
// A training step computes values forward, then reads most of them again on the
// way back. If they do not all fit in memory, some must be dropped and computed
// a second time. Recomputation choice finds what to drop, when to compute it
// again, and proves how far from the cheapest the answer can be.
//
// The model. Nodes run for the first time in the order of their ids. A plan is
// a longer list of nodes in which that order of first runs is kept and
// repetitions are recomputations. Running a node costs its cost; its outputs
// are placed while its inputs are still there; an output is freed after its
// last use before its next computation. The peak is the largest number of bytes
// live at once, the cost the sum over the list.
//
// A worked example: a chain f1 f2 f3, the loss v, and a way back b2 b1 that
// reads f2 and f1.
//
//     node   cost  bytes  reads        Keeping everything holds f1, f2, f3 and
//     f1       2     4                 v when v runs: 13 bytes. With 10 bytes
//     f2       3     4    f1           something must go.
//     f3       4     4    f2
//     v        1     1    f3           f1 f2 f3 v b2 f1 b1   cost 13, peak 9:
//     b2       0     0    v f2         f1 is dropped after f2 has read it and
//     b1       0     0    b2 f1        computed again just before b1.
//
// Why nothing cheaper exists: look at the moment when v runs. f3 and v are
// there, so 10 - 5 = 5 bytes are left for f1 and f2, both still to be read.
// Charge a price of 1/2 per byte held. Then f1 costs min(4/2 to hold, 2 to run
// again) = 2, f2 costs min(2, 3) = 2, together 4, of which the 5 bytes that are
// free of charge give back 5/2. So every plan pays at least 1.5 more than
// running each node once (10); costs are integers: at least 12. Any price gives
// a valid bound; the best price is found by searching, and for a price the best
// choice is a minimum cut, because running a node again needs its inputs, which
// must be held or run again in turn. Here 12 is reached: f1 is the cheaper one.
// (The costs above sum to 10, and f1 again makes 12.)
//
// The certificate is the cut node v, the price and a flow as large as the cut.
// Any flow that respects the capacities proves its bound (weak duality), so a
// wrong certificate can only claim less than the truth, never more. Where one
// moment is not enough, a series of cuts looks at several (RecomputeSeries.h in
// lib/Solver derives it); each has its own price and flow. Where a few large
// values decide, cases are told apart: one of them runs again, or it does not
// (RecomputeCases.h), and each case is proved at the moment that shows most
// (RecomputeViews.h).
//
// Two things may make room besides dropping and running again. A value may wait
// as a variant, a compressed copy or one in the host's memory: the plan then
// lists a save of the copy and later a load, with costs of their own, and
// copies to the host share an engine that moves one after the other. A loop on
// the way forward and its partner on the way back may come with a table: each
// row trades the bytes kept between them for peak and time; a plan names one
// row per loop.
//
// Deterministic: effort is counted in moves of the local search and in flows,
// never in seconds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_RECOMPUTECHOICE_H
#define TENON_SOLVER_RECOMPUTECHOICE_H

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::solver {

struct RecomputeProblem {
  struct Node {
    /// Time of one run, in any unit. Negative only where the node is pinned and
    /// there are no variants: what it spares the first runs of others.
    int64_t cost = 0;
    /// Size of the main output, in any unit (the budget uses the same).
    int64_t bytes = 0;
    /// Bytes needed only while the node runs; negative where outputs are
    /// written over inputs, by at most what the node writes.
    int64_t workspace = 0;
    /// Runs exactly once: side effects, random state without its key.
    bool pinned = false;
    /// Runs exactly once unless `mayRepeatCollectives`.
    bool collective = false;
    /// Further bytes that each run but the first needs.
    int64_t again = 0;
  };
  /// A further output of a node. Values are numbered: value i is the main
  /// output of node i, value nodes.size() + k is extraOutputs[k].
  struct Output {
    int32_t producer = 0;
    int64_t bytes = 0;
  };
  struct Edge {
    int32_t value = 0;
    int32_t consumer = 0;

    bool operator==(const Edge &) const = default;
  };

  /// The node writes `bytes` of what it makes over a value that it reads, or
  /// over what a late read of its own value reads. Where the value is read
  /// later, before it is computed again, the run needs these bytes in addition.
  struct Overwrite {
    int32_t value = 0;
    int32_t node = 0;
    int64_t bytes = 0;
  };

  /// `value` lies in the memory of `base`, which its producer reads: a view. It
  /// has no bytes of its own, and whoever reads it reads `base` as well.
  struct Alias {
    int32_t value = 0;
    int32_t base = 0;
  };

  /// Another way for a value that is no view to wait. Saving reads the value
  /// and makes the copy; loading makes the value from the copy. Both are
  /// operations of the plan (saveOf, loadOf), run any number of times and take
  /// compute time.
  ///
  /// With `transfer` > 0 an engine beside the compute moves the bytes, one copy
  /// after the other in each direction, in the order of the plan. What a save
  /// or load reads and makes stays in memory until its transfer ends, and may
  /// not be computed again before; a load begins to move after its save has
  /// ended; who reads the loaded value starts after the load has ended. Nothing
  /// waits: a plan in which a transfer comes too late is not valid.
  struct Variant {
    int32_t value = 0;
    /// Bytes of the copy that count: 0 in the host's memory.
    int64_t bytes = 0;
    int64_t saveCost = 0;
    int64_t loadCost = 0;
    /// Time of one transfer: bytes moved / bandwidth of the engine.
    int64_t transfer = 0;
  };

  /// A loop on the way forward and the one on the way back that reads what it
  /// stacked. The chosen row adds to the bytes of the value `residual`, which
  /// only `backward` reads, and to cost and workspace of both nodes.
  struct Loop {
    struct Row {
      int64_t residualBytes = 0;
      /// Most bytes that one iteration needs beside its inputs and outputs.
      int64_t forwardPeak = 0;
      int64_t backwardPeak = 0;
      int64_t forwardCost = 0;
      int64_t backwardCost = 0;

      int64_t cost() const { return forwardCost + backwardCost; }
    };
    int32_t forward = 0;
    int32_t backward = 0;
    /// An output of `forward`.
    int32_t residual = 0;
    std::vector<Row> rows;

    /// Of the cheapest row.
    int64_t leastCost() const {
      int64_t least = rows.empty() ? 0 : rows.front().cost();
      for (const Row &row : rows)
        least = row.cost() < least ? row.cost() : least;
      return least;
    }
  };

  std::vector<Node> nodes;
  std::vector<Output> extraOutputs;
  /// Every producer runs before its consumers: producer < consumer.
  std::vector<Edge> edges;
  /// Reads by a node that comes before the value's producer, or is it: its runs
  /// up to that read something else, which the producer replaces; its runs
  /// after that hold the value. Nothing runs for such a read.
  std::vector<Edge> lateReads;
  std::vector<Overwrite> overwrites;
  std::vector<Alias> aliases;
  std::vector<Variant> variants;
  std::vector<Loop> loops;
  bool mayRepeatCollectives = false;
  /// The node that ends the forward part, or -1; a hint, never needed.
  int32_t loss = -1;
  /// Bytes that are always there; no part of budget and peak.
  int64_t fixedMemory = 0;

  /// Of everything run once, each loop as its cheapest row.
  int64_t baseCost() const {
    int64_t cost = 0;
    for (const Node &node : nodes)
      cost += node.cost;
    for (const Loop &loop : loops)
      cost += loop.leastCost();
    return cost;
  }
  int32_t valueCount() const {
    return static_cast<int32_t>(nodes.size() + extraOutputs.size());
  }
  int32_t producer(int32_t value) const {
    return value < static_cast<int32_t>(nodes.size())
               ? value
               : extraOutputs[value - nodes.size()].producer;
  }
  int64_t bytes(int32_t value) const {
    return value < static_cast<int32_t>(nodes.size())
               ? nodes[value].bytes
               : extraOutputs[value - nodes.size()].bytes;
  }
  bool runsOnce(int32_t node) const {
    return nodes[node].pinned ||
           (nodes[node].collective && !mayRepeatCollectives);
  }
  /// Plans list operations: nodes by their ids, then two per variant.
  int32_t saveOf(size_t variant) const {
    return static_cast<int32_t>(nodes.size() + 2 * variant);
  }
  int32_t loadOf(size_t variant) const { return saveOf(variant) + 1; }
  int32_t operationCount() const { return saveOf(variants.size()); }
  /// What a run needs depends on other runs. Bounds do not count that, so they
  /// hold.
  bool hasConditions() const {
    bool any = !lateReads.empty() || !overwrites.empty();
    for (const Node &node : nodes)
      any |= node.again != 0;
    return any;
  }
  /// Variants or loops: there is more to choose than what runs again.
  bool hasChoices() const { return !variants.empty() || !loops.empty(); }
};

struct RecomputeSolution;

struct RecomputeOptions {
  /// Moves of the local search, in all.
  int64_t moves = 2'000'000;
  /// Most minimum cuts computed for one bound.
  int64_t flows = 4'000;
  uint64_t seed = 1;
  /// The search for a cheaper plan ends once one is above the bound by at most
  /// this share of the bound's extra cost, plus 1 % of this share of the whole.
  double nearEnough = 0;
  /// A first look: a short search, a long one only where that finds no plan and
  /// only until it finds one; of the bounds, only those of single cuts.
  bool quick = false;
  /// What a quick solve found for the same problem and budget with otherwise
  /// the same options: the work goes on from there.
  const RecomputeSolution *known = nullptr;
  /// A plan that costs this much is of no use: none is looked for once a bound
  /// says so.
  int64_t useless = std::numeric_limits<int64_t>::max();
  /// Search and proof run side by side; the result is the same.
  bool parallel = false;
  /// The order of a plan for the same problem and another budget, or empty: the
  /// plan that comes out costs no more where this one fits, and is looked for
  /// from it where none is found otherwise. Only without variants and loops.
  std::vector<int32_t> start;
};

enum class RecomputeStatus {
  /// A plan within the budget.
  Solved,
  /// No plan fits the budget: proved by the certificate.
  Infeasible,
  /// No plan was found, none was proved impossible.
  Undecided,
  /// The problem is not well formed; `message` says why.
  Invalid,
};

/// What a price of bytes proves at one cut: a flow that it limits.
struct RecomputeFlow {
  /// Flow out of a value towards its producer.
  struct ValueFlow {
    int32_t value;
    int64_t amount;
  };
  /// Flow from the recomputation of `consumer` to its input `value`.
  struct EdgeFlow {
    int32_t value;
    int32_t consumer;
    int64_t amount;
  };

  /// The price of one byte, over the certificate's denominator.
  int64_t numerator = 0;
  /// Above 1 a value is held whole or not at all, and the price is not of its
  /// bytes but of whole units: with r = room mod unit, of
  /// floor(bytes / unit) (unit - r) + max(0, bytes mod unit - r), the room
  /// being rounded alike. Only without variants and loops.
  int64_t unit = 1;
  std::vector<ValueFlow> valueFlows;
  std::vector<EdgeFlow> edgeFlows;
};

/// Proof of a bound on the cost of every plan within the budget. All numbers of
/// the network below are scaled by `denominator`, so they are integers.
struct RecomputeCertificate : RecomputeFlow {
  enum class Kind {
    /// The bound is the cost of running every node once.
    Base,
    /// The cut for the given order: "before" and "after" the cut node are
    /// earlier and later ids.
    GivenOrder,
    /// The cut for every order: before are ancestors, after are descendants.
    AnyOrder,
    /// Infeasible: the inputs, outputs and workspace of `cut` alone exceed the
    /// budget.
    WorkingSet,
    /// Infeasible: even with free recomputation the bytes that must be held
    /// when `cut` runs (pinned nodes never run again) exceed the budget.
    HeldBytes,
  };
  Kind kind = Kind::Base;
  int32_t cut = -1;
  int64_t denominator = 1;
  /// The price of the time for which the engine moves what was saved before the
  /// cut back after it, over the denominator; at most 1. Single cuts only.
  int64_t transferNumerator = 0;

  /// A further cut of a series (GivenOrder only): it looks at the time from its
  /// node to the next cut's, and the cut before it only at the time up to its
  /// node. Its prices charge for holding a value that was made before the
  /// previous cut, and reward having it available after the previous cut.
  struct Part : RecomputeFlow {
    int32_t cut = -1;
    std::vector<ValueFlow> prices;
  };

  /// What is proved of a cut of the given order case by case; then the cut's
  /// own price and flows are not used. A case either names a node in `split` or
  /// a value in `held`, and all that follows from the node's running again
  /// after the cut, or the value's being held there, comes next, then all that
  /// follows from its not doing so; or it has a price and a flow of its own. A
  /// node that runs again pays its cost and needs its inputs, a value that is
  /// held pays for it; what does not is absorbed without limit. The smallest
  /// bound of all cases is the bound of the cut.
  ///
  /// Some cuts after it may be `joined` to it, the same in all cases that have
  /// flows: they are cuts of the series between this one and the next, and each
  /// case has its own prices and flows at them. A case may name what runs again
  /// or is held at one of these: `at`.
  ///
  /// A case of a single cut may have its flow at a later one instead: `at`.
  /// What runs again after the first cut is paid for there as well, but may
  /// have run before it.
  struct Case : RecomputeFlow {
    int32_t split = -1;
    int32_t held = -1;
    int32_t at = -1;
    std::vector<Part> joined;
  };
  std::vector<Case> cases;

  struct Cut : Part {
    std::vector<Case> cases;
  };
  std::vector<Cut> later;
};

struct RecomputeSolution {
  RecomputeStatus status = RecomputeStatus::Invalid;
  int64_t budget = 0;
  int64_t cost = 0;
  int64_t peak = 0;
  /// No plan within the budget that keeps the given order of first runs costs
  /// less.
  int64_t bound = 0;
  /// No plan in any order costs less.
  int64_t anyOrderBound = 0;
  RecomputeCertificate certificate;
  RecomputeCertificate anyOrderCertificate;
  /// Operations as they run; empty without a plan.
  std::vector<int32_t> order;
  /// The chosen row of each loop; empty without a plan.
  std::vector<int32_t> rows;
  /// Moves that were spent.
  int64_t movesUsed = 0;
  /// Why there is no plan; lower case, no period.
  std::string message;
};

/// Chooses what to recompute so that node outputs fit in `budget`.
RecomputeSolution solveRecompute(const RecomputeProblem &problem,
                                 int64_t budget,
                                 const RecomputeOptions &options = {});

/// `count` budgets evenly spaced from the smallest with a plan to the peak of
/// keeping everything (count 1: the peak alone). Costs never rise and peaks
/// never fall along the result. `visit` sees one solution at a time, smallest
/// budget first, so that only one certificate is in memory. An invalid problem
/// gives no solutions.
void solveRecomputeFrontier(
    const RecomputeProblem &problem, int32_t count,
    const RecomputeOptions &options,
    const std::function<void(const RecomputeSolution &)> &visit);

/// Recomputes what the solution claims and returns the first claim that is
/// false, or nothing. Linear in the problem and the plan; shares no code with
/// the solver.
std::optional<std::string> checkRecompute(const RecomputeProblem &problem,
                                          const RecomputeSolution &solution);

/// What is wrong with a problem, or nothing: ids, sizes, order, overflow.
std::optional<std::string>
validateRecomputeProblem(const RecomputeProblem &problem);

/// Text forms. Readers return what is wrong as `line N: what`.
std::optional<std::string> parseRecomputeProblem(std::string_view text,
                                                 RecomputeProblem &problem);
std::string printRecomputeProblem(const RecomputeProblem &problem);
std::optional<std::string> parseRecomputeSolution(std::string_view text,
                                                  RecomputeSolution &solution);
std::string printRecomputeSolution(const RecomputeSolution &solution);

} // namespace tenon::solver

#endif // TENON_SOLVER_RECOMPUTECHOICE_H
