//===- ShardingGroups.cpp - join what edges tie together ------------------===//

#include "ShardingChoice/ShardingGroups.h"

#include "tenon/Support/DistinctItems.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

using namespace tenon;
using namespace tenon::solver;

/// The table of an edge between two strategies.
static int64_t costBetween(const ShardingProblem &problem,
                           const ShardingProblem::Edge &edge, int32_t first,
                           int32_t second) {
  const size_t width = problem.nodes[edge.second].costs.size();
  return problem.tables[edge.table][size_t(first) * width + size_t(second)];
}

namespace {

using Group = ShardingGroups::Group;
using Member = ShardingGroups::Member;
using Run = ShardingGroups::Run;

/// Nodes and what is left of their strategies while groups are joined.
class Joining {
public:
  explicit Joining(const ShardingProblem &problem) : problem(problem) {
    const auto count = static_cast<int32_t>(problem.nodes.size());
    for (int32_t node = 0; node < count; ++node) {
      std::vector<int32_t> strategies;
      const std::vector<int64_t> &costs = problem.nodes[node].costs;
      for (size_t i = 0; i < costs.size(); ++i)
        if (costs[i] < ShardingProblem::forbidden)
          strategies.push_back(static_cast<int32_t>(i));
      groups.emplace_back().push_back({node, std::move(strategies)});
      places.push_back({node, 0});
    }
  }

  /// Goes on until no edge joins two groups or drops a label.
  void run() {
    for (const std::vector<int64_t> &table : problem.tables) {
      std::vector<size_t> &places = permitted.emplace_back();
      for (size_t i = 0; i < table.size(); ++i)
        if (table[i] < ShardingProblem::forbidden)
          places.push_back(i);
    }
    std::vector<int32_t> open;
    for (size_t i = 0; i < problem.edges.size(); ++i) {
      const int32_t table = problem.edges[i].table;
      if (permitted[table].size() < problem.tables[table].size())
        open.push_back(static_cast<int32_t>(i));
    }
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<int32_t> left;
      for (int32_t edge : open) {
        const Effect effect = use(problem.edges[edge]);
        changed |= effect == Effect::dropped || effect == Effect::joined;
        if (effect == Effect::dropped || effect == Effect::none)
          left.push_back(edge);
      }
      open.swap(left);
    }
  }

  struct Place {
    int32_t group = 0;
    int32_t member = 0;
  };
  /// Per node.
  std::vector<Place> places;
  /// Those that were joined to another are empty.
  std::vector<std::vector<Member>> groups;

  const std::vector<int32_t> &strategies(int32_t node) const {
    return groups[places[node].group][places[node].member].strategies;
  }
  /// The table of an edge between two labels.
  int64_t cost(const ShardingProblem::Edge &edge, size_t first,
               size_t second) const {
    return costBetween(problem, edge, strategies(edge.first)[first],
                       strategies(edge.second)[second]);
  }

private:
  /// `done`: the edge need not be looked at again.
  enum class Effect { none, dropped, joined, done };

  Effect use(const ShardingProblem::Edge &edge) {
    const int32_t first = places[edge.first].group;
    const int32_t second = places[edge.second].group;
    const size_t rows = strategies(edge.first).size();
    const size_t columns = strategies(edge.second).size();
    if (first == second) {
      std::vector<int32_t> kept;
      for (size_t i = 0; i < rows; ++i)
        if (cost(edge, i, i) < ShardingProblem::forbidden)
          kept.push_back(static_cast<int32_t>(i));
      const bool dropped = kept.size() < rows;
      keep(first, kept);
      return dropped ? Effect::joined : Effect::done;
    }
    std::vector<int32_t> ofRow(rows), ofColumn(columns);
    std::vector<int32_t> partners(rows, -1), rowOf(columns, -1);
    // A large table that ties two nodes permits few pairs.
    const size_t width = problem.nodes[edge.second].costs.size();
    const std::vector<int32_t> rowWith = labelsOf(edge.first);
    const std::vector<int32_t> columnWith = labelsOf(edge.second);
    size_t pairs = 0;
    for (size_t place : permitted[edge.table]) {
      const int32_t row = rowWith[place / width];
      const int32_t column = columnWith[place % width];
      if (row < 0 || column < 0)
        continue;
      ++pairs;
      ++ofRow[row];
      ++ofColumn[column];
      partners[row] = column;
      rowOf[column] = row;
    }
    if (pairs == rows * columns)
      return Effect::done;
    auto several = [](int32_t count) { return count > 1; };
    if (std::none_of(ofRow.begin(), ofRow.end(), several) &&
        std::none_of(ofColumn.begin(), ofColumn.end(), several)) {
      // The larger group keeps its order.
      if (groups[first].size() >= groups[second].size())
        join(first, second, partners);
      else
        join(second, first, rowOf);
      return Effect::joined;
    }
    auto keepPermitted = [&](int32_t group,
                             const std::vector<int32_t> &counts) {
      std::vector<int32_t> kept;
      for (size_t i = 0; i < counts.size(); ++i)
        if (counts[i])
          kept.push_back(static_cast<int32_t>(i));
      keep(group, kept);
      return kept.size() < counts.size();
    };
    const bool dropped = keepPermitted(first, ofRow);
    return keepPermitted(second, ofColumn) || dropped ? Effect::dropped
                                                      : Effect::none;
  }

