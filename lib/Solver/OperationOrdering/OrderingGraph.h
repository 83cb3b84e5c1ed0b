//===- OrderingGraph.h - an ordering problem in flat arrays ---------------===//
//
// The solver's own view of an OrderingProblem, the simulator that all
// schedulers share, and the schedulers that build a whole order.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGGRAPH_H
#define TENON_LIB_SOLVER_ORDERINGGRAPH_H

#include "tenon/Solver/OperationOrdering.h"

#include <span>

namespace tenon::solver {

/// Adjacency as one list and the range of each element in it.
struct Ranges {
  std::vector<int32_t> begin;
  std::vector<int32_t> list;
  std::span<const int32_t> operator[](int32_t i) const {
    return {list.data() + begin[i], list.data() + begin[i + 1]};
  }
  int32_t size(int32_t i) const { return begin[i + 1] - begin[i]; }
};

struct OrderingGraph {
  int32_t operations = 0;
  int32_t values = 0;
  std::vector<int64_t> bytes, workspace; // per value, per operation
  std::vector<int32_t> producer;         // per value
  std::vector<char> kept;                // per value
  Ranges operands, results, users;
  Ranges before, after; // operations, without duplicates
  struct Pair {
    int32_t operand;
    int64_t shared;
  };
  std::vector<std::vector<Pair>> inPlace; // per operation, empty vector if none
  /// Per operation: while it runs, at least so much more is live than before.
  std::vector<int64_t> leastRise;

  explicit OrderingGraph(const OrderingProblem &problem);
};

/// Runs operations one after the other and counts live bytes.
class LiveBytes {
public:
  explicit LiveBytes(const OrderingGraph &graph)
      : graph(graph), usersLeft(graph.values) {
    for (int32_t value = 0; value < graph.values; ++value)
      usersLeft[value] = graph.users.size(value) + graph.kept[value];
  }

  struct Step {
    int64_t during; // bytes while it runs, with what was live before
    int64_t net;    // growth after it
  };
  Step look(int32_t operation) const;
  /// Runs it and returns the bytes while it ran.
  int64_t run(int32_t operation);
  /// Takes back the last run, given what look() said before it.
  void takeBack(int32_t operation, Step step);
  int64_t live() const { return liveBytes; }
  int32_t left(int32_t value) const { return usersLeft[value]; }

private:
  const OrderingGraph &graph;
  std::vector<int32_t> usersLeft;
  int64_t liveBytes = 0;
};

int64_t peakOf(const OrderingGraph &graph, std::span<const int32_t> order);

/// How a list scheduler ranks the operations that are ready.
enum class ListRule {
  /// The largest (freed - defined) bytes, then most users.
  FreesMost,
  /// The smallest bytes while running, then the smallest growth.
  SmallestPeak,
  /// The given order, but operations that do not grow run as soon as they can.
  GivenClosing,
  /// As GivenClosing, but an operation that grows waits if a follower that
  /// frees what it grew is not ready with it.
  GivenLazy,
  /// Breadth first: operations become ready first come first served.
  BreadthFirst,
};
std::vector<int32_t> listOrder(const OrderingGraph &graph, ListRule rule);

/// Depth-first post-order from the last operations; operands with the larger
/// subtree (or, with `byUsers`, more users) first.
std::vector<int32_t> depthFirstOrder(const OrderingGraph &graph, bool byUsers);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGGRAPH_H
