//===- DueOrderTest.cpp - When operations run ----------------------------===//

#include "tenon/Solver/DueOrder.h"

#include <gtest/gtest.h>

using namespace tenon::solver;
using Order = std::vector<uint32_t>;

namespace {

TEST(DueOrder, RunsWhatMakesRoomAtOnce) {
  DueOrderProblem problem;
  problem.values = {{800, false}, {800, false}, {0, true}};
  problem.operations = {
      {0, 800, {}, {1, 2}}, // makes value 0
      {1, 800, {0}, {}},    // makes value 1, one of two readers of value 0
      {2, 0, {0}, {}},
  };
  EXPECT_EQ(dueOrder(problem), (Order{0, 2, 1}));
}

TEST(DueOrder, KeepsTheGivenOrderOtherwise) {
  DueOrderProblem problem;
  problem.values = {{800, true}, {800, true}, {800, true}};
  problem.operations = {{2, 800, {}, {}}, {1, 800, {}, {}}, {0, 800, {}, {}}};
  EXPECT_EQ(dueOrder(problem), (Order{2, 1, 0}));
}

TEST(DueOrder, RunsTheFirstListedOfThoseDueTogether) {
  DueOrderProblem problem;
  problem.values = {{800, true}};
  problem.operations = {{5, 800, {}, {}}, {5, 800, {}, {}}, {5, 800, {}, {}}};
  EXPECT_EQ(dueOrder(problem), (Order{0, 1, 2}));
}

TEST(DueOrder, NeverFreesWhatStays) {
  DueOrderProblem problem;
  problem.values = {{800, true}};
  problem.operations = {
      {0, 0, {}, {1, 2}}, {1, 800, {}, {}}, {2, 700, {0}, {}}};
  EXPECT_EQ(dueOrder(problem), (Order{0, 1, 2}));
}

TEST(DueOrder, WaitsForWhatComesFirstWhateverIsDue) {
  DueOrderProblem problem;
  problem.operations = {{0, 800, {}, {}}, {9, 800, {}, {0}}};
  EXPECT_EQ(dueOrder(problem), (Order{1, 0}));
}

} // namespace
