//===- OffsetPackingItems.h - the bodies of a model in ranks --------------===//
//
// What the search knows of each body, in the order in which it takes them: its
// pieces (sections and bytes), sizes in units of their common divisor, and
// equal bodies linked. T is wide enough for the capacity.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGITEMS_H
#define TENON_LIB_SOLVER_OFFSETPACKINGITEMS_H

#include "OffsetPackingModel.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tenon::solver::packing {

template <typename T>
struct ItemTable {
  struct Piece {
    int32_t begin, end; ///< sections
    T high;             ///< rounded up to the granule
  };
  struct Item {
    int32_t firstPiece, endPiece;
    int32_t begin, end; ///< hull of its pieces
    T size;             ///< largest high, rounded
    T height;           ///< not rounded
    int64_t alignment, residue;
    int32_t body;
    int32_t twin; ///< an equal item of the next smaller rank, or -1
  };

  void build(const Model &model, const std::vector<int32_t> &order,
             int64_t unit);

  /// The permitted base at or above `base`; one above the capacity stands for
  /// all that are too high.
  T alignUp(const Item &item, T base, T capacity) const {
    if (item.alignment == 1)
      return base;
    int64_t over = (int64_t(base) - item.residue) % item.alignment;
    int64_t up = over > 0 ? base + item.alignment - over : base - over;
    return static_cast<T>(std::min<int64_t>(up, int64_t(capacity) + 1));
  }

  /// How far above the base of `lower` an item `upper` on top of it lies; 0 if
  /// they share no section. Not inline, so that what it is asked for boxes
  /// before this is.
  [[gnu::noinline]] T lift(const Item &lower, const Item &upper) const {
    T result = 0;
    for (int32_t a = lower.firstPiece; a < lower.endPiece; ++a)
      for (int32_t b = upper.firstPiece; b < upper.endPiece; ++b)
        if (pieces[a].begin < pieces[b].end && pieces[b].begin < pieces[a].end)
          result = std::max(result, pieces[a].high);
    return result;
  }

  std::vector<Piece> pieces;
  std::vector<Item> items;

private:
  void linkTwins();
};

template <typename T>
void ItemTable<T>::build(const Model &model, const std::vector<int32_t> &order,
                         int64_t unit) {
  items.resize(order.size());
  pieces.clear();
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const Body &body = model.bodies[order[rank]];
    Item &item = items[rank];
    item = Item();
    item.body = order[rank];
    item.firstPiece = static_cast<int32_t>(pieces.size());
    item.begin = model.numSections;
    item.end = 0;
    for (const Slot &slot : model.slotsOf(body)) {
      int64_t high = (slot.high + model.granule - 1) / model.granule *
                     model.granule / unit;
      pieces.push_back({slot.begin, slot.end, static_cast<T>(high)});
      item.begin = std::min(item.begin, slot.begin);
      item.end = std::max(item.end, slot.end);
      item.size = std::max(item.size, static_cast<T>(high));
    }
    item.endPiece = static_cast<int32_t>(pieces.size());
    item.height = static_cast<T>(body.height / unit);
    item.alignment = std::max<int64_t>(body.alignment / unit, 1);
    item.residue = body.residue / unit;
  }
  linkTwins();
}

/// Equal items: sorts ranks by everything that counts, links neighbours.
template <typename T>
void ItemTable<T>::linkTwins() {
  std::vector<int32_t> ranks(items.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  auto shape = [&](int32_t r) {
    const Item &i = items[r];
    return std::tuple(i.begin, i.end, i.size, i.height, i.alignment, i.residue,
                      i.endPiece - i.firstPiece);
  };
  std::sort(ranks.begin(), ranks.end(), [&](int32_t a, int32_t b) {
    auto left = shape(a), right = shape(b);
    return left != right ? left < right : a < b;
  });
  for (size_t i = 0; i < ranks.size(); ++i) {
    Item &item = items[ranks[i]];
    item.twin = -1;
    if (i > 0 && item.endPiece - item.firstPiece == 1 &&
        shape(ranks[i - 1]) == shape(ranks[i]))
      item.twin = ranks[i - 1];
  }
}

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGITEMS_H
