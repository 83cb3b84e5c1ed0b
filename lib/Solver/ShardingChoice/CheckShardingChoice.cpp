//===- CheckShardingChoice.cpp - judge a choice of layouts and its bound --===//
//
// Adds up the chosen costs and bytes, makes the problem smaller again in the
// plainest way, and adds up what messages and prices prove. Shares no code with
// the solver. Costs and bytes of a valid problem are at most 2^60 together, and
// the checker accepts no certificate number beyond 2^60; sums have 128 bits.
//
//===----------------------------------------------------------------------===//

#include "LargestSum.h"
#include "tenon/Solver/ShardingChoice.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tenon::solver;

namespace {

/// Nodes that are one decision: per label, the strategy of each of them.
struct Decision {
  std::vector<int32_t> nodes;
  std::vector<std::vector<int32_t>> labels;
  int32_t lowestNode = -1; // known when all are joined
};

/// The decisions of a problem; each node's decision and its place there.
class Decisions {
public:
  explicit Decisions(const ShardingProblem &problem) : problem(problem) {
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      Decision decision;
      decision.nodes.push_back(static_cast<int32_t>(node));
      const std::vector<int64_t> &costs = problem.nodes[node].costs;
      for (size_t i = 0; i < costs.size(); ++i)
        if (costs[i] != ShardingProblem::forbidden)
          decision.labels.push_back({static_cast<int32_t>(i)});
      all.push_back(std::move(decision));
      of.push_back(static_cast<int32_t>(node));
      at.push_back(0);
    }
    for (const std::vector<int64_t> &table : problem.tables) {
      allowed.emplace_back();
      for (size_t entry = 0; entry < table.size(); ++entry)
        if (table[entry] != ShardingProblem::forbidden)
          allowed.back().push_back(entry);
    }
    std::set<int32_t> forbidding;
    for (size_t i = 0; i < problem.edges.size(); ++i) {
      const int32_t table = problem.edges[i].table;
      if (allowed[table].size() != problem.tables[table].size())
        forbidding.insert(static_cast<int32_t>(i));
    }
    while (true) {
      bool changed = false;
      for (auto edge = forbidding.begin(); edge != forbidding.end();) {
        bool isSettled = false;
        changed |= apply(problem.edges[*edge], isSettled);
        edge = isSettled ? forbidding.erase(edge) : std::next(edge);
      }
      if (!changed)
        break;
    }
    // Labels in the order of the lowest node's strategies.
    for (Decision &decision : all) {
      if (decision.nodes.empty())
        continue;
      const size_t lowest =
          std::min_element(decision.nodes.begin(), decision.nodes.end()) -
          decision.nodes.begin();
      decision.lowestNode = decision.nodes[lowest];
      std::sort(
          decision.labels.begin(), decision.labels.end(),
          [&](const auto &a, const auto &b) { return a[lowest] < b[lowest]; });
    }
  }

  /// Of two strategies.
  int64_t cost(const ShardingProblem::Edge &edge, int32_t first,
               int32_t second) const {
    return problem.tables[edge.table][size_t(first) * problem.nodes[edge.second]
                                                          .costs.size() +
                                      size_t(second)];
  }
  /// Of a decision that both nodes are part of.
  int64_t costWithin(const ShardingProblem::Edge &edge,
                     const std::vector<int32_t> &label) const {
    return cost(edge, label[at[edge.first]], label[at[edge.second]]);
  }
  /// That of a node, per label of its decision.
  std::vector<int32_t> strategiesOf(int32_t node) const {
    std::vector<int32_t> strategies;
    for (const std::vector<int32_t> &label : all[of[node]].labels)
      strategies.push_back(label[at[node]]);
    return strategies;
  }
  int32_t lowestNode(int32_t decision) const {
    return all[decision].lowestNode;
  }

  std::vector<Decision> all;
  std::vector<int32_t> of, at;

private:
  /// Per table its entries that are permitted.
  std::vector<std::vector<size_t>> allowed;

  /// Which label has a strategy of the node; -1 for none.
  std::vector<int64_t> labelsByStrategy(int32_t node) const {
    std::vector<int64_t> labels(problem.nodes[node].costs.size(), -1);
    const Decision &decision = all[of[node]];
    for (size_t label = 0; label < decision.labels.size(); ++label)
      labels[decision.labels[label][at[node]]] = int64_t(label);
    return labels;
  }

