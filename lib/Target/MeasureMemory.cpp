//===- MeasureMemory.cpp - Bytes per second -------------------------------===//
//
// Two buffers of several times the last-level cache, cut into one range per
// thread that only this thread touches. A copy is tried with ordinary stores,
// which first read the line they overwrite, and with stores that go past the
// caches; the better one is the machine's rate.
//
//===----------------------------------------------------------------------===//

#include "MeasureMemory.h"

#include "MeasureTeam.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::target;

namespace {

constexpr int64_t mib = 1024 * 1024;

/// Anonymous memory; pages come when first written.
class Mapping {
public:
  explicit Mapping(size_t bytes)
      : bytes(bytes), memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (*this)
      madvise(memory, bytes, MADV_HUGEPAGE);
  }
  ~Mapping() {
    if (*this)
      munmap(memory, bytes);
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  explicit operator bool() const { return memory != MAP_FAILED; }
  char *data() const { return static_cast<char *>(memory); }

private:
  size_t bytes;
  void *memory;
};

// All three want lengths that are a multiple of 256 bytes.

__attribute__((target("avx2"))) void copyOrdinary(char *to, const char *from,
                                                  size_t bytes) {
  for (size_t at = 0; at < bytes; at += 128)
#pragma clang loop unroll(full)
    for (size_t i = 0; i < 128; i += 32)
      _mm256_store_si256(
          reinterpret_cast<__m256i *>(to + at + i),
          _mm256_load_si256(reinterpret_cast<const __m256i *>(from + at + i)));
}

__attribute__((target("avx2"))) void copyPastCaches(char *to, const char *from,
                                                    size_t bytes) {
  for (size_t at = 0; at < bytes; at += 128)
#pragma clang loop unroll(full)
    for (size_t i = 0; i < 128; i += 32)
      _mm256_stream_si256(
          reinterpret_cast<__m256i *>(to + at + i),
          _mm256_load_si256(reinterpret_cast<const __m256i *>(from + at + i)));
  _mm_sfence();
}

__attribute__((target("avx2"))) int64_t readAll(const char *from,
                                                size_t bytes) {
  __m256i sums[8] = {};
  for (size_t at = 0; at < bytes; at += 256)
#pragma clang loop unroll(full)
    for (size_t i = 0; i < 8; ++i)
      sums[i] = _mm256_add_epi64(
          sums[i], _mm256_load_si256(
                       reinterpret_cast<const __m256i *>(from + at + 32 * i)));
  __m256i sum = sums[0];
  for (int i = 1; i < 8; ++i)
    sum = _mm256_add_epi64(sum, sums[i]);
  return _mm256_extract_epi64(sum, 0);
}

/// Two buffers and the part of them each thread works on.
struct Buffers {
  char *to, *from;
  size_t bytes;

  size_t part(unsigned threads) const { return bytes / threads / 4096 * 4096; }
  void touch(unsigned thread, unsigned threads) const {
    size_t size = part(threads);
    std::memset(from + thread * size, 1, size);
    std::memset(to + thread * size, 2, size);
  }
};

using CopyFunction = void (*)(char *, const char *, size_t);

/// Bytes/s, each byte counted as read and as written. Small buffers are copied
/// over and over within a window.
double copyRate(const Buffers &buffers, unsigned threads, double seconds,
                CopyFunction copy) {
  size_t size = buffers.part(threads);
  size_t repetitions = std::max<size_t>(1, 32 * mib / buffers.bytes);
  double window = shortestWindow(
      threads, seconds,
      [&](unsigned thread) { buffers.touch(thread, threads); },
      [&](unsigned thread) {
        for (size_t i = 0; i < repetitions; ++i)
          copy(buffers.to + thread * size, buffers.from + thread * size, size);
      });
  return 2.0 * double(size) * threads * double(repetitions) / window;
}

double readRate(const Buffers &buffers, unsigned threads, double seconds) {
  size_t size = buffers.part(threads);
  double window = shortestWindow(
      threads, seconds,
      [&](unsigned thread) { buffers.touch(thread, threads); },
      [&](unsigned thread) {
        volatile int64_t sink = readAll(buffers.from + thread * size, size);
        (void)sink;
      });
  return double(size) * threads / window;
}

template <typename Measure>
Rate oneAndAll(unsigned threads, Measure measure) {
  Rate rate;
  rate.oneCore = measure(1);
  rate.allCores = threads > 1 ? measure(threads) : rate.oneCore;
  return rate;
}

} // namespace

std::optional<MemoryRates>
target::measureMemory(const Caches &caches, unsigned threads, double seconds,
                      int64_t bufferBytes, std::string &error) {
  int64_t last = caches.last() ? caches.last() : 32 * mib;
  // A large server shares a cache of hundreds of megabytes; an eighth of the
  // memory for both buffers leaves room for everyone else.
  int64_t physical =
      int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGESIZE));
  int64_t bytes = std::clamp<int64_t>(3 * last, 64 * mib, 1024 * mib);
  bytes = std::max<int64_t>(std::min(bytes, physical / 16), 16 * mib);
  if (bufferBytes)
    bytes = bufferBytes;
  Mapping to{size_t(bytes)}, from{size_t(bytes)};
  if (!to || !from) {
    error = "no memory for two buffers of " + std::to_string(bytes / mib) +
            " MiB, three times the last-level cache; free some and try again";
    return std::nullopt;
  }
  Buffers streaming{to.data(), from.data(), size_t(bytes)};
  // Half of the cache in all, beyond the second level where that is small.
  Buffers cached{to.data(), from.data(),
                 size_t(std::clamp<int64_t>(last / 4, 64 * 1024, bytes))};
  MemoryRates rates;
  rates.copy = oneAndAll(threads, [&](unsigned count) {
    return std::max(copyRate(streaming, count, seconds / 2, copyOrdinary),
                    copyRate(streaming, count, seconds / 2, copyPastCaches));
  });
  rates.read = oneAndAll(threads, [&](unsigned count) {
    return readRate(streaming, count, seconds);
  });
  rates.cachedCopy = oneAndAll(threads, [&](unsigned count) {
    return copyRate(cached, count, seconds, copyOrdinary);
  });
  return rates;
}
