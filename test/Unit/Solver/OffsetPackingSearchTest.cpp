//===- OffsetPackingSearchTest.cpp - every rule of the search, on and off -===//
//
// A rule may only save work. Each is switched off in turn, and each outcome is
// compared with a search that uses none of them. The same for the search over
// pairs and the one that learns clauses, and for the two ways to dive.
//
//===----------------------------------------------------------------------===//

#include "OffsetPacking/OffsetPackingSearch.h"
#include "OffsetPacking/OffsetPackingClauses.h"
#include "OffsetPacking/OffsetPackingDive.h"
#include "OffsetPacking/OffsetPackingPairs.h"
#include "OffsetPackingRandom.h"
#include "Rounds.h"

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

/// Bodies within the capacity, of which no two share a byte at one time.
static bool isPlan(const Model &model, const Bases &bases, int64_t capacity) {
  for (size_t i = 0; i < bases.size(); ++i) {
    const Body &first = model.bodies[i];
    if (bases[i] < 0 || bases[i] + first.height > capacity)
      return false;
    for (size_t j = 0; j < i; ++j)
      for (const Slot &a : model.slotsOf(first))
        for (const Slot &b : model.slotsOf(model.bodies[j]))
          if (a.begin < b.end && b.begin < a.end &&
              bases[i] < bases[j] + b.high && bases[j] < bases[i] + a.high)
            return false;
  }
  return true;
}

/// As many bytes are live at each moment as the capacity has: what ends at a
/// moment is replaced by others of the same sum, which often find no place.
/// Where `withGaps`, some of them are buffers that were live before.
static OffsetPackingProblem alwaysFull(Random &random, int64_t capacity,
                                       int64_t moments, bool withGaps = false) {
  OffsetPackingProblem problem;
  std::vector<size_t> live;
  int64_t room = capacity;
  for (int64_t time = 0; time < moments; ++time) {
    for (size_t i = live.size(); i-- > 0;)
      if (random.oneIn(3)) {
        room += problem.buffers[live[i]].size;
        problem.buffers[live[i]].windows.back().end = time;
        live.erase(live.begin() + static_cast<int64_t>(i));
      }
    for (size_t i = 0; withGaps && i < problem.buffers.size(); ++i) {
      OffsetPackingProblem::Buffer &buffer = problem.buffers[i];
      if (buffer.windows.back().end < time && buffer.size <= room &&
          random.oneIn(2)) {
        buffer.windows.push_back({time, moments});
        room -= buffer.size;
        live.push_back(i);
      }
    }
    while (room > 0) {
      OffsetPackingProblem::Buffer buffer;
      buffer.size = random.between(1, room);
      buffer.windows.push_back({time, moments});
      room -= buffer.size;
      live.push_back(problem.buffers.size());
      problem.buffers.push_back(buffer);
    }
  }
  return problem;
}

/// Tight problems need clauses, restarts, and going back over many levels.
TEST(OffsetPackingSearch, ClausesHoldOnTightProblems) {
  int64_t infeasible = 0, feasible = 0, stopped = 0, withGaps = 0;
  for (uint64_t seed = 1; seed <= 4000; seed += roundStride) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int64_t capacity = random.between(6, 40);
    Model model;
    ASSERT_FALSE(buildModel(alwaysFull(random, capacity, random.between(3, 12),
                                       /*withGaps=*/seed > 2000),
                            model));
    withGaps += !model.onlyBoxes;
    SortKeys keys(model);
    SearchOutcome truth = search(model, capacity, SearchRules(), "TLV");
    auto clauses = makeClauseSearch(model, keys, capacity);
    ASSERT_NE(clauses, nullptr);
    // In small portions, as beside other searches.
    SearchOutcome outcome = SearchOutcome::Stopped;
    Bases bases;
    for (int turn = 0; turn < 200 && outcome == SearchOutcome::Stopped;
         ++turn) {
      int64_t nodes = 500;
      outcome = clauses->run(nodes, bases);
    }
    if (outcome == SearchOutcome::Found)
      EXPECT_TRUE(isPlan(model, bases, capacity));
    if (outcome == SearchOutcome::Stopped || truth == SearchOutcome::Stopped) {
      ++stopped;
      continue;
    }
    EXPECT_EQ(outcome, truth);
    ++(truth == SearchOutcome::Found ? feasible : infeasible);
  }
  EXPECT_GT(feasible, 200 / roundStride);
  EXPECT_GT(infeasible, 30 / roundStride);
  EXPECT_GT(withGaps, 1000 / roundStride);
  EXPECT_LT(stopped, 200 / roundStride);
}

TEST(OffsetPackingSearch, RulesOnlySaveWork) {
  int64_t infeasible = 0, feasible = 0, withClauses = 0;
  for (uint64_t seed = 1; seed <= 3000; seed += roundStride) {
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
    SortKeys keys(model);
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
      if (auto clauses = makeClauseSearch(model, keys, capacity)) {
        ++withClauses;
        nodes = 1'000'000;
        EXPECT_EQ(clauses->run(nodes, bases), truth);
        if (truth == SearchOutcome::Found)
          EXPECT_TRUE(isPlan(model, bases, capacity));
      }
    }
  }
  EXPECT_GT(feasible, 50 / roundStride);
  EXPECT_GT(infeasible, 50 / roundStride);
  EXPECT_GT(withClauses, 5 / roundStride);
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
