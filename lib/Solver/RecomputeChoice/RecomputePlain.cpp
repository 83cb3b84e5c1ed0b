//===- RecomputePlain.cpp - a plan for one budget, with its proof ---------===//
//
// The walk from a problem without loops and variants to a plan: a short search,
// then longer ones beside the better bounds, then what small problems allow.
//
//===----------------------------------------------------------------------===//

#include "RecomputeChain.h"
#include "RecomputeExact.h"
#include "RecomputeSolver.h"

#include <algorithm>
#include <future>

using namespace tenon::solver;

using Plan = RecomputePlan;

int64_t tenon::solver::effectiveMoves(const RecomputeGraph &graph,
                                      const RecomputeOptions &options) {
  // A move touches more stages on a longer graph.
  double factor = std::min(1.0, 2'000.0 / double(graph.nodes + 1));
  return int64_t(double(options.moves) * factor * factor);
}

/// The plan of an order, if it is one of repetitions alone.
static std::optional<Plan> planOf(const RecomputeGraph &graph,
                                  std::span<const int32_t> order) {
  Reruns reruns;
  int32_t stage = 0;
  for (int32_t node : order) {
    if (node < 0 || node > stage || stage >= graph.nodes)
      return std::nullopt;
    if (node == stage)
      ++stage;
    else if (graph.pinned[node])
      return std::nullopt;
    else
      reruns.push_back({stage, node});
  }
  if (stage < graph.nodes)
    return std::nullopt;
  std::sort(reruns.begin(), reruns.end());
  reruns.erase(std::unique(reruns.begin(), reruns.end()), reruns.end());
  RecomputeMeasure found = measure(graph, orderOf(graph.nodes, reruns));
  return Plan{std::move(reruns), found.cost, found.peak};
}

namespace {
/// The better bounds for a budget.
struct Proof {
  SeriesProof given;
  int64_t anyOrder = 0;
  RecomputeCertificate anyOrderCertificate;
};
} // namespace

/// The most that a plan may cost to be near enough to a bound.
static int64_t nearEnoughTo(const RecomputeGraph &graph,
                            const RecomputeOptions &options, int64_t bound) {
  const auto base = double(graph.baseCost);
  return bound +
         int64_t(options.nearEnough * (double(bound) - base + 0.01 * base));
}

/// The other way round: the bound, or one just above it, from which on a plan
/// of this cost is near enough.
static int64_t boundFor(const RecomputeGraph &graph,
                        const RecomputeOptions &options, int64_t cost) {
  const auto base = double(graph.baseCost);
  const double extra =
      (double(cost) - base - 0.01 * options.nearEnough * base) /
      (1 + options.nearEnough);
  return std::min(cost, graph.baseCost + int64_t(std::max(0.0, extra)) + 2);
}

/// Shares nothing with the search, so that both can run at once; the bounds
/// need not rise above `upper`.
static Proof prove(const RecomputeProblem &problem, int64_t budget,
                   const RecomputeOptions &options, int64_t upper) {
  RecomputeSolver solver(problem, options);
  BoundChoice given = solver.bound(budget, false);
  BoundChoice any = solver.bound(budget, true);
  Proof proof{{given.bound, solver.certificate(given, false)},
              any.bound,
              solver.certificate(any, true)};
  if (proof.given.bound >= upper)
    return proof;
  SeriesProof views = solver.views(budget, proof.given, upper);
  if (views.bound < upper)
    proof.given = solver.series(budget, std::move(proof.given), upper);
  if (std::max(views.bound, proof.given.bound) < upper)
    proof.given = solver.cases(budget, std::move(proof.given), upper);
  if (views.bound > proof.given.bound)
    proof.given = std::move(views);
  return proof;
}

/// Looks longer for a plan that is cheaper than `known`.
static std::optional<Plan> searchOn(RecomputeSolver &solver, int64_t budget,
                                    int64_t target, int64_t moves,
                                    uint64_t seed, const Plan &known,
                                    bool isHard) {
  std::vector<Plan> plans = {known}; // the cheapest first
  auto attempt = [&](int64_t share, uint64_t offset, bool goesOn) {
    // A search that was stopped is not used.
    if (solver.isStopped || plans.front().cost <= target)
      return;
    std::optional<Plan> other = solver.plan(
        budget, target, share, seed + offset,
        goesOn ? std::span<const Plan>(plans) : std::span<const Plan>());
    if (!other)
      return;
    auto place =
        std::find_if(plans.begin(), plans.end(),
                     [&](const Plan &plan) { return other->cost < plan.cost; });
    plans.insert(place, std::move(*other));
  };
  // A search that does not know the plan finds better ones, unless it was hard
  // to find; then the good parts of all are joined.
  if (!isHard) {
    // A small graph needs fewer.
    const int64_t part = moves / 8 * std::min(solver.graph.nodes, 512) / 512;
    attempt(part, 2, false);
    attempt(part, 3, false);
    isHard = plans.size() == 1;
    if (!isHard)
      attempt(part, 4, true);
  }
  if (isHard) {
    attempt(moves / 2, 100, true);
    attempt(moves / 4, 100, true);
  }
  if (plans.front().cost >= known.cost)
    return std::nullopt;
  return std::move(plans.front());
}

RecomputeSolution tenon::solver::useless(RecomputeSolution solution) {
  solution.status = RecomputeStatus::Undecided;
  solution.message =
      "every plan costs at least " + std::to_string(solution.bound);
  return solution;
}

RecomputeSolution tenon::solver::solvePlain(const RecomputeProblem &problem,
                                            int64_t budget,
                                            const RecomputeOptions &options,
                                            bool onlyPlan,
                                            const RecomputeProblem *anyWay) {
  RecomputeSolution solution;
  const int64_t boundBudget = std::max(budget, options.boundBudget);
  solution.budget = boundBudget;
  RecomputeSolver solver(problem, options);
  std::optional<RecomputeSolver> apart;
  RecomputeSolver &prover = anyWay ? apart.emplace(*anyWay, options) : solver;
  solution.bound = solution.anyOrderBound = solver.graph.baseCost;
  const bool isTight = solver.everything.peak > budget;
  // A plan of a short search says how much more the bounds can gain. Where a
  // short one finds none, a long one comes first: bounds are of no use without
  // a plan.
  const int64_t moves = effectiveMoves(solver.graph, options);
  std::optional<Plan> plan;
  bool isHard = false;
  const RecomputeSolution *known = options.known;
  const bool isBounded = known && known->budget == boundBudget;
  if (known)
    plan = planOf(solver.graph, known->order);
  if (isBounded) {
    solution.bound = known->bound;
    solution.certificate = known->certificate;
    solution.anyOrderBound = known->anyOrderBound;
    solution.anyOrderCertificate = known->anyOrderCertificate;
  } else if (isTight) {
    BoundChoice given = prover.bound(boundBudget, false);
    solution.bound = given.bound;
    solution.certificate = prover.certificate(given, false);
  }
  if (plan && plan->peak <= budget && plan->cost <= known->cost) {
    solver.movesUsed = known->movesUsed;
  } else {
    plan.reset();
    RecomputeSolution infeasible;
    if (prover.provedInfeasible(budget, infeasible)) {
      infeasible.budget = budget;
      infeasible.bound = infeasible.anyOrderBound = solver.graph.baseCost;
      infeasible.status = RecomputeStatus::Infeasible;
      return infeasible;
    }
    if (solution.bound >= options.useless)
      return useless(std::move(solution));
    plan =
        solver.plan(budget, solution.bound, moves / 16, options.seed + 1, {});
    const std::optional<Plan> start = planOf(solver.graph, options.start);
    if (start && start->peak <= budget && (!plan || start->cost < plan->cost))
      plan = start;
    if (!plan)
      plan =
          solver.plan(budget, solution.bound, moves / 4, options.seed,
                      start ? std::span(&*start, 1) : std::span<const Plan>(),
                      /*any=*/true);
    isHard = !plan && !options.quick;
    if (isHard)
      plan = solver.plan(budget, solution.bound, moves, options.seed, {});
  }
  auto nearEnough = [&](int64_t bound) {
    return nearEnoughTo(solver.graph, options, bound);
  };
  const bool isProved = onlyPlan || (isBounded && options.isProved);
  if (plan && isTight && !options.quick && isProved && !isHard) {
    if (auto better = searchOn(solver, budget, nearEnough(solution.bound),
                               moves, options.seed, *plan, isHard))
      plan = std::move(better);
  } else if (plan && isTight && !options.quick && !isProved) {
    const int64_t movesBefore = solver.movesUsed;
    std::future<Proof> proof = std::async(
        options.parallel ? std::launch::async : std::launch::deferred, [&] {
          Proof found = prove(anyWay ? *anyWay : problem, boundBudget, options,
                              boundFor(solver.graph, options, plan->cost));
          // Then no other plan is needed, whatever the search finds.
          solver.isStopped = plan->cost <= nearEnough(found.given.bound);
          return found;
        });
    if (!options.parallel)
      proof.wait();
    std::optional<Plan> better;
    if (!solver.isStopped)
      better = searchOn(solver, budget, nearEnough(solution.bound), moves,
                        options.seed, *plan, isHard);
    Proof found = proof.get();
    solution.bound = found.given.bound;
    solution.certificate = std::move(found.given.certificate);
    solution.anyOrderBound = found.anyOrder;
    solution.anyOrderCertificate = std::move(found.anyOrderCertificate);
    if (solver.isStopped)
      solver.movesUsed = movesBefore;
    else if (better)
      plan = std::move(better);
  }
  solution.movesUsed = solver.movesUsed;
  if (plan) {
    solution.order = orderOf(solver.graph.nodes, plan->reruns);
    solution.cost = plan->cost;
    solution.peak = plan->peak;
  }
  std::vector<int32_t> chain =
      plan && plan->cost <= solution.bound
          ? std::vector<int32_t>()
          : planChain(solver.graph, budget, options.moves);
  if (!chain.empty()) {
    RecomputeMeasure found = measure(solver.graph, chain);
    if (found.peak <= budget && (!plan || found.cost < plan->cost)) {
      solution.order = std::move(chain);
      solution.cost = found.cost;
      solution.peak = found.peak;
      plan = Plan{{}, found.cost, found.peak};
    }
  }
  if (canSearchExactly(solver.graph) &&
      (!plan || plan->cost > solution.bound)) {
    int64_t states = options.moves;
    std::vector<int32_t> order = searchExactly(
        solver.graph, {}, budget, plan ? plan->cost : INT64_MAX / 2, states);
    solution.movesUsed += options.moves - states;
    if (!order.empty()) {
      // The search does not know what depends on other runs.
      RecomputeMeasure found = measure(solver.graph, order);
      if (found.peak <= budget) {
        solution.order = std::move(order);
        solution.cost = found.cost;
        solution.peak = found.peak;
      }
    }
  }
  if (solution.order.empty() && solver.graph.nodes > 0) {
    solution.status = RecomputeStatus::Undecided;
    solution.message =
        "no plan found within " + std::to_string(options.moves) + " moves";
    return solution;
  }
  solution.status = RecomputeStatus::Solved;
  return solution;
}
