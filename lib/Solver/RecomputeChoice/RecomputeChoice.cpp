//===- RecomputeChoice.cpp - what to keep, what to compute again ----------===//
//
// What a plan with its proof is made of: tests that settle a budget at once,
// the bound over the cut nodes, plans rebuilt from cuts, the local search that
// improves them in rounds, and the frontier over many budgets, which shares the
// lines of all cuts. The walk for one budget is in RecomputePlain.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/RecomputeChoice.h"

#include "RecomputeRebuild.h"
#include "RecomputeSearch.h"
#include "RecomputeSolver.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace tenon::solver;

using Kind = RecomputeCertificate::Kind;
using Plan = RecomputePlan;
using Candidate = CutCandidate;

RecomputeSolver::RecomputeSolver(const RecomputeProblem &problem,
                                 const RecomputeOptions &options)
    : graph(problem), options(options), loss(problem.loss),
      keepAll(graph.nodes + 1, 0), flows(options.flows) {
  for (int32_t value = 0; value < graph.values; ++value) {
    int32_t begin = graph.producer[value];
    std::span<const int32_t> users = graph.users(value);
    int32_t end = users.empty() ? begin : users.back();
    int64_t bytes = graph.freeBytes(value);
    keepAll[begin] += bytes;
    keepAll[end + 1] -= bytes;
  }
  for (int32_t node = 1; node < graph.nodes; ++node)
    keepAll[node] += keepAll[node - 1];
  for (int32_t node = 0; node < graph.nodes; ++node) {
    keepAll[node] += graph.workspace[node];
    int64_t bytes = graph.workingSet(node);
    if (largestWorkingSet < 0 || bytes > smallestBudget) {
      smallestBudget = bytes;
      largestWorkingSet = node;
    }
    anyPinned |= graph.pinned[node] != 0;
  }
  everything.cost = graph.baseCost;
  everything.peak = measure(graph, orderOf(graph.nodes, {})).peak;
}

