//===- ShardingTablesTest.cpp - tables without equal rows and columns -----===//

#include "ShardingChoice/ShardingTables.h"

#include "tenon/Solver/ShardingChoice.h"

#include <gtest/gtest.h>

using namespace tenon::solver;

namespace {

constexpr int64_t forbidden = ShardingProblem::forbidden;

ShardingGroups groupsOf(std::vector<int64_t> table, size_t rows) {
  ShardingProblem problem;
  const size_t columns = table.size() / rows;
  problem.nodes = {
      {0, 0, std::vector<int64_t>(rows), std::vector<int64_t>(rows)},
      {0, 0, std::vector<int64_t>(columns), std::vector<int64_t>(columns)}};
  problem.edges = {{0, 1, 0}};
  problem.tables = {std::move(table)};
  ShardingGroups groups;
  EXPECT_EQ(groupShardings(problem, groups), std::nullopt);
  return groups;
}

TEST(ShardingTables, KeepEqualRowsAndColumnsOnce) {
  const std::vector<int64_t> table = {1, 2, 1, 3, //
                                      4, 0, 4, 9, //
                                      1, 2, 1, 3};
  const ShardingGroups groups = groupsOf(table, 3);
  const ShardingTables tables(groups);
  const ShardingTables::Side &first = tables.side(0, true);
  const ShardingTables::Side &second = tables.side(0, false);
  EXPECT_EQ(first.costs.size(), 2u * 3u);
  EXPECT_EQ(second.costs.size(), 2u * 3u);
  EXPECT_EQ(first.least, std::vector<double>({1, 0}));
  EXPECT_EQ(second.least, std::vector<double>({1, 0, 3}));
  for (int32_t row = 0; row < 3; ++row)
    for (int32_t column = 0; column < 4; ++column) {
      const auto cost = double(table[row * 4 + column]);
      EXPECT_EQ(first.row(row)[second.rowOf[column]], cost);
      EXPECT_EQ(second.row(column)[first.rowOf[row]], cost);
    }
}

TEST(ShardingTables, ListWhatIsPermittedWhereMostIsForbidden) {
  std::vector<int64_t> table(10 * 10, forbidden);
  for (size_t row = 0; row < 10; ++row)
    for (size_t column : {row, (row + 1) % 10})
      table[row * 10 + column] = int64_t(row + 2 * column);
  const ShardingGroups groups = groupsOf(table, 10);
  const ShardingTables tables(groups);
  const ShardingTables::Side &side = tables.side(0, true);
  EXPECT_EQ(side.permitted.size(), 20u);
  EXPECT_EQ(side.ends.size(), 10u);
  EXPECT_EQ(side.ends.back(), 20u);
}

} // namespace
