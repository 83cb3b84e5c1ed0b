//===- ContestReader.cpp - read the contest's JSON ------------------------===//

#include "ShardingChoice/ContestReader.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

using namespace tenon::solver;

namespace {

/// Reads the few forms that occur: objects, lists, names and whole numbers. The
/// first error stays.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  std::optional<std::string> error;

  void object(const std::function<void(std::string_view)> &field) {
    items('{', '}', [&] {
      const std::string_view name = string();
      if (take(':'))
        field(name);
      else
        fail("expected ':' after a name");
    });
  }
  void list(const std::function<void()> &item) { items('[', ']', item); }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> values;
    list([&] { values.push_back(number()); });
    return values;
  }
  int64_t number() {
    skipBlanks();
    int64_t value = 0;
    auto [end, problem] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (problem != std::errc())
      fail("expected a whole number of 64 bits");
    at = end - text.data();
    return value;
  }
  std::string_view string() {
    if (!take('"')) {
      fail("expected a name in quotes");
      return {};
    }
    const size_t end = text.find_first_of("\"\\", at);
    if (end == text.npos || text[end] == '\\') {
      fail("expected a name without escapes, and its closing quote");
      return {};
    }
    const std::string_view value = text.substr(at, end - at);
    at = end + 1;
    return value;
  }
  void fail(const std::string &message) {
    if (error)
      return;
    const auto line =
        1 + std::count(text.begin(), text.begin() + std::min(at, text.size()),
                       '\n');
    error = "line " + std::to_string(line) + ", byte " + std::to_string(at) +
            ": " + message;
  }
  bool atEnd() {
    skipBlanks();
    return at == text.size();
  }

private:
  void skipBlanks() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  bool take(char expected) {
    skipBlanks();
    if (at == text.size() || text[at] != expected)
      return false;
    ++at;
    return true;
  }
  void items(char open, char close, const std::function<void()> &item) {
    if (!take(open))
      return fail(std::string("expected '") + open + "'");
    if (take(close))
      return;
    do {
      item();
      if (error)
        return;
    } while (take(','));
    if (!take(close))
      fail(std::string("expected ',' or '") + close + "'");
  }

  std::string_view text;
  size_t at = 0;
};

} // namespace

bool tenon::solver::isContestProblem(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

std::optional<std::string>
tenon::solver::readContestProblem(std::string_view text,
                                  ShardingProblem &problem) {
  Reader reader(text);
  std::map<std::vector<int64_t>, int32_t> known;
  std::vector<int32_t> tables;
  std::vector<std::pair<int64_t, int64_t>> intervals, ends;
  std::vector<std::vector<int64_t>> costs, bytes;
  auto unknown = [&](std::string_view name) {
    reader.fail("unknown field '" + std::string(name) + "'");
  };
  auto pairs = [&](std::vector<std::pair<int64_t, int64_t>> &list) {
    reader.list([&] {
      const std::vector<int64_t> pair = reader.numbers();
      if (pair.size() != 2)
        return reader.fail("expected two numbers");
      list.push_back({pair[0], pair[1]});
    });
  };
  auto readNodes = [&](std::string_view name) {
    if (name == "intervals")
      pairs(intervals);
    else if (name == "costs")
      reader.list([&] { costs.push_back(reader.numbers()); });
    else if (name == "usages")
      reader.list([&] { bytes.push_back(reader.numbers()); });
    else
      unknown(name);
  };
  auto readEdges = [&](std::string_view name) {
    if (name == "nodes")
      pairs(ends);
    else if (name == "costs")
      reader.list([&] {
        std::vector<int64_t> table = reader.numbers();
        auto [place, isNew] = known.try_emplace(
            std::move(table), static_cast<int32_t>(known.size()));
        tables.push_back(place->second);
      });
    else
      unknown(name);
  };
  reader.object([&](std::string_view name) {
    if (name != "problem")
      return unknown(name);
    reader.object([&](std::string_view field) {
      if (field == "name")
        problem.name = reader.string();
      else if (field == "nodes")
        reader.object(readNodes);
      else if (field == "edges")
        reader.object(readEdges);
      else if (field == "usage_limit")
        problem.limit = reader.number();
      else
        unknown(field);
    });
  });
  if (!reader.error && !reader.atEnd())
    reader.fail("expected the end of the text");
  if (reader.error)
    return reader.error;
  if (intervals.size() != costs.size() || costs.size() != bytes.size())
    return "there are " + std::to_string(intervals.size()) + " intervals, " +
           std::to_string(costs.size()) + " lists of costs and " +
           std::to_string(bytes.size()) + " of usages";
  if (ends.size() != tables.size())
    return "there are " + std::to_string(ends.size()) + " pairs of nodes and " +
           std::to_string(tables.size()) + " lists of costs of edges";
  for (size_t i = 0; i < intervals.size(); ++i)
    problem.nodes.push_back({intervals[i].first, intervals[i].second,
                             std::move(costs[i]), std::move(bytes[i])});
  for (size_t i = 0; i < ends.size(); ++i) {
    for (int64_t node : {ends[i].first, ends[i].second})
      if (node < 0 || node > INT32_MAX)
        return "edge " + std::to_string(i) + " names node " +
               std::to_string(node) + ", which does not exist";
    problem.edges.push_back({static_cast<int32_t>(ends[i].first),
                             static_cast<int32_t>(ends[i].second), tables[i]});
  }
  problem.tables.resize(known.size());
  while (!known.empty()) {
    auto table = known.extract(known.begin());
    problem.tables[table.mapped()] = std::move(table.key());
  }
  return validateShardingProblem(problem);
}
