//===- Lanes.h - A function of one lane, applied to 32 --------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_LANES_H
#define TENON_LIB_EMULATEDCUDA_LANES_H

#include "Launch.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenon::emulated {

template <typename Visit>
void forLanes(Mask active, Visit visit) {
  if (active == allLanes) {
    for (unsigned lane = 0; lane < laneCount; ++lane)
      visit(lane);
    return;
  }
  for (Mask rest = active; rest; rest &= rest - 1)
    visit(static_cast<unsigned>(std::countr_zero(rest)));
}

/// The result's type, the sources' types, and what one lane computes; the
/// function may take the instruction first, for its modifiers.
template <auto F, typename D, typename... S>
void each(Warp &warp, const Instruction &instruction, Mask active) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    D *to = warp.lanesOf<D>(instruction.operands[0]);
    std::tuple<const S *...> from{
        warp.lanesOf<S>(instruction.operands[I + 1])...};
    auto ofLane = [&](unsigned lane) -> D {
      if constexpr (std::is_invocable_v<decltype(F), const Instruction &, S...>)
        return F(instruction, std::get<I>(from)[lane]...);
      else
        return F(std::get<I>(from)[lane]...);
    };
    if (active != allLanes)
      return forLanes(active, [&](unsigned lane) { to[lane] = ofLane(lane); });
    // Kept apart from the operands, so that lanes can be vectorised.
    D results[laneCount];
    for (unsigned lane = 0; lane < laneCount; ++lane)
      results[lane] = ofLane(lane);
    std::copy(results, results + laneCount, to);
  }(std::index_sequence_for<S...>{});
}

/// A register or constant of any width as an unsigned number.
inline uint64_t readLane(Warp &warp, const Operand &operand, unsigned lane) {
  switch (operand.bits) {
  case 8:
    return warp.lanesOf<uint8_t>(operand)[lane];
  case 16:
    return warp.lanesOf<uint16_t>(operand)[lane];
  case 32:
    return warp.lanesOf<uint32_t>(operand)[lane];
  default:
    return warp.lanesOf<uint64_t>(operand)[lane];
  }
}

inline void writeLane(Warp &warp, const Operand &operand, unsigned lane,
                      uint64_t value) {
  switch (operand.kind == Operand::Register ? operand.bits : 0) {
  case 8:
    warp.lanesOf<uint8_t>(operand)[lane] = value;
    break;
  case 16:
    warp.lanesOf<uint16_t>(operand)[lane] = value;
    break;
  case 32:
    warp.lanesOf<uint32_t>(operand)[lane] = value;
    break;
  case 64:
    warp.lanesOf<uint64_t>(operand)[lane] = value;
    break;
  default: // `_`
    break;
  }
}

inline void writePredicate(Warp &warp, const Operand &operand, Mask active,
                           Mask value) {
  if (operand.kind != Operand::Register)
    return;
  Mask &mask = *warp.lanesOf<Mask>(operand);
  mask = (mask & ~active) | (value & active);
}

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_LANES_H
