//===- RecomputeVariantSearch.cpp - solve with loops and variants ---------===//
//
// Tries the rows and waits that the best cut suggests, improves them one at a
// time, and leaves what runs again to the solver for plain problems. Small
// problems are searched exactly.
//
//===----------------------------------------------------------------------===//

#include "RecomputeExact.h"
#include "RecomputeSolver.h"

using namespace tenon::solver;

std::vector<RecomputeChoices>
RecomputeSolver::suggestions(const RecomputeProblem &problem,
                             const BoundChoice &choice, int64_t budget) {
  std::vector<char> rerun(graph.nodes, 0);
  std::vector<RecomputeChoices> result = {
      chooseAtPrice(problem, graph, 0, rerun, 0)};
  if (everything.peak <= budget && choice.candidate < 0 &&
      problem.loops.empty())
    return result;
  // Without a bound that says better: a little above nothing.
  double start = choice.candidate < 0 ? 0.01 * double(graph.baseCost + 1) /
                                            double(everything.peak + 1)
                                      : choice.price.value();
  int32_t cut = static_cast<int32_t>(
      std::max_element(keepAll.begin(), keepAll.end() - 1) - keepAll.begin());
  CutNetwork *network = nullptr;
  if (choice.candidate >= 0) {
    network = given[choice.candidate].network.get();
    cut = network->cutNode();
  }
  for (double factor : {1.0, 0.5, 2.0, 0.1, 8.0, 64.0, 1e6}) {
    double price = start * factor;
    if (network) {
      CutLine line = network->minimumCut(network->makePrice(price));
      std::span<const int32_t> nodes = network->nodes();
      for (size_t i = 0; i < nodes.size(); ++i)
        rerun[nodes[i]] = line.rerun[i];
    }
    RecomputeChoices next = chooseAtPrice(problem, graph, cut, rerun, price);
    // Waiting instead of running anything again, too.
    std::vector<char> none(graph.nodes, 0);
    RecomputeChoices all = chooseAtPrice(problem, graph, cut, none, price);
    for (RecomputeChoices *one : {&next, &all})
      if (std::find(result.begin(), result.end(), *one) == result.end())
        result.push_back(std::move(*one));
  }
  return result;
}

/// Sorts the waits by transfer per byte they free and drops the last ones until
/// the others are in time.
static void keepInTime(const RecomputeProblem &problem,
                       RecomputeChoices &choices) {
  using Wait = RecomputeChoices::Wait;
  auto rank = [&](const Wait &wait) {
    const auto &variant = problem.variants[wait.variant];
    return std::pair(double(variant.transfer) /
                         double(problem.bytes(variant.value) + 1),
                     wait);
  };
  std::vector<Wait> waits = choices.waits;
  std::sort(waits.begin(), waits.end(),
            [&](const Wait &a, const Wait &b) { return rank(a) < rank(b); });
  // Of no waits and one more than all, the first is in time, the last is not.
  size_t low = 0, high = waits.size() + 1;
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    choices.waits.assign(waits.begin(), waits.begin() + middle);
    (fixChoices(problem, choices) ? low : high) = middle;
  }
  choices.waits.assign(waits.begin(), waits.begin() + low);
}

namespace {
/// Chooses rows and waits, and what runs again beside them.
class VariantSearch {
public:
  using Wait = RecomputeChoices::Wait;

  VariantSearch(const RecomputeProblem &problem, int64_t budget,
                const RecomputeOptions &options)
      : problem(problem), budget(budget), options(options) {}

  /// Solves with these choices within `moves`; true if that is the best so far.
  bool attempt(const RecomputeChoices &choices, int64_t moves);
  /// Changes rows, drops waits and adds some of `pool` one at a time, while
  /// tries are left.
  void improve(const std::vector<Wait> &pool, int tries, int64_t moves);
  /// Tries all there is, if that is little.
  void exhaust(int64_t states);

  /// Status, cost, peak, order, rows and moves; no bound.
  RecomputeSolution best;
  RecomputeChoices chosen;

private:
  const RecomputeProblem &problem;
  int64_t budget;
  RecomputeOptions options;
};
} // namespace

bool VariantSearch::attempt(const RecomputeChoices &choices, int64_t moves) {
  std::optional<FixedProblem> fixed = fixChoices(problem, choices);
  if (!fixed)
    return false;
  RecomputeOptions less = options;
  less.moves = moves;
  less.quick = false; // it is short already
  less.flows = options.flows / 8;
  less.boundBudget = 0;
  less.known = nullptr;
  RecomputeSolution found = solvePlain(fixed->problem, budget, less, true);
  best.movesUsed += found.movesUsed;
  if (found.status != RecomputeStatus::Solved)
    return false;
  std::vector<int32_t> order;
  for (int32_t node : found.order)
    if (fixed->operations[node] >= 0)
      order.push_back(fixed->operations[node]);
  std::optional<RecomputeMeasure> measured =
      measureOperations(problem, choices.rows, order);
  if (!measured || measured->peak > budget ||
      (best.status == RecomputeStatus::Solved && measured->cost >= best.cost))
    return false;
  best.status = RecomputeStatus::Solved;
  best.cost = measured->cost;
  best.peak = measured->peak;
  best.order = std::move(order);
  best.rows = choices.rows;
  chosen = choices;
  return true;
}

