//===- OffsetPackingSections.h - numbers per section, many at a time ------===//
//
// The inner loops of the search by drops: adding a body's bytes to the sections
// that it is live in, and the largest number there. They handle 16 bytes at a
// time. What does not fill that at the end is masked, since most bodies are
// live in few sections; so rows of numbers need `sectionPadding` more entries
// behind the last section. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGSECTIONS_H
#define TENON_LIB_SOLVER_OFFSETPACKINGSECTIONS_H

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tenon::solver::packing {

/// Entries behind the last section: they are read, and written unchanged.
constexpr int32_t sectionPadding = 16;

/// 16 bytes of numbers; comparisons give all bits or none.
template <typename T>
using SectionLanes __attribute__((vector_size(16))) = T;
template <typename T>
constexpr int32_t lanesOf = 16 / sizeof(T);

template <typename T>
SectionLanes<T> loadLanes(const T *numbers) {
  SectionLanes<T> lanes;
  std::memcpy(&lanes, numbers, sizeof(lanes));
  return lanes;
}

template <typename T>
void storeLanes(SectionLanes<T> lanes, T *numbers) {
  std::memcpy(numbers, &lanes, sizeof(lanes));
}

/// All bits in the first `count` lanes, none in the others.
template <typename T>
SectionLanes<T> firstLanes(int32_t count) {
  struct Masks {
    T bits[2 * lanesOf<T>] = {};
    constexpr Masks() {
      for (int32_t i = 0; i < lanesOf<T>; ++i)
        bits[i] = static_cast<T>(-1);
    }
  };
  static constexpr Masks masks;
  return loadLanes(masks.bits + lanesOf<T> - count);
}

template <typename T>
bool anyLane(SectionLanes<T> lanes) {
  uint64_t words[2];
  std::memcpy(words, &lanes, sizeof(words));
  return (words[0] | words[1]) != 0;
}

/// Whether one of `count` numbers is above `most`; then adds `bytes`, which may
/// be negative, to each.
template <typename T>
bool exceedsAndAdd(T *numbers, int32_t count, T most, T bytes) {
  using Lanes = SectionLanes<T>;
  const Lanes limit = Lanes{} + most, added = Lanes{} + bytes;
  Lanes above{};
  for (; count >= lanesOf<T>; numbers += lanesOf<T>, count -= lanesOf<T>) {
    const Lanes lanes = loadLanes(numbers);
    above |= lanes > limit;
    storeLanes(lanes + added, numbers);
  }
  if (count > 0) {
    const Lanes mask = firstLanes<T>(count), lanes = loadLanes(numbers);
    above |= (lanes > limit) & mask;
    storeLanes(lanes + (added & mask), numbers);
  }
  return anyLane<T>(above);
}

/// Adds `bytes`, which may be negative, to `count` numbers.
template <typename T>
void addToSections(T *numbers, int32_t count, T bytes) {
  using Lanes = SectionLanes<T>;
  const Lanes added = Lanes{} + bytes;
  for (; count >= lanesOf<T>; numbers += lanesOf<T>, count -= lanesOf<T>)
    storeLanes(loadLanes(numbers) + added, numbers);
  if (count > 0)
    storeLanes(loadLanes(numbers) + (added & firstLanes<T>(count)), numbers);
}

/// The largest of `count` numbers, none of them negative; 0 if there are none.
template <typename T>
T largestOfSections(const T *numbers, int32_t count) {
  using Lanes = SectionLanes<T>;
  Lanes largest{};
  auto take = [&](Lanes lanes) { largest = lanes > largest ? lanes : largest; };
  for (; count >= lanesOf<T>; numbers += lanesOf<T>, count -= lanesOf<T>)
    take(loadLanes(numbers));
  if (count > 0)
    take(loadLanes(numbers) & firstLanes<T>(count));
  T result = 0;
  for (int32_t i = 0; i < lanesOf<T>; ++i)
    result = std::max<T>(result, largest[i]);
  return result;
}

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGSECTIONS_H
