//===- FormatChoiceTest.cpp - formats against all choices -----------------===//
//
// The worked example, all choices of small random problems, mutation of claims,
// and errors in files.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/FormatChoice.h"

#include "Rounds.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace tenon::solver;

namespace {

/// The example of FormatChoice.h: x, w and p.
FormatProblem example() {
  FormatProblem problem;
  problem.variables = {
      {0, {{2, 2}, {4, 4}}}, {1, {{0, 4}}}, {0, {{10, 0}, {20, 0}}}};
  problem.borders = {{0, 1, 2, 1, 3}, {1, 1, 2, 1, 3}, {2, 1, 0, 1, 3}};
  return problem;
}

FormatProblem randomFormats(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t bound) {
    return static_cast<int32_t>(random() % bound);
  };
  FormatProblem problem;
  const int32_t count = 1 + below(7), levels = 1 + below(3);
  for (int32_t i = 0; i < count; ++i) {
    FormatProblem::Variable &variable = problem.variables.emplace_back();
    variable.least = below(levels);
    int64_t bytes = 0;
    for (int32_t level = variable.least;
         level == variable.least || (level < levels && below(4) > 0); ++level)
      variable.levels.push_back({below(20), bytes += below(5)});
  }
  for (int32_t i = below(14); i > 0; --i) {
    FormatProblem::Border border = {below(count), 1 + below(levels),
                                    below(count), 1 + below(levels), below(15)};
    if (below(6) == 0)
      border.cost.reset();
    problem.borders.push_back(border);
  }
  return problem;
}

/// The same with a price, and borders that take bytes.
FormatProblem randomPricedFormats(uint32_t seed) {
  std::mt19937 random(~seed);
  FormatProblem problem = randomFormats(seed);
  problem.price = int64_t(1 + random() % 6);
  for (FormatProblem::Border &border : problem.borders)
    if (border.cost)
      border.bytes = int64_t(random() % 4);
  return problem;
}

/// What the definition says, or nothing for a forbidden choice.
std::optional<int64_t> costOf(const FormatProblem &problem,
                              const std::vector<int32_t> &levels,
                              int64_t *bytes = nullptr) {
  int64_t cost = 0, sum = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    cost += problem.variables[i].at(levels[i]).cost;
    sum += problem.variables[i].at(levels[i]).bytes;
  }
  for (const FormatProblem::Border &border : problem.borders)
    if (levels[border.wide] >= border.from &&
        levels[border.narrow] < border.below) {
      if (!border.cost)
        return std::nullopt;
      cost += *border.cost;
      sum += border.bytes;
    }
  if (bytes)
    *bytes = sum;
  return cost;
}

/// The cheapest of all choices, and the lowest level that each variable has in
/// any of the cheapest.
struct Cheapest {
  std::optional<int64_t> cost;
  std::vector<int32_t> lowest;
};

/// Calls `visit` with the levels of every choice.
template <typename Visit>
void forEachChoice(const FormatProblem &problem, Visit visit) {
  std::vector<int32_t> levels;
  for (const FormatProblem::Variable &variable : problem.variables)
    levels.push_back(variable.least);
  while (true) {
    visit(levels);
    size_t i = 0;
    while (i < levels.size() && levels[i] == problem.variables[i].most()) {
      levels[i] = problem.variables[i].least;
      ++i;
    }
    if (i == levels.size())
      return;
    ++levels[i];
  }
}

/// The price of bytes counts.
Cheapest tryAllChoices(const FormatProblem &problem) {
  Cheapest best;
  forEachChoice(problem, [&](const std::vector<int32_t> &levels) {
    int64_t bytes = 0;
    std::optional<int64_t> cost = costOf(problem, levels, &bytes);
    if (cost)
      *cost += problem.price * bytes;
    if (cost && (!best.cost || *cost < *best.cost)) {
      best = {cost, levels};
    } else if (cost && *cost == *best.cost) {
      for (size_t i = 0; i < levels.size(); ++i)
        best.lowest[i] = std::min(best.lowest[i], levels[i]);
    }
  });
  return best;
}

