//===- OffsetPackingWaiting.h - the unplaced bodies of a partial plan -----===//
//
// The list that the search by drops copies at every node, and how items that
// have risen come back into it. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGWAITING_H
#define TENON_LIB_SOLVER_OFFSETPACKINGWAITING_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tenon::solver::packing {

/// An unplaced body in a partial plan. A list of them is sorted by (least,
/// rank). Most loops look at nothing else of an item.
template <typename T>
struct Waiting {
  /// Ranks and sections: 16 bits where sizes have as few.
  using Index = std::conditional_t<sizeof(T) == 2, int16_t, int32_t>;
  T least;          ///< its base is at least this in every plan below this node
  T legal;          ///< where it would come to rest now
  T size;           ///< of the item
  T highest;        ///< its base is at most this
  Index rank;       ///< in the current order
  Index begin, end; ///< of the item
  bool isBox;       ///< of one piece
  bool stuck;       ///< passed over: first something has to cover it

  bool meets(const Waiting &other) const {
    return begin < other.end && other.begin < end;
  }
  static bool before(const Waiting &a, const Waiting &b) {
    return a.least != b.least ? a.least < b.least : a.rank < b.rank;
  }
  static bool beginsAbove(T level, const Waiting &waiting) {
    return level < waiting.least;
  }
};

/// Items that have risen and have to go to their new places. When a body is
/// dropped, most of them rise to its top.
template <typename T>
class RisenItems {
public:
  using Item = Waiting<T>;

  void resize(size_t numItems) {
    ranks.assign((numItems + 63) / 64, 0);
    ofRank.resize(numItems);
  }
  /// Forgets what there is; `top`: where most of what comes begins.
  void start(T top) {
    level = top;
    atLevel.clear();
    others.clear();
  }
  void add(const Item &item) {
    (item.least == level ? atLevel : others).push_back(item);
  }
  /// Sorts them into a list of `kept` sorted items, behind which there is room.
  void mergeInto(Item *list, size_t kept) {
    if (!others.empty())
      mergeOthers(list, kept);
    mergeAtLevel(list, kept + others.size());
  }

private:
  void mergeOthers(Item *list, size_t kept);
  void mergeAtLevel(Item *list, size_t kept);

  T level = 0;
  std::vector<Item> atLevel, others;
  std::vector<uint64_t> ranks; ///< of `atLevel`, as bits, during the merge
  std::vector<Item> ofRank;
};

template <typename T>
void RisenItems<T>::mergeOthers(Item *list, size_t kept) {
  std::sort(others.begin(), others.end(),
            [](const Item &a, const Item &b) { return Item::before(a, b); });
  for (size_t write = kept + others.size(), a = kept, b = others.size();
       b > 0;) {
    if (a > 0 && Item::before(others[b - 1], list[a - 1]))
      list[--write] = list[--a];
    else
      list[--write] = others[--b];
  }
}

/// To sort ranks by bits takes a fraction of the time.
template <typename T>
void RisenItems<T>::mergeAtLevel(Item *list, size_t kept) {
  for (const Item &item : atLevel) {
    ranks[item.rank / 64] |= uint64_t(1) << item.rank % 64;
    ofRank[item.rank] = item;
  }
  // What begins above makes room; what begins there lets through.
  size_t read =
      std::upper_bound(list, list + kept, level, Item::beginsAbove) - list;
  size_t write = read + atLevel.size();
  std::copy_backward(list + read, list + kept, list + kept + atLevel.size());
  for (size_t word = ranks.size(); word-- > 0;)
    while (ranks[word] != 0) {
      int32_t bit = 63 - std::countl_zero(ranks[word]);
      ranks[word] -= uint64_t(1) << bit;
      const Item &item = ofRank[word * 64 + bit];
      while (read > 0 && Item::before(item, list[read - 1]))
        list[--write] = list[--read];
      list[--write] = item;
    }
}

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGWAITING_H
