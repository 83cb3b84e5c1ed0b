//===- RecomputeBenchmark.cpp - recomputation on generated graphs ---------===//
//
// One line per generated problem: the generator with its parameters and seed,
// nodes, processor seconds, and the gap between plan and bound. `frontier`
// solves many budgets, `share` one budget as a share of the peak of keeping
// everything. Every solution is checked. Memory is the process's at its
// fullest.
//
//   recompute-benchmark frontier transformer|residual|inception SIZE BUDGETS
//   recompute-benchmark share LAYERS WIDTH PROBABILITY DECAY SEED
//
//===----------------------------------------------------------------------===//

#include "GraphGenerators.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <sys/resource.h>

using namespace tenon::solver;
using namespace tenon::benchmark;

static double seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

static double gapOf(const RecomputeSolution &solution) {
  return 100.0 * double(solution.cost - solution.bound) /
         double(std::max<int64_t>(1, solution.bound));
}

static int frontier(const std::string &kind, int32_t size, int32_t budgets) {
  RecomputeProblem problem = kind == "transformer" ? transformer(size, 1)
                             : kind == "residual"  ? residual(size, 1)
                                                   : inception(size, 1);
  std::vector<double> gaps;
  double worst = 0;
  int64_t peak = solveRecompute(problem, int64_t(1) << 59).peak;
  int wrong = 0;
  double spent = 0, start = seconds();
  solveRecomputeFrontier(problem, budgets, {},
                         [&](const RecomputeSolution &solution) {
                           spent += seconds() - start;
                           if (auto error = checkRecompute(problem, solution)) {
                             std::printf("false: %s\n", error->c_str());
                             wrong = 1;
                           }
                           gaps.push_back(gapOf(solution));
                           if (10 * solution.budget >= 3 * peak)
                             worst = std::max(worst, gaps.back());
                           start = seconds();
                         });
  std::sort(gaps.begin(), gaps.end());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s size %d seed 1: %zu nodes, %d budgets, %.2f s, %ld KiB, gap "
              "median %.3f %%, from 30 %% of the peak at most %.3f %%\n",
              kind.c_str(), size, problem.nodes.size(), budgets, spent,
              usage.ru_maxrss, gaps.empty() ? 0.0 : gaps[gaps.size() / 2],
              worst);
  return wrong;
}

static int share(const LayeredShape &shape, uint64_t seed) {
  RecomputeProblem problem = layered(shape, seed);
  int64_t peak = solveRecompute(problem, int64_t(1) << 59).peak;
  int wrong = 0;
  for (int64_t percent : {90, 80}) {
    double start = seconds();
    RecomputeSolution solution = solveRecompute(problem, peak * percent / 100);
    double spent = seconds() - start;
    if (auto error = checkRecompute(problem, solution)) {
      std::printf("false: %s\n", error->c_str());
      wrong = 1;
    }
    std::printf("layered %d x %d p %.2f decay %.2f seed %llu at %lld %%: ",
                shape.layers, shape.width, shape.edgeProbability, shape.decay,
                static_cast<unsigned long long>(seed),
                static_cast<long long>(percent));
    if (solution.status == RecomputeStatus::Solved)
      std::printf("%.2f s, gap %.3f %%\n", spent, gapOf(solution));
    else
      std::printf("%.2f s, no plan: %s\n", spent, solution.message.c_str());
  }
  return wrong;
}

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "frontier" && argc == 5)
    return frontier(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  if (mode == "share" && argc == 7) {
    LayeredShape shape;
    shape.layers = std::atoi(argv[2]);
    shape.width = std::atoi(argv[3]);
    shape.edgeProbability = std::atof(argv[4]);
    shape.decay = std::atof(argv[5]);
    return share(shape, std::strtoull(argv[6], nullptr, 10));
  }
  std::fprintf(stderr,
               "usage: recompute-benchmark frontier KIND SIZE BUDGETS | share "
               "LAYERS WIDTH PROBABILITY DECAY SEED\n");
  return 2;
}
