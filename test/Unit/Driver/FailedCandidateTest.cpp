//===- FailedCandidateTest.cpp - Plans without all candidates -------------===//
//
// Where one of the ways to write a step cannot be formed, the plans of the
// others are not the answer: nothing is planned, and the failure is known. The
// verifier is on, as where forms are checked.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/BudgetSearch.h"
#include "lib/Driver/KernelScratch.h"
#include "tenon/Driver/Compiler.h"

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

struct FailedCandidate : testing::Test {
  FailedCandidate() {
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(grouped, &context);
  }

  /// Each further candidate ends with `code`.
  CandidateStream candidates(ExitCode code) {
    return {scratch, machine, module->clone(), module->clone(),
            [this, code](ModuleOp, const fusion::FusionOptions &,
                         CandidateStream::Part) {
              ++formed;
              return code;
            }};
  }

  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  KernelScratch scratch = kernelScratchFor({});
  target::Target machine = target::builtInTarget(target::Isa::avx2);
  SearchOptions options{/*parallel=*/false, /*verify=*/true};
  int formed = 0;
};

TEST_F(FailedCandidate, LeavesNoPlan) {
  ASSERT_TRUE(module);
  CandidateStream stream = candidates(exitUserError);
  BudgetSearch search(stream, options);
  ASSERT_TRUE(search.keepEverything());
  EXPECT_EQ(search.smallest(), nullptr);
  EXPECT_TRUE(search.frontier(3).empty());
  EXPECT_FALSE(search.within(1));
  EXPECT_EQ(stream.failure(), exitUserError);
  // Nor is it tried again, which would hide that it failed.
  EXPECT_EQ(formed, 1);
}

TEST_F(FailedCandidate, IsNotSeenWhereAllAreFormed) {
  ASSERT_TRUE(module);
  CandidateStream stream = candidates(exitOk);
  BudgetSearch search(stream, options);
  EXPECT_TRUE(search.smallest());
  EXPECT_EQ(search.frontier(3).size(), 3u);
  EXPECT_EQ(stream.failure(), exitOk);
}

/// What is written wrong does not pass for a plan.
TEST_F(FailedCandidate, IsFoundByTheVerifier) {
  ASSERT_TRUE(module);
  module->walk([](step::GroupOp group) {
    group->setAttr(step::idiomAttrName, UnitAttr::get(group.getContext()));
  });
  CandidatePlanner planner(*module, options);
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  EXPECT_EQ(planner.keepEverything(), nullptr);
}

} // namespace
