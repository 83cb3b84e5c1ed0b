//===- RecomputeSolver.h - bounds and plans for a budget ------------------===//
//
// What solveRecompute() and the frontier are made of: the bounds over all cut
// nodes, whose lines are kept from budget to budget, and the plan for a problem
// without variants and loops.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTESOLVER_H
#define TENON_LIB_SOLVER_RECOMPUTESOLVER_H

#include "RecomputeCases.h"
#include "RecomputeCut.h"
#include "RecomputeSeries.h"
#include "RecomputeVariants.h"
#include "RecomputeViews.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

namespace tenon::solver {

/// A cut node with its network and all lines found so far.
struct CutCandidate {
  int32_t cut;
  std::unique_ptr<CutNetwork> network; // once it is needed
  std::vector<CutLine> front;
  /// What the bound could be at the budget that was last asked for.
  int64_t most = 0, budget = -1;
};

/// A bound and what is needed to rebuild its certificate.
struct BoundChoice {
  int64_t bound = 0;
  int32_t candidate = -1;
  Price price;
};

struct RecomputePlan {
  Reruns reruns;
  int64_t cost = 0;
  int64_t peak = 0;
};

class RecomputeSolver {
public:
  RecomputeSolver(const RecomputeProblem &problem,
                  const RecomputeOptions &options);

  /// The budget is proved too small; fills `solution`.
  bool provedInfeasible(int64_t budget, RecomputeSolution &solution);
  BoundChoice bound(int64_t budget, bool anyOrder);
  RecomputeCertificate certificate(const BoundChoice &choice, bool anyOrder);
  /// The best plan found; `hints` are plans for this or another budget, to
  /// start from and to take stages over from. The search ends with a plan that
  /// costs no more than `target`; with `any`, as soon as one of its starts led
  /// to a plan.
  std::optional<RecomputePlan> plan(int64_t budget, int64_t target,
                                    int64_t moves, uint64_t firstSeed,
                                    std::span<const RecomputePlan> hints,
                                    bool any = false);
  std::optional<RecomputePlan> seedPlan(int64_t budget,
                                        std::vector<Reruns> *seeds);
  /// A bound of several cuts if it is better than the one of `known`.
  SeriesProof series(int64_t budget, SeriesProof known, int64_t upper) {
    int tries = std::min(100, 30'000 / (graph.nodes + 1));
    return improveBySeries(graph, budget, keepAll, std::move(known), upper,
                           tries);
  }
  /// A bound that sees cases from several cuts, if it is better than the one of
  /// `known`.
  SeriesProof views(int64_t budget, SeriesProof known, int64_t upper);
  /// A bound that tells cases apart, if it is better than the one of `known`.
  SeriesProof cases(int64_t budget, SeriesProof known, int64_t upper);
  /// Rows and waits that prices around the one of `choice` suggest, without
  /// repetitions; the first has no waits and the cheapest rows.
  std::vector<RecomputeChoices> suggestions(const RecomputeProblem &problem,
                                            const BoundChoice &choice,
                                            int64_t budget);
  /// Keeps the `count` candidates with the best bounds at `budget`.
  void narrow(int64_t budget, size_t count);

  const RecomputeGraph graph;
  RecomputePlan everything;
  int64_t smallestBudget = 0; // the largest working set
  int64_t movesUsed = 0;
  /// Set when nobody needs what a search may still find.
  std::atomic<bool> isStopped = false;

private:
  std::vector<CutCandidate> &candidates(bool anyOrder, int64_t budget);
  CutNetwork &networkOf(CutCandidate &candidate, bool anyOrder) const;
  void prune(std::vector<int32_t> &nodes, int64_t budget) const;

  RecomputeOptions options;
  int32_t loss;
  int32_t largestWorkingSet = -1;
  bool anyPinned = false;
  std::vector<int64_t> keepAll; // bytes at each stage when all is kept
  std::vector<int32_t> cutNodes;
  std::vector<CutCandidate> given, any;
  int64_t flows;
};

/// The moves for a graph of this size.
int64_t effectiveMoves(const RecomputeGraph &graph,
                       const RecomputeOptions &options);
/// Says that no plan is worth being looked for.
RecomputeSolution useless(RecomputeSolution solution);

/// Solves a valid problem without variants and loops; only for its plan, the
/// dearer bounds are left out. Bounds are those of `anyWay`, if it is given,
/// whose nodes need no more.
RecomputeSolution solvePlain(const RecomputeProblem &problem, int64_t budget,
                             const RecomputeOptions &options,
                             bool onlyPlan = false,
                             const RecomputeProblem *anyWay = nullptr);

/// Solves a valid problem.
RecomputeSolution solveValid(const RecomputeProblem &problem, int64_t budget,
                             const RecomputeOptions &options);

/// Solves a valid problem with them: the bound comes from the relaxation, the
/// plan from choices that the bound's price suggests.
RecomputeSolution solveWithChoices(const RecomputeProblem &problem,
                                   int64_t budget,
                                   const RecomputeOptions &options);
/// Its frontier, every budget by itself.
void frontierWithChoices(
    const RecomputeProblem &problem, int32_t count,
    const RecomputeOptions &options,
    const std::function<void(const RecomputeSolution &)> &visit);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTESOLVER_H