  /// Drops labels that an edge forbids, or joins its decisions. `isSettled`:
  /// all that is left is permitted.
  bool apply(const ShardingProblem::Edge &edge, bool &isSettled) {
    Decision &first = all[of[edge.first]], &second = all[of[edge.second]];
    if (&first == &second) {
      isSettled = true;
      return std::erase_if(first.labels, [&](const auto &label) {
               return costWithin(edge, label) == ShardingProblem::forbidden;
             }) > 0;
    }
    std::vector<std::vector<size_t>> partners(first.labels.size()),
        back(second.labels.size());
    size_t permitted = 0;
    // No two labels have one strategy of a node.
    const std::vector<int64_t> rowOf = labelsByStrategy(edge.first);
    const std::vector<int64_t> columnOf = labelsByStrategy(edge.second);
    for (size_t entry : allowed[edge.table]) {
      const int64_t row = rowOf[entry / columnOf.size()];
      const int64_t column = columnOf[entry % columnOf.size()];
      if (row < 0 || column < 0)
        continue;
      partners[row].push_back(column);
      back[column].push_back(row);
      ++permitted;
    }
    if (permitted == first.labels.size() * second.labels.size()) {
      isSettled = true;
      return false;
    }
    auto isSingle = [](const std::vector<size_t> &list) {
      return list.size() <= 1;
    };
    if (std::all_of(partners.begin(), partners.end(), isSingle) &&
        std::all_of(back.begin(), back.end(), isSingle)) {
      isSettled = true;
      std::vector<std::vector<int32_t>> joined;
      for (size_t i = 0; i < partners.size(); ++i)
        if (!partners[i].empty()) {
          joined.push_back(first.labels[i]);
          const std::vector<int32_t> &other = second.labels[partners[i][0]];
          joined.back().insert(joined.back().end(), other.begin(), other.end());
        }
      const int32_t to = of[edge.first];
      for (int32_t node : second.nodes) {
        of[node] = to;
        at[node] += static_cast<int32_t>(first.nodes.size());
      }
      first.nodes.insert(first.nodes.end(), second.nodes.begin(),
                         second.nodes.end());
      first.labels = std::move(joined);
      second = {};
      return true;
    }
    auto dropLonely = [](Decision &decision,
                         const std::vector<std::vector<size_t>> &lists) {
      size_t index = 0;
      return std::erase_if(decision.labels, [&](const auto &) {
               return lists[index++].empty();
             }) > 0;
    };
    const bool dropped = dropLonely(first, partners);
    return dropLonely(second, back) || dropped;
  }

  const ShardingProblem &problem;
};

} // namespace

static const char *const needsSmaller = "the certificate does not fit the "
                                        "problem: ";