TEST(FormatChoice, SolvesTheExample) {
  const FormatProblem problem = example();
  const FormatSolution solution = solveFormats(problem);
  ASSERT_TRUE(solution.valid);
  EXPECT_EQ(solution.levels, (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(solution.cost, 15);
  EXPECT_EQ(solution.bytes, 6);
  EXPECT_EQ(solution.bound, 15);
  EXPECT_EQ(solution.amounts, (std::vector<int64_t>{0, 3, 0}));
  EXPECT_EQ(checkFormats(problem, solution), std::nullopt);
}

TEST(FormatChoice, IsTheCheapestOfAllChoicesWithTheLowestLevels) {
  int feasible = 0, infeasible = 0;
  for (uint32_t seed = 0; seed < 6000; seed += test::roundStride) {
    const FormatProblem problem = randomFormats(seed);
    ASSERT_EQ(validateFormatProblem(problem), std::nullopt) << seed;
    const Cheapest best = tryAllChoices(problem);
    const FormatSolution solution = solveFormats(problem);
    ASSERT_EQ(solution.valid, best.cost.has_value()) << seed;
    if (!solution.valid) {
      ++infeasible;
      EXPECT_NE(solution.message, "");
      continue;
    }
    ++feasible;
    EXPECT_EQ(solution.cost, *best.cost) << seed;
    EXPECT_EQ(solution.bound, *best.cost) << seed;
    EXPECT_EQ(solution.levels, best.lowest) << seed;
    EXPECT_EQ(checkFormats(problem, solution), std::nullopt) << seed;
  }
  EXPECT_GT(feasible, 500 / test::roundStride);
  EXPECT_GT(infeasible, 20 / test::roundStride);
}

TEST(FormatChoice, PricedBytesAreMinimisedToo) {
  int feasible = 0;
  for (uint32_t seed = 0; seed < 3000; seed += test::roundStride) {
    const FormatProblem problem = randomPricedFormats(seed);
    ASSERT_EQ(validateFormatProblem(problem), std::nullopt) << seed;
    const FormatSolution solution = solveFormats(problem);
    if (!solution.valid)
      continue;
    ++feasible;
    const Cheapest best = tryAllChoices(problem);
    EXPECT_EQ(solution.bound, *best.cost) << seed;
    EXPECT_EQ(solution.levels, best.lowest) << seed;
    EXPECT_EQ(solution.cost + problem.price * solution.bytes, solution.bound);
    EXPECT_EQ(checkFormats(problem, solution), std::nullopt) << seed;
    forEachChoice(problem, [&](const std::vector<int32_t> &levels) {
      int64_t bytes = 0;
      auto cost = costOf(problem, levels, &bytes);
      EXPECT_FALSE(cost && *cost <= solution.cost && bytes < solution.bytes);
    });
    FormatSolution wrong = solution;
    ++wrong.bound;
    EXPECT_NE(checkFormats(problem, wrong), std::nullopt) << seed;
  }
  EXPECT_GT(feasible, 300 / test::roundStride);
}

TEST(FormatChoice, TheHighestPriceStaysWithinTheCost) {
  constexpr int64_t mostPrice = 25;
  int between = 0;
  for (uint32_t seed = 0; seed < 1000; seed += test::roundStride) {
    FormatProblem problem = randomPricedFormats(seed);
    problem.price = 0;
    const FormatSolution cheapest = solveFormats(problem);
    if (!cheapest.valid)
      continue;
    const int64_t mostCost = cheapest.cost + seed % 7;
    const int64_t price = highestPrice(problem, mostCost, mostPrice);
    for (problem.price = 0; problem.price <= mostPrice; ++problem.price)
      EXPECT_EQ(solveFormats(problem).cost <= mostCost, problem.price <= price)
          << seed;
    between += price > 0 && price < mostPrice;
  }
  EXPECT_GT(between, 50 / test::roundStride);
}

TEST(FormatChoice, TheLowestPriceHasAsFewBytes) {
  constexpr int64_t mostPrice = 25;
  int between = 0;
  for (uint32_t seed = 0; seed < 1000; seed += test::roundStride) {
    FormatProblem problem = randomPricedFormats(seed);
    problem.price = mostPrice;
    const FormatSolution smallest = solveFormats(problem);
    if (!smallest.valid)
      continue;
    auto isEnough = [&](const FormatSolution &solution) {
      return solution.bytes <= smallest.bytes + seed % 5;
    };
    const int64_t price = lowestPrice(problem, isEnough, mostPrice);
    for (problem.price = 0; problem.price <= mostPrice; ++problem.price)
      EXPECT_EQ(isEnough(solveFormats(problem)), problem.price >= price)
          << seed;
    between += price > 0 && price < mostPrice;
  }
  EXPECT_GT(between, 50 / test::roundStride);
}

TEST(FormatChoice, ThePriceThatIsNeverEnoughIsTheHighest) {
  auto isEnough = [](const FormatSolution &) { return false; };
  EXPECT_EQ(lowestPrice(randomPricedFormats(1), isEnough, 25), 25);
}

/// Whatever is accepted is true: no choice costs less than the bound.
TEST(FormatChoice, TheCheckerAcceptsNoFalseBound) {
  int accepted = 0, refused = 0;
  for (uint32_t seed = 0; seed < 4000; seed += test::roundStride) {
    const FormatProblem problem = randomFormats(seed);
    FormatSolution solution = solveFormats(problem);
    if (!solution.valid)
      continue;
    const int64_t cheapest = solution.cost;
    std::mt19937 random(seed);
    auto mutated = [&](int64_t number) -> int64_t {
      switch (random() % 6) {
      case 0: // wraps around at the ends
        return int64_t(uint64_t(number) + 1);
      case 1:
        return int64_t(uint64_t(number) - 1);
      case 2:
        return INT64_MAX;
      case 3:
        return INT64_MIN;
      case 4:
        return int64_t(1) << 60;
      default:
        return int64_t(random() % 40);
      }
    };
    for (int i = 1 + static_cast<int>(random() % 3); i > 0; --i) {
      const size_t which = random() % (4 + solution.amounts.size());
      if (which == 0)
        solution.bound = mutated(solution.bound);
      else if (which == 1)
        solution.cost = mutated(solution.cost);
      else if (which == 2)
        solution.bytes = mutated(solution.bytes);
      else if (which == 3)
        solution.levels[random() % solution.levels.size()] =
            static_cast<int32_t>(mutated(1));
      else
        solution.amounts[which - 4] = mutated(solution.amounts[which - 4]);
    }
    if (checkFormats(problem, solution)) {
      ++refused;
      continue;
    }
    ++accepted;
    EXPECT_LE(solution.bound, cheapest) << seed;
    EXPECT_EQ(costOf(problem, solution.levels), solution.cost) << seed;
  }
  EXPECT_GT(accepted, 20 / test::roundStride);
  EXPECT_GT(refused, 1000 / test::roundStride);
}

TEST(FormatChoice, TheCheckerNamesTheFirstFalseClaim) {
  const FormatProblem problem = example();
  const FormatSolution solution = solveFormats(problem);
  auto claimOf = [&](auto change) {
    FormatSolution changed = solution;
    change(changed);
    return checkFormats(problem, changed).value_or("accepted");
  };
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.levels[1] = 0; }),
            "variable 1 is at level 0, permitted are 1 to 1");
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.levels.pop_back(); }),
            "there are levels of 2 variables, expected 3");
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.cost = 14; }),
            "the choice costs 15, not 14");
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.bytes = 5; }),
            "the choice takes 6 bytes, not 5");
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.bound = 16; }),
            "bound 16 exceeds the cost 15 of a valid choice");
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.amounts[1] = 4; }),
            "border 1 has amount 4, expected at most 3");
  EXPECT_EQ(claimOf([](FormatSolution &s) { s.amounts[1] = 2; }),
            "the amounts do not prove the bound 15");
}

