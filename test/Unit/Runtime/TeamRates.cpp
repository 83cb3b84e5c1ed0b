//===- TeamRates.cpp - What starting and separating work costs -----------===//
//
// Usage: TeamRates [THREADS]. Prints the cost of a parallel region and of a
// barrier. A table for people, no test.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/Team.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tenon::runtime;
using Clock = std::chrono::steady_clock;

static Barrier barrier;
static constexpr int barriers = 10000;

static double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int main(int argc, char **argv) {
  unsigned threads = argc > 1 ? unsigned(std::atoi(argv[1])) : 2;
  double region = 1e9, wait = 1e9;
  for (int round = 0; round < 200; ++round) {
    auto start = Clock::now();
    for (int i = 0; i < 100; ++i)
      runTeam(threads, [](void *, unsigned, unsigned) {}, nullptr);
    region = std::min(region, since(start) / 100);
    start = Clock::now();
    runTeam(
        threads,
        [](void *, unsigned, unsigned count) {
          for (int i = 0; i < barriers; ++i)
            barrier.wait(count);
        },
        nullptr);
    wait = std::min(wait, since(start) / barriers);
  }
  std::printf("%u threads: parallel region %.0f ns, barrier %.0f ns\n", threads,
              region * 1e9, wait * 1e9);
  return 0;
}
