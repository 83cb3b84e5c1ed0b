//===- PlanReshard.cpp - The cheapest way from one layout to another ------===//
//
// Dijkstra's algorithm. The axes of both layouts are first cut into the largest
// parts that neither layout cuts; these atoms stay whole. The neighbours of a
// layout are all that one step leads to. Where a dimension is cut unevenly, a
// step that needs the shards of two cuts to nest is left out if they do not
// (`nests`): such a dimension is gathered as a whole and cut anew.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/PlanReshard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

using namespace tenon::sharding;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

int64_t elementsOf(const Layout &layout, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : layout.localShape(shape))
    count *= extent;
  return count;
}

/// With more atoms than this, shards are permuted only straight to the target:
/// the ways to arrange them grow with the factorial.
constexpr size_t mostPermutedAtoms = 4;

/// On meshes of more axes plans are direct, see below.
constexpr size_t mostFreeAxes = 3;

/// A layout as a key of maps.
using Key = std::pair<std::vector<AxisParts>, AxisParts>;

Key keyOf(const Layout &layout) {
  Key key{layout.dims, layout.pending};
  llvm::sort(key.second); // their order says nothing
  return key;
}

class Planner {
public:
  Planner(const Mesh &mesh, ArrayRef<int64_t> shape, int64_t elementBytes,
          const Layout &source, const Layout &target)
      : mesh(mesh), shape(shape), elementBytes(elementBytes) {
    findAtoms(source, target);
    start = inAtoms(source);
    goal = inAtoms(target);
    isDirect = mesh.axes.size() > mostFreeAxes;
  }

  ReshardPlan plan() {
    int64_t source = elementsOf(start, shape), target = elementsOf(goal, shape);
    memory = source + target + std::max(source, target);
    ReshardPlan found = search();
    if (!found.steps.empty() || keyOf(start) == keyOf(goal))
      return found;
    memory.reset();
    found = search();
    found.withinMemory = false;
    return found;
  }

private:
  using Visit = llvm::function_ref<void(ReshardKind, Layout)>;

  void findAtoms(const Layout &source, const Layout &target) {
    SmallVector<SmallVector<int64_t>> cuts(mesh.axes.size());
    auto addParts = [&](ArrayRef<AxisPart> parts) {
      for (const AxisPart &part : parts) {
        cuts[part.axis].push_back(part.before);
        cuts[part.axis].push_back(part.before * part.size);
      }
    };
    for (const Layout *layout : {&source, &target}) {
      for (const AxisParts &parts : layout->dims)
        addParts(parts);
      addParts(layout->pending);
    }
    for (auto [axis, places] : llvm::enumerate(cuts)) {
      // What neither layout names is an atom, too: it may help on the way.
      places.push_back(1);
      places.push_back(mesh.axes[axis].size);
      llvm::sort(places);
      for (size_t at = 0; at + 1 < places.size(); ++at)
        if (places[at + 1] % places[at] == 0 && places[at + 1] > places[at])
          atoms.push_back(
              {unsigned(axis), places[at], places[at + 1] / places[at]});
    }
  }

  AxisParts inAtoms(ArrayRef<AxisPart> parts) const {
    AxisParts cut;
    for (const AxisPart &part : parts)
      for (const AxisPart &atom : atoms)
        if (atom.overlaps(part))
          cut.push_back(atom);
    return cut;
  }
  Layout inAtoms(const Layout &layout) const {
    Layout cut = layout;
    for (AxisParts &parts : cut.dims)
      parts = inAtoms(parts);
    cut.pending = inAtoms(layout.pending);
    return cut;
  }

