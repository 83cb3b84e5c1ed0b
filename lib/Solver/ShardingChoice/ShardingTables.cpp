//===- ShardingTables.cpp - keep equal rows and columns once --------------===//

#include "ShardingChoice/ShardingTables.h"

#include "tenon/Support/DistinctItems.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::solver;

/// Reads a table by rows or by columns.
static std::vector<std::vector<int64_t>>
linesOf(const ShardingGroups::Table &table, bool byRows) {
  const size_t rows = table.costs.size() / table.columns;
  std::vector<std::vector<int64_t>> lines(byRows ? rows : table.columns);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < table.columns; ++column)
      lines[byRows ? row : column].push_back(
          table.costs[row * table.columns + column]);
  return lines;
}

/// Numbers equal lines, and appends a line of each number to `distinct`.
static std::vector<int32_t>
numberLines(std::vector<std::vector<int64_t>> lines,
            std::vector<std::vector<int64_t>> &distinct) {
  DistinctItems<std::vector<int64_t>> items(distinct);
  std::vector<int32_t> numbers;
  for (std::vector<int64_t> &line : lines) {
    const uint64_t hash = hashOfNumbers(line);
    numbers.push_back(items.number(std::move(line), hash));
  }
  return numbers;
}

/// Sets what tells which numbers need not be looked at.
static void summarize(ShardingTables::Side &side) {
  const auto forbidden = double(ShardingGroups::forbidden);
  for (auto row = side.costs.begin(); row != side.costs.end();
       row += int64_t(side.width)) {
    side.least.push_back(*std::min_element(row, row + int64_t(side.width)));
    for (size_t column = 0; column < side.width; ++column)
      if (row[int64_t(column)] < forbidden)
        side.permitted.push_back(static_cast<int32_t>(column));
    side.ends.push_back(side.permitted.size());
  }
  if (side.permitted.size() > side.costs.size() / 4) {
    side.permitted = {};
    side.ends = {};
  }
}

ShardingTables::ShardingTables(const ShardingGroups &groups) : groups(groups) {
  for (const ShardingGroups::Table &table : groups.tables) {
    std::vector<std::vector<int64_t>> rows, columns;
    Side first, second;
    first.rowOf = numberLines(linesOf(table, /*byRows=*/true), rows);
    second.rowOf = numberLines(linesOf(table, /*byRows=*/false), columns);
    first.width = columns.size();
    second.width = rows.size();
    first.costs.resize(rows.size() * columns.size());
    second.costs.resize(first.costs.size());
    for (size_t label = 0; label < second.rowOf.size(); ++label)
      for (size_t row = 0; row < rows.size(); ++row) {
        const size_t column = second.rowOf[label];
        const auto cost = static_cast<double>(rows[row][label]);
        first.costs[row * columns.size() + column] = cost;
        second.costs[column * rows.size() + row] = cost;
      }
    summarize(first);
    summarize(second);
    sides.push_back(std::move(first));
    sides.push_back(std::move(second));
  }
}
