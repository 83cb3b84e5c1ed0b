//===- SolverFuzz.cpp - random problems against brute force ---------------===//
//
//   solver-fuzz packing|ordering|search|recompute|variants|certificates
//               FIRST LAST MOST
//
// Solves the problems of seeds FIRST to LAST - 1 with at most MOST buffers,
// operations or nodes, half of them with everything a problem may hold. Resume
// with the next seed. `search` is the search for orders alone: whether it finds
// an order of the smallest peak, and none below. `certificates` forges proofs
// of recomputation; a problem counts as solved if some of them were true and
// accepted. Exits with 1 if a claim is false or contradicts brute force.
//
//===----------------------------------------------------------------------===//

#include "../../Unit/Solver/OffsetPackingRandom.h"
#include "../../Unit/Solver/OrderingBruteForce.h"
#include "../../Unit/Solver/RecomputeBruteForce.h"
#include "../../Unit/Solver/RecomputeForgery.h"
#include "GraphGenerators.h"
#include "OperationOrdering/OrderingExact.h"
#include "OrderingGraphs.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

using namespace tenon::solver;
using namespace tenon::benchmark;

namespace {
/// What one problem showed.
struct Outcome {
  bool feasible = false, solved = false, optimal = false, proved = false;
  std::optional<std::string> wrong;
};
} // namespace

static Outcome fuzzPacking(uint64_t seed, int64_t most) {
  test::RandomShape shape;
  shape.maxBuffers = static_cast<int>(most);
  shape.alignments = seed & 1;
  shape.gaps = seed & 2;
  shape.slices = (seed & 6) == 6;
  shape.groups = seed & 8;
  shape.fixed = seed & 16;
  // The brute force pays for every offset.
  if (shape.groups || shape.fixed || shape.slices)
    shape.maxBuffers = std::min(shape.maxBuffers, 5);
  test::Random random(seed);
  OffsetPackingProblem problem = test::randomProblem(random, shape);
  OffsetPackingSolution solution = solveOffsetPacking(problem);
  Outcome outcome;
  if (auto error = checkOffsetPacking(problem, solution)) {
    outcome.wrong = error;
    return outcome;
  }
  outcome.solved = solution.status == OffsetPackingStatus::Solved;
  auto best =
      test::BruteForce(problem).smallest(outcome.solved ? solution.arena : 60);
  outcome.feasible = best.has_value();
  outcome.optimal = outcome.solved && best && solution.arena == *best;
  outcome.proved = outcome.solved ? solution.provedSmallest() : !best;
  if (outcome.solved != outcome.feasible ||
      (best && solution.certificate.bound > *best))
    outcome.wrong = "contradicts brute force";
  return outcome;
}

static Outcome fuzzOrdering(uint64_t seed, int64_t most) {
  Random random(seed * 77 + 3);
  OrderingProblem problem = anyOrdering(
      static_cast<int32_t>(random.between(1, most)), seed % 2 == 1, seed);
  OrderingSolution solution = solveOrdering(problem);
  Outcome outcome;
  outcome.feasible = outcome.solved = true;
  if (auto error = checkOrdering(problem, solution)) {
    outcome.wrong = error;
    return outcome;
  }
  int64_t best = smallestPeak(problem);
  outcome.optimal = solution.peak == best;
  outcome.proved =
      solution.peak == std::max(solution.bound, solution.searchedBound);
  if (solution.peak < best || solution.bound > best ||
      solution.searchedBound > best)
    outcome.wrong = "contradicts brute force";
  return outcome;
}

static Outcome fuzzSearch(uint64_t seed, int64_t most) {
  Random random(seed * 79 + 5);
  auto size =
      static_cast<int32_t>(random.between(4, std::max<int64_t>(4, most)));
  OrderingProblem problem = seed % 3 == 0
                                ? anyOrdering(size, seed % 2 == 1, seed)
                                : anyStep(size, seed);
  const OrderingGraph graph(problem);
  // One in four as if the problem were large.
  const OrderingDeferral deferral(graph, seed % 4 == 3 ? DeferralLimits{0, 3, 1}
                                                       : DeferralLimits());
  std::vector<int32_t> rank(graph.operations);
  std::iota(rank.begin(), rank.end(), 0);
  int64_t best = smallestPeak(problem);
  auto search = [&](int64_t peak, std::vector<int32_t> &order) {
    int64_t looks = 10'000'000;
    return searchOrder(graph, deferral, peak, rank, looks, order);
  };
  Outcome outcome;
  outcome.feasible = true;
  std::vector<int32_t> order;
  OrderSearch reached = search(best + 1, order);
  outcome.solved = reached == OrderSearch::Found;
  outcome.optimal = outcome.solved && peakOf(graph, order) == best;
  OrderSearch below = search(best, order);
  outcome.proved = below == OrderSearch::Exhausted;
  if (reached == OrderSearch::Exhausted || below == OrderSearch::Found ||
      outcome.solved != outcome.optimal)
    outcome.wrong = "contradicts brute force";
  return outcome;
}

