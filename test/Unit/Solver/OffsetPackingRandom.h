//===- OffsetPackingRandom.h - small random packing problems --------------===//
//
// Problems of a few buffers that use everything a problem may hold, and the
// smallest arena found by trying every plan. For tests only: the brute force
// places buffers at every permitted offset and is independent of the solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_SOLVER_OFFSETPACKINGRANDOM_H
#define TENON_TEST_UNIT_SOLVER_OFFSETPACKINGRANDOM_H

#include "tenon/Solver/OffsetPacking.h"

#include <algorithm>
#include <cstdint>

namespace tenon::solver::test {

/// SplitMix64: the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// From low to high, both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % uint64_t(high - low + 1));
  }
  bool oneIn(int64_t count) { return between(1, count) == 1; }

private:
  uint64_t state;
};

/// What may appear in a random problem.
struct RandomShape {
  int maxBuffers = 7;
  int64_t maxSize = 6;
  int64_t maxTime = 7;
  bool alignments = false;
  bool gaps = false;
  bool slices = false;
  bool groups = false;
  bool fixed = false;
};

inline OffsetPackingProblem randomProblem(Random &random,
                                          const RandomShape &shape) {
  OffsetPackingProblem problem;
  int64_t count = random.between(0, shape.maxBuffers);
  for (int64_t i = 0; i < count; ++i) {
    OffsetPackingProblem::Buffer buffer;
    buffer.size = random.between(random.oneIn(10) ? 0 : 1, shape.maxSize);
    int64_t begin = random.between(0, shape.maxTime - 1);
    int64_t end =
        random.between(begin + (random.oneIn(15) ? 0 : 1), shape.maxTime);
    buffer.windows.push_back({begin, end});
    if (shape.gaps && end - begin > 2 && random.oneIn(2)) {
      int64_t from = random.between(begin + 1, end - 2);
      int64_t to = random.between(from + 1, end - 1);
      buffer.windows = {{begin, from}, {to, end}};
      if (shape.slices && random.oneIn(2)) {
        int64_t low = random.between(0, buffer.size);
        buffer.windows.push_back(
            {from, to, low, random.between(low, buffer.size)});
      }
    }
    if (shape.alignments && random.oneIn(2))
      buffer.alignment = random.between(1, 4);
    if (shape.groups && random.oneIn(2)) {
      buffer.group = static_cast<int32_t>(random.between(0, 1));
      buffer.groupOffset = random.between(-3, 5);
    }
    if (shape.fixed && random.oneIn(4))
      buffer.fixedOffset = random.between(0, 6);
    problem.buffers.push_back(buffer);
  }
  return problem;
}

/// The smallest arena, by trying all offsets from 0 up buffer by buffer, within
/// `limit`; nothing if no plan fits the limit.
class BruteForce {
public:
  explicit BruteForce(const OffsetPackingProblem &problem)
      : problem(problem), offsets(problem.buffers.size(), 0) {}

  std::optional<int64_t> smallest(int64_t limit) {
    best = limit + 1;
    place(0, 0);
    return best <= limit ? std::optional(best) : std::nullopt;
  }

private:
  void place(size_t index, int64_t arena) {
    if (arena >= best)
      return;
    if (index == offsets.size()) {
      best = arena;
      return;
    }
    const auto &buffer = problem.buffers[index];
    for (int64_t at = 0; std::max(arena, at + buffer.size) < best;
         at += buffer.alignment) {
      if (buffer.fixedOffset && at != *buffer.fixedOffset)
        continue;
      offsets[index] = at;
      if (agrees(index))
        place(index + 1, std::max(arena, at + buffer.size));
    }
  }

  bool agrees(size_t index) const {
    const auto &buffer = problem.buffers[index];
    for (size_t i = 0; i < index; ++i) {
      const auto &other = problem.buffers[i];
      if (buffer.group >= 0 && buffer.group == other.group) {
        if (offsets[i] - other.groupOffset !=
            offsets[index] - buffer.groupOffset)
          return false;
        continue;
      }
      for (const Window &a : buffer.windows)
        for (const Window &b : other.windows) {
          int64_t aEnd = a.sliceEnd < 0 ? buffer.size : a.sliceEnd;
          int64_t bEnd = b.sliceEnd < 0 ? other.size : b.sliceEnd;
          bool sameTime = a.begin < b.end && b.begin < a.end;
          bool sameBytes = offsets[index] + a.sliceBegin < offsets[i] + bEnd &&
                           offsets[i] + b.sliceBegin < offsets[index] + aEnd;
          if (sameTime && sameBytes && a.sliceBegin < aEnd &&
              b.sliceBegin < bEnd && a.begin < a.end && b.begin < b.end)
            return false;
        }
    }
    return true;
  }

  const OffsetPackingProblem &problem;
  std::vector<int64_t> offsets;
  int64_t best = 0;
};

} // namespace tenon::solver::test

#endif // TENON_TEST_UNIT_SOLVER_OFFSETPACKINGRANDOM_H
