//===- ShardingTwins.h - where a problem repeats itself -------------------===//
//
// Private to this folder. The layers of a model are alike, so groups look alike
// that lie at one place of their layers: they have equal labels and equal edges
// to groups that look alike, too. From a group, edges lead to the others of its
// layer; the same edges lead from its twin to the twins of those.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGTWINS_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGTWINS_H

#include "ShardingChoice/ShardingGroups.h"

namespace tenon::solver {

class ShardingTwins {
public:
  /// Groups look alike if all within so many edges of them does.
  explicit ShardingTwins(const ShardingGroups &groups, int depth = 3);

  /// Groups that look alike have one number; all numbers below the count are
  /// there.
  int32_t kindOf(int32_t group) const { return kinds[group]; }
  int32_t kindCount() const { return static_cast<int32_t>(members.size()); }
  /// In order.
  const std::vector<int32_t> &ofKind(int32_t kind) const {
    return members[kind];
  }
  /// All groups that look like one, itself among them, in order.
  const std::vector<int32_t> &like(int32_t group) const {
    return members[kinds[group]];
  }

  /// Groups, each behind the first one reached by an edge from one before it.
  struct Walk {
    struct Step {
      /// The place in the walk from which the edge leads, and its place there.
      size_t from = 0;
      size_t edge = 0;
    };
    std::vector<int32_t> groups;
    /// Per group but the first.
    std::vector<Step> steps;
  };
  /// From the first of `region` to all that edges within it lead to.
  Walk walk(const std::vector<int32_t> &region);
  /// Where the steps of a walk lead from another group; nothing where it does
  /// not look as it does along the walk.
  std::vector<int32_t> follow(const Walk &walk, int32_t from);

private:
  /// Links in an order that twins share.
  std::vector<std::vector<ShardingGroups::Link>> links;
  const std::vector<ShardingGroups::Edge> &edges;
  std::vector<int32_t> kinds;
  /// Per kind.
  std::vector<std::vector<int32_t>> members;
  /// Scratch space: per group.
  std::vector<bool> isWanted, isReached;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGTWINS_H