static Outcome solveAndCompare(const RecomputeProblem &problem,
                               Random &random) {
  auto nodes = static_cast<int32_t>(problem.nodes.size());
  RecomputeOptions options;
  options.moves = 20'000;
  int64_t peak = solveRecompute(problem, int64_t(1) << 40, options).peak;
  // Mostly between the largest working set and keeping everything.
  std::vector<int64_t> needs(nodes, 0);
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    needs[problem.producer(value)] += problem.bytes(value);
  for (auto [value, consumer] : problem.edges)
    needs[consumer] += problem.bytes(value);
  int64_t least = 0;
  for (int32_t node = 0; node < nodes; ++node)
    least = std::max(least, needs[node] + problem.nodes[node].workspace);
  int64_t budget = random.between(
      random.chance(0.1) ? peak / 3 : std::min(least, peak), peak);
  RecomputeSolution solution = solveRecompute(problem, budget, options);
  int64_t best = cheapestPlan(problem, budget);
  Outcome outcome;
  outcome.feasible = best >= 0;
  outcome.solved = solution.status == RecomputeStatus::Solved;
  outcome.optimal = outcome.solved && solution.cost == best;
  outcome.proved = solution.status == RecomputeStatus::Infeasible ||
                   (outcome.solved && solution.cost == solution.bound);
  if (auto error = checkRecompute(problem, solution))
    outcome.wrong = error;
  else if ((best >= 0 && solution.status == RecomputeStatus::Infeasible) ||
           (best >= 0 &&
            std::max(solution.bound, solution.anyOrderBound) > best) ||
           (outcome.solved && (best < 0 || solution.cost < best)))
    outcome.wrong = "contradicts brute force";
  return outcome;
}

static Outcome fuzzRecompute(uint64_t seed, int64_t most) {
  Random random(seed * 77 + 1);
  auto nodes = static_cast<int32_t>(random.between(3, most));
  double density = 0.15 + 0.05 * double(random.between(0, 10));
  return solveAndCompare(anyGraph(nodes, density, seed % 2 == 1, seed), random);
}

/// With loops, variants and collectives.
static Outcome fuzzVariants(uint64_t seed, int64_t most) {
  Random random(seed * 77 + 1);
  auto nodes = static_cast<int32_t>(random.between(3, most));
  double density = 0.15 + 0.05 * double(random.between(0, 10));
  return solveAndCompare(anyGraphWithChoices(nodes, density, seed), random);
}

static Outcome fuzzCertificates(uint64_t seed, int64_t most) {
  Forgeries forged = forgeCertificates(seed, most, 100);
  Outcome outcome;
  outcome.feasible = true;
  outcome.solved = !forged.accepted.empty();
  outcome.wrong = std::move(forged.wrong);
  return outcome;
}

int main(int argc, char **argv) {
  struct Kind {
    const char *name;
    Outcome (*fuzz)(uint64_t seed, int64_t most);
  };
  constexpr Kind kinds[] = {
      {"packing", fuzzPacking},   {"ordering", fuzzOrdering},
      {"search", fuzzSearch},     {"recompute", fuzzRecompute},
      {"variants", fuzzVariants}, {"certificates", fuzzCertificates}};
  const Kind *kind = nullptr;
  for (const Kind &candidate : kinds)
    if (argc == 5 && std::string(argv[1]) == candidate.name)
      kind = &candidate;
  if (!kind) {
    std::fprintf(
        stderr, "usage: solver-fuzz packing|ordering|search|recompute|variants|"
                "certificates FIRST LAST MOST\n");
    return 2;
  }
  uint64_t first = std::strtoull(argv[2], nullptr, 10);
  uint64_t last = std::strtoull(argv[3], nullptr, 10);
  int64_t most = std::atoll(argv[4]);
  long long feasible = 0, solved = 0, optimal = 0, proved = 0, wrong = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    Outcome outcome = kind->fuzz(seed, most);
    if (outcome.wrong) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  outcome.wrong->c_str());
      ++wrong;
    }
    feasible += outcome.feasible;
    solved += outcome.solved;
    optimal += outcome.optimal;
    proved += outcome.proved;
  }
  std::printf("%s, seeds %s to %s, at most %s: %lld feasible, %lld solved, "
              "%lld optimal, %lld proved, %lld wrong\n",
              argv[1], argv[2], argv[3], argv[4], feasible, solved, optimal,
              proved, wrong);
  return wrong != 0;
}