void VariantSearch::improve(const std::vector<Wait> &pool, int tries,
                            int64_t moves) {
  bool improved = best.status == RecomputeStatus::Solved;
  while (improved) {
    improved = false;
    for (size_t loop = 0; loop < problem.loops.size(); ++loop)
      for (size_t row = 0; row < problem.loops[loop].rows.size(); ++row) {
        RecomputeChoices next = chosen;
        if (next.rows[loop] == int32_t(row) || tries-- <= 0)
          continue;
        next.rows[loop] = static_cast<int32_t>(row);
        improved |= attempt(next, moves);
      }
    for (size_t wait = chosen.waits.size(); wait-- > 0;) {
      RecomputeChoices next = chosen;
      if (wait >= next.waits.size() || tries-- <= 0)
        continue;
      next.waits.erase(next.waits.begin() + wait);
      improved |= attempt(next, moves);
    }
    for (const Wait &wait : pool) {
      RecomputeChoices next = chosen;
      bool waits = std::any_of(next.waits.begin(), next.waits.end(),
                               [&](const Wait &other) {
                                 return problem.variants[other.variant].value ==
                                        problem.variants[wait.variant].value;
                               });
      if (waits || tries-- <= 0)
        continue;
      next.waits.push_back(wait);
      improved |= attempt(next, moves);
    }
    improved &= tries > 0;
  }
}

void VariantSearch::exhaust(int64_t states) {
  std::vector<int32_t> rows(problem.loops.size(), 0);
  for (int combination = 0; combination < 64; ++combination) {
    std::optional<FixedProblem> fixed = fixChoices(problem, {rows, {}});
    RecomputeGraph graph(fixed->problem);
    if (!canSearchExactly(graph, problem.variants))
      return;
    bool solved = best.status == RecomputeStatus::Solved;
    int64_t before = states;
    std::vector<int32_t> order =
        searchExactly(graph, problem.variants, budget,
                      solved ? best.cost : INT64_MAX / 2, states);
    best.movesUsed += before - states;
    std::optional<RecomputeMeasure> measured =
        measureOperations(problem, rows, order);
    if (!order.empty() && measured && measured->peak <= budget) {
      best.status = RecomputeStatus::Solved;
      best.cost = measured->cost;
      best.peak = measured->peak;
      best.order = std::move(order);
      best.rows = rows;
    }
    size_t next = 0;
    for (; next < rows.size(); ++next) {
      if (++rows[next] < int32_t(problem.loops[next].rows.size()))
        break;
      rows[next] = 0;
    }
    if (next == rows.size())
      return;
  }
}

/// The problem without rows whose loop would exceed the budget by itself; a
/// loop of which no row fits keeps all.
static RecomputeProblem withinBudget(const RecomputeProblem &problem,
                                     int64_t budget) {
  RecomputeProblem result = problem;
  result.loops.clear();
  const RecomputeGraph withoutRows(result);
  result.loops = problem.loops;
  for (RecomputeProblem::Loop &loop : result.loops) {
    const int64_t others = withoutRows.workingSet(loop.node);
    std::vector<RecomputeProblem::Loop::Row> rows = loop.rows;
    std::erase_if(rows, [&](const RecomputeProblem::Loop::Row &row) {
      return others + row.bytes > budget;
    });
    if (!rows.empty())
      loop.rows = std::move(rows);
  }
  return result;
}

