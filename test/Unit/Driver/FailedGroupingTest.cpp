//===- FailedGroupingTest.cpp - Plans without all groupings ---------------===//
//
// Where one of the ways to group a step cannot be formed, the plans of the
// others are not the answer: nothing is planned, and the failure is known.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/PlanUnderBudget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

/// A grouped step whose note says that its loops may be changed.
constexpr const char *grouped = R"(
func.func @main(%x: tensor<1024xf32> {step.role = #step.role<batch>})
    -> tensor<1024xf32> attributes {step.loop_savings = array<i64: 0>} {
  %0 = step.group elementwise(%x) : (tensor<1024xf32>) -> tensor<1024xf32> {
  ^bb0(%a: tensor<1024xf32>):
    %b = stablehlo.tanh %a : tensor<1024xf32>
    step.yield %b : tensor<1024xf32>
  }
  %1 = step.group elementwise(%0) : (tensor<1024xf32>) -> tensor<1024xf32> {
  ^bb0(%a: tensor<1024xf32>):
    %b = stablehlo.negate %a : tensor<1024xf32>
    step.yield %b : tensor<1024xf32>
  }
  return %1 : tensor<1024xf32>
})";

struct FailedGrouping : testing::Test {
  FailedGrouping() {
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(grouped, &context);
  }

  /// Each further grouping ends with `code`.
  void begin(ExitCode code) {
    groupings.begin(
        module->clone(), module->clone(),
        [this, code](ModuleOp, const fusion::FusionOptions &, Groupings::Part) {
          ++formed;
          return code;
        });
  }

  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  codegen::FeatureSet features = {target::Isa::avx2};
  target::Target machine = target::builtInTarget(target::Isa::avx2);
  Groupings groupings{features, machine};
  int formed = 0;
};

TEST_F(FailedGrouping, LeavesNoPlan) {
  ASSERT_TRUE(module);
  begin(exitUserError);
  AlternativePlanner planner(groupings, /*parallel=*/false);
  ASSERT_TRUE(planner.keepEverything());
  EXPECT_EQ(planner.smallest(), nullptr);
  EXPECT_TRUE(planner.frontier(3).empty());
  EXPECT_FALSE(planner.within(1));
  EXPECT_EQ(groupings.failure(), exitUserError);
  // Nor is it tried again, which would hide that it failed.
  EXPECT_EQ(formed, 1);
}

TEST_F(FailedGrouping, IsNotSeenWhereAllAreFormed) {
  ASSERT_TRUE(module);
  begin(exitOk);
  AlternativePlanner planner(groupings, /*parallel=*/false);
  EXPECT_TRUE(planner.smallest());
  EXPECT_EQ(planner.frontier(3).size(), 3u);
  EXPECT_EQ(groupings.failure(), exitOk);
}

TEST_F(FailedGrouping, NoGroupingsHaveNoPlans) {
  AlternativePlanner planner(groupings, /*parallel=*/false);
  EXPECT_EQ(planner.keepEverything(), nullptr);
  EXPECT_EQ(planner.smallest(), nullptr);
  EXPECT_TRUE(planner.frontier(3).empty());
  EXPECT_FALSE(planner.within(1));
}

} // namespace
