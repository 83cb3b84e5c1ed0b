//===- ShardingElimination.h - the best labels of many groups at once -----===//
//
// Private to this folder. Given labels of all groups, finds the cheapest ones
// for a part of them while the rest stays as it is. Groups are eliminated one
// after another (Bertele, Brioschi 1972, "Nonserial Dynamic Programming"): for
// every combination of its neighbours' labels, the best label of a group is
// noted, and what remains is a table of the neighbours. A group whose table
// would be too large is left as it is, instead.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGELIMINATION_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGELIMINATION_H

#include "ShardingChoice/ShardingTables.h"
#include "SplitRandom.h"

namespace tenon::solver {

class ShardingElimination {
public:
  /// `keepsDistinct`: labels that the tables within a region do not tell apart
  /// are one.
  ShardingElimination(const ShardingGroups &groups,
                      const ShardingTables &tables, bool keepsDistinct)
      : groups(groups), tables(tables), keepsDistinct(keepsDistinct),
        numbers(groups.groups.size(), outside) {}

  struct Change {
    int32_t group = 0;
    int32_t label = 0;
  };
  /// Some groups, and for each of them the labels that it may take.
  struct Region {
    std::vector<int32_t> groups;
    /// There may be more lists than groups: their memory is used again.
    std::vector<std::vector<int32_t>> labels;
  };
  /// The best labels of a part of `region`; `costs` has those of labels per
  /// group of it. No table has more than `largest` numbers. Of labels that are
  /// one, `region` keeps the cheapest.
  std::vector<Change> solve(Region &region, const std::vector<int32_t> &labels,
                            const std::vector<std::vector<double>> &costs,
                            int64_t largest, SplitRandom &random);

  /// How many numbers of tables were looked at.
  int64_t effort = 0;

private:
  struct Factor {
    /// Numbers in the region; the last one's label varies fastest.
    std::vector<int32_t> scope;
    std::vector<double> costs;
    bool isUsed = false;
  };
  /// A group that was eliminated, and its best label for all labels of others.
  struct Step {
    int32_t member = 0;
    std::vector<int32_t> scope;
    std::vector<uint16_t> best;
  };

  void addOwnCosts(Region &region, const std::vector<int32_t> &labels,
                   const std::vector<std::vector<double>> &costs);
  std::vector<int32_t> order(const Region &region, int64_t largest,
                             SplitRandom &random);
  void dropEqual(std::vector<int32_t> &labels, std::vector<double> &own);
  void addFactors(const Region &region, int32_t member,
                  const std::vector<int32_t> &labels);
  Factor &newFactor();
  static size_t size(const Region &region, int32_t member) {
    return region.labels[member].size();
  }

  const ShardingGroups &groups;
  const ShardingTables &tables;
  bool keepsDistinct;
  /// Instead of the number of a group in the region.
  static constexpr int32_t outside = -1, leftOut = -2;
  /// Per group its number in the region, or one of these.
  std::vector<int32_t> numbers;
  /// Per number, what its labels cost with edges to groups outside.
  std::vector<std::vector<double>> ownCosts;
  /// Those from `factorCount` on are of regions before.
  std::vector<Factor> factors;
  size_t factorCount = 0;
  /// Per number in the region, the factors that it is in.
  std::vector<std::vector<int32_t>> factorsOf;

  /// Scratch space. Most regions are small, and there are very many of them:
  /// memory for each would take a third of the time.
  std::vector<Step> steps;
  std::vector<std::vector<int32_t>> neighbours;
  std::vector<uint64_t> rows;
  std::vector<std::pair<uint64_t, int32_t>> places;
  std::vector<size_t> extents, strides, indices;
  std::vector<double> joint;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGELIMINATION_H
