//===- MinimumCut.h - The cheapest way to separate two nodes -------------===//
//
// A directed network with capacities, a source and a sink. A cut is a set of
// nodes around the sink, without the source; it costs the capacities of the
// edges that lead into it. Found by maximum flow: as much as can flow is what
// the cheapest cut costs. Grouping asks it which element-wise values to compute
// again (Fusion/RecomputationCut).
//
// A worked example: source -5-> a -2-> b -9-> sink, and source -1-> b. The
// cheapest cut takes the edges of 2 and 1: {b, sink} costs 3, {sink} 9.
//
// Of several cheapest cuts the one with the fewest nodes around the sink is
// returned, so that the answer does not depend on how the flow was found.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_MINIMUMCUT_H
#define TENON_SOLVER_MINIMUMCUT_H

#include <cstdint>
#include <vector>

namespace tenon::solver {

class CutGraph {
public:
  using Node = uint32_t;
  /// The capacity of an edge that no cut may take. Sums of it do not overflow.
  static constexpr int64_t unlimited = int64_t(1) << 56;

  Node source() const { return 0; }
  Node sink() const { return 1; }
  Node addNode() { return nodes++; }
  /// `capacity` is from 0 to `unlimited`.
  void addEdge(Node from, Node to, int64_t capacity);

  struct Cut {
    /// At least `unlimited` if there is no cut that spares the unlimited edges.
    int64_t cost = 0;
    /// Per node, whether it is on the sink's side.
    std::vector<bool> sinkSide;
  };
  /// Time O(V^2 E) at worst, near O(E) on shallow networks.
  Cut minimumCut() const;

private:
  struct Edge {
    Node from, to;
    int64_t capacity;
  };

  Node nodes = 2;
  std::vector<Edge> edges;
};

} // namespace tenon::solver

#endif // TENON_SOLVER_MINIMUMCUT_H
