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
// A worked example: a forward chain f1 to f4, the loss v, and a way back w, u.
//
//     node  cost  bytes  workspace  reads
//     f1      6     1
//     f2      4     1               f1
//     f3      4     2               f2
//     f4      1     0               f3
//     v       1     0        2      f4
//     w       1     0        1      v f3
//     u       1     0               w f1 f2
//
// Every node once costs 18, the base cost, and needs 6 bytes when v runs: f1,
// f2 and f3 wait for w and u, and v has a workspace. With 4 bytes a plan is
//
//     f1 f2 f3 f4 v f3 w f2 u      cost 18 + 4 + 4 = 26, peak 4
//
// f3 is dropped while v runs; w needs it back, so f2 goes while w runs. The
// rest of this text proves that no plan with first runs in this order is
// cheaper. A bound so proved comes as a certificate, a list of numbers that
// checkRecompute() adds up without knowing where they are from.
//
// What one moment proves. Take the moment when some node, the cut node, first
// runs. What it reads, makes and needs while it runs is in memory; the rest of
// the budget is the room. A value that was made before, is read after, and is
// not read by the cut node itself, is held at that moment, or its node runs
// again later. That node in turn needs its inputs: each is held, or read by the
// cut node, or its node runs again as well. So a plan chooses what it holds and
// what it runs again, pays the costs of the latter beyond the base cost, and
// what it holds fits in the room.
//
// Charge a price p >= 0 for each byte held, and give back p for each byte of
// the room. No plan loses by that, since what it holds fits. Without a limit on
// what is held, the cheapest choice is a minimum cut of a network:
//
//     source -> value           no limit    if it is read after the moment
//     value  -> its node        p * bytes   it is held, or its node runs again
//     node   -> its inputs      no limit    running again needs them
//     node   -> sink            its cost    no limit if it must not run again
//
// A flow is never larger than a cut, so every flow within these limits proves:
// the plan costs at least base + flow - p * room. Costs are integers, so the
// sum may be rounded up.
//
//     at v: room 4 - 2 = 2. With p = 2 flow 4 from f3, its cost, and 2 each
//           from f1 and f2, p times their bytes: 8 - 2 * 2 = 4, at least 22.
//     at w: room 4 - 3 = 1, and f3 is there. With p = 4 flow 4 each from f1
//           and f2: 8 - 4 * 1 = 4, at least 22.
//
// Both also hold in any order of first runs, if "before" is what the cut node
// depends on and "after" is what depends on it (Kind::AnyOrder). In the given
// order these are all smaller and all larger ids (Kind::GivenOrder), which
// proves more; what follows is for the given order only.
//
// A series of cuts. Cut nodes c1 < c2 < ... divide the time from c1 on into
// windows, each from one cut to the next. What the nodes up to and including
// the next cut read from before the window is held at its cut or runs again in
// it. No run is in two windows, so what the windows prove adds up. That alone
// would let a plan hold at c2 what it had dropped at c1. But a value made
// before c1 that is held at c2 is available in the window between: held at c1,
// or run again there (or read by c1 or c2; such values are left alone). This
// rule has a price q >= 0 per value: holding it at c2 costs q more, having it
// available in the window before earns q. No plan loses by that either. In the
// network of the window before c2, source -> value has the limit q where
// nothing in the window reads the value; in that of c2, value -> its node has
// the limit p * bytes + q. The bound is
//
//     base + sum of (flow - p * room) of all windows - sum of all q
//
//     v, w: p = 2 for both, q = 2 for f1 and f2. Before w, 4 from f3, 2 each
//           from f1 and f2; from w on, 2 + 2 each from f1 and f2:
//           8 - 2 * 2 + 8 - 2 * 1 - (2 + 2) = 6, at least 24.
//
// Cases. A price may let half of a value be held; a plan holds all of it or
// nothing. So two cases are told apart at a cut: a node runs again after it (in
// a series, in its window), or it does not; or, a value is held there, or it is
// not. What a case knows to be is paid: its limit is added to the bound, is
// zero in the network, and a node that runs again needs its inputs there. What
// it knows not to be has no limit: any flow passes, since no plan of this case
// cuts there. Cases are told apart further as often as it helps, each last one
// has a price and a flow of its own, and the least that any of them proves is
// proved of every plan. In a series each cut has its own cases and what they
// prove is added up as before; cuts may be joined, so that cases are told apart
// over several windows, each with prices p and q of its own within them.
//
// Views. A case of a single cut may have its price and flow at a later cut
// instead, from which it is seen better. A node that runs again after the first
// cut is paid for and has the limit zero there, because that run may still come
// after the later cut; its inputs are not needed there, because it may have
// come before. A node that does not run again after the first cut does not
// after the later one either.
//
//     f3 runs again after v: 4 is paid. At w, p = 4 proves 4 more: 8.
//     f3 does not: it is held. At v, p = 6, flow 6 * 2 from f3, which has no
//           other limit, 4 from f2, 6 from f1: 22 - 6 * 2 = 10.
//     The least is 8: at least 26, which is what the plan above costs.
//
// Whole units. For a unit of U bytes and r = room mod U let B bytes weigh
// floor(B / U) * (U - r) + max(0, B mod U - r). The weight of two numbers is
// together at most that of their sum, and it never falls as B grows; so values
// that are held whole and fit in the room also fit by weight, the room being
// weighed as well (mixed-integer rounding). Then p may be a price of weights.
// Of values of 10 bytes, a room of 55 holds five: U = 10 gives each the weight
// 5 and the room 25.
//
// Infeasible. One node's inputs, outputs and workspace may exceed the budget,
// in any order (Kind::WorkingSet). Or, in the given order, running again what
// may run again costs nothing, p = 1, and the flow still exceeds the room: so
// many bytes must be held whatever a plan does (Kind::HeldBytes).
//
// A certificate's flows, prices p and q and costs are scaled by its
// denominator, so that they are integers. A wrong certificate that passes
// proves less than the truth, never more: any flow within the limits counts.
// The checker adds up in 128 bits and refuses a certificate whose sums or
// products leave them, and a bound above the cost of the plan beside it.
//
// Two things may make room besides dropping and running again. A value may wait
// as a variant, a compressed copy or one in the host's memory: the plan then
// lists a save of the copy and later a load, with costs of their own, and
// copies to the host share an engine that moves one after the other. In the
// network the limit of value -> its node is then that of the cheapest form, p
// times the bytes of a copy plus its save and load; and the engine's time may
// have a price (RecomputeCertificate::transferNumerator). And a node that is a
// loop may come with a table: each row trades bytes that the loop needs while
// it runs for time; a plan names one row per loop. Bounds take the least bytes
// and the least time of all rows that fit in the budget.
//
// How the cuts, prices and cases are found is told where it is done, in
// lib/Solver/RecomputeChoice. Deterministic: effort is counted in moves of the
// local search and in flows, never in seconds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_RECOMPUTECHOICE_H
#define TENON_SOLVER_RECOMPUTECHOICE_H

