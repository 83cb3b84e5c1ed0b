//===- OffsetPackingSearch.cpp - exhaustive search for a plan that fits ---===//
//
// Depth-first over sequences of drops (see the header). All arithmetic is in
// units of the common divisor of the sizes, in 16 or 32 bits when that is
// enough: the inner loop, which adds up a body's bytes over its sections, then
// handles 8 or 4 sections at a time (OffsetPackingSections.h).
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingSearch.h"

#include "OffsetPackingConflict.h"
#include "OffsetPackingItems.h"
#include "OffsetPackingSections.h"
#include "OffsetPackingWaiting.h"

#include <algorithm>
#include <numeric>

namespace tenon::solver::packing {

namespace {

template <typename T>
class SearchOf final : public Search {
public:
  SearchOf(const Model &model, int64_t unit) : model(model), unit(unit) {}

  SearchOutcome run(int64_t capacity, const std::vector<int32_t> &order,
                    const SearchTaste &taste, int64_t &nodes, Bases &bases,
                    std::vector<int64_t> &blame) override;

private:
  using Waiting = packing::Waiting<T>;
  using Item = typename ItemTable<T>::Item;
  using Piece = typename ItemTable<T>::Piece;

  void setUp(const std::vector<int32_t> &order);
  T alignUp(const Item &item, T base) const {
    return table.alignUp(item, base, capacity);
  }
  /// How far above the base of `lower` `upper` on top of it lies; 0 if they
  /// share no section.
  T lift(const Waiting &lower, const Waiting &upper) const {
    if (!lower.meets(upper))
      return 0;
    if (lower.isBox && upper.isBox)
      return lower.size;
    return table.lift(items[lower.rank], items[upper.rank]);
  }
  void addPieces(const Item &item, int32_t factor);
  void unplace(int32_t rank);
  void unplaceAll(size_t first, size_t count);
  SearchOutcome searchPart(size_t first, size_t count);
  SearchOutcome descend(size_t first, size_t count, size_t chosen);
  bool settle(size_t index, size_t first, size_t count);
  T fullestOf(const Waiting &waiting) const;
  size_t choose(size_t first, size_t count, T below) const;
  bool isHatless(size_t index, size_t first, size_t count) const;
  bool settleStuck(size_t first, size_t count, int32_t &changedBegin,
                   int32_t &changedEnd, T &highest);
  bool fits(size_t first, size_t count, int32_t begin, int32_t end, T highest);
  bool takeFromSums(const Waiting &waiting, int32_t begin, int32_t end);
  bool blameQueue(size_t index, size_t first, size_t count, int32_t begin,
                  int32_t end);
  void addConflictsAround(size_t index, size_t first, size_t count);
  SearchOutcome splitAndSearch(size_t first, size_t count, const Item &placed);

