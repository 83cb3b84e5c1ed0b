//===- Random.h - Numbers that depend on a seed alone --------------------===//
//
// The generator's source of chance: the same numbers for a seed on every
// machine and with every standard library.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_RANDOM_RANDOM_H
#define TENON_TEST_RANDOM_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::random {

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators".
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to `count` - 1.
  int64_t below(int64_t count) { return int64_t(bits() % uint64_t(count)); }
  /// From `low` to `high`.
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(int64_t percent) { return below(100) < percent; }
  template <typename T>
  const T &oneOf(const std::vector<T> &list) {
    return list[size_t(below(int64_t(list.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T> &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[size_t(below(int64_t(i)))]);
  }

private:
  uint64_t state;
};

} // namespace tenon::random

#endif // TENON_TEST_RANDOM_RANDOM_H