TEST(FormatChoice, ReadsWhatItWrites) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const FormatProblem problem =
        seed % 2 ? randomPricedFormats(seed) : randomFormats(seed);
    const std::string text = printFormatProblem(problem);
    FormatProblem again;
    ASSERT_EQ(parseFormatProblem(text, again), std::nullopt) << text;
    EXPECT_EQ(printFormatProblem(again), text);
    const FormatSolution solution = solveFormats(problem);
    if (!solution.valid)
      continue;
    FormatSolution read;
    ASSERT_EQ(parseFormatSolution(printFormatSolution(solution), read),
              std::nullopt);
    EXPECT_EQ(printFormatSolution(read), printFormatSolution(solution));
    EXPECT_EQ(checkFormats(again, read), std::nullopt);
  }
}

TEST(FormatChoice, SaysWhatIsWrongWithAFile) {
  auto errorOf = [](const std::string &lines) {
    FormatProblem problem;
    return parseFormatProblem("formats-problem 1\n" + lines, problem)
        .value_or("");
  };
  EXPECT_EQ(errorOf("variable 0 0 1 1\n"), "");
  EXPECT_EQ(errorOf("variable 1 0 1 1\n"),
            "line 2: expected 'variable 0 LEAST', then a pair 'COST BYTES' per "
            "level");
  EXPECT_EQ(errorOf("variable 0 0 1\n"),
            "line 2: expected pairs 'COST BYTES' of whole numbers");
  EXPECT_EQ(errorOf("variable 0 7 1 1 1 1\n"),
            "line 2: variable 0 has no level, or one that is not from 0 to 7");
  EXPECT_EQ(errorOf("variable 0 0 1 5 1 4\n"),
            "line 2: variable 0 takes fewer bytes at a wider level");
  EXPECT_EQ(errorOf("variable 0 0 1 1\nborder 0 1 1 1 4\n"),
            "line 3: expected 'border WIDE FROM NARROW BELOW' and a cost, and "
            "perhaps bytes, or 'forbidden', after its variables");
  EXPECT_EQ(errorOf("price 2\nprice 3\n"),
            "line 3: expected 'price' and a whole number, once");
  EXPECT_EQ(errorOf("price 1152921504606846976\nvariable 0 0 0 2\n"),
            "line 3: the sum of all costs or of all sizes exceeds 2^60");
  EXPECT_EQ(errorOf("variable 0 0 1152921504606846976 0\n"
                    "variable 1 0 1 0\n"),
            "line 3: the sum of all costs or of all sizes exceeds 2^60");
  EXPECT_EQ(errorOf("cost 3\n"), "line 2: unknown field 'cost'");
  FormatSolution solution;
  EXPECT_EQ(parseFormatSolution("formats-solution 1\ncost 1\n", solution),
            "line 2: expected the lines 'cost', 'bytes' and 'bound', each with "
            "one number");
}

} // namespace
