//===- FlowNetwork.h - maximum flows by blocking flows --------------------===//
//
// A network with one source (vertex 0) and one sink (vertex 1). Arcs are added
// once; capacities may be set again and again. Dinic's method on flat arrays,
// from the flow that was there before: what no longer fits is taken back along
// the paths that it took, the rest stays.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_FLOWNETWORK_H
#define TENON_LIB_SOLVER_FLOWNETWORK_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::solver {

class FlowNetwork {
public:
  static constexpr int32_t source = 0, sink = 1;
  static constexpr int64_t unlimited = int64_t(1) << 62;

  /// Forgets everything; `vertices` counts the source and the sink.
  void reset(int32_t vertices);
  /// Returns the number of the arc: 0, 1, 2, ... in the order of the calls.
  int32_t addArc(int32_t from, int32_t to);
  /// After the last arc, before the first capacity.
  void build();

  /// Takes back what flows along the arc beyond its new capacity. Only where
  /// the arcs form no cycle may a capacity fall once there is a flow.
  void setCapacity(int32_t arc, int64_t capacity) {
    Arc &forward = arcs[place[arc]];
    Arc &backward = arcs[forward.reverse];
    const int64_t flow = std::min(forward.back, capacity);
    if (flow < forward.back) {
      isBroken = true;
      excess[backward.to] += forward.back - flow;
      excess[forward.to] -= forward.back - flow;
    }
    forward.left = capacity - flow;
    forward.back = flow;
    backward.left = flow;
    backward.back = capacity - flow;
  }
  /// After every arc's capacity was set. The sum of all finite capacities into
  /// the sink must stay below 2^62.
  int64_t maximize();

  /// What an arc carries, its opposite could take back.
  int64_t flow(int32_t arc) const { return arcs[place[arc]].back; }
  /// After maximize(): whether more flow could reach the sink from `vertex`.
  /// The vertices that cannot are the largest source side of a minimum cut.
  bool reachesSink(int32_t vertex) const { return level[vertex] >= 0; }

private:
  struct Arc {
    int32_t to;
    int32_t reverse; // index of the opposite arc
    int64_t left;    // capacity not used
    int64_t back;    // the same of the opposite arc, which lies elsewhere
  };
  struct Ends {
    int32_t from, to;
  };
  void sortVertices();
  void repair();
  void takeBack(int32_t arc, int64_t amount);
  bool measureLevels();
  void block();

  int32_t vertices = 0;
  std::vector<Ends> ends;
  std::vector<int32_t> place; // arc number -> index in arcs
  // Vertex -> range of arcs: those that leave it, then the opposites of those
  // that enter it.
  std::vector<int32_t> begin, entering;
  std::vector<Arc> arcs;
  // What flows into a vertex and not out of it; unlimited arcs may carry more
  // together than 64 bits hold.
  std::vector<__int128> excess;
  bool isBroken = false;       // any excess
  std::vector<int32_t> sorted; // vertices, arcs lead forward; once needed
  std::vector<int32_t> level, cursor, queue, path;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_FLOWNETWORK_H
