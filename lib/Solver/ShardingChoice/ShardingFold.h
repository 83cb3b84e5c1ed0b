//===- ShardingFold.h - one decision for all that look alike --------------===//
//
// Private to this folder. The layers of a model are alike, so a cheap choice
// mostly takes the same labels in all of them. Folded, a problem has one group
// for all groups that look alike (ShardingTwins), which costs what all of them
// cost, and one edge for all edges between two such sets: it is as small as a
// few layers, so its messages settle and its search ends soon. Labels of the
// folded problem are labels of the whole one, and a message of a folded edge is
// shared by the edges that it stands for. Where layers differ, as at the ends
// of a model, the whole problem is searched from there.
//
// Limits of bytes are not folded: what is alive at a time differs by layer.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGFOLD_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGFOLD_H

#include "ShardingChoice/ShardingBound.h"
#include "ShardingChoice/ShardingTwins.h"

namespace tenon::solver {

class ShardingFold {
public:
  /// `groups` has no rows.
  ShardingFold(const ShardingGroups &groups, const ShardingTwins &twins);

  /// Its groups have no members.
  const ShardingGroups &folded() const { return smaller; }

  /// Labels of all groups from those of the folded ones.
  std::vector<int32_t> labels(const std::vector<int32_t> &ofFolded) const;

  /// Messages of all edges from those of the folded ones.
  ShardingBound::Messages messages(const ShardingBound &ofFolded) const;

private:
  void addGroups();
  void addEdges();

  const ShardingGroups &groups;
  const ShardingTwins &twins;
  ShardingGroups smaller;
  /// Per edge, the folded one that it is part of; none between groups that look
  /// alike, which is a cost of their labels.
  static constexpr int32_t none = -1;
  std::vector<int32_t> foldedEdge;
  /// Per folded edge, how many edges it stands for.
  std::vector<int32_t> counts;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGFOLD_H