/// Drops labels that take more than the limit beside the fewest bytes of all
/// others, at the times when something begins.
static void dropWhatNeverFits(const ShardingProblem &problem,
                              Decisions &decisions) {
  std::set<int64_t> begins;
  for (const ShardingProblem::Node &node : problem.nodes)
    if (node.begin < node.end)
      begins.insert(node.begin);
  const std::vector<int64_t> times(begins.begin(), begins.end());
  auto place = [&](int64_t time) {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  };
  for (bool dropped = true; dropped;) {
    dropped = false;
    // Per decision: between which places of `times` its bytes change, and per
    // label its bytes there.
    struct Profile {
      std::vector<int64_t> borders;
      std::vector<std::vector<int64_t>> bytes;
    };
    std::vector<Profile> profiles(decisions.all.size());
    std::vector<int64_t> least(times.size() + 1);
    for (size_t index = 0; index < decisions.all.size(); ++index) {
      const Decision &decision = decisions.all[index];
      Profile &profile = profiles[index];
      std::set<int64_t> borders;
      for (int32_t node : decision.nodes)
        if (problem.nodes[node].begin < problem.nodes[node].end) {
          borders.insert(place(problem.nodes[node].begin));
          borders.insert(place(problem.nodes[node].end));
        }
      profile.borders.assign(borders.begin(), borders.end());
      for (const std::vector<int32_t> &label : decision.labels) {
        std::vector<int64_t> &bytes =
            profile.bytes.emplace_back(borders.size());
        for (size_t i = 0; i < decision.nodes.size(); ++i) {
          const ShardingProblem::Node &node = problem.nodes[decision.nodes[i]];
          if (node.begin >= node.end)
            continue;
          auto find = [&](int64_t time) {
            return std::lower_bound(profile.borders.begin(),
                                    profile.borders.end(), place(time)) -
                   profile.borders.begin();
          };
          bytes[find(node.begin)] += node.bytes[label[i]];
          bytes[find(node.end)] -= node.bytes[label[i]];
        }
        for (size_t i = 1; i < bytes.size(); ++i)
          bytes[i] += bytes[i - 1];
      }
      for (size_t i = 0; i + 1 < profile.borders.size(); ++i) {
        int64_t fewest = profile.bytes.empty() ? 0 : INT64_MAX;
        for (const std::vector<int64_t> &bytes : profile.bytes)
          fewest = std::min(fewest, bytes[i]);
        for (int64_t t = profile.borders[i]; t < profile.borders[i + 1]; ++t)
          least[t] += fewest;
      }
    }
    for (size_t index = 0; index < decisions.all.size(); ++index) {
      const Profile &profile = profiles[index];
      auto exceeds = [&](const std::vector<int64_t> &bytes) {
        for (size_t i = 0; i + 1 < profile.borders.size(); ++i) {
          int64_t fewest = INT64_MAX;
          for (const std::vector<int64_t> &other : profile.bytes)
            fewest = std::min(fewest, other[i]);
          if (bytes[i] == fewest)
            continue;
          for (int64_t t = profile.borders[i]; t < profile.borders[i + 1]; ++t)
            if (least[t] + bytes[i] - fewest > *problem.limit)
              return true;
        }
        return false;
      };
      size_t label = 0;
      dropped |= std::erase_if(decisions.all[index].labels, [&](const auto &) {
                   return exceeds(profile.bytes[label++]);
                 }) > 0;
    }
  }
}

/// Adds the costs of an edge to the table of two decisions, which has a row per
/// label of the one `above`. What is forbidden stays so.
static void addTable(const Decisions &decisions,
                     const ShardingProblem::Edge &edge, int32_t above,
                     std::vector<int64_t> &table) {
  const bool turns = decisions.of[edge.first] != above;
  const int32_t top = turns ? edge.second : edge.first;
  const int32_t side = turns ? edge.first : edge.second;
  const std::vector<int32_t> rows = decisions.strategiesOf(top);
  const std::vector<int32_t> columns = decisions.strategiesOf(side);
  int64_t *entry = table.data();
  for (int32_t row : rows)
    for (int32_t column : columns) {
      *entry = std::min(ShardingProblem::forbidden,
                        *entry + (turns ? decisions.cost(edge, column, row)
                                        : decisions.cost(edge, row, column)));
      ++entry;
    }
}

/// The least number of a table in units of one `scale`-th, less the messages of
/// its row and its column.
static __int128 leastOf(const std::vector<int64_t> &table,
                        const std::vector<int64_t> &toRows,
                        const std::vector<int64_t> &toColumns, int64_t scale) {
  const int64_t most = *std::max_element(toColumns.begin(), toColumns.end());
  const size_t width = toColumns.size();
  std::optional<__int128> least;
  for (size_t i = 0; i < toRows.size(); ++i) {
    const int64_t *row = &table[i * width];
    const int64_t leastOfRow = *std::min_element(row, row + width);
    // Nothing in the row can be less.
    if (least && __int128(leastOfRow) * scale - toRows[i] - most >= *least)
      continue;
    for (size_t j = 0; j < width; ++j) {
      const __int128 cost = __int128(row[j]) * scale - toRows[i] - toColumns[j];
      if (!least || cost < *least)
        least = cost;
    }
  }
  return *least;
}

