//===- FlowNetwork.h - maximum flows by blocking flows --------------------===//
//
// A network with one source (vertex 0) and one sink (vertex 1). Arcs are added
// once; capacities may be set again and again, which empties them. Dinic's
// method on flat arrays.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_FLOWNETWORK_H
#define TENON_LIB_SOLVER_FLOWNETWORK_H

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

  /// Takes back all flow along the arc.
  void setCapacity(int32_t arc, int64_t capacity) {
    Arc &forward = arcs[place[arc]];
    forward.left = capacity;
    forward.back = 0;
    Arc &backward = arcs[forward.reverse];
    backward.left = 0;
    backward.back = capacity;
  }
  /// After every arc's capacity was set, once. The sum of all finite capacities
  /// into the sink must stay below 2^62.
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
  bool measureLevels();
  int64_t block();

  int32_t vertices = 0;
  std::vector<Ends> ends;
  std::vector<int32_t> place; // arc number -> index in arcs
  std::vector<int32_t> begin; // vertex -> range of arcs
  std::vector<Arc> arcs;
  std::vector<int32_t> level, cursor, queue, path;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_FLOWNETWORK_H
