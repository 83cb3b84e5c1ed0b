//===- ShardingChoiceText.cpp - sharding problems as files ----------------===//
//
// Reads and writes the line forms of sharding problems and solutions, and says
// what is wrong with a problem. The forms are described in
// docs/SolverForms.md.
//
//===----------------------------------------------------------------------===//

#include "LargestSum.h"
#include "LineReader.h"
#include "ShardingChoice/ContestReader.h"

#include <algorithm>

using namespace tenon::solver;

/// The largest permitted cost of a list; 0 if there is none.
static int64_t largestIn(const std::vector<int64_t> &costs) {
  int64_t most = 0;
  for (int64_t cost : costs)
    if (cost != ShardingProblem::forbidden)
      most = std::max(most, cost);
  return most;
}

__int128 tenon::solver::sumOfLargestCosts(const ShardingProblem &problem) {
  std::vector<int64_t> ofTables;
  for (const std::vector<int64_t> &table : problem.tables)
    ofTables.push_back(largestIn(table));
  __int128 sum = 0;
  for (const ShardingProblem::Node &node : problem.nodes)
    sum += largestIn(node.costs);
  for (const ShardingProblem::Edge &edge : problem.edges)
    sum += ofTables[edge.table];
  return sum;
}

std::optional<std::string>
tenon::solver::validateShardingProblem(const ShardingProblem &problem) {
  if (problem.nodes.size() > INT32_MAX || problem.edges.size() > INT32_MAX ||
      problem.tables.size() > INT32_MAX)
    return std::string("too many nodes, edges or tables for 32-bit ids");
  if (problem.limit.value_or(0) < 0 || problem.limit.value_or(0) > largestSum)
    return std::string("the limit is not from 0 to 2^60");
  __int128 bytes = 0;
  auto arePermitted = [](const std::vector<int64_t> &list) {
    return std::all_of(list.begin(), list.end(), [](int64_t cost) {
      return cost >= 0 && cost <= ShardingProblem::forbidden;
    });
  };
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const ShardingProblem::Node &node = problem.nodes[i];
    const std::string name = "node " + std::to_string(i);
    if (node.costs.empty() || node.costs.size() > UINT16_MAX)
      return name + " has no strategy, or more than 65535";
    if (node.bytes.size() != node.costs.size())
      return name + " has " + std::to_string(node.costs.size()) +
             " costs and " + std::to_string(node.bytes.size()) + " sizes";
    if (!arePermitted(node.costs))
      return name + " has a cost that is not from 0 to 10^18";
    for (int64_t size : node.bytes)
      if (size < 0 || size > largestSum)
        return name + " has a size that is not from 0 to 2^60";
    bytes += *std::max_element(node.bytes.begin(), node.bytes.end());
    for (int64_t time : {node.begin, node.end})
      if (time < 0 || time > largestSum)
        return name + " has a time that is not from 0 to 2^60";
  }
  for (size_t i = 0; i < problem.tables.size(); ++i)
    if (!arePermitted(problem.tables[i]))
      return "table " + std::to_string(i) +
             " has a cost that is not from 0 to 10^18";
  const auto nodes = static_cast<int32_t>(problem.nodes.size());
  const auto tables = static_cast<int32_t>(problem.tables.size());
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const ShardingProblem::Edge &edge = problem.edges[i];
    const std::string name = "edge " + std::to_string(i);
    for (int32_t node : {edge.first, edge.second})
      if (node < 0 || node >= nodes)
        return name + " names node " + std::to_string(node) +
               ", which does not exist";
    if (edge.first == edge.second)
      return name + " joins node " + std::to_string(edge.first) +
             " with itself";
    if (edge.table < 0 || edge.table >= tables)
      return name + " names table " + std::to_string(edge.table) +
             ", which does not exist";
    const size_t expected = problem.nodes[edge.first].costs.size() *
                            problem.nodes[edge.second].costs.size();
    if (problem.tables[edge.table].size() != expected)
      return name + " has a table of " +
             std::to_string(problem.tables[edge.table].size()) +
             " costs, expected " + std::to_string(expected);
  }
  if (sumOfLargestCosts(problem) >= ShardingProblem::forbidden ||
      bytes > largestSum)
    return std::string("the largest costs together reach 10^18, or all sizes "
                       "2^60");
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::parseShardingProblem(std::string_view text,
                                    ShardingProblem &problem) {
  problem = {};
  if (isContestProblem(text))
    return readContestProblem(text, problem);
  LineReader lines(text);
  if (!lines.next() || !lines.keyword("sharding-problem") ||
      !lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected 'sharding-problem 1'");
  auto number = [&] { return lines.integer(0, largestSum); };
  auto cost = [&]() -> std::optional<int64_t> {
    if (lines.keyword("forbidden"))
      return ShardingProblem::forbidden;
    return lines.integer(0, ShardingProblem::forbidden - 1);
  };
  while (lines.next()) {
    const auto nodes = static_cast<int64_t>(problem.nodes.size());
    const auto tables = static_cast<int64_t>(problem.tables.size());
    if (lines.keyword("limit")) {
      problem.limit = number();
      if (!problem.limit || !lines.atEnd())
        return lines.error("expected 'limit' and a number of bytes");
    } else if (lines.keyword("node")) {
      auto given = lines.integer(nodes, nodes);
      auto begin = given ? number() : std::nullopt;
      auto end = begin ? number() : std::nullopt;
      if (!end)
        return lines.error("expected 'node " + std::to_string(nodes) +
                           " BEGIN END', then a pair 'COST BYTES' per "
                           "strategy");
      ShardingProblem::Node &node = problem.nodes.emplace_back();
      node.begin = *begin;
      node.end = *end;
      while (!lines.atEnd()) {
        auto value = cost();
        auto bytes = value ? number() : std::nullopt;
        if (!bytes)
          return lines.error("expected pairs 'COST BYTES' of whole numbers, "
                             "or 'forbidden' for a cost");
        node.costs.push_back(*value);
        node.bytes.push_back(*bytes);
      }
    } else if (lines.keyword("table")) {
      if (!lines.integer(tables, tables))
        return lines.error("expected 'table " + std::to_string(tables) +
                           "' and its costs, row by row");
      std::vector<int64_t> &table = problem.tables.emplace_back();
      while (!lines.atEnd()) {
        auto value = cost();
        if (!value)
          return lines.error("expected whole numbers or 'forbidden'");
        table.push_back(*value);
      }
    } else if (lines.keyword("edge")) {
      auto first = lines.integer(0, nodes - 1);
      auto second = first ? lines.integer(0, nodes - 1) : std::nullopt;
      auto table = second ? lines.integer(0, tables - 1) : std::nullopt;
      if (!table || !lines.atEnd())
        return lines.error(
            "expected 'edge FIRST SECOND TABLE', after what it names");
      problem.edges.push_back({static_cast<int32_t>(*first),
                               static_cast<int32_t>(*second),
                               static_cast<int32_t>(*table)});
    } else {
      return lines.error("unknown field '" + lines.word() + "'");
    }
  }
  if (auto error = validateShardingProblem(problem))
    return lines.error(*error);
  return std::nullopt;
}

static void appendNumbers(std::string &text,
                          const std::vector<int64_t> &numbers) {
  for (int64_t number : numbers)
    text += " " + std::to_string(number);
}

static std::string costText(int64_t cost) {
  return cost == ShardingProblem::forbidden ? "forbidden"
                                            : std::to_string(cost);
}

std::string
tenon::solver::printShardingProblem(const ShardingProblem &problem) {
  std::string text = "sharding-problem 1\n";
  if (problem.limit)
    text += "limit " + std::to_string(*problem.limit) + "\n";
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const ShardingProblem::Node &node = problem.nodes[i];
    text += "node " + std::to_string(i) + " " + std::to_string(node.begin) +
            " " + std::to_string(node.end);
    for (size_t j = 0; j < node.costs.size(); ++j)
      text +=
          "  " + costText(node.costs[j]) + " " + std::to_string(node.bytes[j]);
    text += "\n";
  }
  for (size_t i = 0; i < problem.tables.size(); ++i) {
    text += "table " + std::to_string(i);
    for (int64_t cost : problem.tables[i])
      text += " " + costText(cost);
    text += "\n";
  }
  for (const ShardingProblem::Edge &edge : problem.edges)
    text += "edge " + std::to_string(edge.first) + " " +
            std::to_string(edge.second) + " " + std::to_string(edge.table) +
            "\n";
  return text;
}

