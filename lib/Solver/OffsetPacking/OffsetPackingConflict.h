//===- OffsetPackingConflict.h - the sections a failure depends on --------===//
//
// A set of sections as bits. When a placement fails, the sections that the
// failure depends on are collected; an alternative that lies in none of them
// would fail in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGCONFLICT_H
#define TENON_LIB_SOLVER_OFFSETPACKINGCONFLICT_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::solver::packing {

class ConflictSet {
public:
  /// Makes it empty.
  void resize(int32_t sections) {
    words.assign((sections + 63) / 64, 0);
    full = false;
  }
  void clear() {
    std::fill(words.begin(), words.end(), 0);
    full = false;
  }
  /// All sections.
  void fill() {
    std::fill(words.begin(), words.end(), ~uint64_t(0));
    full = true;
  }
  /// Whether it was filled, so that nothing can be added.
  bool isFull() const { return full; }

  void add(int32_t begin, int32_t end) {
    for (int32_t word = begin / 64; word <= (end - 1) / 64; ++word)
      words[word] |= bits(word, begin, end);
  }
  bool meets(int32_t begin, int32_t end) const {
    for (int32_t word = begin / 64; word <= (end - 1) / 64; ++word)
      if (words[word] & bits(word, begin, end))
        return true;
    return false;
  }

  size_t size() const { return words.size(); }
  /// Adds this set to another one, given by its words, and the other way round.
  void addTo(uint64_t *other) const {
    for (size_t i = 0; i < words.size(); ++i)
      other[i] |= words[i];
  }
  void addFrom(const uint64_t *other) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] |= other[i];
  }

private:
  static uint64_t bits(int32_t word, int32_t begin, int32_t end) {
    int32_t low = std::max(begin - word * 64, 0);
    int32_t high = std::min(end - word * 64, 64);
    return (~uint64_t(0) >> (64 - (high - low))) << low;
  }

  std::vector<uint64_t> words;
  bool full = false;
};

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGCONFLICT_H
