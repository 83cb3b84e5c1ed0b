//===- OffsetPackingDive.h - drop bodies on the skyline in an order -------===//
//
// The skyline dive (see OffsetPacking.h for the idea) and the static orders in
// which it takes bodies that could lie equally low. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGDIVE_H
#define TENON_LIB_SOLVER_OFFSETPACKINGDIVE_H

#include "OffsetPackingModel.h"

#include <string_view>

namespace tenon::solver::packing {

/// What a body can be sorted by; each larger first.
enum class SortKey : uint8_t {
  Area,     ///< bytes times sections
  Volume,   ///< bytes times duration
  Duration, ///< time it is live
  Sections, ///< sections it is live in
  Begin,    ///< first section
  Overlaps, ///< bodies alive at some common time
  Total,    ///< live bytes of its fullest section
  End,      ///< last section
  Length,   ///< from its first to its last section
  Size,     ///< bytes
};
constexpr int numSortKeys = 10;

/// The keys of all bodies of a model, computed once.
class SortKeys {
public:
  explicit SortKeys(const Model &model);

  /// All bodies, sorted by the keys named one after the other, ties by index.
  /// The letters are the initials A V D C B O T E L S (C: number of sections);
  /// a small letter sorts the smaller first.
  /// `urgency`, if given, has a number per body and comes before all keys.
  std::vector<int32_t> sorted(std::string_view letters,
                              std::span<const int32_t> urgency = {}) const;

  int64_t key(int32_t body, SortKey which) const {
    return keys[size_t(body) * numSortKeys + static_cast<int>(which)];
  }

private:
  int32_t count;
  std::vector<int64_t> keys;
};

/// Places every body: fixed ones first, then always the one with the lowest
/// legal base, ties by position in `order`. Valid for every model.
Bases dive(const Model &model, const std::vector<int32_t> &order);

/// The same idea for models of free boxes only (Model::onlyBoxes and
/// canBeDropped), without a dive's stale questions: for components of many
/// thousand bodies.
Bases diveOnPlateaus(const Model &model, const std::vector<int32_t> &order);

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGDIVE_H
