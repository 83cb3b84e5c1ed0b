//===- ShardingTables.h - tables of edges, read both ways -----------------===//
//
// Private to this folder. Many labels of a group differ in nothing that an edge
// sees: strategies that want one layout of a value have equal columns. Equal
// rows and columns are kept once, so that tables have a fraction of the
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGTABLES_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGTABLES_H

#include "ShardingChoice/ShardingGroups.h"

namespace tenon::solver {

class ShardingTables {
public:
  explicit ShardingTables(const ShardingGroups &groups);

  /// A table whose rows are those of one group's labels.
  struct Side {
    /// Per label.
    std::vector<int32_t> rowOf;
    /// How many columns there are.
    size_t width = 0;
    std::vector<double> costs;
    /// The least number of each row.
    std::vector<double> least;
    /// Where a table forbids most pairs, the columns that each row permits, and
    /// where those of the next row begin.
    std::vector<int32_t> permitted;
    std::vector<size_t> ends;

    const double *row(int32_t label) const {
      return costs.data() + size_t(rowOf[label]) * width;
    }
  };
  /// With rows for the labels of the edge's first group, or of its second one:
  /// the columns of one side are the rows of the other.
  const Side &side(int32_t edge, bool isFirst) const {
    return sides[2 * groups.edges[edge].table + (isFirst ? 0 : 1)];
  }

private:
  const ShardingGroups &groups;
  std::vector<Side> sides;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGTABLES_H
