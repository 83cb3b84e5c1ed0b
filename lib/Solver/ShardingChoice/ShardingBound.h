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

#include "ShardingChoice/ShardingTables.h"

#include <limits>

namespace tenon::solver {

class ShardingBound {
public:
  explicit ShardingBound(const ShardingGroups &groups);

  /// Two lists per edge: a number per label of its first and its second group.
  using Messages = std::vector<std::vector<double>>;
  /// Goes on from messages that another problem suggests.
  void start(Messages messages) { now.messages = std::move(messages); }
  /// Messages alone, until they settle or the bound is above `enough`, whatever
  /// that takes.
  void settle(int mostPasses,
              double enough = std::numeric_limits<double>::infinity());

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

  /// Per group and label, what choices with it cost more than the bound, at
  /// least.
  std::vector<std::vector<double>> reducedCosts() const;

  /// Of an edge to its first and its second group, per label.
  const std::vector<double> &toFirst(int32_t edge) const {
    return best.messages[2 * edge];
  }
  const std::vector<double> &toSecond(int32_t edge) const {
    return best.messages[2 * edge + 1];
  }

  const ShardingTables &edgeTables() const { return tables; }

private:
  struct Point {
    Messages messages;
    std::vector<double> prices;
    double bound = 0;
  };

  void setPrices(const std::vector<double> &prices);
  void addMessages(int32_t group, std::vector<double> &costs) const;
  void pass(bool forwards);
  bool keepIfBetter();
  void passOn(const ShardingTables::Side &from, const ShardingTables::Side &to,
              const std::vector<double> &back, std::vector<double> &on);
  int64_t lowerColumns(const ShardingTables::Side &from);
  /// Of messages that no pass has changed yet, or after passes in both
  /// directions.
  double measure(bool isPassedOn) const;
  /// Per row, what the cheapest label of each group takes beyond the capacity.
  std::vector<double> excess() const;

  const ShardingGroups &groups;
  ShardingTables tables;
  /// How many numbers of tables were looked at.
  int64_t effort = 0;
  std::vector<double> shares;
  /// Per group and label, with prices.
  std::vector<std::vector<double>> costs;
  Point now, best;

  /// Of the edge that is passed on: what each row keeps back and costs at
  /// least, what each column costs, and the rows that may lower one.
  std::vector<double> kept, least, lowest;
  std::vector<int32_t> open;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGBOUND_H
