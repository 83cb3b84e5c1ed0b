//===- CheckFormatChoice.cpp - judge formats and their bound --------------===//
//
// Adds up what the levels and the borders between them cost, and their bytes,
// and the bound that the amounts prove of cost and priced bytes together.
// Shares no code with the solver. Every cost and every sum of costs of a valid
// problem is at most 2^60, and so is every amount that the checker accepts;
// sums of amounts are taken in 128 bits.
//
//===----------------------------------------------------------------------===//

#include "LargestSum.h"
#include "tenon/Solver/FormatChoice.h"

#include <algorithm>

using namespace tenon::solver;

/// The sum of what each variable costs at its cheapest level when the borders'
/// amounts are added to the levels' costs.
static __int128 provedBound(const FormatProblem &problem,
                            const std::vector<int64_t> &amounts) {
  std::vector<std::vector<__int128>> costs;
  for (const FormatProblem::Variable &variable : problem.variables) {
    costs.emplace_back();
    for (const FormatProblem::Level &level : variable.levels)
      costs.back().push_back(level.cost +
                             __int128(problem.price) * level.bytes);
  }
  for (size_t i = 0; i < amounts.size(); ++i) {
    const FormatProblem::Border &border = problem.borders[i];
    auto add = [&](int32_t id, int32_t threshold, __int128 amount) {
      const FormatProblem::Variable &variable = problem.variables[id];
      for (int32_t level = std::max(threshold, variable.least);
           level <= variable.most(); ++level)
        costs[id][level - variable.least] += amount;
    };
    add(border.wide, border.from, amounts[i]);
    add(border.narrow, border.below, -__int128(amounts[i]));
  }
  __int128 bound = 0;
  for (const std::vector<__int128> &levels : costs)
    bound += *std::min_element(levels.begin(), levels.end());
  return bound;
}

std::optional<std::string>
tenon::solver::checkFormats(const FormatProblem &problem,
                            const FormatSolution &solution) {
  if (auto error = validateFormatProblem(problem))
    return *error;
  if (!solution.valid)
    return std::string("there is no choice to check");
  if (solution.levels.size() != problem.variables.size())
    return "there are levels of " + std::to_string(solution.levels.size()) +
           " variables, expected " + std::to_string(problem.variables.size());
  int64_t cost = 0, bytes = 0;
  for (size_t i = 0; i < problem.variables.size(); ++i) {
    const FormatProblem::Variable &variable = problem.variables[i];
    const int32_t level = solution.levels[i];
    if (level < variable.least || level > variable.most())
      return "variable " + std::to_string(i) + " is at level " +
             std::to_string(level) + ", permitted are " +
             std::to_string(variable.least) + " to " +
             std::to_string(variable.most());
    cost += variable.at(level).cost;
    bytes += variable.at(level).bytes;
  }
  for (size_t i = 0; i < problem.borders.size(); ++i) {
    const FormatProblem::Border &border = problem.borders[i];
    if (solution.levels[border.wide] < border.from ||
        solution.levels[border.narrow] >= border.below)
      continue;
    if (!border.cost)
      return "border " + std::to_string(i) + " is forbidden";
    cost += *border.cost;
    bytes += border.bytes;
  }
  if (cost != solution.cost)
    return "the choice costs " + std::to_string(cost) + ", not " +
           std::to_string(solution.cost);
  if (bytes != solution.bytes)
    return "the choice takes " + std::to_string(bytes) + " bytes, not " +
           std::to_string(solution.bytes);
  if (solution.amounts.size() != problem.borders.size())
    return "there are amounts of " + std::to_string(solution.amounts.size()) +
           " borders, expected " + std::to_string(problem.borders.size());
  for (size_t i = 0; i < problem.borders.size(); ++i) {
    const FormatProblem::Border &border = problem.borders[i];
    const int64_t most =
        border.cost ? *border.cost + problem.price * border.bytes : largestSum;
    if (solution.amounts[i] < 0 || solution.amounts[i] > most)
      return "border " + std::to_string(i) + " has amount " +
             std::to_string(solution.amounts[i]) + ", expected at most " +
             std::to_string(most);
  }
  const int64_t priced = cost + problem.price * bytes;
  if (solution.bound > priced)
    return "bound " + std::to_string(solution.bound) + " exceeds the cost " +
           std::to_string(priced) + " of a valid choice";
  if (provedBound(problem, solution.amounts) < solution.bound)
    return "the amounts do not prove the bound " +
           std::to_string(solution.bound);
  return std::nullopt;
}