  const Model &model;
  int64_t unit;
  ItemTable<T> table;
  const std::vector<Piece> &pieces = table.pieces;
  const std::vector<Item> &items = table.items; ///< by rank
  std::vector<char> placed;
  std::vector<T> bases;
  /// Unplaced items whose hull crosses the boundary after each section.
  std::vector<int32_t> crossing;
  std::vector<Waiting> stack; ///< the lists of the open nodes
  size_t stackSize = 0;       ///< entries in use; the rest is room
  RisenItems<T> risen;
  std::vector<T> sums, failedSums; ///< per section, of `fits`
  std::vector<T> waitingBytes;     ///< per section, of all unplaced items
  /// Sections that the last failure depends on.
  ConflictSet conflict;
  /// The same for each open node: of its alternatives so far.
  std::vector<uint64_t> openConflicts;
  T capacity = 0;
  T roundedCapacity = 0; ///< for sums of rounded sizes
  T nearlyEqual = 0;     ///< bases no further apart count as equal
  T fullnessStep = 1;    ///< so do sections with waiting bytes alike
  int64_t nodesLeft = 0;
  std::vector<int64_t> *blame = nullptr;
};

template <typename T>
void SearchOf<T>::setUp(const std::vector<int32_t> &order) {
  table.build(model, order, unit);
  placed.assign(order.size(), 0);
  bases.assign(order.size(), 0);
  crossing.assign(model.numSections + 1, 0);
  sums.assign(model.numSections + sectionPadding, 0);
  failedSums = sums;
  waitingBytes.assign(model.numSections + sectionPadding, 0);
  risen.resize(order.size());
  conflict.resize(model.numSections);
  openConflicts.clear();
  for (const Item &item : items)
    for (int32_t s = item.begin; s + 1 < item.end; ++s)
      ++crossing[s];
  for (const Piece &piece : pieces)
    addToSections(&waitingBytes[piece.begin], piece.end - piece.begin,
                  piece.high);
}

/// To the bytes that wait in each section.
template <typename T>
void SearchOf<T>::addPieces(const Item &item, int32_t factor) {
  for (int32_t p = item.firstPiece; p < item.endPiece; ++p)
    addToSections(&waitingBytes[pieces[p].begin],
                  pieces[p].end - pieces[p].begin,
                  static_cast<T>(factor * pieces[p].high));
}

template <typename T>
void SearchOf<T>::unplace(int32_t rank) {
  placed[rank] = 0;
  const Item &item = items[rank];
  for (int32_t s = item.begin; s + 1 < item.end; ++s)
    ++crossing[s];
  addPieces(item, 1);
}

template <typename T>
void SearchOf<T>::unplaceAll(size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i)
    if (placed[stack[i].rank])
      unplace(stack[i].rank);
}

/// The failure depends on where this item can be, hence on what is around it.
/// If it was passed over, that is also what it waits for.
template <typename T>
void SearchOf<T>::addConflictsAround(size_t index, size_t first, size_t count) {
  if (conflict.isFull())
    return;
  const Waiting &waiting = stack[index];
  int32_t begin = waiting.begin, end = waiting.end;
  for (size_t j = first; waiting.stuck && j < first + count; ++j) {
    const Waiting &other = stack[j];
    if (j == index || lift(other, waiting) == 0)
      continue;
    // What a stuck neighbour waits for is not followed any further.
    if (other.stuck)
      return conflict.fill();
    // All have a section in common with it: together they are one range.
    begin = std::min<int32_t>(begin, other.begin);
    end = std::max<int32_t>(end, other.end);
  }
  conflict.add(begin, end);
}

/// Blames the items that queue in the fullest section of an item that did not
/// fit; they are also what the failure depends on.
template <typename T>
bool SearchOf<T>::blameQueue(size_t index, size_t first, size_t count,
                             int32_t begin, int32_t end) {
  const Item &item = items[stack[index].rank];
  int32_t worst = std::max(item.begin, begin);
  for (int32_t p = item.firstPiece; p < item.endPiece; ++p)
    for (int32_t s = std::max(pieces[p].begin, begin);
         s < std::min(pieces[p].end, end); ++s)
      if (failedSums[s] > failedSums[worst])
        worst = s;
  conflict.clear();
  // The ranges of all that were not passed over have this section in common.
  int32_t low = worst, high = worst + 1;
  for (size_t j = index; j < first + count; ++j) {
    const Waiting &waiting = stack[j];
    if (waiting.begin > worst || worst >= waiting.end)
      continue;
    ++(*blame)[items[waiting.rank].body];
    low = std::min<int32_t>(low, waiting.begin);
    high = std::max<int32_t>(high, waiting.end);
    if (waiting.stuck)
      addConflictsAround(j, first, count);
  }
  if (!conflict.isFull())
    conflict.add(low, high);
  return false;
}

/// Takes the bytes of an item from the sums in [begin, end); whether all of
/// them had room above its base.
template <typename T>
bool SearchOf<T>::takeFromSums(const Waiting &waiting, int32_t begin,
                               int32_t end) {
  const T room = static_cast<T>(roundedCapacity - waiting.least);
  auto take = [&](int32_t pieceBegin, int32_t pieceEnd, T high) {
    const int32_t low = std::max(pieceBegin, begin);
    return !exceedsAndAdd(sums.data() + low, std::min(pieceEnd, end) - low,
                          room, static_cast<T>(-high));
  };
  if (waiting.isBox)
    return take(waiting.begin, waiting.end, waiting.size);
  bool fit = true;
  const Item &item = items[waiting.rank];
  for (int32_t p = item.firstPiece; p < item.endPiece; ++p)
    fit &= take(pieces[p].begin, pieces[p].end, pieces[p].high);
  return fit;
}

/// Every section as a queue: what can begin at `least` or above has to follow
/// each other up to the capacity. Going up in `least`, `sums` holds, of each
/// section, the bytes of all items that begin no lower. Only the sections of
/// [begin, end) are looked at: the others have not changed since they did fit.
/// Nor has what begins above `highest`: no item has come there. Of all that do
/// not fit, the one that begins highest is blamed: it takes the fewest others.
template <typename T>
bool SearchOf<T>::fits(size_t first, size_t count, int32_t begin, int32_t end,
                       T highest) {
  if (begin >= end)
    return true;
  std::copy(waitingBytes.begin() + begin, waitingBytes.begin() + end,
            sums.begin() + begin);
  const Waiting *const list = stack.data() + first;
  const Waiting *const last =
      std::upper_bound(list, list + count, highest, Waiting::beginsAbove);
  const Waiting *failed = nullptr;
  for (const Waiting *from = list; from != last; ++from) {
    const Waiting &waiting = *from;
    if (waiting.begin >= end || waiting.end <= begin)
      continue;
    const bool haveRoom = takeFromSums(waiting, begin, end);
    if (haveRoom && waiting.least <= waiting.highest)
      continue;
    failed = from;
    std::copy(sums.begin() + begin, sums.begin() + end,
              failedSums.begin() + begin);
  }
  return !failed || blameQueue(failed - stack.data(), first, count, begin, end);
}

/// A stuck item has a hole below it that it fits. In a plan that cannot be
/// lowered, something must block the hole: an item that begins below the hole's
/// end. The stuck item then lies on it or higher. False if nothing can.
template <typename T>
bool SearchOf<T>::settle(size_t index, size_t first, size_t count) {
  Waiting &waiting = stack[index];
  T limit = rules.dominance ? static_cast<T>(waiting.legal + waiting.size)
                            : std::numeric_limits<T>::max();
  T lowest = std::numeric_limits<T>::max();
  for (size_t j = first; j < first + count; ++j) {
    const Waiting &other = stack[j];
    if (other.least >= limit) {
      // Stuck items may have left their place in the order a moment ago.
      if (other.stuck)
        continue;
      break;
    }
    if (T distance = j != index ? lift(other, waiting) : T(0)) {
      lowest = std::min(lowest, static_cast<T>(other.least + distance));
      limit = std::min(limit, lowest);
      if (lowest <= waiting.least)
        return true; // nothing new
    }
  }
  if (lowest == std::numeric_limits<T>::max()) {
    conflict.clear();
    addConflictsAround(index, first, count);
    return false;
  }
  waiting.least = std::max(waiting.least, alignUp(items[waiting.rank], lowest));
  return true;
}

/// Settles the stuck items that something changed for, and sorts the list
/// again. The range of change goes in; that of what it moved comes out, and
/// how high.
template <typename T>
bool SearchOf<T>::settleStuck(size_t first, size_t count, int32_t &changedBegin,
                              int32_t &changedEnd, T &highest) {
  risen.start(std::numeric_limits<T>::max());
  highest = 0;
  int32_t movedBegin = model.numSections, movedEnd = 0;
  Waiting *list = stack.data() + first;
  for (size_t i = 0; i < count; ++i) {
    if (!list[i].stuck)
      continue;
    if (list[i].begin >= changedEnd || list[i].end <= changedBegin)
      continue;
    T least = list[i].least;
    if (!settle(first + i, first, count))
      return false;
    if (list[i].least == least)
      continue;
    highest = std::max(highest, list[i].least);
    movedBegin = std::min<int32_t>(movedBegin, list[i].begin);
    movedEnd = std::max<int32_t>(movedEnd, list[i].end);
  }
  changedBegin = movedBegin;
  changedEnd = movedEnd;
  if (movedBegin >= movedEnd)
    return true;
  // What has moved up goes to its new place.
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (list[i].stuck) {
      risen.add(list[i]);
      continue;
    }
    list[kept++] = list[i];
  }
  risen.mergeInto(list, kept);
  return true;
}