  /// Per strategy of a node the label that it has, or -1.
  std::vector<int32_t> labelsOf(int32_t node) const {
    std::vector<int32_t> labels(problem.nodes[node].costs.size(), -1);
    const std::vector<int32_t> &left = strategies(node);
    for (size_t label = 0; label < left.size(); ++label)
      labels[left[label]] = static_cast<int32_t>(label);
    return labels;
  }

  static void select(std::vector<int32_t> &values,
                     const std::vector<int32_t> &kept) {
    std::vector<int32_t> selected;
    for (int32_t label : kept)
      selected.push_back(values[label]);
    values.swap(selected);
  }
  void keep(int32_t group, const std::vector<int32_t> &labels) {
    if (labels.size() == groups[group].front().strategies.size())
      return;
    for (Member &member : groups[group])
      select(member.strategies, labels);
  }

  /// `partners` says per label of `to` which label of `from` it permits, or -1.
  void join(int32_t to, int32_t from, const std::vector<int32_t> &partners) {
    std::vector<int32_t> kept, partnersOfKept;
    for (size_t i = 0; i < partners.size(); ++i)
      if (partners[i] >= 0) {
        kept.push_back(static_cast<int32_t>(i));
        partnersOfKept.push_back(partners[i]);
      }
    keep(to, kept);
    for (Member &member : groups[from]) {
      select(member.strategies, partnersOfKept);
      places[member.node] = {to, static_cast<int32_t>(groups[to].size())};
      groups[to].push_back(std::move(member));
    }
    groups[from].clear();
  }

  const ShardingProblem &problem;
  std::vector<std::vector<size_t>> permitted; // entries, per table
};

/// What the labels of the groups take at the times that matter.
class Memory {
public:
  /// Rows are the last times before something ends: at any other time, no more
  /// is alive than at one of these.
  explicit Memory(const ShardingProblem &problem) : problem(problem) {
    std::vector<int64_t> begins, ends;
    for (const ShardingProblem::Node &node : problem.nodes)
      if (node.begin < node.end) {
        begins.push_back(node.begin);
        ends.push_back(node.end);
      }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    for (size_t i = 0, j = 0; i < begins.size();) {
      j = std::upper_bound(ends.begin() + j, ends.end(), begins[i]) -
          ends.begin();
      i = std::lower_bound(begins.begin() + i, begins.end(), ends[j]) -
          begins.begin();
      times.push_back(begins[i - 1]);
    }
  }

  std::vector<int64_t> times;