/// What is proved, or why nothing is.
static std::optional<std::string> proveBound(const ShardingProblem &problem,
                                             const ShardingSolution &solution,
                                             __int128 &bound) {
  Decisions decisions(problem);
  if (problem.limit)
    dropWhatNeverFits(problem, decisions);
  for (const Decision &decision : decisions.all)
    if (!decision.nodes.empty() && decision.labels.empty())
      return std::string("no choice is within the limit, though one is given");

  std::map<int64_t, __int128> prices;
  for (const ShardingSolution::Price &price : solution.prices) {
    if (price.amount < 0 || price.amount > largestSum || !problem.limit)
      return std::string(needsSmaller) + "a price is negative, larger than "
                                         "2^60, or there is no limit";
    prices[price.time] += price.amount;
    bound -= __int128(price.amount) * *problem.limit;
  }
  // What all prices up to a time are together.
  std::vector<int64_t> times;
  std::vector<__int128> sums = {0};
  for (const auto &[time, amount] : prices) {
    times.push_back(time);
    sums.push_back(sums.back() + amount);
  }
  auto priceBefore = [&](int64_t time) {
    return sums[std::lower_bound(times.begin(), times.end(), time) -
                times.begin()];
  };
  std::vector<std::vector<__int128>> costs;
  for (const Decision &decision : decisions.all) {
    std::vector<__int128> &list = costs.emplace_back();
    for (const std::vector<int32_t> &label : decision.labels) {
      __int128 cost = 0;
      for (size_t i = 0; i < label.size(); ++i) {
        const ShardingProblem::Node &node = problem.nodes[decision.nodes[i]];
        cost += __int128(node.costs[label[i]]) * solution.scale;
        if (node.begin < node.end)
          cost += node.bytes[label[i]] *
                  (priceBefore(node.end) - priceBefore(node.begin));
      }
      list.push_back(cost);
    }
  }

  // Edges between two decisions are one table, of which there is one at a time.
  struct Between {
    int32_t above, beside; // the decision with the lower lowest node is above
    const ShardingProblem::Edge *edge;
  };
  std::vector<Between> betweens;
  for (const ShardingProblem::Edge &edge : problem.edges) {
    const int32_t first = decisions.of[edge.first];
    const int32_t second = decisions.of[edge.second];
    if (first == second) {
      const std::vector<std::vector<int32_t>> &labels =
          decisions.all[first].labels;
      for (size_t i = 0; i < labels.size(); ++i)
        costs[first][i] +=
            __int128(decisions.costWithin(edge, labels[i])) * solution.scale;
      continue;
    }
    const bool turns =
        decisions.lowestNode(first) > decisions.lowestNode(second);
    betweens.push_back({turns ? second : first, turns ? first : second, &edge});
  }
  std::sort(
      betweens.begin(), betweens.end(), [](const Between &a, const Between &b) {
        return std::pair(a.above, a.beside) < std::pair(b.above, b.beside);
      });
  std::map<std::pair<int32_t, int32_t>, const ShardingSolution::Messages *>
      messages;
  for (const ShardingSolution::Messages &list : solution.messages)
    if (!messages.emplace(std::pair(list.first, list.second), &list).second)
      return std::string(needsSmaller) + "nodes " + std::to_string(list.first) +
             " and " + std::to_string(list.second) + " have messages twice";
  std::vector<int64_t> table;
  for (size_t from = 0, to = 0; from < betweens.size(); from = to) {
    const auto [above, beside, firstEdge] = betweens[from];
    std::vector<__int128> &rows = costs[above];
    std::vector<__int128> &columns = costs[beside];
    table.assign(rows.size() * columns.size(), 0);
    for (; to < betweens.size() && betweens[to].above == above &&
           betweens[to].beside == beside;
         ++to)
      addTable(decisions, *betweens[to].edge, above, table);
    auto isSum = [&] {
      if (rows.size() == 1 || columns.size() == 1)
        return true;
      for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t *row = &table[i * columns.size()];
        for (size_t j = 0; j < columns.size(); ++j)
          if (row[j] == ShardingProblem::forbidden ||
              row[j] - row[0] != table[j] - table[0])
            return false;
      }
      return true;
    };
    if (isSum()) {
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] += __int128(table[i * columns.size()]) * solution.scale;
      for (size_t j = 0; j < columns.size(); ++j)
        columns[j] += __int128(table[j] - table[0]) * solution.scale;
      continue;
    }
    auto found = messages.find(
        {decisions.lowestNode(above), decisions.lowestNode(beside)});
    std::vector<int64_t> toRows(rows.size()), toColumns(columns.size());
    if (found != messages.end()) {
      const ShardingSolution::Messages &list = *found->second;
      if (list.toFirst.size() != rows.size() ||
          list.toSecond.size() != columns.size())
        return std::string(needsSmaller) + "between the groups of nodes " +
               std::to_string(list.first) + " and " +
               std::to_string(list.second) + " there are " +
               std::to_string(list.toFirst.size()) + " and " +
               std::to_string(list.toSecond.size()) + " messages, expected " +
               std::to_string(rows.size()) + " and " +
               std::to_string(columns.size());
      for (const std::vector<int64_t> &side : {list.toFirst, list.toSecond})
        for (int64_t message : side)
          if (message < -largestSum || message > largestSum)
            return std::string(needsSmaller) + "a message is beyond 2^60";
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] += list.toFirst[i];
      for (size_t j = 0; j < columns.size(); ++j)
        columns[j] += list.toSecond[j];
      toRows = list.toFirst;
      toColumns = list.toSecond;
      messages.erase(found);
    }
    bound += leastOf(table, toRows, toColumns, solution.scale);
  }
  if (!messages.empty())
    return std::string(needsSmaller) + "there is no edge between the groups " +
           "of nodes " + std::to_string(messages.begin()->first.first) +
           " and " + std::to_string(messages.begin()->first.second);
  for (const std::vector<__int128> &list : costs)
    if (!list.empty())
      bound += *std::min_element(list.begin(), list.end());
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::checkSharding(const ShardingProblem &problem,
                             const ShardingSolution &solution) {
  if (auto error = validateShardingProblem(problem))
    return *error;
  if (!solution.valid)
    return std::string("there is no choice to check");
  if (solution.strategies.size() != problem.nodes.size())
    return "there are strategies of " +
           std::to_string(solution.strategies.size()) + " nodes, expected " +
           std::to_string(problem.nodes.size());
  int64_t cost = 0;
  std::map<int64_t, int64_t> changes;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const ShardingProblem::Node &node = problem.nodes[i];
    const int32_t strategy = solution.strategies[i];
    if (strategy < 0 || size_t(strategy) >= node.costs.size())
      return "node " + std::to_string(i) + " has strategy " +
             std::to_string(strategy) + ", expected 0 to " +
             std::to_string(node.costs.size() - 1);
    if (node.costs[strategy] == ShardingProblem::forbidden)
      return "strategy " + std::to_string(strategy) + " of node " +
             std::to_string(i) + " is forbidden";
    cost += node.costs[strategy];
    if (node.begin < node.end) {
      changes[node.begin] += node.bytes[strategy];
      changes[node.end] -= node.bytes[strategy];
    }
  }
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const ShardingProblem::Edge &edge = problem.edges[i];
    const int64_t added =
        problem.tables[edge.table][size_t(solution.strategies[edge.first]) *
                                       problem.nodes[edge.second].costs.size() +
                                   solution.strategies[edge.second]];
    if (added == ShardingProblem::forbidden)
      return "edge " + std::to_string(i) + " forbids the strategies of nodes " +
             std::to_string(edge.first) + " and " + std::to_string(edge.second);
    cost += added;
  }
  int64_t taken = 0, peak = 0;
  for (const auto &[time, change] : changes) {
    taken += change;
    peak = std::max(peak, taken);
    if (problem.limit && taken > *problem.limit)
      return "at time " + std::to_string(time) + " the choice takes " +
             std::to_string(taken) + " bytes, more than the limit " +
             std::to_string(*problem.limit);
  }
  if (cost != solution.cost)
    return "the choice costs " + std::to_string(cost) + ", not " +
           std::to_string(solution.cost);
  if (peak != solution.peak)
    return "the choice takes " + std::to_string(peak) + " bytes at most, not " +
           std::to_string(solution.peak);
  if (solution.bound > solution.cost)
    return "bound " + std::to_string(solution.bound) + " exceeds the cost " +
           std::to_string(solution.cost) + " of a valid choice";
  if (solution.scale < 1 || solution.scale > (int64_t(1) << 20))
    return "scale " + std::to_string(solution.scale) + " is not from 1 to 2^20";
  __int128 bound = 0;
  if (auto error = proveBound(problem, solution, bound))
    return error;
  // Costs are whole numbers.
  if (bound + solution.scale <= __int128(solution.bound) * solution.scale)
    return "messages and prices do not prove the bound " +
           std::to_string(solution.bound);
  return std::nullopt;
}
