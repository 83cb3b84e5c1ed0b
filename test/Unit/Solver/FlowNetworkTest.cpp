//===- FlowNetworkTest.cpp - flows that go on from earlier ones ----------===//

#include "MinimumCut/FlowNetwork.h"

#include <gtest/gtest.h>

#include <random>

using tenon::solver::FlowNetwork;

namespace {

struct Arc {
  int32_t from, to;
};

FlowNetwork build(int32_t vertices, const std::vector<Arc> &arcs) {
  FlowNetwork network;
  network.reset(vertices);
  for (auto [from, to] : arcs)
    network.addArc(from, to);
  network.build();
  return network;
}

TEST(FlowNetwork, TakesBackWhatNoLongerFits) {
  // source -> 2 -> 3 -> sink, and 2 -> sink.
  FlowNetwork network = build(
      4, {{FlowNetwork::source, 2}, {2, 3}, {3, FlowNetwork::sink}, {2, 1}});
  for (int32_t arc : {0, 1, 2})
    network.setCapacity(arc, 5);
  network.setCapacity(3, 1);
  EXPECT_EQ(network.maximize(), 5);
  network.setCapacity(2, 2);
  EXPECT_EQ(network.maximize(), 3);
  EXPECT_EQ(network.flow(1), 2);
  EXPECT_EQ(network.flow(3), 1);
  EXPECT_FALSE(network.reachesSink(2));
}

TEST(FlowNetwork, EndsWhereAnEmptyOneDoes) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const int32_t vertices = 3 + static_cast<int32_t>(random() % 8);
    // No cycles: from the source to the others in order, then to the sink.
    auto rank = [&](int32_t vertex) {
      return vertex == FlowNetwork::sink ? vertices : vertex;
    };
    std::vector<Arc> arcs;
    for (unsigned i = 0, count = 1 + random() % 25; i < count; ++i) {
      auto a = static_cast<int32_t>(random() % vertices),
           b = static_cast<int32_t>(random() % vertices);
      if (a != b)
        arcs.push_back(rank(a) < rank(b) ? Arc{a, b} : Arc{b, a});
    }
    FlowNetwork kept = build(vertices, arcs);
    std::vector<int64_t> capacities(arcs.size(), 0);
    for (int round = 0; round < 8; ++round) {
      FlowNetwork fresh = build(vertices, arcs);
      for (size_t i = 0; i < arcs.size(); ++i) {
        if (round == 0 || random() % 3 == 0)
          capacities[i] = random() % 8 == 0
                              ? FlowNetwork::unlimited
                              : static_cast<int64_t>(random() % 9);
        if (arcs[i].to == FlowNetwork::sink)
          capacities[i] = std::min<int64_t>(capacities[i], 50);
        kept.setCapacity(static_cast<int32_t>(i), capacities[i]);
        fresh.setCapacity(static_cast<int32_t>(i), capacities[i]);
      }
      ASSERT_EQ(kept.maximize(), fresh.maximize()) << "seed " << seed;
      std::vector<int64_t> surplus(vertices, 0);
      for (size_t i = 0; i < arcs.size(); ++i) {
        const int64_t flow = kept.flow(static_cast<int32_t>(i));
        ASSERT_GE(flow, 0);
        ASSERT_LE(flow, capacities[i]);
        surplus[arcs[i].from] -= flow;
        surplus[arcs[i].to] += flow;
      }
      for (int32_t vertex = 2; vertex < vertices; ++vertex)
        ASSERT_EQ(surplus[vertex], 0) << "seed " << seed;
      for (int32_t vertex = 0; vertex < vertices; ++vertex)
        ASSERT_EQ(kept.reachesSink(vertex), fresh.reachesSink(vertex));
    }
  }
}

} // namespace