  /// Sets the runs of a group's labels, and adds to `least` per row what all of
  /// them take.
  void measure(Group &group, std::vector<int64_t> &least) const {
    std::vector<int32_t> borders;
    for (const Member &member : group.members) {
      const auto [begin, end] = rows(member.node);
      if (begin < end) {
        borders.push_back(begin);
        borders.push_back(end);
      }
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    // Per label and border, how much more is taken from there on.
    const size_t count = borders.size();
    std::vector<int64_t> taken(group.costs.size() * count);
    auto place = [&](int32_t row) {
      return std::lower_bound(borders.begin(), borders.end(), row) -
             borders.begin();
    };
    for (const Member &member : group.members) {
      const auto [begin, end] = rows(member.node);
      if (begin >= end)
        continue;
      const auto from = place(begin), to = place(end);
      for (size_t label = 0; label < group.costs.size(); ++label) {
        const int64_t bytes =
            problem.nodes[member.node].bytes[member.strategies[label]];
        taken[label * count + from] += bytes;
        taken[label * count + to] -= bytes;
      }
    }
    for (size_t label = 0; label < group.costs.size(); ++label)
      std::partial_sum(taken.begin() + label * count,
                       taken.begin() + (label + 1) * count,
                       taken.begin() + label * count);
    group.runs.assign(group.costs.size(), {});
    for (size_t i = 0; i + 1 < count; ++i) {
      int64_t fewest = taken[i];
      for (size_t label = 1; label < group.costs.size(); ++label)
        fewest = std::min(fewest, taken[label * count + i]);
      for (int32_t row = borders[i]; row < borders[i + 1]; ++row)
        least[row] += fewest;
      for (size_t label = 0; label < group.costs.size(); ++label)
        append(group.runs[label], borders[i], borders[i + 1],
               taken[label * count + i] - fewest);
    }
  }

  static void append(std::vector<Run> &runs, int32_t begin, int32_t end,
                     int64_t bytes) {
    if (begin >= end || bytes == 0)
      return;
    if (!runs.empty() && runs.back().end == begin && runs.back().bytes == bytes)
      runs.back().end = end;
    else
      runs.push_back({begin, end, bytes});
  }

private:
  std::pair<int32_t, int32_t> rows(int32_t node) const {
    auto row = [&](int64_t time) {
      return static_cast<int32_t>(
          std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    const int64_t begin = problem.nodes[node].begin;
    return {row(begin), row(std::max(begin, problem.nodes[node].end))};
  }

  const ShardingProblem &problem;
};

} // namespace

/// Drops the labels that are not in `kept`.
static void keepLabels(Group &group, const std::vector<int32_t> &kept) {
  if (kept.size() == group.costs.size())
    return;
  Group smaller;
  smaller.lowestNode = group.lowestNode;
  for (const Member &member : group.members) {
    smaller.members.push_back({member.node, {}});
    for (int32_t label : kept)
      smaller.members.back().strategies.push_back(member.strategies[label]);
  }
  for (int32_t label : kept) {
    smaller.costs.push_back(group.costs[label]);
    smaller.runs.push_back(std::move(group.runs[label]));
  }
  group = std::move(smaller);
}

/// Drops labels that do not fit beside the least of all else, and returns the
/// least of every row.
static std::vector<int64_t> dropWhatNeverFits(const Memory &memory,
                                              int64_t limit,
                                              std::vector<Group> &groups) {
  while (true) {
    std::vector<int64_t> least(memory.times.size());
    for (Group &group : groups)
      memory.measure(group, least);
    bool dropped = false;
    for (Group &group : groups) {
      std::vector<int32_t> kept;
      for (int32_t label = 0; label < group.size(); ++label) {
        auto fits = [&](const Run &run) {
          for (int32_t row = run.begin; row < run.end; ++row)
            if (least[row] + run.bytes > limit)
              return false;
          return true;
        };
        if (std::all_of(group.runs[label].begin(), group.runs[label].end(),
                        fits))
          kept.push_back(label);
      }
      dropped |= kept.size() < group.costs.size();
      keepLabels(group, kept);
    }
    if (!dropped ||
        std::any_of(groups.begin(), groups.end(),
                    [](const Group &group) { return group.costs.empty(); }))
      return least;
  }
}

/// Of rows between which no run begins or ends, the one with the least capacity
/// is kept; those that no choice can fill are dropped.
static void mergeRows(ShardingGroups &result) {
  const size_t count = result.rows.size();
  std::vector<bool> isBorder(count + 1);
  // What can be taken at most, as differences.
  std::vector<int64_t> most(count + 1);
  for (const Group &group : result.groups) {
    struct Event {
      int32_t row;
      int64_t bytes;
      bool begins;
    };
    std::vector<Event> events;
    for (const std::vector<Run> &runs : group.runs)
      for (const Run &run : runs) {
        isBorder[run.begin] = isBorder[run.end] = true;
        events.push_back({run.begin, run.bytes, true});
        events.push_back({run.end, run.bytes, false});
      }
    std::sort(events.begin(), events.end(),
              [](const Event &a, const Event &b) { return a.row < b.row; });
    std::multiset<int64_t> open;
    for (size_t i = 0; i < events.size();) {
      const int32_t row = events[i].row;
      for (; i < events.size() && events[i].row == row; ++i)
        if (events[i].begins)
          open.insert(events[i].bytes);
        else
          open.erase(open.find(events[i].bytes));
      if (i < events.size() && !open.empty()) {
        most[row] += *open.rbegin();
        most[events[i].row] -= *open.rbegin();
      }
    }
  }
  std::partial_sum(most.begin(), most.end(), most.begin());
  std::vector<ShardingGroups::Row> kept;
  // Per row, how many rows before it are kept.
  std::vector<int32_t> before(count + 1);
  bool isOpen = false;
  for (size_t row = 0; row < count; ++row) {
    if (isBorder[row])
      isOpen = false;
    before[row] = static_cast<int32_t>(kept.size());
    if (most[row] <= result.rows[row].capacity)
      continue;
    if (!isOpen)
      kept.push_back(result.rows[row]);
    else if (result.rows[row].capacity < kept.back().capacity)
      kept.back() = result.rows[row];
    isOpen = true;
  }
  before[count] = static_cast<int32_t>(kept.size());
  for (Group &group : result.groups)
    for (std::vector<Run> &runs : group.runs) {
      std::vector<Run> moved;
      for (const Run &run : runs)
        Memory::append(moved, before[run.begin], before[run.end], run.bytes);
      runs.swap(moved);
    }
  result.rows.swap(kept);
}

/// Moves a table that is the sum of a number per row and one per column to the
/// labels' costs; false where it is none. Forbidden pairs are no sums, but
/// where one side has one label, they forbid labels of the other.
static bool moveToLabels(const std::vector<int64_t> &table, Group &rows,
                         Group &columns) {
  const size_t width = columns.costs.size();
  auto add = [](int64_t &cost, int64_t added) {
    cost = std::min(ShardingGroups::forbidden, cost + added);
  };
  if (rows.size() == 1 || columns.size() == 1) {
    Group &several = rows.size() == 1 ? columns : rows;
    for (size_t i = 0; i < table.size(); ++i)
      add(several.costs[i], table[i]);
    return true;
  }
  for (size_t i = 0; i < rows.costs.size(); ++i)
    for (size_t j = 0; j < width; ++j)
      if (table[i * width + j] == ShardingGroups::forbidden ||
          table[i * width + j] - table[i * width] != table[j] - table[0])
        return false;
  for (size_t i = 0; i < rows.costs.size(); ++i)
    add(rows.costs[i], table[i * width]);
  for (size_t j = 0; j < width; ++j)
    add(columns.costs[j], table[j] - table[0]);
  return true;
}

/// Adds the costs of the problem's edges to labels and to edges of groups.
static void addEdges(const ShardingProblem &problem, std::vector<Group> &groups,
                     ShardingGroups &result) {
  struct Place {
    int32_t group;
    const Member *member;
  };
  std::vector<Place> places(problem.nodes.size());
  for (size_t group = 0; group < groups.size(); ++group)
    for (const Member &member : groups[group].members)
      places[member.node] = {static_cast<int32_t>(group), &member};
  auto cost = [&](const ShardingProblem::Edge &edge, size_t first,
                  size_t second) {
    return costBetween(problem, edge,
                       places[edge.first].member->strategies[first],
                       places[edge.second].member->strategies[second]);
  };
  struct Between {
    int32_t first;
    int32_t second;
    int32_t edge;
  };
  std::vector<Between> betweens;
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const ShardingProblem::Edge &edge = problem.edges[i];
    const int32_t first = places[edge.first].group;
    const int32_t second = places[edge.second].group;
    if (first != second) {
      betweens.push_back({std::min(first, second), std::max(first, second),
                          static_cast<int32_t>(i)});
      continue;
    }
    for (int32_t label = 0; label < groups[first].size(); ++label)
      groups[first].costs[label] += cost(edge, label, label);
  }
  std::sort(
      betweens.begin(), betweens.end(), [](const Between &a, const Between &b) {
        return std::pair(a.first, a.second) < std::pair(b.first, b.second);
      });
  DistinctItems<ShardingGroups::Table> tables(result.tables);
  for (size_t from = 0, to = 0; from < betweens.size(); from = to) {
    const auto [first, second, firstEdge] = betweens[from];
    const size_t rows = groups[first].costs.size();
    ShardingGroups::Table table{groups[second].costs.size(), {}};
    table.costs.resize(rows * table.columns);
    for (; to < betweens.size() && betweens[to].first == first &&
           betweens[to].second == second;
         ++to) {
      const ShardingProblem::Edge &edge = problem.edges[betweens[to].edge];
      const bool isSwapped = places[edge.first].group != first;
      for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < table.columns; ++column) {
          int64_t &sum = table.costs[row * table.columns + column];
          sum = std::min(ShardingGroups::forbidden,
                         sum + (isSwapped ? cost(edge, column, row)
                                          : cost(edge, row, column)));
        }
    }
    if (moveToLabels(table.costs, groups[first], groups[second]))
      continue;
    const uint64_t hash = hashOfNumbers(table.costs);
    result.edges.push_back(
        {first, second, tables.number(std::move(table), hash)});
  }
}

