//===- MinimumCut.cpp - The cheapest way to separate two nodes -----------===//
//
// See MinimumCut.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/MinimumCut.h"

#include "FlowNetwork.h"

#include <cassert>
#include <cstddef>

using namespace tenon::solver;

void CutGraph::addEdge(Node from, Node to, int64_t capacity) {
  assert(capacity >= 0 && capacity <= unlimited && from != to);
  edges.push_back({from, to, capacity});
}

CutGraph::Cut CutGraph::minimumCut() const {
  FlowNetwork network;
  network.reset(static_cast<int32_t>(nodes));
  for (const Edge &edge : edges)
    network.addArc(static_cast<int32_t>(edge.from),
                   static_cast<int32_t>(edge.to));
  network.build();
  for (std::size_t arc = 0; arc < edges.size(); ++arc)
    network.setCapacity(static_cast<int32_t>(arc), edges[arc].capacity);
  Cut cut;
  cut.cost = network.maximize();
  for (Node node = 0; node < nodes; ++node)
    cut.sinkSide.push_back(network.reachesSink(static_cast<int32_t>(node)));
  return cut;
}