/// The most bytes that wait in any of its sections.
template <typename T>
T SearchOf<T>::fullestOf(const Waiting &waiting) const {
  auto most = [&](int32_t begin, int32_t end) {
    return largestOfSections(&waitingBytes[begin], end - begin);
  };
  if (waiting.isBox)
    return most(waiting.begin, waiting.end);
  T result = 0;
  const Item &item = items[waiting.rank];
  for (int32_t p = item.firstPiece; p < item.endPiece; ++p)
    result = std::max(result, most(pieces[p].begin, pieces[p].end));
  return result;
}

/// Among the items that can rest nearly lowest, and below `below`: the one in
/// whose fullest section the most bytes wait, then the first in rank. The end
/// of the list if there is none. Any item may be chosen: either nothing that
/// waits lies under it in the plan, and it rests where it would now, or it is
/// stuck.
template <typename T>
size_t SearchOf<T>::choose(size_t first, size_t count, T below) const {
  size_t last = first + count, best = last;
  T highest = 0, most = 0;
  for (size_t i = first; i < last; ++i) {
    const Waiting &waiting = stack[i];
    if (waiting.stuck)
      continue;
    // From the first on that is not stuck, hence the lowest of these.
    if (best == last)
      highest = std::min<T>(static_cast<T>(waiting.least + nearlyEqual),
                            static_cast<T>(below - 1));
    if (waiting.least > highest)
      break;
    T fullest = rules.fullestFirst
                    ? static_cast<T>(fullestOf(waiting) / fullnessStep)
                    : T(0);
    if (best == last || fullest > most ||
        (fullest == most && waiting.rank < stack[best].rank)) {
      best = i;
      most = fullest;
    }
  }
  return best;
}

