//===- ShardingSearch.h - cheap labels within the limit -------------------===//
//
// Private to this folder. Starting from labels, the search takes a part of the
// groups and solves it exactly for its costs and for prices of bytes
// (ShardingElimination), with all labels, or with those alone that the bound
// says may be cheap. Labels that exceed the limit are let through at a price
// that rises as long as nothing fits and falls as long as all does; dearer ones
// are let through the less the longer the search goes on. What makes one part
// cheaper is tried in all places that look alike (ShardingTwins).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGSEARCH_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGSEARCH_H

#include "ShardingChoice/ShardingBound.h"
#include "ShardingChoice/ShardingElimination.h"
#include "ShardingChoice/ShardingTwins.h"

namespace tenon::solver {

class ShardingSearch {
public:
  /// `bound` has its prices already. `isGuided`: its messages, too, so that
  /// they tell which labels may be cheap.
  ShardingSearch(const ShardingGroups &groups, const ShardingBound &bound,
                 ShardingTwins &twins, bool isGuided, uint64_t seed);

  void start(const std::vector<int32_t> &labels);
  /// Looks at about `effort` numbers of tables.
  void run(int64_t effort);

  struct Choice {
    std::vector<int32_t> labels;
    int64_t cost = 0;
  };
  /// The cheapest within the limit; nothing before one is found.
  const std::optional<Choice> &best() const { return cheapest; }

private:
  void setLabel(int32_t group, int32_t label);
  double addRuns(int32_t group, int32_t label, double sign);
  bool fits() const;
  void measureExcess();
  __int128 costOf(const std::vector<int32_t> &labels) const;
  __int128 costChange();
  std::vector<int32_t> drawRegion();
  void drawLabels(ShardingElimination::Region &region);
  void priceRegion(const std::vector<int32_t> &region);
  template <typename Allowed>
  bool take(const std::vector<ShardingElimination::Change> &changes,
            Allowed allowed);
  void repeatElsewhere(const std::vector<int32_t> &region);
  void keepIfCheapest();

  const ShardingGroups &groups;
  const ShardingBound &bound;
  ShardingTwins &twins;
  bool isGuided;
  SplitRandom random;
  ShardingElimination elimination;
  /// Per group, the labels that may be cheap first; none without messages.
  std::vector<std::vector<int32_t>> promising;
  /// Per row, what an excess byte costs; a search multiplies it by `pressure`.
  std::vector<double> weights;
  double pressure = 1;

  std::vector<int32_t> labels;
  /// With forbidden pairs at their number, so that it can be huge.
  __int128 cost = 0;
  /// Per row: bytes left.
  std::vector<double> left;
  /// The sum of all excess bytes with their weights.
  double excess = 0;
  std::vector<ShardingElimination::Change> undo;
  std::optional<Choice> cheapest;

  /// Scratch space.
  std::vector<int32_t> labelBefore;
  std::vector<bool> isIn;
  std::vector<std::vector<double>> priced;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGSEARCH_H
