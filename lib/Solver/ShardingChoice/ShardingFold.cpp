//===- ShardingFold.cpp - one decision for all that look alike ------------===//

#include "ShardingChoice/ShardingFold.h"

#include "tenon/Support/DistinctItems.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace tenon;
using namespace tenon::solver;

static int64_t atMostForbidden(__int128 cost) {
  return static_cast<int64_t>(
      std::min<__int128>(cost, ShardingGroups::forbidden));
}

ShardingFold::ShardingFold(const ShardingGroups &groups,
                           const ShardingTwins &twins)
    : groups(groups), twins(twins) {
  addGroups();
  addEdges();
}

void ShardingFold::addGroups() {
  smaller.constant = groups.constant;
  for (int32_t kind = 0; kind < twins.kindCount(); ++kind) {
    const std::vector<int32_t> &alike = twins.ofKind(kind);
    ShardingGroups::Group &group = smaller.groups.emplace_back();
    group.lowestNode = kind;
    for (int64_t cost : groups.groups[alike.front()].costs)
      group.costs.push_back(
          atMostForbidden(__int128(cost) * __int128(alike.size())));
    group.runs.resize(group.costs.size());
  }
}

void ShardingFold::addEdges() {
  // What stands between two sets, and how often each table does.
  struct Part {
    int32_t table = 0;
    bool isSwapped = false;
    auto operator<=>(const Part &) const = default;
  };
  using Between = std::pair<int32_t, int32_t>;
  auto betweenOf = [&](const ShardingGroups::Edge &edge) -> Between {
    return std::minmax({twins.kindOf(edge.first), twins.kindOf(edge.second)});
  };
  std::map<Between, std::map<Part, int32_t>> parts;
  for (const ShardingGroups::Edge &edge : groups.edges)
    ++parts[betweenOf(edge)]
           [{edge.table, twins.kindOf(edge.first) > twins.kindOf(edge.second)}];
  DistinctItems<ShardingGroups::Table> tables(smaller.tables);
  std::map<Between, int32_t> edgeOf;
  for (const auto &[between, list] : parts) {
    const auto [first, second] = between;
    if (first == second) {
      std::vector<int64_t> &costs = smaller.groups[first].costs;
      for (const auto &[part, count] : list) {
        const ShardingGroups::Table &table = groups.tables[part.table];
        for (size_t label = 0; label < costs.size(); ++label)
          costs[label] = atMostForbidden(
              costs[label] +
              __int128(table.costs[label * table.columns + label]) * count);
      }
      continue;
    }
    const size_t rows = smaller.groups[first].costs.size();
    ShardingGroups::Table sum;
    sum.columns = smaller.groups[second].costs.size();
    sum.costs.resize(rows * sum.columns);
    int32_t edges = 0;
    for (const auto &[part, count] : list) {
      edges += count;
      const ShardingGroups::Table &table = groups.tables[part.table];
      for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < sum.columns; ++column) {
          const int64_t cost =
              table.costs[part.isSwapped ? column * table.columns + row
                                         : row * table.columns + column];
          int64_t &total = sum.costs[row * sum.columns + column];
          total = atMostForbidden(__int128(total) + __int128(cost) * count);
        }
    }
    const auto number = static_cast<int32_t>(smaller.edges.size());
    const uint64_t hash = hashOfNumbers(sum.costs);
    smaller.edges.push_back(
        {first, second, tables.number(std::move(sum), hash)});
    auto perGroup = [&](int32_t kind) {
      return double(edges) / double(twins.ofKind(kind).size());
    };
    smaller.groups[first].links.push_back(
        {number, second, true, perGroup(first)});
    smaller.groups[second].links.push_back(
        {number, first, false, perGroup(second)});
    edgeOf[between] = number;
    counts.push_back(edges);
  }
  for (const ShardingGroups::Edge &edge : groups.edges) {
    const auto found = edgeOf.find(betweenOf(edge));
    foldedEdge.push_back(found == edgeOf.end() ? none : found->second);
  }
}

std::vector<int32_t>
ShardingFold::labels(const std::vector<int32_t> &ofFolded) const {
  std::vector<int32_t> labels;
  for (size_t group = 0; group < groups.groups.size(); ++group)
    labels.push_back(ofFolded[twins.kindOf(static_cast<int32_t>(group))]);
  return labels;
}

ShardingBound::Messages
ShardingFold::messages(const ShardingBound &ofFolded) const {
  ShardingBound::Messages messages;
  for (size_t i = 0; i < groups.edges.size(); ++i) {
    const ShardingGroups::Edge &edge = groups.edges[i];
    const int32_t folded = foldedEdge[i];
    if (folded == none) {
      messages.emplace_back(groups.groups[edge.first].costs.size());
      messages.emplace_back(groups.groups[edge.second].costs.size());
      continue;
    }
    const bool isSwapped = twins.kindOf(edge.first) > twins.kindOf(edge.second);
    for (bool toFirst : {true, false}) {
      std::vector<double> &message = messages.emplace_back(
          toFirst != isSwapped ? ofFolded.toFirst(folded)
                               : ofFolded.toSecond(folded));
      for (double &number : message)
        number /= double(counts[folded]);
    }
  }
  return messages;
}
