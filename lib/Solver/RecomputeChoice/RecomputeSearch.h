//===- RecomputeSearch.h - local search over recomputations ---------------===//
//
// A plan is, per node, the sorted list of stages in which it runs again (stage
// t ends with the first run of node t). Every such set of lists is valid; what
// changes is the cost and the memory held. A value is held from a run of its
// producer to its last use before the next run: one interval per run.
//
//     drop    add a run of a value's producer just before one of its uses, and
//             of the inputs that are not there at that moment, transitively
//     keep    remove a run; runs that nobody reads any more go as well
//     shift   move a run to another use;  swap   a drop and a keep together
//     adopt   run again in a range of stages what another plan does there
//
// Per stage two numbers are kept: the bytes of intervals that span the whole
// stage, and the local peak of what begins or ends in it. A move changes the
// first over ranges and re-evaluates the second in a handful of stages; no
// matrix over time and values exists. Simulated annealing on cost + weight *
// overflow with an adaptive weight; rejected moves are taken back from a log.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTESEARCH_H
#define TENON_LIB_SOLVER_RECOMPUTESEARCH_H

#include "RecomputeGraph.h"
#include "SplitRandom.h"

namespace tenon::solver {

class PlanSearch {
public:
  PlanSearch(const RecomputeGraph &graph, int64_t budget, uint64_t seed);

  /// Starts from a plan. Runs of pinned nodes and useless runs are dropped.
  void load(const Reruns &plan);
  Reruns plan() const;

  int64_t cost() const { return currentCost; }
  int64_t overflow() const { return currentOver; }
  bool feasible() const { return currentOver == 0; }

  struct Schedule {
    int64_t moves = 0;
    /// Temperatures in cost units, first and last of every cycle.
    double hot = 1, cold = 0.01;
    int cycles = 1;
    /// First weight of one byte of overflow in one stage.
    double weight = 1;
    /// The search ends once a plan of this cost is found.
    int64_t target = 0;
    /// Other plans, to take stages over from.
    std::span<const Reruns> guides = {};
  };
  void anneal(const Schedule &schedule);

  /// Drops values until the plan fits the budget: at a fullest stage, each time
  /// the value that costs least per byte and stage of overflow it removes,
  /// among at most `width` tried. Returns the moves spent, at most `moves` or
  /// so.
  int64_t relieve(int64_t moves, int32_t width);

  /// The cheapest feasible plan seen since construction.
  bool hasBest() const { return bestCost >= 0; }
  int64_t bestPlanCost() const { return bestCost; }
  Reruns bestPlan() const;

private:
  struct Interval {
    int32_t begin;
    int32_t end;     // stage of the last use, or -1
    int32_t endNode; // node of the last use
    /// `node` uses it in a stage, perhaps last of all.
    void use(int32_t stage, int32_t node) {
      if (stage > end || (stage == end && node > endNode)) {
        end = stage;
        endNode = node;
      }
    }
    bool operator==(const Interval &) const = default;
  };
  struct Operation {
    int32_t node, stage;
    bool added;
  };
  struct Range {
    int32_t first, last; // stages [first, last)
    int64_t bytes;
  };
  using Runs = std::vector<int32_t>;

  void insertRun(int32_t node, int32_t stage);
  void eraseRun(int32_t node, int32_t stage);
  void addRun(int32_t node, int32_t stage);
  void removeRun(int32_t node, int32_t stage);
  /// Logs that a run was added or removed, and which values that moves.
  void noteChange(int32_t node, int32_t stage, bool isAdded);
  void touch(int32_t value);
  void settle();
  void refresh(int32_t value);
  void moveThrough(std::span<const Interval> from, std::span<const Interval> to,
                   int64_t bytes);
  void addThrough(int32_t first, int32_t last, int64_t bytes);
  void markStage(int32_t stage);
  void evaluateStages();
  int64_t evaluateStage(int32_t stage);
  void setLocal(int32_t stage, int64_t bytes);
  int64_t over(int32_t stage) const {
    return level[stage] > 0 ? level[stage] : 0;
  }
  bool isThere(int32_t value, int32_t stage, int32_t node) const;
  int32_t lastRunBefore(int32_t node, int32_t stage) const;
  bool hasRun(int32_t node, int32_t stage) const;
  bool addTransitively(int32_t node, int32_t stage);
  bool addTransitively(int32_t node, int32_t stage, int64_t hold, size_t limit);
  int32_t findOverflow();
  int32_t fullestStage() const;
  int64_t overflowArea() const { return currentArea; }
  void begin();
  void undo();

  bool drop();
  bool keep();
  bool shift();
  bool adopt(std::span<const Reruns> guides);
  void collectUses(int32_t value, int32_t from, int32_t to);
  void saveBest();

  const RecomputeGraph &graph;
  int64_t budget;
  SplitRandom random;
  std::vector<Runs> runs;                  // per node: stages of further runs
  std::vector<Runs> again;                 // per stage: nodes run again, sorted
  std::vector<std::vector<Interval>> held; // per value: one per run
  /// Per stage: the most bytes there above the budget, negative where there is
  /// room, and the part that begins or ends in it.
  std::vector<int64_t> level, local;
  int64_t currentCost = 0;
  /// Bytes above the budget: the sum of all rises, and the sum over stages.
  int64_t currentOver = 0, currentArea = 0;
  std::vector<Operation> extra;              // all further runs, any order
  std::vector<std::vector<int32_t>> extraAt; // parallel to runs: index in extra

  // The log of the current move.
  std::vector<Operation> operations;
  std::vector<int32_t> touched, changed, dirty;
  std::vector<std::vector<Interval>> changedOld;
  size_t changedCount = 0;
  std::vector<std::pair<int32_t, int64_t>> oldLocal;
  std::vector<int32_t> touchStamp, changeStamp, stageStamp, localStamp;
  int32_t touchClock = 0, changeClock = 0, stageClock = 0;
  std::vector<Range> ranges; // whose levels have changed
  int64_t oldCost = 0, oldOver = 0, oldArea = 0;
  std::vector<Interval> scratch;
  std::vector<std::pair<int32_t, int64_t>> edges; // of differing intervals
  std::vector<int32_t> uses;
  Reruns mine, changes; // in the stages of a guide

  int64_t bestCost = -1;
  bool bestIsCurrent = false;
  std::vector<Runs> bestRuns;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTESEARCH_H
