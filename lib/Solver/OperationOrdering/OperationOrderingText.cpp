//===- OperationOrderingText.cpp - ordering problems as files -------------===//
//
// Reads and writes the line forms of ordering problems and solutions, and says
// what is wrong with a problem. The forms are described in
// docs/SolverForms.md.
//
//===----------------------------------------------------------------------===//

#include "LargestSum.h"
#include "LineReader.h"
#include "tenon/Solver/OperationOrdering.h"

#include <algorithm>

using namespace tenon::solver;

std::optional<std::string>
tenon::solver::validateOrderingProblem(const OrderingProblem &problem) {
  auto count = static_cast<int64_t>(problem.operations.size());
  if (count + int64_t(problem.extraResults.size()) > INT32_MAX / 4)
    return std::string("too many operations and results for 32-bit ids");
  __int128 bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    const OrderingProblem::Operation &operation = problem.operations[i];
    if (operation.bytes < 0 || operation.workspace < 0)
      return "operation " + std::to_string(i) + " has a negative size";
    bytes += __int128(operation.bytes) + operation.workspace;
  }
  for (const OrderingProblem::Result &result : problem.extraResults) {
    if (result.producer < 0 || result.producer >= count || result.bytes < 0)
      return std::string("a result has no operation or a negative size");
    bytes += result.bytes;
  }
  if (bytes > largestSum)
    return std::string("the sum of all sizes exceeds 2^60");
  auto isValue = [&](int32_t value) {
    return value >= 0 && value < problem.valueCount();
  };
  std::vector<std::pair<int32_t, int32_t>> seen;
  for (auto [value, user] : problem.uses) {
    std::string name =
        "use " + std::to_string(value) + " " + std::to_string(user);
    if (!isValue(value) || user < 0 || user >= count)
      return name + " names an id that does not exist";
    if (problem.producer(value) >= user)
      return name + " does not lead from an earlier to a later operation";
    seen.push_back({value, user});
  }
  std::sort(seen.begin(), seen.end());
  auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end())
    return "use " + std::to_string(twice->first) + " " +
           std::to_string(twice->second) + " appears twice";
  for (auto [before, after] : problem.controls)
    if (before < 0 || after >= count || before >= after)
      return "control " + std::to_string(before) + " " + std::to_string(after) +
             " does not lead from an earlier to a later operation";
  std::vector<char> written(problem.valueCount(), 0);
  std::vector<std::pair<int32_t, int32_t>> given;
  for (auto [operation, operand, result] : problem.inPlace) {
    std::string name = "in-place " + std::to_string(operation) + " " +
                       std::to_string(operand) + " " + std::to_string(result);
    if (!isValue(operand) || !isValue(result) || operation < 0 ||
        operation >= count)
      return name + " names an id that does not exist";
    if (problem.producer(result) != operation ||
        !std::binary_search(seen.begin(), seen.end(),
                            std::pair(operand, operation)))
      return name + " does not name an operand and a result of the operation";
    if (written[result]++)
      return name + " gives the result a second operand";
    given.push_back({operation, operand});
  }
  std::sort(given.begin(), given.end());
  if (std::adjacent_find(given.begin(), given.end()) != given.end())
    return std::string("an in-place operand takes two results");
  std::vector<char> stays(problem.valueCount(), 0);
  for (int32_t value : problem.kept)
    if (!isValue(value) || stays[value]++)
      return "kept value " + std::to_string(value) +
             " does not exist or appears twice";
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::parseOrderingProblem(std::string_view text,
                                    OrderingProblem &problem) {
  problem = {};
  LineReader lines(text);
  std::vector<char> seen;
  int64_t count = -1;
  if (!lines.next() || !lines.keyword("ordering-problem") ||
      !lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected 'ordering-problem 1'");
  while (lines.next()) {
    auto id = [&] { return lines.integer(0, count - 1); };
    auto value = [&] { return lines.integer(0, problem.valueCount() - 1); };
    auto narrow = [](std::optional<int64_t> number) {
      return static_cast<int32_t>(*number);
    };
    if (lines.keyword("operations")) {
      auto number = lines.integer(0, INT32_MAX / 4);
      if (!number || count >= 0 || *number > int64_t(text.size()))
        return lines.error(
            "expected one count of operations, each with a line");
      count = *number;
      problem.operations.resize(count);
      seen.assign(count, 0);
    } else if (count < 0) {
      return lines.error("expected 'operations N' first");
    } else if (lines.keyword("operation")) {
      auto operation = id();
      auto bytes = operation ? lines.integer(0, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'operation ID BYTES' with ID below " +
                           std::to_string(count));
      if (seen[*operation]++)
        return lines.error("operation " + std::to_string(*operation) +
                           " appears twice");
      problem.operations[*operation].bytes = *bytes;
    } else if (lines.keyword("workspace")) {
      auto operation = id();
      auto bytes = operation ? lines.integer(0, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'workspace OPERATION BYTES'");
      problem.operations[*operation].workspace = *bytes;
    } else if (lines.keyword("effect")) {
      auto operation = id();
      if (!operation)
        return lines.error("expected 'effect OPERATION'");
      problem.operations[*operation].effect = true;
    } else if (lines.keyword("result")) {
      auto number = lines.integer(problem.valueCount(), problem.valueCount());
      auto operation = number ? id() : std::nullopt;
      auto bytes = operation ? lines.integer(0, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'result " +
                           std::to_string(problem.valueCount()) +
                           " OPERATION BYTES'");
      problem.extraResults.push_back({narrow(operation), *bytes});
    } else if (lines.keyword("use")) {
      auto used = value();
      auto user = used ? id() : std::nullopt;
      if (!user)
        return lines.error("expected 'use VALUE OPERATION' with ids in range");
      if (problem.producer(narrow(used)) >= *user)
        return lines.error("use of value " + std::to_string(*used) +
                           " makes a cycle: ids are a valid order");
      problem.uses.push_back({narrow(used), narrow(user)});
    } else if (lines.keyword("control")) {
      auto before = id();
      auto after = before ? id() : std::nullopt;
      if (!after || *before >= *after)
        return lines.error("expected 'control BEFORE AFTER' with BEFORE below "
                           "AFTER: ids are a valid order");
      problem.controls.push_back({narrow(before), narrow(after)});
    } else if (lines.keyword("in-place")) {
      auto operation = id();
      auto operand = operation ? value() : std::nullopt;
      auto result = operand ? value() : std::nullopt;
      if (!result)
        return lines.error("expected 'in-place OPERATION OPERAND RESULT'");
      problem.inPlace.push_back(
          {narrow(operation), narrow(operand), narrow(result)});
    } else if (lines.keyword("keep")) {
      auto kept = value();
      if (!kept)
        return lines.error("expected 'keep VALUE'");
      problem.kept.push_back(narrow(kept));
    } else {
      return lines.error("unknown field '" + lines.word() + "'");
    }
    if (!lines.atEnd())
      return lines.error("expected the end of the line");
  }
  if (count < 0)
    return lines.error("expected 'operations N'");
  for (int64_t operation = 0; operation < count; ++operation)
    if (!seen[operation])
      return lines.error("operation " + std::to_string(operation) +
                         " is missing");
  if (auto error = validateOrderingProblem(problem))
    return lines.error(*error);
  return std::nullopt;
}

std::string
tenon::solver::printOrderingProblem(const OrderingProblem &problem) {
  std::string text;
  auto line = [&](const char *field, std::initializer_list<int64_t> numbers) {
    text += field;
    for (int64_t number : numbers)
      text += " " + std::to_string(number);
    text += "\n";
  };
  line("ordering-problem", {1});
  line("operations", {int64_t(problem.operations.size())});
  for (size_t i = 0; i < problem.operations.size(); ++i) {
    const OrderingProblem::Operation &operation = problem.operations[i];
    line("operation", {int64_t(i), operation.bytes});
    if (operation.workspace != 0)
      line("workspace", {int64_t(i), operation.workspace});
    if (operation.effect)
      line("effect", {int64_t(i)});
  }
  for (size_t i = 0; i < problem.extraResults.size(); ++i)
    line("result",
         {int64_t(problem.operations.size() + i),
          problem.extraResults[i].producer, problem.extraResults[i].bytes});
  for (auto [value, user] : problem.uses)
    line("use", {value, user});
  for (auto [before, after] : problem.controls)
    line("control", {before, after});
  for (auto [operation, operand, result] : problem.inPlace)
    line("in-place", {operation, operand, result});
  for (int32_t value : problem.kept)
    line("keep", {value});
  return text;
}

std::optional<std::string>
tenon::solver::parseOrderingSolution(std::string_view text,
                                     OrderingSolution &solution) {
  solution = {};
  LineReader lines(text);
  if (!lines.next() || !lines.keyword("ordering-solution") ||
      !lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected 'ordering-solution 1'");
  std::optional<int64_t> peak, bound;
  bool certificate = false, order = false;
  while (!order && lines.next()) {
    if (lines.keyword("peak"))
      peak = peak ? std::nullopt : lines.integer(INT64_MIN, INT64_MAX);
    else if (lines.keyword("bound"))
      bound = bound ? std::nullopt : lines.integer(INT64_MIN, INT64_MAX);
    else if (!certificate && lines.keyword("certificate")) {
      certificate = true;
      while (auto operation = lines.integer(0, INT32_MAX))
        solution.certificate.frontier.push_back(
            static_cast<int32_t>(*operation));
      if (!lines.atEnd())
        return lines.error("expected operation ids");
    } else if (lines.keyword("order"))
      order = true;
    else
      return lines.error("unknown field '" + lines.word() + "'");
    if (!lines.atEnd())
      return lines.error("expected one integer");
  }
  if (!peak || !bound || !certificate || !order)
    return lines.error(
        "expected the lines 'peak', 'bound', 'certificate' and 'order'");
  solution.peak = *peak;
  solution.bound = *bound;
  while (lines.next())
    while (!lines.atEnd()) {
      auto operation = lines.integer(0, INT32_MAX);
      if (!operation)
        return lines.error("expected an operation id");
      solution.order.push_back(static_cast<int32_t>(*operation));
    }
  solution.valid = true;
  return std::nullopt;
}

std::string
tenon::solver::printOrderingSolution(const OrderingSolution &solution) {
  std::string text = "ordering-solution 1\npeak " +
                     std::to_string(solution.peak) + "\nbound " +
                     std::to_string(solution.bound) + "\ncertificate";
  for (int32_t operation : solution.certificate.frontier)
    text += " " + std::to_string(operation);
  text += "\norder\n";
  for (int32_t operation : solution.order)
    text += std::to_string(operation) + "\n";
  return text;
}
