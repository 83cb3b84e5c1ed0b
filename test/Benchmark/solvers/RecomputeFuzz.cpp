//===- RecomputeFuzz.cpp - random problems against brute force ------------===//
//
//   recompute-fuzz FIRST LAST MOST-NODES
//
// Solves the problems of seeds FIRST to LAST - 1, half of them with workspaces,
// pinned nodes and second outputs. Resume with the next seed. Exits with 1 if a
// claim is false, a bound exceeds the optimum, or a plan beats it.
//
//===----------------------------------------------------------------------===//

#include "../../Unit/Solver/RecomputeBruteForce.h"
#include "GraphGenerators.h"

#include <cstdio>
#include <cstdlib>

using namespace tenon::solver;
using namespace tenon::benchmark;

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: recompute-fuzz FIRST LAST MOST-NODES\n");
    return 2;
  }
  uint64_t first = std::strtoull(argv[1], nullptr, 10);
  uint64_t last = std::strtoull(argv[2], nullptr, 10);
  int64_t most = std::atoll(argv[3]);
  long long feasible = 0, optimal = 0, missed = 0, infeasible = 0, wrong = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    Random random(seed * 77 + 1);
    auto nodes = static_cast<int32_t>(random.between(3, most));
    RecomputeProblem problem =
        anyGraph(nodes, 0.15 + 0.05 * double(random.between(0, 10)),
                 seed % 2 == 1, seed);
    RecomputeOptions options;
    options.moves = 20'000;
    int64_t peak = solveRecompute(problem, int64_t(1) << 40, options).peak;
    int64_t budget = random.between(peak / 3, peak);
    RecomputeSolution solution = solveRecompute(problem, budget, options);
    int64_t best = cheapestPlan(problem, budget);
    bool solved = solution.status == RecomputeStatus::Solved;
    bool proved = solution.status == RecomputeStatus::Infeasible;
    auto error = checkRecompute(problem, solution);
    if (error || (best >= 0 && proved) ||
        (best >= 0 &&
         std::max(solution.bound, solution.anyOrderBound) > best) ||
        (solved && (best < 0 || solution.cost < best))) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  error ? error->c_str() : "contradicts brute force");
      ++wrong;
    }
    feasible += best >= 0;
    optimal += solved && solution.cost == best;
    missed += best >= 0 && !solved;
    infeasible += best < 0;
  }
  std::printf("%lld feasible, %lld optimal, %lld without a plan, %lld "
              "infeasible, %lld wrong\n",
              feasible, optimal, missed, infeasible, wrong);
  return wrong != 0;
}