  ReshardPlan search() {
    struct Place {
      int64_t cost = 0;
      int64_t steps = 0;
      Layout layout;
      ReshardKind by = ReshardKind::slice;
      std::optional<Key> previous;
      bool isFinal = false;
    };
    std::map<Key, Place> places;
    using Entry = std::tuple<int64_t, int64_t, Key>; // cost, steps
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    places[keyOf(start)].layout = start;
    queue.push({0, 0, keyOf(start)});
    Key end = keyOf(goal);
    while (!queue.empty()) {
      auto [cost, steps, key] = queue.top();
      queue.pop();
      Place &place = places[key];
      if (place.isFinal ||
          std::pair(cost, steps) != std::pair(place.cost, place.steps))
        continue;
      place.isFinal = true;
      if (key == end)
        break;
      Layout from = place.layout;
      int64_t read = elementsOf(from, shape);
      auto visit = [&](ReshardKind kind, Layout to) {
        int64_t held = read + elementsOf(to, shape);
        bool isFirst = steps == 0; // then the source is what the step reads
        if (memory && held + (isFirst ? 0 : elementsOf(start, shape)) > *memory)
          return;
        ReshardStep step{kind, from, to};
        int64_t total = cost + receivedBy(step, shape, elementBytes);
        Key next = keyOf(to);
        auto [found, isNew] = places.try_emplace(next);
        Place &other = found->second;
        if (!isNew &&
            std::pair(other.cost, other.steps) <= std::pair(total, steps + 1))
          return;
        other = {total, steps + 1, std::move(to), kind, key, false};
        queue.push({total, steps + 1, next});
      };
      forEachNeighbour(from, visit);
    }
    ReshardPlan plan;
    auto reached = places.find(end);
    if (reached == places.end())
      return plan;
    plan.received = reached->second.cost;
    for (auto *place = &reached->second; place->previous;) {
      auto *previous = &places.find(*place->previous)->second;
      plan.steps.push_back({place->by, previous->layout, place->layout});
      place = previous;
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  void forEachNeighbour(const Layout &from, Visit visit) const {
    slice(from, visit);
    gather(from, visit);
    exchange(from, visit);
    permute(from, visit);
    reduce(from, visit);
  }

  bool nestsIn(size_t dim, ArrayRef<AxisPart> outer,
               ArrayRef<AxisPart> inner) const {
    return nests(shape[dim], countOf(outer), countOf(inner));
  }

  /// Several dimensions at once: one step.
  void slice(const Layout &from, Visit visit) const {
    SmallVector<AxisPart> unused;
    for (const AxisPart &atom : atoms)
      if (!from.uses(atom))
        unused.push_back(atom);
    addBehind(from, unused, [&](Layout to) {
      if (!(to == from))
        visit(ReshardKind::slice, std::move(to));
    });
  }

  /// Calls `visit` with every layout that has some of `added` behind the parts
  /// of dimensions of `from`, nested in them.
  void addBehind(const Layout &from, ArrayRef<AxisPart> added,
                 llvm::function_ref<void(Layout)> visit) const {
    // Dimensions are filled in order, so each result is made once.
    auto fill = [&](auto &self, size_t dim, SmallVector<AxisPart> left,
                    Layout layout) -> void {
      if (dim == shape.size())
        return visit(std::move(layout));
      if (nestsIn(dim, from.dims[dim], layout.dims[dim]))
        self(self, dim + 1, left, layout);
      for (size_t at = 0; at < left.size(); ++at) {
        SmallVector<AxisPart> fewer(left);
        fewer.erase(fewer.begin() + at);
        Layout more = layout;
        more.dims[dim].push_back(left[at]);
        // A dimension of extent 1 has nothing to cut.
        if ((isDirect ||
             countOf(more.dims[dim]) > std::max<int64_t>(shape[dim], 1)) &&
            !wants(dim, more.dims[dim]))
          continue;
        self(self, dim, fewer, more);
      }
    };
    fill(fill, 0, SmallVector<AxisPart>(added), from);
  }

  /// Whether one of the two layouts cuts a dimension so: only then it may be
  /// cut into more shards than it has elements.
  bool wants(size_t dim, ArrayRef<AxisPart> parts) const {
    auto begins = [&](ArrayRef<AxisPart> whole) {
      return whole.size() >= parts.size() &&
             whole.take_front(parts.size()) == parts;
    };
    return begins(start.dims[dim]) || begins(goal.dims[dim]);
  }

  void gather(const Layout &from, Visit visit) const {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (size_t kept = 0; kept < from.dims[dim].size(); ++kept) {
        Layout to = from;
        to.dims[dim].resize(kept);
        if (nestsIn(dim, to.dims[dim], from.dims[dim]))
          visit(ReshardKind::allGather, std::move(to));
      }
  }

  /// Takes last parts from some dimensions and puts all of them behind those of
  /// dimensions that lose nothing.
  void exchange(const Layout &from, Visit visit) const {
    auto take = [&](auto &self, size_t dim, Layout kept,
                    SmallVector<AxisPart> moved,
                    SmallVector<bool> loses) -> void {
      if (dim == shape.size()) {
        if (moved.empty())
          return;
        addBehind(kept, moved, [&](Layout to) {
          for (size_t d = 0; d < shape.size(); ++d)
            if (loses[d] && to.dims[d].size() != kept.dims[d].size())
              return;
          size_t before = 0, behind = 0;
          for (size_t d = 0; d < shape.size(); ++d) {
            before += from.dims[d].size();
            behind += to.dims[d].size();
          }
          if (before == behind)
            visit(ReshardKind::allToAll, std::move(to));
        });
        return;
      }
      for (size_t left = 0; left <= from.dims[dim].size(); ++left) {
        Layout less = kept;
        less.dims[dim].resize(left);
        SmallVector<AxisPart> more(moved);
        llvm::append_range(more, ArrayRef(from.dims[dim]).drop_front(left));
        SmallVector<bool> who(loses);
        who.push_back(left < from.dims[dim].size());
        if (nestsIn(dim, less.dims[dim], from.dims[dim]))
          self(self, dim + 1, less, more, who);
      }
    };
    take(take, 0, from, {}, {});
  }

  void permute(const Layout &from, Visit visit) const {
    SmallVector<int64_t> counts;
    for (const AxisParts &parts : from.dims)
      counts.push_back(countOf(parts));
    if (isDirect || atoms.size() > mostPermutedAtoms) {
      bool fits = keyOf(goal).second == keyOf(from).second;
      for (auto [count, parts] : llvm::zip_equal(counts, goal.dims))
        fits &= count == countOf(parts);
      if (fits && !(goal == from))
        visit(ReshardKind::permute, goal);
      return;
    }
    Layout empty = from;
    for (AxisParts &parts : empty.dims)
      parts.clear();
    SmallVector<AxisPart> usable;
    for (const AxisPart &atom : atoms)
      if (!empty.uses(atom))
        usable.push_back(atom);
    auto fill = [&](auto &self, size_t dim, SmallVector<AxisPart> left,
                    Layout layout) -> void {
      if (dim == shape.size()) {
        if (!(layout == from))
          visit(ReshardKind::permute, std::move(layout));
        return;
      }
      int64_t count = countOf(layout.dims[dim]);
      if (count == counts[dim])
        return self(self, dim + 1, left, layout);
      for (size_t at = 0; at < left.size(); ++at)
        if (counts[dim] % (count * left[at].size) == 0) {
          SmallVector<AxisPart> fewer(left);
          fewer.erase(fewer.begin() + at);
          Layout more = layout;
          more.dims[dim].push_back(left[at]);
          self(self, dim, fewer, more);
        }
    };
    fill(fill, 0, usable, empty);
  }

  void reduce(const Layout &from, Visit visit) const {
    size_t count = from.pending.size();
    for (size_t chosen = 1; chosen < (size_t(1) << count); ++chosen) {
      SmallVector<AxisPart> finished;
      Layout to = from;
      to.pending.clear();
      for (size_t at = 0; at < count; ++at)
        if (chosen >> at & 1)
          finished.push_back(from.pending[at]);
        else
          to.pending.push_back(from.pending[at]);
      visit(ReshardKind::allReduce, to);
      // Scattered along one dimension, in any order.
      llvm::sort(finished);
      do {
        for (size_t dim = 0; dim < shape.size(); ++dim) {
          Layout cut = to;
          llvm::append_range(cut.dims[dim], finished);
          if (nestsIn(dim, to.dims[dim], cut.dims[dim]) &&
              ((!isDirect && countOf(cut.dims[dim]) <= shape[dim]) ||
               wants(dim, cut.dims[dim])))
            visit(ReshardKind::reduceScatter, std::move(cut));
        }
      } while (std::next_permutation(finished.begin(), finished.end()));
    }
  }

  const Mesh &mesh;
  ArrayRef<int64_t> shape;
  int64_t elementBytes;
  SmallVector<AxisPart> atoms;
  Layout start, goal;
  /// Whether each dimension is cut on the way as one of the two layouts begins
  /// to cut it: what else there is grows too fast with the axes.
  bool isDirect = false;
  /// Elements that may lie in memory at a time.
  std::optional<int64_t> memory;
};

} // namespace

int64_t tenon::sharding::receivedBy(const ReshardStep &step,
                                    ArrayRef<int64_t> shape,
                                    int64_t elementBytes) {
  int64_t before = elementsOf(step.from, shape) * elementBytes;
  int64_t behind = elementsOf(step.to, shape) * elementBytes;
  auto partsOf = [](const Layout &layout) {
    int64_t count = 1;
    for (const AxisParts &parts : layout.dims)
      count *= countOf(parts);
    return count;
  };
  int64_t reduced =
      countOf(step.from.pending) / countOf(step.to.pending); // of a group
  switch (step.kind) {
  case ReshardKind::slice:
    return 0;
  case ReshardKind::allGather:
    return (partsOf(step.from) / partsOf(step.to) - 1) * before;
  case ReshardKind::allToAll: {
    int64_t moved = 1;
    for (auto [from, to] : llvm::zip_equal(step.from.dims, step.to.dims))
      if (countOf(to) > countOf(from))
        moved *= countOf(to) / countOf(from);
    return (moved - 1) * llvm::divideCeil(behind, moved);
  }
  case ReshardKind::permute:
    return before;
  case ReshardKind::reduceScatter:
    return (reduced - 1) * behind;
  case ReshardKind::allReduce:
    return 2 * (reduced - 1) * llvm::divideCeil(before, reduced);
  }
  return 0;
}

ReshardPlan tenon::sharding::planReshard(const Mesh &mesh,
                                         ArrayRef<int64_t> shape,
                                         int64_t elementBytes,
                                         const Layout &source,
                                         const Layout &target) {
  return Planner(mesh, shape, elementBytes, source, target).plan();
}
