//===- ShardingElimination.cpp - eliminate groups one after another -------===//

#include "ShardingChoice/ShardingElimination.h"

#include <algorithm>
#include <bit>

using namespace tenon::solver;

/// So many lists at least, the first of which are empty.
template <typename List>
static void startLists(std::vector<List> &lists, size_t count) {
  if (lists.size() < count)
    lists.resize(count);
  for (size_t i = 0; i < count; ++i)
    lists[i].clear();
}

/// The order in which groups are eliminated: always the one with the smallest
/// table. Where even that is too large, one of the groups in it is left as it
/// is, rather one with many neighbours; its number is taken away.
std::vector<int32_t> ShardingElimination::order(const Region &region,
                                                int64_t largest,
                                                SplitRandom &random) {
  const auto count = static_cast<int32_t>(region.groups.size());
  startLists(neighbours, size_t(count));
  for (int32_t member = 0; member < count; ++member) {
    std::vector<int32_t> &list = neighbours[member];
    for (const ShardingGroups::Link &link :
         groups.groups[region.groups[member]].links)
      if (numbers[link.other] >= 0)
        list.push_back(numbers[link.other]);
    std::sort(list.begin(), list.end());
  }
  auto measure = [&](int32_t member) {
    auto product = double(size(region, member));
    for (int32_t other : neighbours[member])
      product *= double(size(region, other));
    return product;
  };
  std::vector<double> sizes;
  std::vector<int32_t> open;
  for (int32_t member = 0; member < count; ++member) {
    sizes.push_back(measure(member));
    open.push_back(member);
  }
  auto remove = [&](int32_t member) {
    open.erase(std::lower_bound(open.begin(), open.end(), member));
    for (int32_t other : neighbours[member]) {
      std::vector<int32_t> &list = neighbours[other];
      list.erase(std::lower_bound(list.begin(), list.end(), member));
    }
  };
  std::vector<int32_t> order;
  while (!open.empty()) {
    const int32_t next =
        *std::min_element(open.begin(), open.end(), [&](int32_t a, int32_t b) {
          return sizes[a] < sizes[b];
        });
    int32_t removed = next;
    if (sizes[next] <= double(largest)) {
      order.push_back(next);
      remove(next);
      for (int32_t one : neighbours[next])
        for (int32_t other : neighbours[next]) {
          std::vector<int32_t> &list = neighbours[one];
          auto place = std::lower_bound(list.begin(), list.end(), other);
          if (one != other && (place == list.end() || *place != other))
            list.insert(place, other);
        }
    } else {
      std::vector<int32_t> candidates = neighbours[next];
      candidates.push_back(next);
      auto weight = [&](int32_t member) {
        return neighbours[member].size() * size(region, member);
      };
      const auto choices = static_cast<int64_t>(candidates.size());
      removed = candidates[random.below(choices)];
      for (int draw = 0; draw < 2; ++draw)
        if (int32_t other = candidates[random.below(choices)];
            weight(other) > weight(removed))
          removed = other;
      remove(removed);
      numbers[region.groups[removed]] = leftOut;
    }
    for (int32_t other : neighbours[removed])
      sizes[other] = measure(other);
  }
  return order;
}

/// Sets what labels cost beside the tables within the region, and may keep of
/// labels that these tables do not tell apart the cheapest one.
void ShardingElimination::addOwnCosts(
    Region &region, const std::vector<int32_t> &labels,
    const std::vector<std::vector<double>> &costs) {
  startLists(ownCosts, region.groups.size());
  for (size_t member = 0; member < region.groups.size(); ++member) {
    const int32_t group = region.groups[member];
    std::vector<int32_t> &kept = region.labels[member];
    std::vector<double> &own = ownCosts[member];
    for (int32_t label : kept)
      own.push_back(costs[group][label]);
    rows.assign(kept.size(), 0);
    for (const ShardingGroups::Link &link : groups.groups[group].links) {
      const ShardingTables::Side &side = tables.side(link.edge, link.isFirst);
      if (numbers[link.other] >= 0) {
        for (size_t i = 0; i < kept.size(); ++i)
          rows[i] =
              (rows[i] ^ uint64_t(side.rowOf[kept[i]] + 1)) * 1099511628211u;
        continue;
      }
      const double *row =
          tables.side(link.edge, !link.isFirst).row(labels[link.other]);
      for (size_t i = 0; i < kept.size(); ++i)
        own[i] += row[side.rowOf[kept[i]]];
    }
    if (keepsDistinct)
      dropEqual(kept, own);
  }
}

