//===- SplitRandom.h - a small seeded generator ---------------------------===//
//
// SplitMix64: the same numbers on every machine, unlike the distributions of
// the standard library.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SPLITRANDOM_H
#define TENON_LIB_SOLVER_SPLITRANDOM_H

#include <cstdint>

namespace tenon::solver {

class SplitRandom {
public:
  explicit SplitRandom(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// From 0 to count - 1; count is positive.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(
        (static_cast<unsigned __int128>(next()) * uint64_t(count)) >> 64);
  }
  /// In [0, 1).
  double unit() { return double(next() >> 11) * 0x1.0p-53; }

private:
  uint64_t state;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SPLITRANDOM_H