template <typename T>
SearchOutcome SearchOf<T>::searchPart(size_t first, size_t count) {
  if (count == 0)
    return SearchOutcome::Found;
  T smallestTop = std::numeric_limits<T>::max();
  size_t smallest = first;
  for (size_t i = first; i < first + count; ++i)
    if (T top = static_cast<T>(stack[i].legal + stack[i].size);
        top < smallestTop) {
      smallestTop = top;
      smallest = i;
    }
  // Dominance: what rests no lower would lie above a hole that an item fits.
  T below = rules.dominance ? smallestTop : std::numeric_limits<T>::max();
  // What the failures of the alternatives so far depend on.
  size_t open = openConflicts.size(), words = conflict.size();
  openConflicts.resize(open + words, 0);
  auto remember = [&] { conflict.addTo(&openConflicts[open]); };
  auto fail = [&] {
    conflict.addFrom(&openConflicts[open]);
    openConflicts.resize(open);
    return SearchOutcome::Exhausted;
  };
  const Waiting lowest = stack[smallest];
  for (size_t i; (i = choose(first, count, below)) < first + count;) {
    const Waiting waiting = stack[i];
    const Item &item = items[waiting.rank];
    if (!(rules.twins && item.twin >= 0 && !placed[item.twin])) {
      SearchOutcome outcome = descend(first, count, i);
      if (outcome != SearchOutcome::Exhausted) {
        openConflicts.resize(open);
        return outcome;
      }
      if (rules.jump && !conflict.meets(item.begin, item.end))
        return fail();
      conflict.add(item.begin, item.end);
      remember();
    }
    // From here on it is passed over: something has to come under it.
    stack[i].stuck = true;
    if (!rules.stuck) {
      if (rules.hatless && isHatless(i, first, count))
        break;
      continue;
    }
    if (!settle(i, first, count))
      return fail();
    if (stack[i].least == waiting.least)
      continue;
    const Waiting settled = stack[i];
    auto from = stack.begin() + i;
    auto to = std::lower_bound(from + 1, stack.begin() + first + count, settled,
                               Waiting::before);
    *std::copy(from + 1, to, from) = settled;
    if (!fits(first, count, item.begin, item.end, settled.least))
      return fail();
  }
  conflict.clear();
  for (size_t j = first; j < first + count; ++j) {
    if (lift(stack[j], lowest) == 0)
      continue;
    conflict.add(stack[j].begin, stack[j].end);
    // What would have to come under it is not followed any further.
    if (stack[j].stuck || stack[j].legal < smallestTop)
      conflict.fill();
  }
  conflict.add(lowest.begin, lowest.end);
  return fail();
}

