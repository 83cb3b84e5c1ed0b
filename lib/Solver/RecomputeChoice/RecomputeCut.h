//===- RecomputeCut.h - the Lagrangian single-cut bound -------------------===//
//
// Looks at the moment when one node, the cut node, runs for the first time.
// Values computed before it and read after it must be held or computed again.
// With a price per held byte the cheapest choice is a minimum cut of a network
// with one vertex per value (available after the moment?) and one per node (run
// again after it?):
//
//     value  -> its producer   price * bytes   held, unless the producer reruns
//     node   -> sink           cost            runs again
//     node   -> its inputs     no limit        running needs the inputs
//     source -> needed values  no limit        read after the moment
//
// For every price, base + cut - price * room is a lower bound on the cost of
// every plan; `room` is what the budget leaves beside the cut node's own inputs
// and outputs. All lines "recompute cost + price * (held - room)" together are
// the convex front of held bytes against cost, the same for every budget.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTECUT_H
#define TENON_LIB_SOLVER_RECOMPUTECUT_H

#include "MinimumCut/FlowNetwork.h"
#include "RecomputeGraph.h"

#include <limits>

namespace tenon::solver {

/// numerator / denominator; the products with all bytes and all costs fit in 62
/// bits.
struct Price {
  int64_t numerator = 0;
  int64_t denominator = 1;
  /// Of the transfer engine's time, at most the denominator.
  int64_t transfer = 0;
  double value() const { return double(numerator) / double(denominator); }
};

/// One minimum cut: a line of the front and the choice behind it.
struct CutLine {
  Price price;
  int64_t cost = 0;        // of the nodes that run again
  int64_t held = 0;        // bytes of the values that are kept
  std::vector<bool> rerun; // per node of the network, netNodes' order
  /// No corner of the front lies between this line and the next one with more
  /// bytes held: the cut at the price where both meet has this flow, so the
  /// bound for any room in between needs no further cut.
  bool closed = false;
  Price meeting;
  int64_t meetingFlow = 0;
};

class CutNetwork {
public:
  /// The network at `cut`; `anyOrder`: before are ancestors, after descendants.
  CutNetwork(const RecomputeGraph &graph, int32_t cut, bool anyOrder);

  /// Bytes that `budget` leaves beside the cut node's inputs and outputs.
  int64_t room(int64_t budget) const { return budget - working; }
  /// Bytes of all needed values: they fit when this is at most the room.
  int64_t neededBytes() const { return needed; }

  /// A price near `price` whose products fit; the engine's time costs
  /// `transfer`, at most 1.
  Price makePrice(double price, double transfer = 0) const;
  /// Any load is of a value that needs the engine.
  bool anyTransfer() const;

  /// The minimum cut for a price, the one with fewest bytes held.
  CutLine minimumCut(Price price);

  /// For the last minimumCut(): its flow as a certificate.
  RecomputeCertificate certificate(RecomputeCertificate::Kind kind) const;
  /// base + max(0, ceil(flow - price * room)), less what the engine does free
  /// of charge.
  int64_t boundOf(Price price, int64_t flow, int64_t budget) const;

  /// The largest bound over all prices, by intersecting the lines of the front
  /// around the room. `front` holds lines already known, sorted by held bytes,
  /// and is extended. Sets the line to use for a plan (held <= room), if any.
  /// Ends early where the bound cannot rise above `known`.
  struct Best {
    int64_t bound = 0;
    /// What the bound could reach with more flows.
    int64_t most = std::numeric_limits<int64_t>::max();
    Price price;
    int32_t feasible = -1; // index into front
    bool impossible = false;
  };
  Best bestBound(int64_t budget, std::vector<CutLine> &front, int64_t &flows,
                 int64_t known = 0);
  /// Tries to raise `best` by a price on transfers.
  void priceTransfers(int64_t budget, Best &best);

  /// Bytes that must be held however cheap recomputation is.
  int64_t unavoidableBytes();

  int32_t cutNode() const { return cut; }
  /// The nodes of the network, ascending.
  std::span<const int32_t> nodes() const { return netNodes; }

private:
  void buildArcs();
  RecomputeGraph::Form formOf(int32_t value, Price price) const;
  int64_t formCost(const RecomputeGraph::Form &form, Price price) const;
  int64_t flowValue() const;

  const RecomputeGraph &graph;
  int32_t cut;
  int64_t working = 0;
  int64_t needed = 0;
  int64_t timeAfter = 0; // at most, of the first runs from the cut on
  // Vertex 0 is the source, 1 the sink, then values, then nodes.
  std::vector<int32_t> netValues, netNodes;
  std::vector<char> isNeeded; // per netValues: read after the cut
  std::vector<char> present;  // per value: read by the cut node
  FlowNetwork network;
  // Arcs in this order: per value, per node, per edge, per needed value.
  std::vector<RecomputeProblem::Edge> edges;
  bool freeRecompute = false;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTECUT_H
