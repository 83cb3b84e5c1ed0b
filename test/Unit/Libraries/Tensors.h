//===- Tensors.h - Test data for library calls ----------------------------===//
//
// Values that are exact in every type, memory with a guard around it, and
// running a call task by task or on threads.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_LIBRARIES_TENSORS_H
#define TENON_TEST_UNIT_LIBRARIES_TENSORS_H

#include "tenon/Libraries/Call.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace tenon::test {

inline float bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

inline uint16_t floatToBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// `bytes` at a multiple of 64 with a pattern on both sides.
class GuardedMemory {
public:
  explicit GuardedMemory(int64_t bytes) : size(bytes) {
    block.resize(size_t(bytes) + 3 * guard, pattern);
    auto address = reinterpret_cast<uintptr_t>(block.data()) + guard;
    start = size_t((address + 63) / 64 * 64 -
                   reinterpret_cast<uintptr_t>(block.data()));
  }
  std::byte *data() { return block.data() + start; }
  float *floats() { return reinterpret_cast<float *>(data()); }
  uint16_t *halves() { return reinterpret_cast<uint16_t *>(data()); }
  _Float16 *f16() { return reinterpret_cast<_Float16 *>(data()); }
  int64_t bytes() const { return size; }
  bool intact() const {
    auto isPattern = [](std::byte byte) { return byte == pattern; };
    auto begin = block.begin() + ptrdiff_t(start);
    return std::all_of(block.begin(), begin, isPattern) &&
           std::all_of(begin + ptrdiff_t(size), block.end(), isPattern);
  }
  double get(int64_t element, ElementType type) {
    return type == ElementType::f32   ? floats()[element]
           : type == ElementType::f16 ? float(f16()[element])
                                      : bf16ToFloat(halves()[element]);
  }
  /// All elements, for loops that read each of them many times.
  std::vector<double> elements(ElementType type) {
    std::vector<double> values(size_t(size / byteWidth(type)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = get(int64_t(i), type);
    return values;
  }
  void set(int64_t element, ElementType type, float value) {
    if (type == ElementType::f32)
      floats()[element] = value;
    else if (type == ElementType::f16)
      f16()[element] = _Float16(value);
    else
      halves()[element] = floatToBf16(value);
  }

private:
  static constexpr size_t guard = 256;
  static constexpr std::byte pattern{0x5a};
  std::vector<std::byte> block;
  size_t start = 0;
  int64_t size;
};

/// How far a sum of that type may be from the exact one, relative to the sum of
/// its terms' magnitudes: f32 accumulates, a 16-bit result is rounded once.
inline double unitOf(ElementType type) {
  return type == ElementType::f32   ? 0x1p-22
         : type == ElementType::f16 ? 0x1p-11
                                    : 0x1p-8;
}

/// A small deterministic generator of values between -1 and 1 that every type
/// here holds exactly.
class Values {
public:
  float next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return float(int64_t(state >> 57) - 64) / 64.0f;
  }

private:
  uint64_t state = 42;
};

/// Runs all tasks of a call; several threads share them as a team would.
inline bool runCall(const libraries::Call &call, std::vector<void *> arguments,
                    unsigned threads) {
  std::string error;
  auto bound = call.newBinding(error);
  if (!bound)
    return false;
  bound->bind(arguments);
  bool done = true;
  for (int64_t phase = 0; phase < call.phases(); ++phase) {
    std::vector<std::thread> team;
    std::vector<char> results(threads, 1);
    for (unsigned t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        for (int64_t task = t; task < call.tasks(phase); task += threads)
          results[t] &= char(bound->run(phase, task) == 0);
      });
    for (std::thread &thread : team)
      thread.join();
    for (char result : results)
      done &= result != 0;
  }
  return done;
}

} // namespace tenon::test

#endif // TENON_TEST_UNIT_LIBRARIES_TENSORS_H
