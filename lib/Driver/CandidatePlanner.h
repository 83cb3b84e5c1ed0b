//===- CandidatePlanner.h - Plans within budgets for one candidate -------===//
//
// Choosing what to recompute and placing what is kept are two problems: the
// first counts live bytes, the second needs an arena, and buffers that share
// memory make it smaller, gaps larger. So they are solved in turn: the first
// round asks for all that the budget allows, a plan's arena tells what the
// count is off by, and the next round asks for that much less. At most
// `mostRounds` rounds; the result is always inside the budget. A plan that then
// leaves room in the budget is followed by bisection between it and all that is
// allowed: a few bytes less can make a plan much slower. Bounds are proved for
// what the budget allows, whatever was asked for, so they hold for every plan
// within the budget.
//
// The budget covers all segments on the device: state, batch, results,
// constants and temporaries with the scratch of kernels and libraries.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_CANDIDATEPLANNER_H
#define TENON_LIB_DRIVER_CANDIDATEPLANNER_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/RecomputeModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace tenon::driver {

/// What a plan needs and costs.
struct PlanFigures {
  int64_t bytes = 0;            // of all segments on the device
  int64_t temporaries = 0;      // of these
  int64_t temporariesBound = 0; // no placing of this plan's buffers needs less
  int64_t livePeak = 0;  // temporaries as the recomputation problem counts
  int64_t liveLimit = 0; // what was asked of the solver
  int64_t hostBytes = 0; // where values wait in the host's memory
  /// Predicted time of the quickest plan without a budget, of all candidates
  /// that were planned.
  int64_t baseNanoseconds = 0;
  int64_t onceNanoseconds = 0; // predicted time of each kernel run once
  int64_t nanoseconds = 0;     // predicted time
  /// Predicted time that every plan within the budget takes, for these kernels
  /// in this order.
  int64_t boundNanoseconds = 0;
};

/// How long a small arena is looked for.
enum class Placing {
  first, // not at all
  quick,
  full,
};

struct PlannedStep : PlanFigures {
  mlir::OwningOpRef<mlir::ModuleOp> module; // in scheduled form
  solver::RecomputeSolution solution;
  size_t planner = 0;     // which one of a search has made it
  size_t candidate = 0;   // of which one it is
  bool isSettled = false; // its bound is one for all that the budget allows
  Placing placing = Placing::first; // of its buffers

  mlir::func::FuncOp main() const {
    return module.get().lookupSymbol<mlir::func::FuncOp>("main");
  }
};

struct SearchOptions {
  bool parallel = true; // several threads work
  bool verify = false;  // MLIR's verifier after each pass, and the form
  /// The way to the host's memory where values may wait there.
  std::optional<memory::HostLink> hostLink;
};

PlannedStep copyOf(const PlannedStep &plan);
constexpr int64_t anyNumberOfBytes = -1;

/// Places the buffers of the plan's module and reads off what they need; false
/// after an error was reported. Where the smallest arena that is found does not
/// leave all segments within `limit` bytes, one that does is looked for.
bool placeBuffers(PlannedStep &plan, SearchOptions options, Placing placing,
                  int64_t limit = anyNumberOfBytes);

class CandidatePlanner {
public:
  /// In which order a plan's kernels run the first time.
  enum class Order {
    forBudgets,    // what is computed again takes little longer in it
    withoutBudget, // the one of a step that is planned without a budget
  };
  /// `grouped` carries times and scratch sizes; it is not changed.
  CandidatePlanner(mlir::ModuleOp grouped, SearchOptions options,
                   Order wanted = Order::forBudgets)
      : grouped(grouped), search(options), wanted(wanted) {}

  /// What finding a plan is worth.
  enum class Effort {
    least, // one look among many
    quick, // any plan, or a cheap one where it is soon found
    full,  // a cheap plan and a good bound
  };
  static constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

