//===- OffsetPackingSearchTest.cpp - every rule of the search, on and off -===//
//
// A rule may only save work. Each is switched off in turn, and each outcome is
// compared with a search that uses none of them. The same for the search over
// pairs, and for the two ways to dive.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingSearch.h"
#include "OffsetPackingDive.h"
#include "OffsetPackingPairs.h"
#include "OffsetPackingRandom.h"

#include <gtest/gtest.h>

using namespace tenon::solver;
using namespace tenon::solver::packing;
using namespace tenon::solver::test;

using RuleSwitch = bool SearchRules::*;
static constexpr RuleSwitch switches[] = {
    &SearchRules::stuck,        &SearchRules::dominance, &SearchRules::hatless,
    &SearchRules::twins,        &SearchRules::split,     &SearchRules::jump,
    &SearchRules::fullestFirst,
};

static SearchOutcome search(const Model &model, int64_t capacity,
                            const SearchRules &rules, const char *letters,
                            const SearchTaste &taste = {}) {
  auto search = makeSearch(model, capacity);
  search->rules = rules;
  int64_t nodes = 300'000;
  Bases bases;
  std::vector<int64_t> blame(model.bodies.size(), 0);
  SearchOutcome outcome = search->run(capacity, SortKeys(model).sorted(letters),
                                      taste, nodes, bases, blame);
  if (outcome == SearchOutcome::Found)
    EXPECT_LE(arenaOf(model, bases), capacity);
  return outcome;
}

TEST(OffsetPackingSearch, RulesOnlySaveWork) {
  int64_t infeasible = 0, feasible = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    RandomShape shape;
    shape.maxBuffers = 9;
    shape.maxTime = 10;
    shape.maxSize = 8;
    shape.alignments = seed % 4 == 1;
    shape.gaps = seed % 4 == 2;
    Model model;
    ASSERT_FALSE(buildModel(randomProblem(random, shape), model));
    bool allLive = std::all_of(
        model.bodies.begin(), model.bodies.end(),
        [](const Body &body) { return body.firstSlot != body.endSlot; });
    if (model.bodies.empty() || !allLive)
      continue;
    int64_t reached = arenaOf(model, dive(model, SortKeys(model).sorted("AL")));
    for (int64_t capacity = model.bound(); capacity < reached; ++capacity) {
      SearchRules none;
      for (RuleSwitch rule : switches)
        none.*rule = false;
      SearchOutcome truth = search(model, capacity, none, "AL");
      if (truth == SearchOutcome::Stopped)
        continue;
      ++(truth == SearchOutcome::Found ? feasible : infeasible);
      EXPECT_EQ(search(model, capacity, SearchRules(), "TLV"), truth);
      for (SearchTaste taste : {SearchTaste{0.2, 0}, SearchTaste{0.5, 0.3}}) {
        EXPECT_EQ(search(model, capacity, SearchRules(), "EB", taste), truth);
        EXPECT_EQ(search(model, capacity, none, "AL", taste), truth);
      }
      for (RuleSwitch rule : switches) {
        SearchRules without;
        without.*rule = false;
        EXPECT_EQ(search(model, capacity, without, "EB"), truth);
      }
      int64_t nodes = 100'000;
      Bases bases;
      SearchOutcome pairs = searchPairs(model, capacity, nodes, bases);
      if (pairs != SearchOutcome::Stopped)
        EXPECT_EQ(pairs, truth);
    }
  }
  EXPECT_GT(feasible, 50);
  EXPECT_GT(infeasible, 50);
}

TEST(OffsetPackingSearch, BothDivesAgreeOnBoxes) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    RandomShape shape;
    shape.maxBuffers = 60;
    shape.maxTime = 40;
    shape.maxSize = 50;
    OffsetPackingProblem problem = randomProblem(random, shape);
    std::erase_if(problem.buffers, [](const auto &buffer) {
      return buffer.size == 0 ||
             buffer.windows[0].begin == buffer.windows[0].end;
    });
    Model model;
    ASSERT_FALSE(buildModel(problem, model));
    for (const char *letters : {"AL", "TS", "EB", "bS"}) {
      std::vector<int32_t> order = SortKeys(model).sorted(letters);
      EXPECT_EQ(dive(model, order), diveOnPlateaus(model, order));
    }
  }
}
