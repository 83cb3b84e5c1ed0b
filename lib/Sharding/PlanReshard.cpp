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
#include <queue>
#include <string>
#include <unordered_map>

using namespace tenon::sharding;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

int64_t elementsOf(const Layout &layout, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (auto [extent, parts] : llvm::zip_equal(shape, layout.dims))
    count *= shardExtent(extent, countOf(parts));
  return count;
}

/// As receivedBy(), of a step between two layouts in which a device has so many
/// bytes.
int64_t receivedBetween(ReshardKind kind, const Layout &source,
                        const Layout &target, int64_t before, int64_t behind) {
  auto partsOf = [](const Layout &layout) {
    int64_t count = 1;
    for (const AxisParts &parts : layout.dims)
      count *= countOf(parts);
    return count;
  };
  int64_t reduced =
      countOf(source.pending) / countOf(target.pending); // of a group
  switch (kind) {
  case ReshardKind::slice:
    return 0;
  case ReshardKind::allGather:
    return (partsOf(source) / partsOf(target) - 1) * before;
  case ReshardKind::allToAll: {
    int64_t moved = 1;
    for (auto [from, to] : llvm::zip_equal(source.dims, target.dims))
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

/// With more atoms than this, shards are permuted only straight to the target:
/// the ways to arrange them grow with the factorial.
constexpr size_t mostPermutedAtoms = 4;

/// On meshes of more axes plans are direct, see below.
constexpr size_t mostFreeAxes = 3;

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
    const int64_t most = memory.value();
    // Between layouts that no way apart connects, there is one of another kind.
    for (bool apart : {mesh.apart.has_value(), false}) {
      isApart = apart;
      for (bool isWithin : {true, false}) {
        memory = isWithin ? std::optional(most) : std::nullopt;
        ReshardPlan found = search();
        found.withinMemory = isWithin;
        if (!found.steps.empty() || keyOf(start) == keyOf(goal))
          return found;
      }
    }
    return {};
  }

private:
  using Visit = llvm::function_ref<void(ReshardKind, const Layout &)>;

  /// A layout in a few bytes, for maps: the numbers of its atoms, counted from
  /// one, with a zero behind each dimension and what is pending, whose order
  /// says nothing. Layouts are in the order of their keys.
  using Key = std::string;

  Key keyOf(const Layout &layout) const {
    Key key;
    auto add = [&](ArrayRef<AxisPart> parts) {
      for (const AxisPart &part : parts)
        key.push_back(char(llvm::find(atoms, part) - atoms.begin() + 1));
      key.push_back(0);
    };
    for (const AxisParts &parts : layout.dims)
      add(parts);
    AxisParts pending = layout.pending;
    llvm::sort(pending);
    add(pending);
    return key;
  }

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
    using Price = std::pair<int64_t, int64_t>; // bytes, steps
    struct Place {
      Price price;
      Layout layout;
      ReshardKind by = ReshardKind::slice;
      const Place *previous = nullptr;
      bool isFinal = false;
    };
    std::unordered_map<Key, Place> places;
    const int64_t source = elementsOf(start, shape);
    using Entry = std::pair<Price, Key>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    places[keyOf(start)].layout = start;
    queue.push({{0, 0}, keyOf(start)});
    const Key end = keyOf(goal);
    std::optional<Price> known; // of a way to the goal
    while (!queue.empty()) {
      const auto [price, key] = queue.top();
      queue.pop();
      Place &place = places[key];
      if (place.isFinal || price != place.price)
        continue;
      place.isFinal = true;
      if (key == end)
        break;
      const Layout &from = place.layout;
      int64_t read = elementsOf(from, shape);
      auto visit = [&](ReshardKind kind, const Layout &to) {
        int64_t written = elementsOf(to, shape);
        Price total = {price.first + receivedBetween(kind, from, to,
                                                     read * elementBytes,
                                                     written * elementBytes),
                       price.second + 1};
        if (known && total >= *known)
          return;
        // The source is what the first step reads.
        int64_t held = read + written + (price.second == 0 ? 0 : source);
        if ((memory && held > *memory) ||
            (isApart && exchangesMore(kind, from, to)))
          return;
        Key next = keyOf(to);
        auto [found, isNew] = places.try_emplace(next);
        if (!isNew && found->second.price <= total)
          return;
        found->second = {total, to, kind, &place};
        if (next == end)
          known = total;
        queue.push({total, std::move(next)});
      };
      forEachNeighbour(from, visit);
    }
    ReshardPlan plan;
    auto reached = places.find(end);
    if (reached == places.end())
      return plan;
    plan.received = reached->second.price.first;
    for (const Place *place = &reached->second; place->previous;
         place = place->previous)
      plan.steps.push_back({place->by, place->previous->layout, place->layout});
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  /// Whether devices along the axis that is apart exchange something that not
  /// they alone do.
  bool exchangesMore(ReshardKind kind, const Layout &from,
                     const Layout &to) const {
    if (kind == ReshardKind::slice)
      return false;
    AxisParts along; // which devices exchange
    for (auto [old, now] : llvm::zip_equal(from.dims, to.dims)) {
      size_t same = 0;
      while (same < old.size() && same < now.size() && old[same] == now[same])
        ++same;
      llvm::append_range(along, ArrayRef(old).drop_front(same));
      if (kind == ReshardKind::permute)
        llvm::append_range(along, ArrayRef(now).drop_front(same));
    }
    for (const AxisPart &part : from.pending)
      if (!llvm::is_contained(to.pending, part))
        along.push_back(part);
    auto isOfAxis = [&](const AxisPart &part) {
      return part.axis == *mesh.apart;
    };
    if (llvm::none_of(along, isOfAxis))
      return false;
    return kind == ReshardKind::permute || !llvm::all_of(along, isOfAxis) ||
           countOf(along) != mesh.axes[*mesh.apart].size;
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

  /// Calls `body` for each of the parts `left` that may be the next one of
  /// `parts`, while it is there and not among those that are left.
  static void withEachNext(SmallVector<AxisPart> &left, AxisParts &parts,
                           auto mayBeNext, auto body) {
    for (size_t at = 0; at < left.size(); ++at) {
      const AxisPart part = left[at];
      if (!mayBeNext(part))
        continue;
      left.erase(left.begin() + at);
      parts.push_back(part);
      body();
      parts.pop_back();
      left.insert(left.begin() + at, part);
    }
  }

  /// Several dimensions at once: one step.
  void slice(const Layout &from, Visit visit) const {
    SmallVector<AxisPart> unused;
    for (const AxisPart &atom : atoms)
      if (!from.uses(atom))
        unused.push_back(atom);
    addBehind(from, std::move(unused), SmallVector<bool>(shape.size(), true),
              [&](const Layout &to, size_t) {
                if (!(to == from))
                  visit(ReshardKind::slice, to);
              });
  }

  /// Calls `visit` with every layout that has some of `added` behind the parts
  /// of those dimensions of `from` that `takes` names, nested in them, and with
  /// how many are left.
  void addBehind(const Layout &from, SmallVector<AxisPart> added,
                 ArrayRef<bool> takes,
                 llvm::function_ref<void(const Layout &, size_t)> visit) const {
    // Dimensions are filled in order, so each result is made once.
    Layout layout = from;
    auto fill = [&](auto &self, size_t dim) -> void {
      if (dim == shape.size())
        return visit(layout, added.size());
      AxisParts &parts = layout.dims[dim];
      if (nestsIn(dim, from.dims[dim], parts))
        self(self, dim + 1);
      if (takes[dim])
        withEachNext(
            added, parts,
            [&](const AxisPart &part) { return mayCut(dim, parts, part); },
            [&] { self(self, dim); });
    };
    fill(fill, 0);
  }

  /// Whether a dimension may be cut by one part more. One of extent 1 has
  /// nothing to cut.
  bool mayCut(size_t dim, ArrayRef<AxisPart> parts,
              const AxisPart &part) const {
    if (!isDirect &&
        countOf(parts) * part.size <= std::max<int64_t>(shape[dim], 1))
      return true;
    auto goesOn = [&](ArrayRef<AxisPart> whole) {
      return whole.size() > parts.size() && whole[parts.size()] == part &&
             whole.take_front(parts.size()) == parts;
    };
    return goesOn(start.dims[dim]) || goesOn(goal.dims[dim]);
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
          visit(ReshardKind::allGather, to);
      }
  }

  /// Takes last parts from some dimensions and puts all of them behind those of
  /// dimensions that lose nothing.
  void exchange(const Layout &from, Visit visit) const {
    Layout kept = from;
    SmallVector<AxisPart> moved;
    SmallVector<bool> takes(shape.size(), true);
    auto take = [&](auto &self, size_t dim) -> void {
      if (dim == shape.size()) {
        if (!moved.empty())
          addBehind(kept, moved, takes, [&](const Layout &to, size_t left) {
            if (left == 0)
              visit(ReshardKind::allToAll, to);
          });
        return;
      }
      const AxisParts &whole = from.dims[dim];
      const size_t before = moved.size();
      for (size_t left = 0; left <= whole.size(); ++left) {
        kept.dims[dim] = AxisParts(ArrayRef(whole).take_front(left));
        llvm::append_range(moved, ArrayRef(whole).drop_front(left));
        takes[dim] = left == whole.size();
        if (nestsIn(dim, kept.dims[dim], whole))
          self(self, dim + 1);
        moved.resize(before);
      }
    };
    take(take, 0);
  }

  void permute(const Layout &from, Visit visit) const {
    SmallVector<int64_t> counts;
    for (const AxisParts &parts : from.dims)
      counts.push_back(countOf(parts));
    if (isDirect || atoms.size() > mostPermutedAtoms) {
      bool fits = std::is_permutation(goal.pending.begin(), goal.pending.end(),
                                      from.pending.begin(), from.pending.end());
      for (auto [count, parts] : llvm::zip_equal(counts, goal.dims))
        fits &= count == countOf(parts);
      if (fits && !(goal == from))
        visit(ReshardKind::permute, goal);
      return;
    }
    Layout layout = from;
    for (AxisParts &parts : layout.dims)
      parts.clear();
    SmallVector<AxisPart> left;
    for (const AxisPart &atom : atoms)
      if (!layout.uses(atom))
        left.push_back(atom);
    auto fill = [&](auto &self, size_t dim) -> void {
      if (dim == shape.size()) {
        if (!(layout == from))
          visit(ReshardKind::permute, layout);
        return;
      }
      AxisParts &parts = layout.dims[dim];
      int64_t count = countOf(parts);
      if (count == counts[dim])
        return self(self, dim + 1);
      withEachNext(
          left, parts,
          [&](const AxisPart &part) {
            return counts[dim] % (count * part.size) == 0;
          },
          [&] { self(self, dim); });
    };
    fill(fill, 0);
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
            visit(ReshardKind::reduceScatter, cut);
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
  /// Whether devices along the axis that is apart exchange by themselves.
  bool isApart = false;
  /// Elements that may lie in memory at a time.
  std::optional<int64_t> memory;
};

} // namespace

int64_t tenon::sharding::receivedBy(const ReshardStep &step,
                                    ArrayRef<int64_t> shape,
                                    int64_t elementBytes) {
  return receivedBetween(step.kind, step.from, step.to,
                         elementsOf(step.from, shape) * elementBytes,
                         elementsOf(step.to, shape) * elementBytes);
}

ReshardPlan tenon::sharding::planReshard(const Mesh &mesh,
                                         ArrayRef<int64_t> shape,
                                         int64_t elementBytes,
                                         const Layout &source,
                                         const Layout &target) {
  return Planner(mesh, shape, elementBytes, source, target).plan();
}
