//===- OffsetPackingPlateau.cpp - the dive for very many boxes ------------===//
//
// The plain dive asks again and again for the height under bodies that are not
// placeable yet; on a training step, where the first activations lie over
// everything, nearly all answers are stale. Seen from the skyline no question
// is wasted. Its lowest plateau is a range of sections; what can rest on it are
// the waiting bodies inside that range, of which the first in the order is
// taken:
//
//       ____                    ____
//      |    |______            |    |_      _     c and d lie inside the
//      plateau, |           |___   ->   |    |c|____|         c comes first in
//      the order
//      |_______________|       |______________|
//
// If nothing fits inside, the plateau can never be used; it rises to its lower
// neighbour and joins it. Every step places a body or removes a plateau.
//
// "The first in the order with begin >= l and end <= r" is a corner of the
// plane of (begin, end). A tree that halves this plane by turns finds it: each
// node knows the box around its bodies and the first of those that still wait.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingDive.h"

#include <algorithm>
#include <cassert>
#include <queue>

namespace tenon::solver::packing {

namespace {

/// Waiting bodies by (begin, end); finds and removes the first inside a range.
class WaitingTree {
public:
  static constexpr int32_t none = std::numeric_limits<int32_t>::max();

  WaitingTree(const Model &model, const std::vector<int32_t> &order)
      : leafOfRank(order.size()) {
    points.resize(order.size());
    for (size_t rank = 0; rank < order.size(); ++rank) {
      const Slot &slot = model.slots[model.bodies[order[rank]].firstSlot];
      points[rank] = {slot.begin, slot.end, static_cast<int32_t>(rank)};
    }
    numLeaves = 1;
    while (numLeaves * pointsPerLeaf < static_cast<int32_t>(points.size()))
      numLeaves *= 2;
    nodes.resize(2 * numLeaves);
    firstOfLeaf.resize(numLeaves + 1);
    build(1, 0, static_cast<int32_t>(points.size()), true);
    firstOfLeaf[numLeaves] = static_cast<int32_t>(points.size());
  }

  /// The smallest rank inside [begin, end), or none.
  int32_t firstInside(int32_t begin, int32_t end) const {
    int32_t best = none;
    visit(1, begin, end, best);
    return best;
  }

  void remove(int32_t rank) {
    int32_t node = leafOfRank[rank];
    int32_t leaf = node - numLeaves;
    int32_t first = none;
    for (int32_t i = firstOfLeaf[leaf]; i < firstOfLeaf[leaf + 1]; ++i) {
      if (points[i].rank == rank)
        points[i].rank = none;
      first = std::min(first, points[i].rank);
    }
    nodes[node].first = first;
    for (node /= 2; node != 0; node /= 2)
      nodes[node].first =
          std::min(nodes[2 * node].first, nodes[2 * node + 1].first);
  }

private:
  static constexpr int32_t pointsPerLeaf = 8;
  struct Point {
    int32_t begin, end, rank;
  };
  struct Node {
    int32_t smallestBegin = none, largestBegin = -1;
    int32_t smallestEnd = none, largestEnd = -1;
    int32_t first = none;
  };

  void build(int32_t node, int32_t from, int32_t to, bool byBegin) {
    Node &box = nodes[node];
    for (int32_t i = from; i < to; ++i) {
      box.smallestBegin = std::min(box.smallestBegin, points[i].begin);
      box.largestBegin = std::max(box.largestBegin, points[i].begin);
      box.smallestEnd = std::min(box.smallestEnd, points[i].end);
      box.largestEnd = std::max(box.largestEnd, points[i].end);
      box.first = std::min(box.first, points[i].rank);
    }
    if (node >= numLeaves) {
      firstOfLeaf[node - numLeaves] = from;
      for (int32_t i = from; i < to; ++i)
        leafOfRank[points[i].rank] = node;
      return;
    }
    int32_t middle = from + (to - from) / 2;
    std::nth_element(points.begin() + from, points.begin() + middle,
                     points.begin() + to,
                     [byBegin](const Point &a, const Point &b) {
                       int32_t left = byBegin ? a.begin : a.end;
                       int32_t right = byBegin ? b.begin : b.end;
                       return left != right ? left < right : a.rank < b.rank;
                     });
    build(2 * node, from, middle, !byBegin);
    build(2 * node + 1, middle, to, !byBegin);
  }