std::optional<std::string>
tenon::solver::groupShardings(const ShardingProblem &problem,
                              ShardingGroups &result) {
  result = {};
  Joining joining(problem);
  joining.run();

  // Number groups by their lowest node, and labels by its strategies.
  std::vector<Group> groups;
  std::vector<int32_t> numbers(joining.groups.size(), -1);
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    const int32_t from = joining.places[node].group;
    if (numbers[from] >= 0)
      continue;
    numbers[from] = static_cast<int32_t>(groups.size());
    const std::vector<int32_t> &strategies = joining.strategies(node);
    std::vector<int32_t> order(strategies.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return strategies[a] < strategies[b];
    });
    Group &group = groups.emplace_back();
    group.lowestNode = static_cast<int32_t>(node);
    for (Member &member : joining.groups[from]) {
      std::vector<int32_t> sorted;
      for (int32_t label : order)
        sorted.push_back(member.strategies[label]);
      member.strategies = std::move(sorted);
    }
    group.members = joining.groups[from];
    std::swap(group.members.front(),
              group.members[joining.places[node].member]);
    group.costs.assign(order.size(), 0);
    for (const Member &member : group.members)
      for (int32_t label = 0; label < group.size(); ++label)
        group.costs[label] +=
            problem.nodes[member.node].costs[member.strategies[label]];
  }
  auto withoutLabel = [&]() -> std::optional<std::string> {
    for (const Group &group : groups)
      if (group.costs.empty())
        return "node " + std::to_string(group.lowestNode) +
               " has no strategy that is permitted by all others";
    return std::nullopt;
  };
  if (auto reason = withoutLabel())
    return reason;
  const Memory memory(problem);
  if (problem.limit) {
    const std::vector<int64_t> least =
        dropWhatNeverFits(memory, *problem.limit, groups);
    for (size_t row = 0; row < least.size(); ++row)
      if (least[row] > *problem.limit)
        return "at time " + std::to_string(memory.times[row]) +
               " every choice takes at least " + std::to_string(least[row]) +
               " bytes";
    if (withoutLabel())
      return std::string("no choice is within the limit: the few bytes that "
                         "each node could take do not fit together");
    for (size_t row = 0; row < least.size(); ++row)
      result.rows.push_back({memory.times[row], *problem.limit - least[row]});
  } else {
    for (Group &group : groups)
      group.runs.assign(group.costs.size(), {});
  }

  addEdges(problem, groups, result);

  // Only decisions are kept.
  std::vector<int32_t> placed(groups.size(), -1);
  result.fixed.assign(problem.nodes.size(), -1);
  for (size_t i = 0; i < groups.size(); ++i) {
    Group &group = groups[i];
    if (group.size() > 1) {
      placed[i] = static_cast<int32_t>(result.groups.size());
      result.groups.push_back(std::move(group));
      continue;
    }
    result.constant += group.costs.front();
    for (const Member &member : group.members)
      result.fixed[member.node] = member.strategies.front();
  }
  for (size_t number = 0; number < result.edges.size(); ++number) {
    ShardingGroups::Edge &edge = result.edges[number];
    edge.first = placed[edge.first];
    edge.second = placed[edge.second];
    const auto link = static_cast<int32_t>(number);
    result.groups[edge.first].links.push_back({link, edge.second, true});
    result.groups[edge.second].links.push_back({link, edge.first, false});
  }
  mergeRows(result);
  return std::nullopt;
}