std::optional<std::string>
tenon::solver::parseShardingSolution(std::string_view text,
                                     ShardingSolution &solution) {
  solution = {};
  LineReader lines(text);
  if (!lines.next() || !lines.keyword("sharding-solution") ||
      !lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected 'sharding-solution 1'");
  auto number = [&] { return lines.integer(0, largestSum); };
  auto node = [&] { return lines.integer(0, INT32_MAX - 1); };
  auto numbers = [&](std::vector<int64_t> &list) {
    while (auto value = lines.integer(-largestSum, largestSum))
      list.push_back(*value);
  };
  struct Single {
    std::string_view name;
    int64_t *value;
    bool isGiven = false;
  };
  Single singles[] = {{"cost", &solution.cost},
                      {"peak", &solution.peak},
                      {"bound", &solution.bound},
                      {"scale", &solution.scale}};
  while (lines.next()) {
    auto single = std::find_if(
        std::begin(singles), std::end(singles),
        [&](const Single &field) { return lines.keyword(field.name); });
    if (single != std::end(singles)) {
      auto value = number();
      if (!value || !lines.atEnd() || single->isGiven)
        return lines.error("expected '" + std::string(single->name) +
                           "' once, and a number");
      *single->value = *value;
      single->isGiven = true;
    } else if (lines.keyword("strategies")) {
      while (auto value = lines.integer(0, INT32_MAX))
        solution.strategies.push_back(static_cast<int32_t>(*value));
      if (!lines.atEnd())
        return lines.error("expected a strategy per node");
    } else if (lines.keyword("price")) {
      auto time = number();
      auto amount = time ? number() : std::nullopt;
      if (!amount || !lines.atEnd())
        return lines.error("expected 'price TIME AMOUNT'");
      solution.prices.push_back({*time, *amount});
    } else if (lines.keyword("messages")) {
      auto first = node();
      auto second = first ? node() : std::nullopt;
      ShardingSolution::Messages messages;
      if (second) {
        messages.first = static_cast<int32_t>(*first);
        messages.second = static_cast<int32_t>(*second);
        numbers(messages.toFirst);
      }
      if (!second || !lines.keyword("/"))
        return lines.error("expected 'messages FIRST SECOND', numbers, '/' "
                           "and numbers");
      numbers(messages.toSecond);
      if (!lines.atEnd())
        return lines.error("expected whole numbers");
      solution.messages.push_back(std::move(messages));
    } else {
      return lines.error("unknown field '" + lines.word() + "'");
    }
  }
  for (const Single &field : singles)
    if (!field.isGiven)
      return lines.error("there is no '" + std::string(field.name) + "'");
  solution.valid = true;
  return std::nullopt;
}

std::string
tenon::solver::printShardingSolution(const ShardingSolution &solution) {
  std::string text = "sharding-solution 1\ncost " +
                     std::to_string(solution.cost) + "\npeak " +
                     std::to_string(solution.peak) + "\nbound " +
                     std::to_string(solution.bound) + "\nscale " +
                     std::to_string(solution.scale) + "\nstrategies";
  for (int32_t strategy : solution.strategies)
    text += " " + std::to_string(strategy);
  text += "\n";
  for (const ShardingSolution::Price &price : solution.prices)
    text += "price " + std::to_string(price.time) + " " +
            std::to_string(price.amount) + "\n";
  for (const ShardingSolution::Messages &messages : solution.messages) {
    text += "messages " + std::to_string(messages.first) + " " +
            std::to_string(messages.second);
    appendNumbers(text, messages.toFirst);
    text += " /";
    appendNumbers(text, messages.toSecond);
    text += "\n";
  }
  return text;
}
