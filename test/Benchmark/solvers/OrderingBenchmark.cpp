//===- OrderingBenchmark.cpp - operation ordering against its peers -------===//
//
// One line per generated training step: the peers' peaks, ours, the bound, the
// gap and the processor seconds. Every solution is checked.
//
//   ordering-benchmark table FIRST-SEED LAST-SEED
//   ordering-benchmark scale OPERATIONS
//
//===----------------------------------------------------------------------===//

#include "OrderingGraphs.h"
#include "OrderingPeers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

using namespace tenon::solver;
using namespace tenon::benchmark;

static double seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

namespace {
struct Kind {
  const char *name;
  OrderingProblem (*make)(int32_t size, Weight weight, uint64_t seed);
  int32_t operationsPerSize;
};
} // namespace

static constexpr Kind kinds[] = {
    {"transformer", transformerStep, 53},
    {"convolution", convolutionStep, 35},
    {"recurrent", recurrentStep, 36},
    {"branching", branchingStep, 61},
};
static constexpr std::pair<Weight, const char *> weights[] = {
    {Weight::Activations, "activations"},
    {Weight::Balanced, "balanced"},
    {Weight::Gradients, "gradients"},
};

static double percentAbove(int64_t peak, int64_t bound) {
  return 100.0 * double(peak - bound) / double(std::max<int64_t>(1, bound));
}

/// How far above the bound, and what the search has shown of what is below.
static std::string gapOf(const OrderingSolution &solution) {
  char text[80];
  int length = std::snprintf(text, sizeof(text), "%.2f %%",
                             percentAbove(solution.peak, solution.bound));
  if (solution.searchedBound == solution.peak)
    return text + std::string(" smallest");
  if (solution.searchedBound > solution.bound)
    std::snprintf(text + length, sizeof(text) - length, " searched %f",
                  percentAbove(solution.searchedBound, solution.bound));
  return text;
}

static int table(uint64_t first, uint64_t last) {
  std::printf("| step (blocks, seed) | dominated by | operations | given |");
  for (const OrderingPeer &peer : orderingPeers())
    std::printf(" %s |", peer.name);
  std::printf(" ours | method | bound | s |\n|---|---|---|---|");
  for (size_t i = 0; i < orderingPeers().size(); ++i)
    std::printf("---|");
  std::printf("---|---|---|---|\n");
  int wrong = 0, worse = 0, aboveOne = 0, count = 0;
  double worst = 0;
  for (const Kind &kind : kinds)
    for (auto [weight, dominated] : weights)
      for (int32_t size : {2, 6, 24})
        for (uint64_t seed = first; seed <= last; ++seed) {
          OrderingProblem problem = kind.make(size, weight, seed);
          double start = seconds();
          OrderingSolution ours = solveOrdering(problem);
          double spent = seconds() - start;
          if (auto error = checkOrdering(problem, ours)) {
            std::printf("false: %s\n", error->c_str());
            ++wrong;
          }
          std::vector<int32_t> given;
          for (size_t i = 0; i < problem.operations.size(); ++i)
            given.push_back(int32_t(i));
          std::printf("| %s (%d, %llu) | %s | %zu | %.2f %% |", kind.name, size,
                      static_cast<unsigned long long>(seed), dominated,
                      given.size(),
                      percentAbove(replayPeak(problem, given), ours.bound));
          bool beaten = false;
          for (const OrderingPeer &peer : orderingPeers()) {
            int64_t peak = replayPeak(problem, peer.order(problem));
            if (peak < 0)
              ++wrong;
            beaten |= peak < ours.peak;
            std::printf(" %.2f %% |", percentAbove(peak, ours.bound));
          }
          double gap = percentAbove(ours.peak, ours.bound);
          std::printf(" %s%s | %s | %lld | %.3f |\n", gapOf(ours).c_str(),
                      beaten ? " (worse)" : "", ours.method.c_str(),
                      static_cast<long long>(ours.bound), spent);
          worse += beaten;
          aboveOne += percentAbove(ours.peak, std::max(ours.bound,
                                                       ours.searchedBound)) > 1;
          worst = std::max(worst, gap);
          ++count;
        }
  std::printf("\n%d steps: worse than a peer on %d, more than 1 %% above the "
              "bound and the searched one on %d, above the bound at most %.2f "
              "%%\n",
              count, worse, aboveOne, worst);
  return wrong != 0;
}

static int scale(int32_t operations) {
  int wrong = 0;
  for (const Kind &kind : kinds)
    for (auto [weight, dominated] : weights) {
      OrderingProblem problem =
          kind.make(operations / kind.operationsPerSize, weight, 1);
      double start = seconds();
      OrderingSolution ours = solveOrdering(problem);
      double spent = seconds() - start;
      if (auto error = checkOrdering(problem, ours)) {
        std::printf("false: %s\n", error->c_str());
        wrong = 1;
      }
      std::printf("| %s, %s | %zu operations | %.3f s | %s | %s |\n", kind.name,
                  dominated, problem.operations.size(), spent,
                  gapOf(ours).c_str(), ours.method.c_str());
    }
  return wrong;
}

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "table" && argc == 4)
    return table(std::strtoull(argv[2], nullptr, 10),
                 std::strtoull(argv[3], nullptr, 10));
  if (mode == "scale" && argc == 3)
    return scale(std::atoi(argv[2]));
  std::fprintf(stderr, "usage: ordering-benchmark table FIRST-SEED LAST-SEED | "
                       "scale OPERATIONS\n");
  return 2;
}
