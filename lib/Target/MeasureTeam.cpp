//===- MeasureTeam.cpp - Threads that start together ----------------------===//
//
// See MeasureTeam.h.
//
//===----------------------------------------------------------------------===//

#include "MeasureTeam.h"

#include <algorithm>
#include <chrono>
#include <immintrin.h>
#include <limits>
#include <sched.h>
#include <thread>
#include <vector>

using namespace tenon;
using namespace tenon::target;

double target::now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void SpinBarrier::wait() {
  uint32_t before = generation.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(before + 1, std::memory_order_release);
    return;
  }
  // With more threads than processors somebody has to make room.
  for (unsigned spins = 0; generation.load(std::memory_order_acquire) == before;
       ++spins)
    if (spins < 20000)
      _mm_pause();
    else
      std::this_thread::yield();
}

/// Keeps the calling thread on the processor of that number among those the
/// process may use: two threads on one processor would measure half of it.
static void pin(unsigned thread, const cpu_set_t &allowed) {
  unsigned seen = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &allowed) && seen++ == thread) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      sched_setaffinity(0, sizeof(one), &one);
    }
}

void target::onThreads(unsigned threads,
                       const std::function<void(unsigned)> &work) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  // One thread goes where the processor is free; more than there are
  // processors have to share.
  bool pinned =
      known && threads > 1 && threads <= unsigned(CPU_COUNT(&allowed));
  std::vector<std::thread> team;
  for (unsigned thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      if (pinned)
        pin(thread, allowed);
      work(thread);
    });
  for (std::thread &member : team)
    member.join();
}

double target::shortestWindow(unsigned threads, double seconds,
                              const std::function<void(unsigned)> &setUp,
                              const std::function<void(unsigned)> &window) {
  /// On lines of their own, so that writing one disturbs nobody.
  struct alignas(64) Span {
    double start, end;
  };
  SpinBarrier barrier(threads);
  std::vector<Span> spans(threads);
  double shortest = std::numeric_limits<double>::infinity();
  bool more = true; // written by thread 0 between two barriers
  onThreads(threads, [&](unsigned thread) {
    setUp(thread);
    barrier.wait();
    double begin = now();
    for (int count = 1; more; ++count) {
      barrier.wait();
      spans[thread].start = now();
      window(thread);
      spans[thread].end = now();
      barrier.wait();
      if (thread == 0) {
        // From the first start to the last end: a thread that was held up at
        // either side must not make the others look fast.
        double start = std::ranges::min(spans, {}, &Span::start).start;
        double end = std::ranges::max(spans, {}, &Span::end).end;
        shortest = std::min(shortest, end - start);
        more = count < 5 || end - begin < seconds;
      }
      barrier.wait();
    }
  });
  return shortest;
}