  /// The rounds of looking for a plan within a budget that were made so far.
  struct Rounds {
    int made = 0;
    bool over = false;                  // no further one is of use
    PlanFigures last;                   // of the last plan, which was too large
    solver::RecomputeSolution solution; // the last plan
    bool canContinue() const { return !over && made < mostRounds; }
  };

  /// The plan that keeps everything; null after an error was reported.
  const PlannedStep *keepEverything();
  /// A plan within `budget` bytes, if one is found in one more round; not one
  /// that surely takes `nanoseconds`.
  std::optional<PlannedStep> next(int64_t budget, Rounds &rounds,
                                  int64_t nanoseconds = noLimit);
  /// The same, with all rounds.
  std::optional<PlannedStep> within(int64_t budget);
  /// A plan within `budget` bytes that is cheaper than `known`, with more live
  /// bytes, if one is found by bisection.
  std::optional<PlannedStep> closer(const PlannedStep &known, int64_t budget);
  /// A plan within `budget` bytes that is cheaper than `known` or has a better
  /// bound, if one is found.
  std::optional<PlannedStep> improved(const PlannedStep &known, int64_t budget);
  /// Makes the bound of a plan one for all that the budget allows: the best
  /// that was proved for as many live bytes or more.
  void settleBound(PlannedStep &plan, int64_t budget);
  /// The best bound that was proved for all plans within `budget`.
  int64_t boundWithin(int64_t budget);
  /// Looks for plans with few bytes among those with at most `liveBytes` of
  /// temporaries as the solver counts them.
  void descend(int64_t liveBytes);
  /// From now on, plans that are found are kept for takeFewest(), or not; the
  /// one that keeps everything counts as found.
  void collect(bool on);
  /// Of all plans kept since the last call, the one with the fewest bytes.
  std::optional<PlannedStep> takeFewest();

private:
  static constexpr int mostRounds = 4;
  static constexpr int64_t neighbours = 9;

  /// Does what no budget changes, once.
  bool order();
  /// How much is asked of the solver, and what there is already.
  struct Request {
    /// Temporaries as the solver counts them: at most these for the plan, and
    /// bounds for all plans with at most those.
    int64_t liveBytes = 0, allowedBytes = 0;
    /// Buffers are placed within these bytes of all segments, where that is
    /// found to be possible.
    int64_t budget = anyNumberOfBytes;
    Effort effort = Effort::quick;
    /// A small arena is looked for once the plan turns out to be of use.
    bool isPlacedLater = false;
    /// A plan that takes this long is of no use.
    int64_t nanoseconds = noLimit;
    /// An earlier solution, whose proof may be as good as it gets.
    const solver::RecomputeSolution *known = nullptr;
    bool isProved = false;
  };
  std::optional<PlannedStep> plan(const Request &request);
  /// Temporaries that the budget leaves beside the other segments.
  int64_t allowedBy(int64_t budget);
  void remember(const solver::RecomputeSolution &solution);

  /// Of the plans so far the order of the cheapest that fits, or else of the
  /// smallest; empty without any.
  std::vector<int32_t> startFor(int64_t liveBytes) const;

  mlir::ModuleOp grouped;
  SearchOptions search;
  Order wanted;
  mlir::OwningOpRef<mlir::ModuleOp> ordered;     // once order() ran
  std::unique_ptr<memory::RecomputeModel> model; // of `ordered`
  std::optional<PlannedStep> everything;         // once keepEverything() ran
  struct Start {
    int64_t livePeak, nanoseconds;
    std::vector<int32_t> order;
  };
  std::vector<Start> starts; // the plans so far that compute anything again
  /// Bounds that were proved so far, each for at most so many live bytes.
  struct Proof {
    int64_t liveBytes, bound;
    solver::RecomputeCertificate certificate;
  };
  std::vector<Proof> proofs;
  bool isCollecting = false;
  std::vector<PlannedStep> found; // while collecting
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_CANDIDATEPLANNER_H