/// Nothing can ever lie on it, so that placing something else first cannot
/// help.
template <typename T>
bool SearchOf<T>::isHatless(size_t index, size_t first, size_t count) const {
  for (size_t j = first; j < first + count; ++j)
    if (j != index && lift(stack[index], stack[j]) != 0)
      return false;
  return true;
}

template <typename T>
SearchOutcome SearchOf<T>::descend(size_t first, size_t count, size_t chosen) {
  if (nodesLeft <= 0)
    return SearchOutcome::Stopped;
  --nodesLeft;
  const Waiting drop = stack[chosen];
  const Item &item = items[drop.rank];
  size_t child = stackSize;
  stackSize += count - 1;
  if (stack.size() < stackSize + 1)
    stack.resize(2 * stackSize + 1);
  risen.start(static_cast<T>(drop.legal + drop.size));
  bool anyStuck = false;
  int32_t changedBegin = item.begin, changedEnd = item.end;
  T highest = 0;
  Waiting *keep = stack.data() + child;
  for (const Waiting *from = stack.data() + first, *last = from + count;
       from != last; ++from) {
    *keep = *from;
    if (from->meets(drop)) {
      if (from->rank == drop.rank)
        continue;
      T distance = lift(drop, *from);
      T top = static_cast<T>(drop.legal + distance);
      // It need not rise for it: what came under it may be well below.
      keep->stuck &= distance == 0;
      if (distance != 0 && top > from->legal) {
        keep->legal = alignUp(items[from->rank], top);
        keep->least = std::max(keep->least, keep->legal);
        risen.add(*keep);
        highest = std::max(highest, keep->least);
        changedBegin = std::min<int32_t>(changedBegin, from->begin);
        changedEnd = std::max<int32_t>(changedEnd, from->end);
        continue;
      }
    }
    anyStuck |= keep->stuck;
    ++keep;
  }
  // The others are still sorted.
  risen.mergeInto(stack.data() + child, keep - (stack.data() + child));
  addPieces(item, -1);
  // The cheap test comes first; it rejects most children.
  bool alive = fits(child, count - 1, changedBegin, changedEnd, highest);
  if (alive && rules.stuck && anyStuck)
    alive = settleStuck(child, count - 1, changedBegin, changedEnd, highest) &&
            fits(child, count - 1, changedBegin, changedEnd, highest);
  if (!alive) {
    addPieces(item, 1);
    stackSize = child;
    return SearchOutcome::Exhausted;
  }
  placed[drop.rank] = 1;
  bases[drop.rank] = drop.legal;
  bool apart = false;
  for (int32_t s = item.begin; s + 1 < item.end; ++s)
    apart |= --crossing[s] == 0;
  SearchOutcome outcome = apart && rules.split
                              ? splitAndSearch(child, count - 1, item)
                              : searchPart(child, count - 1);
  if (outcome != SearchOutcome::Found)
    unplace(drop.rank);
  stackSize = child;
  return outcome;
}

