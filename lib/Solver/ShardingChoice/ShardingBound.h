//===- ShardingBound.h - messages and prices that prove a bound -----------===//
//
// Private to this folder. Messages are improved by sequential tree-reweighted
// passes (Kolmogorov 2006, "Convergent tree-reweighted message passing for
// energy minimization"), prices by the volume algorithm (Barahona, Anbil 2000,
// "The volume algorithm"): they move along an average of what the rows of the
// cheapest labels take too much.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGBOUND_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGBOUND_H

#include "ShardingChoice/ShardingGroups.h"

namespace tenon::solver {

class ShardingBound {
public:
  explicit ShardingBound(const ShardingGroups &groups);

  /// Looks at about `effort` numbers of tables. `above` is a cost that the
  /// bound cannot exceed, if one is known; steps are of the length that would
  /// reach it.
  void improve(int64_t effort, std::optional<double> above);

  /// The bound as it is, but for rounding.
  double bound() const { return best.bound; }
  const std::vector<double> &prices() const { return best.prices; }

  /// Label by label in the order of the groups, each the cheapest after those
  /// before it, with prices and with messages from those behind it.
  std::vector<int32_t> decode() const;

  /// Of an edge to its first and its second group, per label.
  const std::vector<double> &toFirst(int32_t edge) const {
    return best.messages[2 * edge];
  }
  const std::vector<double> &toSecond(int32_t edge) const {
    return best.messages[2 * edge + 1];
  }

  /// A table with a row per label of the first group, and turned.
  const std::vector<double> &table(int32_t edge) const {
    return tables[2 * groups.edges[edge].table];
  }
  const std::vector<double> &turned(int32_t edge) const {
    return tables[2 * groups.edges[edge].table + 1];
  }

private:
  struct Point {
    std::vector<std::vector<double>> messages;
    std::vector<double> prices;
    double bound = 0;
  };

  /// What tells which numbers of a table need not be looked at.
  struct Rows {
    /// The least number of each row.
    std::vector<double> least;
    /// Where a table forbids most pairs, the columns that each row permits, and
    /// where those of the next row begin.
    std::vector<int32_t> columns;
    std::vector<size_t> ends;
  };

  static Rows rowsOf(const std::vector<double> &table, size_t width);
  void setPrices(const std::vector<double> &prices);
  void addMessages(int32_t group, std::vector<double> &costs) const;
  void pass(bool forwards);
  void passOn(const std::vector<double> &table, const Rows &rows,
              const std::vector<double> &back, std::vector<double> &on);
  /// Of messages that no pass has changed yet, or after passes in both
  /// directions.
  double measure(bool isPassedOn) const;
  /// Per row, what the cheapest label of each group takes beyond the capacity.
  std::vector<double> excess() const;

  const ShardingGroups &groups;
  /// Those of the groups, and turned.
  std::vector<std::vector<double>> tables;
  /// Of `tables`.
  std::vector<Rows> rows;
  /// How many numbers of tables were looked at.
  int64_t effort = 0;
  std::vector<double> shares;
  /// Per group and label, with prices.
  std::vector<std::vector<double>> costs;
  Point now, best;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGBOUND_H
