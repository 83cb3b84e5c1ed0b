//===- ShardingBound.h - messages and prices that prove a bound -----------===//
//
// Private to this folder. Messages are improved by sequential tree-reweighted
// passes (Kolmogorov 2006, "Convergent tree-reweighted message passing for
// energy minimization"), prices by the volume algorithm (Barahona, Anbil 2000,
// "The volume algorithm"): they move along an average of what cheap labels take
// too much in each row.
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
  void passBothWays(int times);
  void improvePrices(int64_t end, std::optional<double> above);
  /// Sets `parts` of a group from what its labels cost with all messages.
  void takeParts(int32_t group, const std::vector<double> &sum);
  bool keepIfBetter();
  void passOn(const ShardingTables::Side &from, const ShardingTables::Side &to,
              const std::vector<double> &back, std::vector<double> &on);
  int64_t lowerColumns(const ShardingTables::Side &from);
  /// Of messages that no pass has changed yet, or after passes in both
  /// directions.
  double measure(bool isPassedOn) const;
  /// Per row, what the labels take beyond the capacity, in their `parts`.
  std::vector<double> excess() const;

  const ShardingGroups &groups;
  ShardingTables tables;
  /// How many numbers of tables were looked at.
  int64_t effort = 0;
  std::vector<double> shares;
  /// Per group and label, with prices.
  std::vector<std::vector<double>> costs;
  Point now, best;

  /// Per group and label, how much of the group it is: all labels that cost at
  /// most `nearness` more than the cheapest are a part, the more the cheaper.
  /// Taken when the last pass back came by, before the group gave its costs
  /// away: most groups keep nothing, and all their labels look alike then.
  std::vector<std::vector<double>> parts;
  double nearness = 1;

  /// Of the edge that is passed on: what each row keeps back and costs at
  /// least, what each column costs, and the rows that may lower one.
  std::vector<double> kept, least, lowest;
  std::vector<int32_t> open;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGBOUND_H
