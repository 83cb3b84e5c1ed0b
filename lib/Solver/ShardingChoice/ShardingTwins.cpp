//===- ShardingTwins.cpp - groups that look alike -------------------------===//

#include "ShardingChoice/ShardingTwins.h"

#include "tenon/Support/DistinctItems.h"

#include <algorithm>
#include <tuple>

using namespace tenon;
using namespace tenon::solver;

ShardingTwins::ShardingTwins(const ShardingGroups &groups, int depth)
    : edges(groups.edges), isWanted(groups.groups.size()),
      isReached(groups.groups.size()) {
  std::vector<std::vector<int64_t>> looks;
  for (const ShardingGroups::Group &group : groups.groups) {
    links.push_back(group.links);
    std::vector<int64_t> &look = looks.emplace_back(group.costs);
    for (const std::vector<ShardingGroups::Run> &runs : group.runs) {
      look.push_back(-1);
      for (const ShardingGroups::Run &run : runs)
        look.push_back(run.bytes);
    }
  }
  for (int round = 0;; ++round) {
    std::vector<std::vector<int64_t>> distinct;
    DistinctItems<std::vector<int64_t>> numbers(distinct);
    kinds.clear();
    for (std::vector<int64_t> &look : looks) {
      const uint64_t hash = hashOfNumbers(look);
      kinds.push_back(numbers.number(std::move(look), hash));
    }
    auto keyOf = [&](const ShardingGroups::Link &link) {
      return std::tuple(edges[link.edge].table, link.isFirst,
                        kinds[link.other]);
    };
    for (size_t group = 0; group < links.size(); ++group) {
      std::sort(links[group].begin(), links[group].end(),
                [&](const auto &a, const auto &b) {
                  return std::tuple(keyOf(a), a.other) <
                         std::tuple(keyOf(b), b.other);
                });
      looks[group] = {kinds[group]};
      for (const ShardingGroups::Link &link : links[group]) {
        const auto [table, isFirst, kind] = keyOf(link);
        looks[group].insert(looks[group].end(), {table, isFirst, kind});
      }
    }
    if (round == depth) {
      members.resize(distinct.size());
      break;
    }
  }
  for (size_t group = 0; group < kinds.size(); ++group)
    members[kinds[group]].push_back(static_cast<int32_t>(group));
}

ShardingTwins::Walk ShardingTwins::walk(const std::vector<int32_t> &region) {
  for (int32_t group : region)
    isWanted[group] = true;
  Walk walk;
  walk.groups.push_back(region.front());
  isWanted[region.front()] = false;
  for (size_t from = 0; from < walk.groups.size(); ++from) {
    const std::vector<ShardingGroups::Link> &own = links[walk.groups[from]];
    for (size_t edge = 0; edge < own.size(); ++edge) {
      if (!isWanted[own[edge].other])
        continue;
      isWanted[own[edge].other] = false;
      walk.groups.push_back(own[edge].other);
      walk.steps.push_back({from, edge});
    }
  }
  for (int32_t group : region)
    isWanted[group] = false;
  return walk;
}

std::vector<int32_t> ShardingTwins::follow(const Walk &walk, int32_t from) {
  std::vector<int32_t> reached = {from};
  isReached[from] = true;
  for (const Walk::Step &step : walk.steps) {
    const std::vector<ShardingGroups::Link> &own = links[reached[step.from]];
    const int32_t like = walk.groups[reached.size()];
    if (step.edge >= own.size())
      break;
    const int32_t other = own[step.edge].other;
    if (isReached[other] || kinds[other] != kinds[like])
      break;
    isReached[other] = true;
    reached.push_back(other);
  }
  for (int32_t group : reached)
    isReached[group] = false;
  if (reached.size() < walk.groups.size())
    return {};
  return reached;
}
