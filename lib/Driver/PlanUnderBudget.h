//===- PlanUnderBudget.h - The stage `plan` with a memory budget ---------===//
//
// Choosing what to recompute and placing what is kept are two problems: the
// first counts live bytes, the second needs an arena, and buffers that share
// memory make it smaller, gaps larger. So they are solved in turn: a plan's
// arena tells what the count is off by, and the next round asks for that much
// less. At most `mostRounds` rounds; the result is always inside the budget.
//
// The budget covers all segments: state, batch, results, constants and
// temporaries with the scratch of kernels and libraries.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_PLANUNDERBUDGET_H
#define TENON_LIB_DRIVER_PLANUNDERBUDGET_H

#include "tenon/Memory/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <vector>

namespace tenon::driver {

/// What a plan needs and costs.
struct PlanFigures {
  int64_t bytes = 0;            // of all segments
  int64_t temporaries = 0;      // of these
  int64_t temporariesBound = 0; // no placing of this plan's buffers needs less
  int64_t livePeak = 0; // temporaries as the recomputation problem counts
  int64_t baseNanoseconds = 0; // predicted time with nothing recomputed
  int64_t nanoseconds = 0;     // predicted time
  /// Predicted time that every plan within `livePeak` takes, for these kernels
  /// in this order.
  int64_t boundNanoseconds = 0;
};

struct PlannedStep : PlanFigures {
  mlir::OwningOpRef<mlir::ModuleOp> module; // in scheduled form
  size_t alternative = 0;                   // whose plan it is
};

struct FrontierPoint : PlanFigures {
  int64_t budget = 0;
};

/// How far a plan is above the bound, in percent of the extra time that the
/// bound asks for; "all" where it asks for none.
std::string gapOfExtra(const PlanFigures &plan);

/// A line per point, with the knee marked: where saving bytes gets dear.
void printFrontier(llvm::ArrayRef<FrontierPoint> points,
                   llvm::raw_ostream &out);

/// What the recomputation problem of a planned step leaves out, a line each
/// with its reason, and what share of the bytes that is.
void printExclusions(mlir::ModuleOp planned, llvm::raw_ostream &out);
/// Bytes of values that nothing may compute again, and of all values.
std::pair<int64_t, int64_t> excludedBytes(mlir::ModuleOp planned);
/// The same lines for the report.
llvm::json::Array exclusionsJSON(mlir::ModuleOp planned);

class BudgetPlanner {
public:
  /// `grouped` carries times and scratch sizes; it is not changed.
  BudgetPlanner(mlir::ModuleOp grouped, const memory::MemoryOptions &options)
      : grouped(grouped), options(options) {}

  /// The plan that keeps everything; nothing after an error was reported.
  std::optional<PlannedStep> keepEverything();
  /// A plan within `budget` bytes, if one is found.
  std::optional<PlannedStep> within(int64_t budget);
  /// The plan with the fewest bytes that is found.
  std::optional<PlannedStep> smallest();

private:
  static constexpr int mostRounds = 4;
  /// For one plan among many, when looking for the smallest budget.
  static constexpr int64_t fewMoves = 20'000;

  /// Does what no budget changes, once.
  bool order();
  /// Plans with at most `liveBytes` of temporaries as the solver counts them.
  std::optional<PlannedStep> plan(int64_t liveBytes, int64_t moves);

  mlir::ModuleOp grouped;
  mlir::OwningOpRef<mlir::ModuleOp> ordered; // once order() ran
  const memory::MemoryOptions &options;
  std::optional<PlanFigures> everything; // of keepEverything(), once it ran
};

/// Plans for several groupings of one step, of which the first keeps most
/// between its loops and takes least time. One with step::wholeGroupsAttrName
/// leaves fewer choices, among which a cheap plan is found more easily: it is
/// planned where the others end far above their bound.
class AlternativePlanner {
public:
  AlternativePlanner(llvm::ArrayRef<mlir::ModuleOp> grouped,
                     const memory::MemoryOptions &options);

  /// The plan of the first that keeps everything; nothing after an error was
  /// reported.
  std::optional<PlannedStep> keepEverything();
  /// The quickest plan within `budget` bytes, if one is found.
  std::optional<PlannedStep> within(int64_t budget);
  /// The plan with the fewest bytes that is found.
  std::optional<PlannedStep> smallest();
  /// The plan, or a quicker one with whole groups that fits `budget` as well.
  PlannedStep improved(PlannedStep plan, int64_t budget);
  /// Plans for `count` budgets, evenly spaced from the smallest with a plan to
  /// keeping everything; bytes never fall and times never rise along them.
  /// Empty after an error was reported.
  std::vector<FrontierPoint> frontier(int64_t count);

private:
  /// Says whose plan it is, and measures it by the step that keeps everything.
  PlannedStep named(PlannedStep plan, size_t alternative) const;

  /// From this part of the extra time that the bound asks for.
  static constexpr int64_t farShare = 20;

  std::vector<BudgetPlanner> planners;
  std::optional<size_t> whole;           // whose groups stay whole
  std::optional<PlanFigures> everything; // of keepEverything(), once it ran
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_PLANUNDERBUDGET_H