RecomputeSolution
tenon::solver::solveWithChoices(const RecomputeProblem &problem, int64_t budget,
                                const RecomputeOptions &options) {
  RecomputeSolution solution;
  const int64_t boundBudget = std::max(budget, options.boundBudget);
  solution.budget = boundBudget;
  // What is proved is proved of all ways to run the loops.
  const RecomputeProblem anyWay = problem.inAnyWay();
  RecomputeSolver inAnyWay(anyWay, options);
  solution.bound = solution.anyOrderBound = inAnyWay.graph.baseCost;
  if (inAnyWay.provedInfeasible(budget, solution)) {
    solution.budget = budget;
    solution.status = RecomputeStatus::Infeasible;
    return solution;
  }
  // No plan runs a loop in a way that does not fit, so bounds need not allow
  // for it.
  const RecomputeProblem fitting = withinBudget(anyWay, boundBudget);
  RecomputeSolver prover(fitting, options);
  BoundChoice least = prover.bound(boundBudget, false);
  BoundChoice any = prover.bound(boundBudget, true);
  solution.bound = least.bound;
  solution.certificate = prover.certificate(least, false);
  solution.anyOrderBound = any.bound;
  solution.anyOrderCertificate = prover.certificate(any, true);
  if (solution.bound >= options.useless)
    return useless(std::move(solution));

  RecomputeSolver solver(problem, options);
  BoundChoice given = solver.bound(budget, false);
  std::vector<RecomputeChoices> suggestions =
      solver.suggestions(problem, given, budget);
  // Every attempt costs some passes over the graph, whatever its moves.
  int tries = std::clamp<int>(40'000 / (solver.graph.nodes + 1), 2, 48);
  // Of many variants a look tries few; the first suggestions are the likely
  // ones.
  const bool isLook = options.quick && !problem.variants.empty();
  if (isLook)
    tries = std::min(tries, 4);
  if (suggestions.size() > size_t(tries) + 1)
    suggestions.resize(tries + 1);
  auto each = static_cast<int64_t>(suggestions.size() + tries);
  const int64_t longMoves = options.moves / (isLook ? 8 : 2);
  VariantSearch search(problem, budget, options);
  std::vector<RecomputeChoices::Wait> pool;
  for (RecomputeChoices &choices : suggestions) {
    pool.insert(pool.end(), choices.waits.begin(), choices.waits.end());
    keepInTime(problem, choices);
    // Many transfers end too late to make room where it is needed: fewer, too.
    for (int part = 0; part < 3; ++part) {
      search.attempt(choices, options.moves / (4 * each));
      if (choices.waits.size() < 4)
        break;
      choices.waits.resize(choices.waits.size() / 2);
    }
  }
  std::sort(pool.begin(), pool.end());
  pool.erase(std::unique(pool.begin(), pool.end()), pool.end());
  search.improve(pool, tries, options.moves / (2 * each));
  if (search.best.status == RecomputeStatus::Solved &&
      search.best.cost > solution.bound)
    search.attempt(RecomputeChoices(search.chosen), longMoves);
  // Where transfers are dear, a plan without any is the best, and needs as long
  // a search as one with some.
  if (!problem.variants.empty() &&
      (search.best.status != RecomputeStatus::Solved ||
       (search.best.cost > solution.bound && !search.chosen.waits.empty())) &&
      !suggestions.empty())
    search.attempt({search.best.status == RecomputeStatus::Solved
                        ? search.chosen.rows
                        : suggestions.front().rows,
                    {}},
                   longMoves);
  if (search.best.status != RecomputeStatus::Solved ||
      search.best.cost > solution.bound)
    search.exhaust(options.moves);
  solution.status = search.best.status;
  solution.movesUsed = search.best.movesUsed;
  if (solution.status != RecomputeStatus::Solved) {
    solution.status = RecomputeStatus::Undecided;
    solution.message =
        "no plan found within " + std::to_string(options.moves) + " moves";
    return solution;
  }
  solution.cost = search.best.cost;
  solution.peak = search.best.peak;
  solution.order = std::move(search.best.order);
  solution.rows = std::move(search.best.rows);
  return solution;
}

void tenon::solver::frontierWithChoices(
    const RecomputeProblem &problem, int32_t count,
    const RecomputeOptions &options,
    const std::function<void(const RecomputeSolution &)> &visit) {
  auto solve = [&](int64_t budget, int64_t moves) {
    RecomputeOptions less = options;
    less.moves = moves;
    less.quick = false; // it is short already
    return solveValid(problem, budget, less);
  };
  // With all memory the cheapest rows run, and nothing waits.
  constexpr int64_t unlimited = int64_t(1) << 62;
  RecomputeSolution all = solve(unlimited, 0);
  int64_t top = all.peak, high = top;
  int64_t low = RecomputeSolver(problem, options).smallestBudget - 1;
  RecomputeSolution smallest = all;
  for (int i = 0; count > 1 && i < 10 && high - low > top / 1000 + 1; ++i) {
    int64_t middle = i == 0 ? low + 1 : low + (high - low) / 2;
    RecomputeSolution found = solve(middle, options.moves / (20 * count));
    if (found.status == RecomputeStatus::Solved) {
      high = std::min(middle, found.peak);
      smallest = std::move(found);
    } else {
      low = middle;
    }
  }
  if (high >= top)
    count = 1;
  std::vector<RecomputeSolution> points;
  for (int32_t i = 0; i < count; ++i) {
    int64_t budget =
        count == 1 ? top
                   : high + int64_t(__int128(top - high) * i / (count - 1));
    const RecomputeSolution &before = i == 0 ? smallest : points.back();
    RecomputeSolution point = solve(budget, options.moves / (4 * count));
    if (point.status != RecomputeStatus::Solved || point.cost > before.cost ||
        (point.cost == before.cost && point.peak > before.peak)) {
      point.status = RecomputeStatus::Solved;
      point.cost = before.cost;
      point.peak = before.peak;
      point.order = before.order;
      point.rows = before.rows;
      point.message.clear();
    }
    points.push_back(std::move(point));
  }
  for (size_t i = points.size(); i-- > 1;)
    if (points[i].peak < points[i - 1].peak) {
      points[i - 1].cost = points[i].cost;
      points[i - 1].peak = points[i].peak;
      points[i - 1].order = points[i].order;
      points[i - 1].rows = points[i].rows;
    }
  for (const RecomputeSolution &point : points)
    visit(point);
}