#include <algorithm>
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
    /// written over inputs, or over what only nodes that run at once with this
    /// one read.
    int64_t workspace = 0;
    /// Runs exactly once: side effects, random state without its key.
    bool pinned = false;
    /// Runs exactly once unless `mayRepeatCollectives`. Only in files: the
    /// compiler refuses collectives.
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
  /// later, before it is computed again, or a transfer of it still goes on, the
  /// run needs these bytes in addition.
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

  /// A node that runs all rounds of a loop. The chosen row adds to its cost and
  /// workspace, in each run of the node.
  struct Loop {
    struct Row {
      /// Most bytes that one round needs beside inputs and outputs of the loop.
      int64_t bytes = 0;
      /// Time of all rounds.
      int64_t cost = 0;
    };
    int32_t node = 0;
    /// The ways to run it that a plan may choose from.
    std::vector<Row> rows;
    /// What is known of every way to run it, listed or not: each needs at least
    /// the bytes and the cost of one of these. Bounds use them, so that they
    /// hold for ways that are not listed; none: the rows are all the ways there
    /// are.
    std::vector<Row> floors;

    /// Of the cheapest row; there is one.
    int64_t leastCost() const {
      return std::ranges::min(rows, {}, &Row::cost).cost;
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
  /// The node that ends the forward part, or -1; a hint, never needed. Only in
  /// files.
  int32_t loss = -1;
  /// Bytes that are always there; no part of budget and peak. Only in files.
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
  /// The problem that bounds are proved of: loops may run in any way, so the
  /// floors are the rows. A loop with one row is a plain node.
  RecomputeProblem inAnyWay() const;
  /// With the listed ways to run loops alone, none of them with one row.
  RecomputeProblem inListedWays() const;
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
  /// Bounds are proved for this budget where it is larger than the plan's. It
  /// becomes the solution's budget: what is proved of it holds for all plans
  /// within it, however much less was asked of this one.
  int64_t boundBudget = 0;
  /// What an earlier solve found for the same problem: the work goes on from
  /// its plan where that fits, and from its bounds where they are for the same
  /// budget. With `isProved` these are as good as they get.
  const RecomputeSolution *known = nullptr;
  bool isProved = false;
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

/// Of each position in the order of a valid plan, the last one that starts
/// before the transfer of the save or load there has ended; the position itself
/// where nothing does, or where a node runs.
std::vector<size_t> transferEnds(const RecomputeProblem &problem,
                                 const std::vector<int32_t> &rows,
                                 const std::vector<int32_t> &order);

/// Recomputes what the solution claims and returns the first claim that is
/// false, or nothing. No bound above the cost of a plan is accepted, and no
/// certificate that is not exact in 128 bits. Linear in the problem and the
/// plan, times the cuts and cases of the certificate; shares no code with the
/// solver.
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
