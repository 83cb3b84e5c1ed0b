//===- ShardingGroups.h - a sharding problem made smaller -----------------===//
//
// Private to this folder. The decisions that are left of a problem when nodes
// that an edge ties together are one group, labels that cannot be part of any
// choice are gone, and tables that are sums of rows and columns are costs of
// labels (ShardingChoice.h says it exactly). Groups with one label are no
// decisions: their costs are in the constant and their bytes in the capacities.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGGROUPS_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGGROUPS_H

#include "tenon/Solver/ShardingChoice.h"

namespace tenon::solver {

struct ShardingGroups {
  /// The least of this and a sum of permitted costs is never this.
  static constexpr int64_t forbidden = ShardingProblem::forbidden;

  struct Member {
    int32_t node = 0;
    /// Per label.
    std::vector<int32_t> strategies;
  };
  /// Bytes beyond what every label of the group takes, in the rows from `begin`
  /// to `end - 1`.
  struct Run {
    int32_t begin = 0;
    int32_t end = 0;
    int64_t bytes = 0;
  };
  struct Link {
    int32_t edge = 0;
    int32_t other = 0;
    bool isFirst = false;
    /// Where a group stands for many, edges per group that this one stands for.
    double perGroup = 1;
  };
  struct Group {
    int32_t lowestNode = 0;
    std::vector<Member> members;
    /// Per label.
    std::vector<int64_t> costs;
    /// Per label, by row.
    std::vector<std::vector<Run>> runs;
    std::vector<Link> links;

    int32_t size() const { return static_cast<int32_t>(costs.size()); }
  };
  struct Edge {
    /// `first` has the lower lowest node.
    int32_t first = 0;
    int32_t second = 0;
    /// Which of `tables`.
    int32_t table = 0;
  };
  /// A row per label of an edge's first group.
  struct Table {
    size_t columns = 0;
    std::vector<int64_t> costs;

    bool operator==(const Table &) const = default;
  };
  /// A time at which the limit can be exceeded.
  struct Row {
    int64_t time = 0;
    /// What the labels' runs may take together.
    int64_t capacity = 0;
  };

  /// By lowest node; each has at least two labels.
  std::vector<Group> groups;
  std::vector<Edge> edges;
  /// Edges with equal tables share one: the layers of a model are alike.
  std::vector<Table> tables;
  std::vector<Row> rows;
  /// What all else costs.
  int64_t constant = 0;
  /// Per node its strategy, where no group decides it.
  std::vector<int32_t> fixed;
};

/// Why there is no choice, or nothing.
std::optional<std::string> groupShardings(const ShardingProblem &problem,
                                          ShardingGroups &groups);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_SHARDINGGROUPS_H
