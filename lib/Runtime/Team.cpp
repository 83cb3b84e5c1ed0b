//===- Team.cpp - The threads that walk a program -------------------------===//
//
// The only file that starts threads.
//
//===----------------------------------------------------------------------===//

#include "Team.h"

#include <cstring>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <vector>

#ifndef __has_feature
#define __has_feature(feature) 0 // a word of clang's
#endif
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

// libgomp's interface to compiled code: declared here because clang's -fopenmp
// would bring a second pool of threads with its own library.
extern "C" void GOMP_parallel(void (*work)(void *), void *data,
                              unsigned threads, unsigned flags);
extern "C" int omp_get_thread_num(void);
extern "C" int omp_get_num_threads(void);
extern "C" void omp_set_num_threads(int);

using namespace tenon::runtime;

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
  // In a region of one thread a library would see no region and start threads
  // of its own; the setting ends with the region.
  omp_set_num_threads(1);
  region->work(region->context, unsigned(omp_get_thread_num()),
               unsigned(omp_get_num_threads()));
  happensBefore(&region->end);
}

void tenon::runtime::runTeam(unsigned threads, TeamWork work, void *context) {
  Region region{work, context};
  happensBefore(&region);
  GOMP_parallel(enterRegion, &region, threads, 0);
  happensAfter(&region.end);
}

static void *waitForStart(void *mutex) {
  pthread_mutex_lock(static_cast<pthread_mutex_t *>(mutex));
  pthread_mutex_unlock(static_cast<pthread_mutex_t *>(mutex));
  return nullptr;
}

std::string tenon::runtime::whyNoTeam(unsigned threads) {
  // All at once, since each needs a stack of its own.
  std::vector<pthread_t> others;
  others.reserve(threads);
  pthread_mutex_t start = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&start);
  int error = 0;
  while (error == 0 && others.size() + 1 < threads) {
    pthread_t thread;
    error = pthread_create(&thread, nullptr, waitForStart, &start);
    if (error == 0)
      others.push_back(thread);
  }
  pthread_mutex_unlock(&start);
  for (pthread_t thread : others)
    pthread_join(thread, nullptr);
  return error == 0 ? "" : std::strerror(error);
}

unsigned tenon::runtime::availableThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : unsigned(count);
}