template <typename T>
SearchOutcome SearchOf<T>::splitAndSearch(size_t first, size_t count,
                                          const Item &item) {
  // Cuts can only have appeared below the item just placed.
  std::vector<int32_t> cuts;
  for (int32_t s = item.begin; s + 1 < item.end; ++s)
    if (crossing[s] == 0)
      cuts.push_back(s + 1);
  for (size_t part = 0; part <= cuts.size(); ++part) {
    int32_t begin = part == 0 ? 0 : cuts[part - 1];
    int32_t end = part == cuts.size() ? model.numSections : cuts[part];
    size_t child = stackSize;
    if (stack.size() < child + count)
      stack.resize(2 * (child + count));
    for (size_t i = first; i < first + count; ++i) {
      const Waiting &other = stack[i];
      if (other.begin >= begin && other.end <= end)
        stack[stackSize++] = other;
    }
    SearchOutcome outcome = searchPart(child, stackSize - child);
    stackSize = child;
    if (outcome != SearchOutcome::Found) {
      unplaceAll(first, count);
      return outcome;
    }
  }
  return SearchOutcome::Found;
}

template <typename T>
SearchOutcome
SearchOf<T>::run(int64_t wanted, const std::vector<int32_t> &order,
                 const SearchTaste &taste, int64_t &nodes, Bases &result,
                 std::vector<int64_t> &blameOfBody) {
  blame = &blameOfBody;
  capacity = static_cast<T>(wanted / unit);
  auto share = [&](double part) {
    return static_cast<T>(part * static_cast<double>(capacity));
  };
  nearlyEqual = share(taste.nearlyEqual);
  fullnessStep = static_cast<T>(1 + share(taste.fullnessStep));
  setUp(order);
  int64_t slack = 0;
  for (const Slot &slot : model.slots)
    slack = std::max(slack, (model.granule - slot.high % model.granule) %
                                model.granule);
  roundedCapacity = static_cast<T>((wanted + slack) / unit);
  nodesLeft = nodes;
  stackSize = items.size();
  if (stack.size() < stackSize)
    stack.resize(stackSize);
  for (int32_t rank = 0; rank < static_cast<int32_t>(items.size()); ++rank) {
    const Item &item = items[rank];
    const T base = alignUp(item, 0);
    stack[rank] = {base,
                   base,
                   item.size,
                   static_cast<T>(capacity - item.height),
                   static_cast<typename Waiting::Index>(rank),
                   static_cast<typename Waiting::Index>(item.begin),
                   static_cast<typename Waiting::Index>(item.end),
                   item.endPiece - item.firstPiece == 1,
                   false};
  }
  std::sort(stack.begin(), stack.begin() + stackSize, Waiting::before);
  SearchOutcome outcome = SearchOutcome::Exhausted;
  size_t count = stackSize;
  if (fits(0, count, 0, model.numSections, capacity))
    outcome = searchPart(0, count);
  nodes = nodesLeft;
  if (outcome == SearchOutcome::Found) {
    result.assign(model.bodies.size(), 0);
    for (size_t rank = 0; rank < items.size(); ++rank)
      result[items[rank].body] = int64_t(bases[rank]) * unit;
  }
  return outcome;
}

} // namespace

std::unique_ptr<Search> makeSearch(const Model &model,
                                   int64_t largestCapacity) {
  int64_t unit = 0;
  for (const Slot &slot : model.slots)
    unit = std::gcd(unit, slot.high);
  for (const Body &body : model.bodies) {
    unit = std::gcd(unit, std::gcd(body.height, body.residue));
    // A body aligned to 1 may lie anywhere, but in a plan that cannot be
    // lowered all tops are sums of sizes, so bases are multiples of the unit as
    // well.
    if (body.alignment > 1)
      unit = std::gcd(unit, body.alignment);
  }
  unit = std::max<int64_t>(unit, 1);
  // Bases and sums of bytes that fit go up to the capacity. Each is compared
  // after at most two more sizes were added to it.
  int64_t largest = (largestCapacity + 2 * model.granule) / unit;
  // Ranks and sections have as many bits.
  if (int64_t counted =
          std::max<int64_t>(model.numSections, int64_t(model.bodies.size()));
      std::max(largest, counted) < std::numeric_limits<int16_t>::max() / 4)
    return std::make_unique<SearchOf<int16_t>>(model, unit);
  if (largest < std::numeric_limits<int32_t>::max() / 4)
    return std::make_unique<SearchOf<int32_t>>(model, unit);
  return std::make_unique<SearchOf<int64_t>>(model, unit);
}

} // namespace tenon::solver::packing
