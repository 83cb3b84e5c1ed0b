//===- ShardingChoice.h - a layout for every value, with a bound ----------===//
//
// A step on several devices can hold each value, and compute each operation, in
// one of a few ways: split over some devices along some dimension, or whole on
// each. A *node* is such a decision and its *strategies* are the ways. A
// strategy has a cost (time to compute and to communicate inside the operation)
// and bytes, which one device holds while the node is alive. An *edge* joins
// two nodes and has a table of costs, one per pair of their strategies: what it
// takes to bring a value from the layout in which it is made into the one in
// which it is read. Sharding choice takes one strategy per node so that the sum
// of all costs is small and the bytes alive at any time are within a limit.
//
// A worked example: three nodes with two strategies each (whole, split), alive
// at the times 0 to 2, 1 to 3 and 2 to 4 (the end is not included).
//
//     node   cost      bytes          edge 0-1, and also 1-2:
//      0     4, 1      10, 5                     whole  split
//      1     4, 1      10, 5             whole     0      0
//      2     0, 9      10, 5             split     6      0
//
// Everything whole costs 8; the first two split cost 1 + 1 + 6 = 8, too. All
// split cost 11 and take 10 bytes at most, the cheapest choice that fits into
// 12: at time 2, nodes 1 and 2 are alive, and neither may be whole.
//
// The bound comes from amounts (*messages*) that every edge moves between its
// table and the costs of its two nodes, and from a *price* per byte and time.
// With messages m and n of an edge and prices p, no choice within the limit
// costs less than
//
//     sum over nodes of   min over strategies s of
//         cost(s) + bytes(s) * (prices while alive) + messages into s
//   + sum over edges of   min over pairs (s, t) of
//         table(s, t) - m(s) - n(t)
//   - limit * (sum of the prices),
//
// since the messages cancel and a choice within the limit pays for at most
// `limit` bytes at each time. This holds for all messages and all prices that
// are not negative, so a checker only adds.
//
// A problem is made smaller before it is solved, and the bound is that of the
// smaller one. The checker makes it smaller again, by its own code:
//
//   - Where an edge permits at most one partner for each strategy, both ways,
//     its two nodes are one decision. Nodes tied so are a *group*, named by its
//     lowest node; its *labels* are what is permitted for all of them at once,
//     in the order of that node's strategies. Strategies without any permitted
//     partner are dropped. This goes on until nothing changes.
//   - Labels that take more than the limit beside the fewest bytes of all other
//     groups are dropped.
//   - A table that is the sum of one number per row and one per column, and
//     forbids nothing, is a cost of the labels and no edge; so is one of a
//     group with a single label. Edges of the same two groups are one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_SHARDINGCHOICE_H
#define TENON_SOLVER_SHARDINGCHOICE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::solver {

struct ShardingProblem {
  /// A cost that says: not permitted.
  static constexpr int64_t forbidden = 1'000'000'000'000'000'000;

  struct Node {
    /// Alive at the times `begin` to `end - 1`; never, if that is empty.
    int64_t begin = 0;
    int64_t end = 0;
    /// Per strategy, at least one; not negative, `forbidden` at most.
    std::vector<int64_t> costs;
    /// Per strategy; not negative.
    std::vector<int64_t> bytes;
  };
  struct Edge {
    /// Two different nodes; a pair may have several edges.
    int32_t first = 0;
    int32_t second = 0;
    /// Which of `tables`: a row per strategy of `first`, a column per one of
    /// `second`.
    int32_t table = 0;
  };

  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  /// Costs, row by row. Edges with equal costs share a table.
  std::vector<std::vector<int64_t>> tables;
  /// Bytes alive at any time; nothing: no limit.
  std::optional<int64_t> limit;
};

struct ShardingOptions {
  /// How long to search: million numbers of tables that are looked at. The
  /// result depends on it and on the problem alone.
  int64_t effort = 20000;
  uint64_t seed = 1;
};

struct ShardingSolution {
  /// False where no choice was found; `message` says why.
  bool valid = false;
  /// Per node.
  std::vector<int32_t> strategies;
  int64_t cost = 0;
  /// The most bytes alive at any time.
  int64_t peak = 0;

  /// No choice within the limit costs less.
  int64_t bound = 0;
  /// The certificate, in units of one `scale`-th.
  int64_t scale = 1;
  struct Price {
    int64_t time = 0;
    int64_t amount = 0;
  };
  std::vector<Price> prices;
  struct Messages {
    /// Two groups by their lowest nodes, the lower one first.
    int32_t first = 0;
    int32_t second = 0;
    /// Per label.
    std::vector<int64_t> toFirst;
    std::vector<int64_t> toSecond;
  };
  std::vector<Messages> messages;
  /// Lower case, no period.
  std::string message;
};

/// `problem` is valid. Finds a cheap choice within the limit and a bound.
ShardingSolution solveSharding(const ShardingProblem &problem,
                               const ShardingOptions &options = {});

/// The first false claim of a solution, or nothing. Shares no code with the
/// solver.
std::optional<std::string> checkSharding(const ShardingProblem &problem,
                                         const ShardingSolution &solution);

/// The largest permitted costs of all nodes and edges together. The problem's
/// nodes and tables are those that its edges name.
__int128 sumOfLargestCosts(const ShardingProblem &problem);

/// What is wrong with a problem, or nothing. The largest permitted costs of all
/// nodes and edges together are below 10^18, all bytes at most 2^60.
std::optional<std::string>
validateShardingProblem(const ShardingProblem &problem);

/// Reads the line form, or the JSON form of the contest (one object `problem`
/// with `nodes`, `edges` and perhaps `usage_limit`).
std::optional<std::string> parseShardingProblem(std::string_view text,
                                                ShardingProblem &problem);
std::string printShardingProblem(const ShardingProblem &problem);
std::optional<std::string> parseShardingSolution(std::string_view text,
                                                 ShardingSolution &solution);
std::string printShardingSolution(const ShardingSolution &solution);

} // namespace tenon::solver

#endif // TENON_SOLVER_SHARDINGCHOICE_H