/// Thins out the cut nodes on large graphs: the fullest moment, the loss, and
/// of even parts of the rest the one in the middle and the fullest.
void RecomputeSolver::prune(std::vector<int32_t> &nodes, int64_t budget) const {
  size_t most = std::max<int64_t>(2, 60'000 / std::max(1, graph.nodes));
  if (nodes.size() <= most)
    return;
  auto fullest = [&](auto begin, auto end) {
    return *std::max_element(begin, end, [&](int32_t a, int32_t b) {
      return keepAll[a] < keepAll[b];
    });
  };
  std::vector<int32_t> chosen = {fullest(nodes.begin(), nodes.end())};
  auto choose = [&](int32_t node) {
    if (chosen.size() < most &&
        std::find(chosen.begin(), chosen.end(), node) == chosen.end())
      chosen.push_back(node);
  };
  if (loss >= 0 && keepAll[loss] > budget)
    choose(loss);
  const size_t parts = std::max<size_t>(1, most * 2 / 3);
  for (size_t i = 0; i < parts; ++i)
    choose(nodes[(2 * i + 1) * nodes.size() / (2 * parts)]);
  for (size_t i = 0; i < parts / 2; ++i)
    choose(fullest(nodes.begin() + i * nodes.size() / (parts / 2),
                   nodes.begin() + (i + 1) * nodes.size() / (parts / 2)));
  nodes = std::move(chosen);
}

std::vector<Candidate> &RecomputeSolver::candidates(bool anyOrder,
                                                    int64_t budget) {
  if (cutNodes.empty()) {
    for (int32_t node = 0; node < graph.nodes; ++node)
      if (keepAll[node] > budget)
        cutNodes.push_back(node);
    prune(cutNodes, budget);
    std::sort(cutNodes.begin(), cutNodes.end());
  }
  std::vector<Candidate> &list = anyOrder ? any : given;
  if (list.empty())
    for (int32_t node : cutNodes)
      list.push_back({node, nullptr, {}});
  return list;
}

CutNetwork &RecomputeSolver::networkOf(Candidate &candidate,
                                       bool anyOrder) const {
  if (!candidate.network)
    candidate.network =
        std::make_unique<CutNetwork>(graph, candidate.cut, anyOrder);
  return *candidate.network;
}

bool RecomputeSolver::provedInfeasible(int64_t budget,
                                       RecomputeSolution &solution) {
  if (graph.nodes == 0)
    return false;
  RecomputeCertificate &proof = solution.certificate;
  if (smallestBudget > budget) {
    proof.kind = Kind::WorkingSet;
    proof.cut = largestWorkingSet;
    solution.message = "the inputs, outputs and workspace of node " +
                       std::to_string(largestWorkingSet) + " need " +
                       std::to_string(smallestBudget) + ", the budget is " +
                       std::to_string(budget);
    return true;
  }
  if (!anyPinned)
    return false;
  for (Candidate &candidate : candidates(false, budget)) {
    CutNetwork &network = networkOf(candidate, false);
    int64_t bytes = network.unavoidableBytes();
    if (bytes <= network.room(budget))
      continue;
    proof = network.certificate(Kind::HeldBytes);
    proof.numerator = proof.denominator = 1;
    solution.message = "when node " + std::to_string(network.cutNode()) +
                       " runs, " + std::to_string(bytes) +
                       " bytes must be held and " +
                       std::to_string(network.room(budget)) + " are free";
    return true;
  }
  return false;
}

BoundChoice RecomputeSolver::bound(int64_t budget, bool anyOrder) {
  BoundChoice result;
  result.bound = graph.baseCost;
  if (everything.peak <= budget && !anyOrder)
    return result;
  std::vector<Candidate> &list = candidates(anyOrder, budget);
  // For every order, a cut proves no more than for the given one.
  auto most = [&](int32_t cut) {
    for (const Candidate &candidate : given)
      if (anyOrder && candidate.cut == cut && candidate.budget == budget)
        return candidate.most;
    return std::numeric_limits<int64_t>::max();
  };
  std::vector<std::tuple<int64_t, int64_t, int32_t>> ranked;
  for (const Candidate &candidate : list)
    ranked.push_back({-most(candidate.cut), -keepAll[candidate.cut],
                      static_cast<int32_t>(ranked.size())});
  std::sort(ranked.begin(), ranked.end());
  for (auto [negated, fullness, index] : ranked) {
    if (-negated <= result.bound)
      break;
    Candidate &candidate = list[index];
    CutNetwork &network = networkOf(candidate, anyOrder);
    int64_t allowance = std::max<int64_t>(8, flows);
    int64_t before = allowance;
    CutNetwork::Best best =
        network.bestBound(budget, candidate.front, allowance, result.bound);
    flows -= before - allowance;
    candidate.most = best.most;
    candidate.budget = budget;
    if (network.anyTransfer()) {
      network.priceTransfers(budget, best);
      candidate.budget = -1;
    }
    if (best.bound > result.bound) {
      result.bound = best.bound;
      result.candidate = index;
      result.price = best.price;
    }
  }
  return result;
}

RecomputeCertificate RecomputeSolver::certificate(const BoundChoice &choice,
                                                  bool anyOrder) {
  if (choice.candidate < 0)
    return {};
  CutNetwork &network =
      networkOf((anyOrder ? any : given)[choice.candidate], anyOrder);
  network.minimumCut(choice.price);
  RecomputeCertificate result =
      network.certificate(anyOrder ? Kind::AnyOrder : Kind::GivenOrder);
  result.numerator = choice.price.numerator;
  result.denominator = choice.price.denominator;
  result.transferNumerator = choice.price.transfer;
  return result;
}

SeriesProof RecomputeSolver::views(int64_t budget, SeriesProof known,
                                   int64_t upper) {
  // The best cut and those just after it, where something else is read.
  std::vector<int32_t> cuts;
  if (known.certificate.cut < 0)
    return known;
  const int32_t first = known.certificate.cut;
  for (int32_t cut = first; cut < std::min(first + 3, graph.nodes); ++cut)
    if (keepAll[cut] > budget)
      cuts.push_back(cut);
  const int64_t most =
      std::clamp<int64_t>(200'000 / (graph.nodes + 1), 0, 2'000);
  return improveByViews(graph, budget, cuts, std::move(known), upper, most);
}

SeriesProof RecomputeSolver::cases(int64_t budget, SeriesProof known,
                                   int64_t upper) {
  std::vector<std::pair<int64_t, int32_t>> ranked;
  for (Candidate &candidate : candidates(false, budget)) {
    int64_t allowance = 16;
    ranked.push_back({-networkOf(candidate, false)
                           .bestBound(budget, candidate.front, allowance)
                           .bound,
                      candidate.cut});
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int32_t> cuts;
  // Cases seldom gain more than this.
  const int64_t least = known.bound - (known.bound - graph.baseCost) / 6;
  for (size_t i = 0; i < ranked.size() && i < 4; ++i)
    if (-ranked[i].first >= least)
      cuts.push_back(ranked[i].second);
  int64_t most = std::clamp<int64_t>(800'000 / (graph.nodes + 1), 0, 8'000);
  // A flow takes about the square of the nodes, so this is about a second.
  const double nodes = double(graph.nodes) + 1;
  const auto mostJoined =
      static_cast<int64_t>(std::min(4e9 / (nodes * nodes), 8'000.0));
  return improveByCases(graph, budget, keepAll, cuts, std::move(known), upper,
                        most, mostJoined);
}

void RecomputeSolver::narrow(int64_t budget, size_t count) {
  for (bool anyOrder : {false, true}) {
    std::vector<Candidate> &list = candidates(anyOrder, budget);
    if (list.size() <= count)
      continue;
    std::vector<std::pair<int64_t, size_t>> ranked;
    for (size_t i = 0; i < list.size(); ++i) {
      int64_t allowance = 100;
      ranked.push_back({-networkOf(list[i], anyOrder)
                             .bestBound(budget, list[i].front, allowance)
                             .bound,
                        i});
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<Candidate> kept;
    for (size_t i = 0; i < count; ++i)
      kept.push_back(std::move(list[ranked[i].second]));
    list = std::move(kept);
  }
}

/// Plans rebuilt from some cuts as they are, and from the best one with
/// different amounts of memory reserved for what the cut does not see. Returns
/// the cheapest that fits.
std::optional<Plan> RecomputeSolver::seedPlan(int64_t budget,
                                              std::vector<Reruns> *seeds) {
  std::optional<Plan> best;
  int32_t from = -1;
  int64_t bestBound = -1;
  std::vector<Candidate> &list = candidates(false, budget);
  for (size_t i = 0; i < list.size(); ++i) {
    int64_t allowance = 64;
    int64_t bound = networkOf(list[i], false)
                        .bestBound(budget, list[i].front, allowance)
                        .bound;
    if (bound > bestBound) {
      bestBound = bound;
      from = static_cast<int32_t>(i);
    }
  }
  if (from < 0)
    return best;
  auto attemptFrom = [&](Candidate &candidate, int64_t reserve, bool split) {
    CutNetwork &network = networkOf(candidate, false);
    const int64_t room = network.room(budget);
    int64_t allowance = 16;
    network.bestBound(budget - reserve, candidate.front, allowance);
    if (candidate.front.empty() ||
        candidate.front.front().held > room - reserve)
      return false;
    std::vector<char> rerun =
        chooseReruns(graph, network, candidate.front, room - reserve);
    Reruns plan =
        placeReruns(graph, candidate.cut, std::move(rerun), budget, split);
    RecomputeMeasure found = measure(graph, orderOf(graph.nodes, plan));
    bool fits = found.peak <= budget;
    if (fits && (!best || found.cost < best->cost))
      best = Plan{plan, found.cost, found.peak};
    if (seeds)
      seeds->push_back(std::move(plan));
    return fits;
  };
  // Other moments, which a search would hardly reach from the best one; each
  // costs some passes over the graph.
  const size_t others = std::min(6, 12'000 / (graph.nodes + 1));
  for (size_t i = 0; seeds && i < others; ++i)
    attemptFrom(list[(2 * i + 1) * list.size() / (2 * others)], 0, true);
  Candidate &candidate = list[from];
  const int64_t room = networkOf(candidate, false).room(budget);
  auto attempt = [&](int64_t reserve, bool split) {
    return attemptFrom(candidate, reserve, split);
  };
  if (attempt(0, false))
    return best;
  // The smallest reserve that gives a plan, by doubling and bisection.
  int64_t step = std::max<int64_t>(1, room / 64), low = 0, high = -1;
  for (int64_t reserve = step; reserve <= room; reserve *= 2) {
    if (attempt(reserve, true)) {
      high = reserve;
      break;
    }
    low = reserve;
  }
  if (high < 0)
    high = attempt(room, true) ? room : -1;
  for (int i = 0; i < 6 && high > low + step / 8; ++i) {
    int64_t middle = low + (high - low) / 2;
    (attempt(middle, true) ? high : low) = middle;
  }
  return best;
}

std::optional<Plan> RecomputeSolver::plan(int64_t budget, int64_t target,
                                          int64_t moves, uint64_t firstSeed,
                                          std::span<const Plan> hints,
                                          bool any) {
  if (everything.peak <= budget)
    return everything;
  std::vector<Reruns> seeds;
  std::optional<Plan> best = seedPlan(budget, &seeds);
  std::vector<Reruns> guides;
  for (const Plan &hint : hints) {
    if (hint.peak <= budget && (!best || hint.cost < best->cost))
      best = hint;
    seeds.push_back(hint.reruns);
    guides.push_back(hint.reruns);
  }
  seeds.push_back(everything.reruns);
  // A search needs some moves per node to change anything.
  if (moves < graph.nodes || (best && best->cost <= target))
    return best;
  // Without a plan to start from, seeds that do not fit are made to, value by
  // value: that of one cut, and keeping everything.
  std::vector<Reruns> tight = {seeds.front(), everything.reruns};
  for (const Plan &hint : hints)
    if (hint.peak <= budget)
      tight.clear();
    else
      tight.insert(tight.begin(), hint.reruns);
  for (const Reruns &seed : tight) {
    PlanSearch search(graph, budget, firstSeed);
    search.load(seed);
    movesUsed += search.relieve(moves / 8, 64);
    if (!search.feasible())
      continue;
    Reruns fitting = search.plan();
    if (!best || search.cost() < best->cost) {
      RecomputeMeasure found = measure(graph, orderOf(graph.nodes, fitting));
      best = Plan{fitting, found.cost, found.peak};
    }
    seeds.insert(seeds.begin(), std::move(fitting));
  }
  if (best && best->cost <= target)
    return best;

  // Rounds of annealing: many starts briefly, the better ones longer and
  // cooler, and taking over from each other what is good in some stages.
  struct Start {
    Reruns reruns;
    size_t number;
    int64_t rank; // cost of the best plan, or above all costs without one
  };
  std::vector<Start> starts;
  // Each start costs one pass over the graph, whatever its moves.
  size_t most = std::clamp<size_t>(24'000 / (graph.nodes + 1), 1, 12);
  size_t count = std::min<size_t>(most, std::max<size_t>(2, seeds.size()));
  for (size_t i = 0; i < count; ++i)
    starts.push_back({seeds[i % seeds.size()], i, 0});
  if (best)
    starts[0].reruns = best->reruns;
  struct Round {
    double share, hot;
    size_t survivors;
  };
  constexpr Round rounds[] = {
      {0.4, 2e-3, 4}, {0.3, 5e-4, 3}, {0.15, 2e-4, 2}, {0.15, 5e-5, 1}};
  double scale = double(graph.baseCost) + 1;
  uint64_t seed = firstSeed;
  double weight =
      std::max(4.0 * double(target - graph.baseCost), 0.02 * scale) /
      double(budget + 1);
  for (const Round &round : rounds) {
    int64_t each = int64_t(double(moves) * round.share) /
                   static_cast<int64_t>(starts.size());
    for (Start &start : starts) {
      if (isStopped)
        return best;
      PlanSearch search(graph, budget, ++seed * 0x9E3779B97F4A7C15);
      search.load(start.reruns);
      PlanSearch::Schedule schedule;
      schedule.moves = each;
      schedule.hot = round.hot * scale;
      schedule.cold = 4e-6 * scale;
      schedule.weight = weight;
      schedule.target = target;
      schedule.guides = guides;
      search.anneal(schedule);
      movesUsed += each;
      if (search.hasBest()) {
        start.reruns = search.bestPlan();
        start.rank = search.bestPlanCost();
        if (!best || start.rank < best->cost) {
          RecomputeMeasure found =
              measure(graph, orderOf(graph.nodes, start.reruns));
          best = Plan{start.reruns, found.cost, found.peak};
        }
      } else {
        start.reruns = search.plan();
        start.rank = INT64_MAX / 2 + search.overflow() / 2;
      }
      if (best && (any || best->cost <= target))
        return best;
    }
    std::sort(starts.begin(), starts.end(), [](const Start &a, const Start &b) {
      return std::tie(a.rank, a.number) < std::tie(b.rank, b.number);
    });
    guides.clear();
    for (const Start &start : starts)
      guides.push_back(start.reruns);
    starts.resize(std::min(starts.size(), round.survivors));
  }
  return best;
}

RecomputeSolution
tenon::solver::solveRecompute(const RecomputeProblem &problem, int64_t budget,
                              const RecomputeOptions &options) {
  if (auto error = validateRecomputeProblem(problem)) {
    RecomputeSolution solution;
    solution.budget = budget;
    solution.message = *error;
    return solution;
  }
  // Elsewhere some working set proves that nothing fits.
  if (problem.nodes.empty() && budget < 0) {
    RecomputeSolution solution;
    solution.budget = budget;
    solution.message = "a budget of " + std::to_string(budget) + " is negative";
    return solution;
  }
  return solveValid(problem, budget, options);
}

RecomputeSolution tenon::solver::solveValid(const RecomputeProblem &problem,
                                            int64_t budget,
                                            const RecomputeOptions &options) {
  if (!problem.hasChoices())
    return solvePlain(problem, budget, options);
  if (const RecomputeProblem listed = problem.inListedWays();
      !listed.hasChoices())
    if (const RecomputeProblem anyWay = problem.inAnyWay();
        !anyWay.hasChoices()) {
      RecomputeSolution solution =
          solvePlain(listed, budget, options, /*onlyPlan=*/false, &anyWay);
      if (solution.status == RecomputeStatus::Solved)
        solution.rows.assign(problem.loops.size(), 0);
      return solution;
    }
  // A quick solve is as long as any there.
  if (const RecomputeSolution *known = options.known;
      known && known->budget == std::max(budget, options.boundBudget) &&
      known->status == RecomputeStatus::Solved && known->peak <= budget)
    return *known;
  return solveWithChoices(problem, budget, options);
}

void tenon::solver::solveRecomputeFrontier(
    const RecomputeProblem &problem, int32_t count,
    const RecomputeOptions &options,
    const std::function<void(const RecomputeSolution &)> &visit) {
  if (count <= 0 || validateRecomputeProblem(problem))
    return;
  if (problem.hasChoices())
    return frontierWithChoices(problem, count, options, visit);
  RecomputeSolver solver(problem, options);
  const RecomputeGraph &graph = solver.graph;
  int64_t top = solver.everything.peak;
  if (solver.smallestBudget >= top)
    count = 1;
  if (count > 1)
    solver.narrow(solver.smallestBudget + (top - solver.smallestBudget) / 2,
                  std::max<size_t>(2, 4'000 / (graph.nodes + 1)));
  int64_t moves = effectiveMoves(graph, options) / (12 * count);

  // The smallest budget with a plan: bisection between the largest working set
  // and the peak, by quick plans.
  int64_t low = solver.smallestBudget, high = top;
  Plan smallest = solver.everything;
  for (int i = 0; count > 1 && i < 14 && high - low > top / 2000; ++i) {
    int64_t middle = i == 0 ? low : low + (high - low) / 2;
    std::optional<Plan> plan =
        solver.plan(middle, graph.baseCost, moves / 4, options.seed, {});
    if (plan) {
      smallest = std::move(*plan);
      high = std::min(middle, smallest.peak);
      if (i == 0)
        break;
    } else {
      low = middle;
    }
  }

  struct Point {
    int64_t budget;
    Plan plan;
    BoundChoice given, any;
  };
  std::vector<Point> points;
  for (int32_t i = 0; i < count; ++i) {
    Point point;
    point.budget = count == 1
                       ? top
                       : high + int64_t(__int128(top - high) * i / (count - 1));
    point.given.bound = point.any.bound = graph.baseCost;
    if (point.budget < top) {
      point.given = solver.bound(point.budget, false);
      point.any = solver.bound(point.budget, true);
    }
    const Plan &hint = points.empty() ? smallest : points.back().plan;
    // The hint fits, so there is a plan.
    point.plan = *solver.plan(point.budget, point.given.bound, moves,
                              options.seed, {&hint, 1});
    points.push_back(std::move(point));
  }
  // A plan that is no dearer and smaller than the one before it replaces it.
  for (size_t i = points.size(); i-- > 1;)
    if (points[i].plan.peak < points[i - 1].plan.peak)
      points[i - 1].plan = points[i].plan;
  for (const Point &point : points) {
    RecomputeSolution solution;
    solution.status = RecomputeStatus::Solved;
    solution.budget = point.budget;
    solution.cost = point.plan.cost;
    solution.peak = point.plan.peak;
    solution.order = orderOf(graph.nodes, point.plan.reruns);
    solution.bound = point.given.bound;
    solution.certificate = solver.certificate(point.given, false);
    solution.anyOrderBound = point.any.bound;
    solution.anyOrderCertificate = solver.certificate(point.any, true);
    solution.movesUsed = solver.movesUsed;
    visit(solution);
  }
}
