// Preloaded, lets the process read the file TENON_THROTTLE_FILE no faster than
// TENON_THROTTLE_RATE bytes per second, over all threads, as a disk or a
// network would: a call waits until its bytes would have come. With
// TENON_THROTTLE_FAIL_AT, that call and all later ones read nothing.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool isThrottled(int file) {
  const char *chosen = getenv("TENON_THROTTLE_FILE");
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (!chosen || length <= 0)
    return false;
  path[length] = '\0';
  return strcmp(path, chosen) == 0;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Returns when `bytes` more would have come, all calls one after another.
static void waitFor(double bytes) {
  static pthread_mutex_t access = PTHREAD_MUTEX_INITIALIZER;
  static double busyUntil = 0;
  const char *rate = getenv("TENON_THROTTLE_RATE");
  if (!rate)
    return;
  pthread_mutex_lock(&access);
  double start = now();
  busyUntil = (busyUntil > start ? busyUntil : start) + bytes / atof(rate);
  double until = busyUntil;
  pthread_mutex_unlock(&access);
  struct timespec time = {(time_t)until,
                          (long)(1e9 * (until - (double)(time_t)until))};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
    ;
}

static bool isLost(void) {
  static long calls = 0;
  const char *chosen = getenv("TENON_THROTTLE_FAIL_AT");
  return chosen && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) >=
                       strtol(chosen, NULL, 10);
}

#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  bool is = isThrottled(file);
  if (is && isLost())
    return 0;
  ssize_t got = ORIGINAL(pread)(file, bytes, count, offset);
  if (is && got > 0)
    waitFor((double)got);
  return got;
}

ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
  return pread(file, bytes, count, offset);
}
