//===- Shuffle.cpp - The order of samples in an epoch ---------------------===//
//
// See Shuffle.h. A Feistel network permutes the numbers of as many bits as the
// count needs; a number that is no sample is exchanged again until it is one,
// which keeps the permutation one (cycle walking).
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Shuffle.h"

#include <algorithm>
#include <bit>

using namespace tenon::tool;

/// Spreads every bit over all of them: the last step of SplitMix64.
static uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

static constexpr uint64_t golden = 0x9E3779B97F4A7C15;

Shuffle::Shuffle(uint64_t count, uint64_t seed, uint64_t epoch) : count(count) {
  // With fewer bits there are not enough networks for all orders.
  unsigned bits = std::max(6u, unsigned(std::bit_width(count - 1)));
  lowBits = bits / 2;
  highBits = bits - lowBits;
  uint64_t state = mix(mix(seed + golden) + epoch * golden);
  for (uint64_t &key : keys)
    key = mix(state += golden);
}

uint64_t Shuffle::exchange(uint64_t place) const {
  uint64_t lowMask = (uint64_t(1) << lowBits) - 1,
           highMask = (uint64_t(1) << highBits) - 1;
  uint64_t low = place & lowMask, high = place >> lowBits;
  for (size_t round = 0; round < keys.size(); round += 2) {
    high ^= mix(low + keys[round]) & highMask;
    low ^= mix(high + keys[round + 1]) & lowMask;
  }
  return high << lowBits | low;
}

uint64_t Shuffle::operator[](uint64_t place) const {
  do
    place = exchange(place);
  while (place >= count);
  return place;
}