/// Keeps the cheapest of labels with equal `rows`, in the place of their first.
void ShardingElimination::dropEqual(std::vector<int32_t> &labels,
                                    std::vector<double> &own) {
  // Half of the table stays empty, so that what is looked for is near.
  const size_t last = std::bit_ceil(2 * labels.size() + 1) - 1;
  places.assign(last + 1, {0, -1});
  size_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    size_t at = (rows[i] ^ rows[i] >> 32) & last;
    while (places[at].second >= 0 && places[at].first != rows[i])
      at = (at + 1) & last;
    auto &[key, place] = places[at];
    if (place < 0) {
      key = rows[i];
      place = static_cast<int32_t>(count++);
    } else if (own[i] >= own[place]) {
      continue;
    }
    labels[place] = labels[i];
    own[place] = own[i];
  }
  labels.resize(count);
  own.resize(count);
}

/// An empty one, in the memory of one of a region before.
ShardingElimination::Factor &ShardingElimination::newFactor() {
  if (factorCount == factors.size())
    factors.emplace_back();
  Factor &factor = factors[factorCount++];
  factor.scope.clear();
  factor.costs.clear();
  factor.isUsed = false;
  return factor;
}

/// Adds the costs of a group's labels, with edges to what was left out, and the
/// tables of edges to others of the region.
void ShardingElimination::addFactors(const Region &region, int32_t member,
                                     const std::vector<int32_t> &labels) {
  const std::vector<int32_t> &kept = region.labels[member];
  std::vector<double> &own = ownCosts[member];
  for (const ShardingGroups::Link &link :
       groups.groups[region.groups[member]].links) {
    const int32_t other = numbers[link.other];
    const ShardingTables::Side &side = tables.side(link.edge, link.isFirst);
    const ShardingTables::Side &opposite =
        tables.side(link.edge, !link.isFirst);
    if (other == leftOut) {
      const double *row = opposite.row(labels[link.other]);
      for (size_t i = 0; i < kept.size(); ++i)
        own[i] += row[side.rowOf[kept[i]]];
    } else if (other >= 0 && link.isFirst) {
      const auto number = static_cast<int32_t>(factorCount);
      factorsOf[member].push_back(number);
      factorsOf[other].push_back(number);
      Factor &factor = newFactor();
      factor.scope = {member, other};
      factor.costs.reserve(kept.size() * size(region, other));
      for (int32_t label : kept) {
        const double *row = side.row(label);
        for (int32_t column : region.labels[other])
          factor.costs.push_back(row[opposite.rowOf[column]]);
      }
    }
  }
  factorsOf[member].push_back(static_cast<int32_t>(factorCount));
  Factor &factor = newFactor();
  factor.scope = {member};
  factor.costs = own;
}

/// Numbers of a table whose memory is kept; larger ones take longer to fill
/// than to get memory for.
static constexpr size_t mostKept = 1024;

