//===- EntryPointsTest.cpp - The plans of several entry points ------------===//
//
// A step on a tensor in two parts and on hidden state, and the entry point that
// gives the hidden state its initial value: both plans are held against their
// programs, and what is false of either is found.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Reader.h"
#include "tenon/Package/CheckPlan.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;

namespace {

constexpr Slice high{0, 0, 64}, low{0, 64, 64}, scale{0, 128, 4},
    start{1, 0, 4}, loss{2, 0, 8}, scratch{3, 0, 64};

Index twoEntryPoints() {
  Index index;
  index.deviceClasses = {{"cpu", "x86-64-v3", {}}};
  index.memorySpaces = {{"host"}};
  index.segments = {{"state", SegmentKind::state, 0, 0, 192},
                    {"constants", SegmentKind::constants, 0, 0, 64},
                    {"results", SegmentKind::results, 0, 0, 64},
                    {"temporaries", SegmentKind::temporaries, 0, 0, 64}};
  index.storages = {{ElementType::bf16, {32}, high},
                    {ElementType::i16, {32}, low},
                    {ElementType::f32, {}, scale},
                    {ElementType::f64, {}, loss}};
  Tensor weights, result, hidden;
  weights.name = "w";
  weights.shape = {32};
  weights.argument = weights.result = 0;
  weights.held = {HoldingRule::highAndLow, {0, 1}, {}};
  result.name = "loss";
  result.result = 1;
  result.held = {HoldingRule::converted, {3}, {}};
  hidden.name = "__tenon__.scale";
  hidden.held.storages = {2};
  index.tensors = {weights, result, hidden};
  index.callees = {{CalleeKind::kernel, "step", ""},
                   {CalleeKind::copy, "copy", "", {0}}};
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.arguments = {0, 1, 2};
  step.results = {0, 1, 3, 2};
  step.program.instructions = {
      {InstructionKind::invoke, 0, 0, {high, low, scale, loss, scratch}}};
  Plan &plan = step.plan.emplace();
  plan.texts = {"f32", "here"};
  plan.buffers = {high, low, scale, loss, scratch};
  // Before the step, and after it.
  plan.values = {{0, 64}, {1, 64}, {2, 4}, {0, 64},
                 {1, 64}, {2, 4},  {3, 8}, {4, 64, 0, 1, false, {{1, 2}}}};
  plan.operations = {{0, 0, 1, {0, 1, 2, -1, -1}, {3, 4, 5, 6, 7}}};
  plan.initial = {0, 1, 2};
  plan.results = {3, 4, 6, 5};
  plan.temporariesBound = 64;
  EntryPoint &init = index.entryPoints.emplace_back();
  init.name = "init";
  init.results = {2};
  init.program.instructions = {{InstructionKind::invoke, 1, 0, {start, scale}}};
  Plan &first = init.plan.emplace();
  first.texts = {"f32", "here"};
  first.buffers = {start, scale};
  first.values = {{0, 4}, {1, 4}};
  first.operations = {{0, 0, 1, {0, -1}, {-1, 1}}};
  first.initial = {0};
  first.results = {1};
  return index;
}

} // namespace

TEST(EntryPoints, AreCheckedEach) {
  Index index = twoEntryPoints();
  ASSERT_EQ(whyInvalid(index), "");
  auto outcome = package::checkPlans(index);
  auto *wrong = std::get_if<package::FalseClaim>(&outcome);
  ASSERT_FALSE(wrong) << wrong->text;
  auto proved = std::get<package::ProvedClaims>(outcome);
  auto count = [&](std::string_view line) {
    return std::ranges::count_if(proved, [&](const std::string &text) {
      return text.starts_with(line);
    });
  };
  EXPECT_EQ(count("program        1 instructions read what the plan says; 4 "
                  "tensors end where users find them"),
            1);
  EXPECT_EQ(count("program        1 instructions read what the plan says; 1 "
                  "tensors end where users find them"),
            1);
  EXPECT_EQ(count("packing        "), 2);
}

