//===- MinimumCutTest.cpp - Cuts against all cuts ------------------------===//

#include "tenon/Solver/MinimumCut.h"

#include <gtest/gtest.h>

#include <random>

using tenon::solver::CutGraph;

namespace {

TEST(MinimumCut, FindsTheCutOfTheExample) {
  CutGraph graph;
  CutGraph::Node a = graph.addNode(), b = graph.addNode();
  graph.addEdge(graph.source(), a, 5);
  graph.addEdge(a, b, 2);
  graph.addEdge(b, graph.sink(), 9);
  graph.addEdge(graph.source(), b, 1);
  CutGraph::Cut cut = graph.minimumCut();
  EXPECT_EQ(cut.cost, 3);
  EXPECT_EQ(cut.sinkSide, (std::vector<bool>{false, true, false, true}));
}

TEST(MinimumCut, PrefersTheCutNextToTheSink) {
  CutGraph graph;
  CutGraph::Node a = graph.addNode(), b = graph.addNode();
  graph.addEdge(graph.source(), a, 4);
  graph.addEdge(a, b, 4);
  graph.addEdge(b, graph.sink(), 4);
  CutGraph::Cut cut = graph.minimumCut();
  EXPECT_EQ(cut.cost, 4);
  EXPECT_FALSE(cut.sinkSide[a]);
  EXPECT_FALSE(cut.sinkSide[b]);
}

TEST(MinimumCut, CostsNothingWithoutAPath) {
  CutGraph graph;
  CutGraph::Node a = graph.addNode();
  graph.addEdge(a, graph.sink(), 7);
  EXPECT_EQ(graph.minimumCut().cost, 0);
}

TEST(MinimumCut, ReportsWhenOnlyUnlimitedEdgesRemain) {
  CutGraph graph;
  graph.addEdge(graph.source(), graph.sink(), CutGraph::unlimited);
  EXPECT_GE(graph.minimumCut().cost, CutGraph::unlimited);
}

TEST(MinimumCut, IsTheCheapestOfAllCuts) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    std::mt19937 random(seed);
    unsigned nodes = 2 + random() % 7;
    struct Edge {
      CutGraph::Node from, to;
      int64_t capacity;
    };
    std::vector<Edge> edges;
    for (unsigned i = 0, count = random() % 20; i < count; ++i) {
      CutGraph::Node from = random() % nodes, to = random() % nodes;
      if (from != to)
        edges.push_back({from, to, int64_t(random() % 10)});
    }
    CutGraph graph;
    for (unsigned i = 2; i < nodes; ++i)
      graph.addNode();
    for (const Edge &edge : edges)
      graph.addEdge(edge.from, edge.to, edge.capacity);
    CutGraph::Cut cut = graph.minimumCut();

    auto costOf = [&](auto isSinkSide) {
      int64_t cost = 0;
      for (const Edge &edge : edges)
        if (!isSinkSide(edge.from) && isSinkSide(edge.to))
          cost += edge.capacity;
      return cost;
    };
    int64_t cheapest = INT64_MAX;
    for (unsigned set = 0; set < 1u << nodes; ++set)
      if (!(set & 1) && (set & 2))
        cheapest = std::min(cheapest, costOf([&](CutGraph::Node node) {
                              return bool(set >> node & 1);
                            }));
    EXPECT_EQ(cut.cost, cheapest) << "seed " << seed;
    EXPECT_EQ(costOf([&](CutGraph::Node node) { return cut.sinkSide[node]; }),
              cheapest)
        << "seed " << seed;
  }
}

} // namespace