std::vector<ShardingElimination::Change>
ShardingElimination::solve(Region &region, const std::vector<int32_t> &labels,
                           const std::vector<std::vector<double>> &costs,
                           int64_t largest, SplitRandom &random) {
  const size_t members = region.groups.size();
  for (size_t i = 0; i < members; ++i)
    numbers[region.groups[i]] = static_cast<int32_t>(i);
  addOwnCosts(region, labels, costs);
  const std::vector<int32_t> eliminated = order(region, largest, random);
  factorCount = 0;
  startLists(factorsOf, members);
  for (int32_t member : eliminated)
    addFactors(region, member, labels);

  if (steps.size() < eliminated.size())
    steps.resize(eliminated.size());
  size_t stepCount = 0;
  for (int32_t member : eliminated) {
    Step &step = steps[stepCount++];
    step.member = member;
    step.scope.clear();
    for (int32_t factor : factorsOf[member])
      if (!factors[factor].isUsed)
        for (int32_t other : factors[factor].scope)
          if (other != member && std::find(step.scope.begin(), step.scope.end(),
                                           other) == step.scope.end())
            step.scope.push_back(other);
    const size_t dimensions = step.scope.size();
    extents.clear();
    size_t count = 1;
    for (int32_t other : step.scope) {
      extents.push_back(size(region, other));
      count *= extents.back();
    }
    const size_t labelCount = size(region, member);
    joint.assign(count * labelCount, 0);
    for (int32_t number : factorsOf[member]) {
      Factor &factor = factors[number];
      if (factor.isUsed)
        continue;
      factor.isUsed = true;
      effort += static_cast<int64_t>(joint.size());
      // How far apart the factor's numbers are along the label and the scope.
      size_t labelStride = 0, distance = 1;
      strides.assign(dimensions, 0);
      for (size_t i = factor.scope.size(); i-- > 0;) {
        if (factor.scope[i] == member)
          labelStride = distance;
        else
          strides[std::find(step.scope.begin(), step.scope.end(),
                            factor.scope[i]) -
                  step.scope.begin()] = distance;
        distance *= size(region, factor.scope[i]);
      }
      const size_t width = dimensions ? extents.back() : 1;
      const size_t stride = dimensions ? strides.back() : 0;
      double *target = joint.data();
      for (size_t label = 0; label < labelCount; ++label) {
        indices.assign(dimensions, 0);
        const double *source = factor.costs.data() + label * labelStride;
        for (size_t row = 0; row < count / width; ++row) {
          if (stride == 0)
            for (size_t i = 0; i < width; ++i)
              target[i] += *source;
          else
            for (size_t i = 0; i < width; ++i)
              target[i] += source[i * stride];
          target += width;
          for (size_t i = dimensions; i-- > 1;) {
            source += strides[i - 1];
            if (++indices[i - 1] < extents[i - 1])
              break;
            source -= strides[i - 1] * extents[i - 1];
            indices[i - 1] = 0;
          }
        }
      }
      if (factor.costs.capacity() > mostKept)
        std::vector<double>().swap(factor.costs);
    }
    if (step.best.capacity() > mostKept)
      std::vector<uint16_t>().swap(step.best);
    step.best.assign(count, 0);
    const auto number = static_cast<int32_t>(factorCount);
    Factor &factor = newFactor();
    std::vector<double> &least = factor.costs;
    least.assign(joint.begin(), joint.begin() + int64_t(count));
    for (size_t label = 1; label < labelCount; ++label)
      for (size_t i = 0; i < count; ++i)
        if (const double cost = joint[label * count + i]; cost < least[i]) {
          least[i] = cost;
          step.best[i] = static_cast<uint16_t>(label);
        }
    factor.scope = step.scope;
    for (int32_t other : step.scope)
      factorsOf[other].push_back(number);
  }
  for (int32_t group : region.groups)
    numbers[group] = outside;

  std::vector<Change> changes;
  std::vector<int32_t> chosen(members);
  for (size_t i = stepCount; i-- > 0;) {
    const int32_t member = steps[i].member;
    size_t place = 0;
    for (int32_t other : steps[i].scope)
      place = place * size(region, other) + size_t(chosen[other]);
    chosen[member] = steps[i].best[place];
    changes.push_back(
        {region.groups[member], region.labels[member][chosen[member]]});
  }
  return changes;
}
