//===- FormatChoiceText.cpp - format problems as files --------------------===//
//
// Reads and writes the line forms of format problems and solutions, and says
// what is wrong with a problem. The forms are described in
// docs/SolverForms.md.
//
//===----------------------------------------------------------------------===//

#include "LargestSum.h"
#include "LineReader.h"
#include "tenon/Solver/FormatChoice.h"

using namespace tenon::solver;

std::optional<std::string>
tenon::solver::validateFormatProblem(const FormatProblem &problem) {
  constexpr size_t most = INT32_MAX / FormatProblem::mostLevels / 4;
  if (problem.variables.size() > most || problem.borders.size() > most)
    return std::string("too many variables or borders for 32-bit ids");
  __int128 costs = 0, bytes = 0;
  for (size_t i = 0; i < problem.variables.size(); ++i) {
    const FormatProblem::Variable &variable = problem.variables[i];
    const std::string name = "variable " + std::to_string(i);
    if (variable.levels.empty() || variable.least < 0 ||
        variable.least + variable.levels.size() > FormatProblem::mostLevels)
      return name + " has no level, or one that is not from 0 to " +
             std::to_string(FormatProblem::mostLevels - 1);
    int64_t before = 0;
    for (const FormatProblem::Level &level : variable.levels) {
      if (level.cost < 0 || level.bytes < 0)
        return name + " has a negative cost or size";
      if (level.bytes < before)
        return name + " takes fewer bytes at a wider level";
      before = level.bytes;
      costs += level.cost;
    }
    bytes += before;
  }
  const auto count = static_cast<int32_t>(problem.variables.size());
  for (size_t i = 0; i < problem.borders.size(); ++i) {
    const FormatProblem::Border &border = problem.borders[i];
    for (int32_t id : {border.wide, border.narrow})
      if (id < 0 || id >= count)
        return "border " + std::to_string(i) + " names variable " +
               std::to_string(id) + ", which does not exist";
    for (int32_t level : {border.from, border.below})
      if (level < 1 || level >= FormatProblem::mostLevels)
        return "border " + std::to_string(i) + " has level " +
               std::to_string(level) + ", expected 1 to " +
               std::to_string(FormatProblem::mostLevels - 1);
    if (border.cost.value_or(0) < 0 || border.bytes < 0)
      return "border " + std::to_string(i) + " has a negative cost or size";
    if (!border.cost && border.bytes)
      return "border " + std::to_string(i) + " is forbidden and has a size";
    costs += border.cost.value_or(0);
    bytes += border.bytes;
  }
  if (problem.price < 0)
    return std::string("bytes have a negative price");
  if (bytes <= largestSum)
    costs += problem.price * bytes;
  if (costs > largestSum || bytes > largestSum)
    return std::string("the sum of all costs or of all sizes exceeds 2^60");
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::parseFormatProblem(std::string_view text,
                                  FormatProblem &problem) {
  problem = {};
  LineReader lines(text);
  if (!lines.next() || !lines.keyword("formats-problem") ||
      !lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected 'formats-problem 1'");
  const int64_t mostLevel = FormatProblem::mostLevels - 1;
  while (lines.next()) {
    const auto count = static_cast<int64_t>(problem.variables.size());
    auto id = [&] { return lines.integer(0, count - 1); };
    auto number = [&] { return lines.integer(0, largestSum); };
    if (lines.keyword("price")) {
      auto price = problem.price ? std::nullopt : number();
      if (!price || !lines.atEnd())
        return lines.error("expected 'price' and a whole number, once");
      problem.price = *price;
    } else if (lines.keyword("variable")) {
      auto given = lines.integer(count, count);
      auto least = given ? lines.integer(0, mostLevel) : std::nullopt;
      if (!least)
        return lines.error("expected 'variable " + std::to_string(count) +
                           " LEAST', then a pair 'COST BYTES' per level");
      FormatProblem::Variable &variable = problem.variables.emplace_back();
      variable.least = static_cast<int32_t>(*least);
      while (!lines.atEnd()) {
        auto cost = number();
        auto bytes = cost ? number() : std::nullopt;
        if (!bytes)
          return lines.error("expected pairs 'COST BYTES' of whole numbers");
        variable.levels.push_back({*cost, *bytes});
      }
    } else if (lines.keyword("border")) {
      auto wide = id();
      auto from = wide ? lines.integer(1, mostLevel) : std::nullopt;
      auto narrow = from ? id() : std::nullopt;
      auto below = narrow ? lines.integer(1, mostLevel) : std::nullopt;
      const bool isForbidden = below && lines.keyword("forbidden");
      auto cost = below && !isForbidden ? number() : std::nullopt;
      auto bytes =
          cost && !lines.atEnd() ? number() : std::optional<int64_t>(0);
      if (!below || !(isForbidden || cost) || !bytes || !lines.atEnd())
        return lines.error("expected 'border WIDE FROM NARROW BELOW' and a "
                           "cost, and perhaps bytes, or 'forbidden', after its "
                           "variables");
      problem.borders.push_back({static_cast<int32_t>(*wide),
                                 static_cast<int32_t>(*from),
                                 static_cast<int32_t>(*narrow),
                                 static_cast<int32_t>(*below), cost, *bytes});
    } else {
      return lines.error("unknown field '" + lines.word() + "'");
    }
  }
  if (auto error = validateFormatProblem(problem))
    return lines.error(*error);
  return std::nullopt;
}

std::string tenon::solver::printFormatProblem(const FormatProblem &problem) {
  std::string text = "formats-problem 1\n";
  if (problem.price)
    text += "price " + std::to_string(problem.price) + "\n";
  for (size_t i = 0; i < problem.variables.size(); ++i) {
    const FormatProblem::Variable &variable = problem.variables[i];
    text +=
        "variable " + std::to_string(i) + " " + std::to_string(variable.least);
    for (const FormatProblem::Level &level : variable.levels)
      text +=
          "  " + std::to_string(level.cost) + " " + std::to_string(level.bytes);
    text += "\n";
  }
  for (const FormatProblem::Border &border : problem.borders)
    text += "border " + std::to_string(border.wide) + " " +
            std::to_string(border.from) + " " + std::to_string(border.narrow) +
            " " + std::to_string(border.below) + " " +
            (border.cost ? std::to_string(*border.cost) : "forbidden") +
            (border.bytes ? " " + std::to_string(border.bytes) : "") + "\n";
  return text;
}

std::optional<std::string>
tenon::solver::parseFormatSolution(std::string_view text,
                                   FormatSolution &solution) {
  solution = {};
  LineReader lines(text);
  if (!lines.next() || !lines.keyword("formats-solution") ||
      !lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected 'formats-solution 1'");
  std::optional<int64_t> cost, bytes, bound;
  while (lines.next()) {
    auto single = [&](std::optional<int64_t> &number) {
      number = number ? std::nullopt : lines.integer(0, INT64_MAX);
    };
    if (lines.keyword("cost"))
      single(cost);
    else if (lines.keyword("bytes"))
      single(bytes);
    else if (lines.keyword("bound"))
      single(bound);
    else if (lines.keyword("levels"))
      while (auto level = lines.integer(0, FormatProblem::mostLevels - 1))
        solution.levels.push_back(static_cast<int32_t>(*level));
    else if (lines.keyword("amounts"))
      while (auto amount = lines.integer(0, INT64_MAX))
        solution.amounts.push_back(*amount);
    else
      return lines.error("unknown field '" + lines.word() + "'");
    if (!lines.atEnd())
      return lines.error("expected whole numbers");
  }
  if (!cost || !bytes || !bound)
    return lines.error("expected the lines 'cost', 'bytes' and 'bound', each "
                       "with one number");
  solution.cost = *cost;
  solution.bytes = *bytes;
  solution.bound = *bound;
  solution.valid = true;
  return std::nullopt;
}

std::string tenon::solver::printFormatSolution(const FormatSolution &solution) {
  std::string text = "formats-solution 1\ncost " +
                     std::to_string(solution.cost) + "\nbytes " +
                     std::to_string(solution.bytes) + "\nbound " +
                     std::to_string(solution.bound) + "\n";
  // Lines of sixteen, each with its keyword.
  auto list = [&](const char *field, const auto &numbers) {
    for (size_t i = 0; i < numbers.size(); ++i)
      text += (i % 16 ? " " : (i ? "\n" : "") + std::string(field) + " ") +
              std::to_string(numbers[i]);
    if (!numbers.empty())
      text += "\n";
  };
  list("levels", solution.levels);
  list("amounts", solution.amounts);
  return text;
}