  void visit(int32_t node, int32_t begin, int32_t end, int32_t &best) const {
    const Node &box = nodes[node];
    if (box.first >= best || box.largestBegin < begin || box.smallestEnd > end)
      return;
    if (box.smallestBegin >= begin && box.largestEnd <= end) {
      best = box.first;
      return;
    }
    if (node >= numLeaves) {
      int32_t leaf = node - numLeaves;
      for (int32_t i = firstOfLeaf[leaf]; i < firstOfLeaf[leaf + 1]; ++i)
        if (points[i].begin >= begin && points[i].end <= end)
          best = std::min(best, points[i].rank);
      return;
    }
    int32_t near = 2 * node;
    if (nodes[near + 1].first < nodes[near].first)
      ++near;
    visit(near, begin, end, best);
    visit(near ^ 1, begin, end, best);
  }

  std::vector<Point> points;
  std::vector<Node> nodes; ///< 1 is the root, children 2i and 2i + 1
  std::vector<int32_t> firstOfLeaf;
  std::vector<int32_t> leafOfRank;
  int32_t numLeaves = 1;
};

/// The skyline as plateaus, each named by its first section.
class Plateaus {
public:
  explicit Plateaus(int32_t numSections)
      : numSections(numSections), ends(numSections, 0),
        previous(numSections + 1, -1), heights(numSections, -1) {
    add(0, numSections, 0, -1);
  }

  /// The first section of the lowest plateau.
  int32_t lowest() {
    while (true) {
      auto [height, begin] = heap.top();
      if (heights[begin] == height)
        return begin;
      heap.pop();
    }
  }
  int32_t end(int32_t begin) const { return ends[begin]; }
  int64_t height(int32_t begin) const { return heights[begin]; }

  /// Lifts [begin, end), a part of the plateau `plateau`, to `top`.
  void lift(int32_t plateau, int32_t begin, int32_t end, int64_t top) {
    int32_t last = ends[plateau], before = previous[plateau];
    int64_t height = heights[plateau];
    heights[plateau] = -1;
    if (begin > plateau) {
      add(plateau, begin, height, before);
      before = plateau;
    }
    if (before >= 0 && heights[before] == top) {
      begin = before;
      before = previous[begin];
    }
    if (end < last)
      add(end, last, height, begin);
    else if (last < numSections && heights[last] == top) {
      end = ends[last];
      heights[last] = -1;
    }
    add(begin, end, top, before);
    if (end < numSections)
      previous[end] = begin;
  }

  /// The height the plateau has to rise to so that it grows; nothing if it is
  /// everything.
  std::optional<int64_t> lowerNeighbour(int32_t plateau) const {
    std::optional<int64_t> result;
    if (previous[plateau] >= 0)
      result = heights[previous[plateau]];
    if (int32_t next = ends[plateau]; next < numSections)
      result = result ? std::min(*result, heights[next]) : heights[next];
    return result;
  }

private:
  void add(int32_t begin, int32_t end, int64_t height, int32_t before) {
    ends[begin] = end;
    previous[begin] = before;
    if (end < numSections)
      previous[end] = begin;
    heights[begin] = height;
    heap.push({height, begin});
  }

  int32_t numSections;
  std::vector<int32_t> ends, previous;
  std::vector<int64_t> heights; ///< -1: no plateau begins here
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap;
};

} // namespace

Bases diveOnPlateaus(const Model &model, const std::vector<int32_t> &order) {
  assert(model.onlyBoxes && model.canBeDropped);
  Bases bases(model.bodies.size(), 0);
  if (order.empty())
    return bases;
  WaitingTree waiting(model, order);
  Plateaus plateaus(model.numSections);
  for (size_t left = order.size(); left > 0;) {
    int32_t plateau = plateaus.lowest();
    int32_t end = plateaus.end(plateau);
    int32_t rank = waiting.firstInside(plateau, end);
    if (rank == WaitingTree::none) {
      // Something waits, so there is a neighbour.
      plateaus.lift(plateau, plateau, end, *plateaus.lowerNeighbour(plateau));
      continue;
    }
    int32_t index = order[rank];
    const Body &body = model.bodies[index];
    const Slot &slot = model.slots[body.firstSlot];
    bases[index] = body.alignUp(plateaus.height(plateau));
    plateaus.lift(plateau, slot.begin, slot.end, bases[index] + slot.high);
    waiting.remove(rank);
    --left;
  }
  return bases;
}

} // namespace tenon::solver::packing
