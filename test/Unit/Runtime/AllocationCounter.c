// Preloaded into a test: counts allocations between start and stop and tells
// those made by Tenon from those made by the libraries it calls, by the first
// frame outside the C and C++ libraries.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_int counting;
static atomic_long ours, libraries, largest;
static _Thread_local int inside;

static int is_library(const char *name) {
  return strstr(name, "libdnnl") || strstr(name, "libgomp");
}

static int is_neutral(const char *name) {
  return strstr(name, "libstdc++") || strstr(name, "libc.so") ||
         strstr(name, "AllocationCounter") || strstr(name, "ld-linux");
}

static void count(size_t bytes) {
  if (!atomic_load(&counting) || inside)
    return;
  inside = 1;
  void *frames[32];
  int depth = backtrace(frames, 32);
  int found = 0;
  for (int i = 0; i < depth && !found; ++i) {
    Dl_info info;
    // Code made at run time has no file: it is oneDNN's.
    if (!dladdr(frames[i], &info) || !info.dli_fname)
      continue;
    if (is_neutral(info.dli_fname))
      continue;
    atomic_fetch_add(is_library(info.dli_fname) ? &libraries : &ours, 1);
    found = 1;
  }
  if (!found)
    atomic_fetch_add(&ours, 1);
  if ((long)bytes > atomic_load(&largest))
    atomic_store(&largest, (long)bytes);
  inside = 0;
}

void *malloc(size_t bytes) {
  count(bytes);
  return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes) {
  count(number * bytes);
  return __libc_calloc(number, bytes);
}

void *realloc(void *old, size_t bytes) {
  count(bytes);
  return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}

void allocation_counter_start(void) {
  void *frames[4];
  backtrace(frames, 4); // loads what it needs
  atomic_store(&ours, 0);
  atomic_store(&libraries, 0);
  atomic_store(&largest, 0);
  atomic_store(&counting, 1);
}

void allocation_counter_stop(long *by_tenon, long *by_libraries,
                             long *largest_bytes) {
  atomic_store(&counting, 0);
  *by_tenon = atomic_load(&ours);
  *by_libraries = atomic_load(&libraries);
  *largest_bytes = atomic_load(&largest);
}
