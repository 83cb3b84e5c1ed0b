//===- Shuffle.h - The order of samples in an epoch -----------------------===//
//
// A permutation that follows from a seed and the number of an epoch, one place
// at a time and without a table of it, so that a run over any number of samples
// goes on anywhere. docs/Forms.md describes it: it must not change, or runs
// that go on from a checkpoint would see other samples.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SHUFFLE_H
#define TENON_TOOLS_TENON_SHUFFLE_H

#include <array>
#include <cstdint>

namespace tenon::tool {

class Shuffle {
public:
  /// Of `count` samples, at least 1 and at most 2^62.
  Shuffle(uint64_t count, uint64_t seed, uint64_t epoch);

  /// The sample that stands at a place, both less than `count`.
  uint64_t operator[](uint64_t place) const;

private:
  uint64_t exchange(uint64_t place) const;

  uint64_t count;
  unsigned lowBits, highBits;
  std::array<uint64_t, 12> keys; // one per round
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_SHUFFLE_H