TEST(EntryPoints, FalseClaimsOfEitherAreFound) {
  struct Case {
    const char *expected;
    void (*damage)(EntryPoint &step, EntryPoint &init);
  };
  for (const Case &test : std::initializer_list<Case>{
           {"result 'w' where users do not find it",
            [](EntryPoint &step, EntryPoint &) {
              step.plan->results = {4, 3, 6, 5};
            }},
           {"argument 'w' where users do not put it",
            [](EntryPoint &step, EntryPoint &) {
              step.plan->initial = {1, 0, 2};
            }},
           {"neither an argument nor a constant",
            [](EntryPoint &step, EntryPoint &) { step.arguments = {0, 1}; }},
           {"result '__tenon__.scale' where users do not find it",
            [](EntryPoint &, EntryPoint &init) { init.plan->results = {}; }},
           {"'__tenon__.scale' is not there when the step ends",
            [](EntryPoint &, EntryPoint &init) {
              init.program = {};
              init.plan->operations = {};
            }},
           {"does not lie",
            [](EntryPoint &, EntryPoint &init) {
              init.program.instructions[0].operands[1].offset = 64;
            }},
           {"the program 'init' has no plan",
            [](EntryPoint &, EntryPoint &init) { init.plan.reset(); }},
       }) {
    Index index = twoEntryPoints();
    test.damage(index.entryPoints[0], index.entryPoints[1]);
    auto outcome = package::checkPlans(index);
    auto *wrong = std::get_if<package::FalseClaim>(&outcome);
    ASSERT_TRUE(wrong) << test.expected;
    EXPECT_NE(wrong->text.find(test.expected), std::string::npos)
        << wrong->text;
  }
}

/// Temporaries that no entry point uses leave less for others.
TEST(EntryPoints, ShareTheTemporaries) {
  Index index = twoEntryPoints();
  index.segments[3].bytes = 128;
  EXPECT_TRUE(
      std::holds_alternative<package::FalseClaim>(package::checkPlans(index)));
}

/// An entry point beside the step: the loss of the high part.
static Index withEvaluation() {
  Index index = twoEntryPoints();
  index.segments[2].bytes = 128;
  constexpr Slice own{2, 64, 64};
  index.storages.push_back({ElementType::bf16, {32}, own});
  Tensor made;
  made.name = "eval.each";
  made.entryPoint = "eval";
  made.type = ElementType::bf16;
  made.shape = {32};
  made.held.storages = {4};
  index.tensors.insert(index.tensors.end() - 1, made);
  EntryPoint &eval = index.entryPoints.emplace_back();
  eval.name = "eval";
  eval.arguments = {0};
  eval.results = {4};
  eval.program.instructions = {{InstructionKind::invoke, 1, 0, {high, own}}};
  Plan &plan = eval.plan.emplace();
  plan.texts = {"bf16", "here"};
  plan.buffers = {high, own};
  plan.values = {{0, 64}, {1, 64}};
  plan.operations = {{0, 0, 1, {0, -1}, {-1, 1}}};
  plan.initial = {0};
  plan.results = {1};
  return index;
}

TEST(EntryPoints, BesideTheStepWriteNoState) {
  Index index = withEvaluation();
  ASSERT_EQ(whyInvalid(index), "");
  auto outcome = package::checkPlans(index);
  auto *wrong = std::get_if<package::FalseClaim>(&outcome);
  ASSERT_FALSE(wrong) << wrong->text;
  // The same, into the state that the step keeps in the low part.
  EntryPoint &eval = index.entryPoints.back();
  eval.results = {1};
  eval.program.instructions[0].operands[1] = low;
  eval.plan->buffers[1] = low;
  index.tensors.erase(index.tensors.end() - 2);
  ASSERT_EQ(whyInvalid(index), "");
  outcome = package::checkPlans(index);
  wrong = std::get_if<package::FalseClaim>(&outcome);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->text.find("'eval' writes the state"), std::string::npos)
      << wrong->text;
}

TEST(EntryPoints, TensorsOfOthersAreTheirs) {
  for (auto damage : std::initializer_list<void (*)(Index &)>{
           [](Index &index) { index.entryPoints[2].name = "test"; },
           [](Index &index) { index.entryPoints[2].results = {}; },
           [](Index &index) { index.tensors[2].name = "each"; },
           [](Index &index) { index.tensors[2].result = 2; },
           [](Index &index) { std::swap(index.tensors[1], index.tensors[2]); },
       }) {
    Index index = withEvaluation();
    damage(index);
    EXPECT_NE(whyInvalid(index), "");
  }
}
