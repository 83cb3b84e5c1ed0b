//===- Team.cpp - The threads that walk a program -------------------------===//
//
// The only file that starts threads.
//
//===----------------------------------------------------------------------===//

#include "Team.h"

#include "tenon/Libraries/OpenMP.h"

#include <immintrin.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

#ifndef __has_feature
#define __has_feature(feature) 0 // a word of clang's
#endif
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

using namespace tenon::runtime;
using tenon::libraries::OpenMP;
using tenon::libraries::openMP;

void Barrier::waitForOthers(uint32_t before) const {
  // Some tens of microseconds, longer than most instructions take to finish
  // when they are cut evenly.
  for (int spin = 0; spin < 4096; ++spin) {
    if (generation.load(std::memory_order_acquire) != before)
      return;
    _mm_pause();
  }
  while (generation.load(std::memory_order_acquire) == before)
    sched_yield();
}

namespace {
struct Region {
  TeamWork work;
  void *context;
  char end = 0; // only its address is used
};
} // namespace

// libgomp is not compiled with the thread sanitizer, which therefore does not
// see that a region begins after what its caller did and ends before what its
// caller does next. These two say so; all else it sees by itself.
static void happensBefore([[maybe_unused]] void *moment) {
#if __has_feature(thread_sanitizer)
  __tsan_release(moment);
#endif
}
static void happensAfter([[maybe_unused]] void *moment) {
#if __has_feature(thread_sanitizer)
  __tsan_acquire(moment);
#endif
}

static void enterRegion(void *data) {
  happensAfter(data);
  auto *region = static_cast<Region *>(data);
  const OpenMP &openmp = *openMP();
  // In a region of one thread a library would see no region and start threads
  // of its own; the setting ends with the region.
  openmp.setThreads(1);
  region->work(region->context, unsigned(openmp.threadNumber()),
               unsigned(openmp.threadCount()));
  happensBefore(&region->end);
}

/// Runs `work` on threads that are started for it, and on fewer than asked for
/// if the system gives no more: then says why.
static std::string runOnNewThreads(unsigned threads, TeamWork work,
                                   void *context) {
  // All at once, and none begins before it is known how many there are.
  std::atomic<unsigned> started = 0;
  auto member = [&](unsigned number) {
    started.wait(0);
    work(context, number, started);
  };
  std::vector<std::thread> others;
  std::string whyFewer;
  try {
    others.reserve(threads);
    while (others.size() + 1 < threads)
      others.emplace_back(member, unsigned(others.size() + 1));
  } catch (const std::system_error &error) {
    whyFewer = error.code().message();
  }
  started = unsigned(others.size() + 1);
  started.notify_all();
  work(context, 0, started);
  for (std::thread &other : others)
    other.join();
  return whyFewer;
}

void tenon::runtime::runTeam(unsigned threads, TeamWork work, void *context) {
  const OpenMP *openmp = openMP();
  if (!openmp) {
    runOnNewThreads(threads, work, context);
    return;
  }
  Region region{work, context};
  happensBefore(&region);
  openmp->parallel(enterRegion, &region, threads, 0);
  happensAfter(&region.end);
}

std::string tenon::runtime::whyNoTeam(unsigned threads) {
  return runOnNewThreads(threads, [](void *, unsigned, unsigned) {}, nullptr);
}

unsigned tenon::runtime::availableThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : unsigned(count);
}
