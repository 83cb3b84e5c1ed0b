//===- OffloadedPlanTest.cpp - Claims about values that wait are refused --===//
//
// Compiles a step for GPUs under the smallest budget with values that wait in
// the host's memory, damages what its plan says of them, and expects the
// checker to name a false claim.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"
#include "tenon/Package/CheckPlan.h"
#include "tenon/Solver/RecomputeChoice.h"
#include "test/Unit/Format/TemporaryFolder.h"

#include "llvm/Support/FormatVariadic.h"
#include <functional>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;
using solver::RecomputeProblem;
using solver::RecomputeSolution;

namespace {

/// Layers, each of a product that is read again at the end, first in last out.
std::string stepText() {
  constexpr int layers = 8;
  const char *wide = "tensor<512x64xf32>", *square = "tensor<64x64xf32>";
  std::string text = llvm::formatv(R"(
func.func @main(%w: {0} {{tf.aliasing_output = 0 : i32}, %x: {1})
    -> ({0} {{jax.result_info = "result[0]['w']"}) {{
)",
                                   square, wide);
  std::string last = "%x";
  for (int i = 0; i < layers; ++i) {
    text += llvm::formatv("  %d{0} = stablehlo.dot_general {1}, %w, "
                          "contracting_dims = [1] x [0] : ({2}, {3}) -> {2}\n"
                          "  %t{0} = stablehlo.tanh %d{0} : {2}\n",
                          i, last, wide, square);
    last = llvm::formatv("%t{0}", i);
  }
  for (int i = layers - 1; i >= 0; --i) {
    text += llvm::formatv("  %q{0} = stablehlo.multiply {1}, %t{0} : {2}\n"
                          "  %g{0} = stablehlo.dot_general %q{0}, %w, "
                          "contracting_dims = [1] x [1] : ({2}, {3}) -> {2}\n",
                          i, last, wide, square);
    last = llvm::formatv("%g{0}", i);
  }
  return text +
         llvm::formatv("  %n = stablehlo.dot_general %x, {0}, contracting_dims "
                       "= [0] x [0] : ({1}, {1}) -> {2}\n  return %n : {2}\n"
                       "}\n",
                       last, wide, square)
             .str();
}

const Index &offloaded() {
  static const Index index = [] {
    test::TemporaryFolder folder;
    test::writeWhole(folder.file("step.mlir"), stepText());
    driver::CompileOptions options;
    options.input = folder.file("step.mlir");
    options.target = driver::OutputTarget::cuda;
    options.architectures = "sm_90";
    options.noCubins = true;
    options.memoryBudget = 1000 << 10; // of 1.3 MB: two values wait
    options.offload = true;
    driver::CompileResult result = driver::compile(options);
    EXPECT_EQ(result.code, exitOk);
    std::string error;
    auto reader = Reader::fromBytes(result.file, error);
    EXPECT_TRUE(reader) << error;
    return reader ? reader->index() : Index();
  }();
  return index;
}

Plan &planOf(Index &index) { return *index.entryPoints.front().plan; }

/// What is false in a file with this index; empty if nothing is.
std::string judged(const Index &index) {
  std::vector<SectionBytes> sections;
  std::vector<std::byte> zeros;
  for (const Section &section : index.sections)
    zeros.resize(std::max<size_t>(zeros.size(), section.bytes));
  for (const Section &section : index.sections)
    sections.push_back({section.kind, std::span(zeros).first(section.bytes)});
  std::string error;
  auto reader = Reader::fromBytes(write(index, sections), error);
  if (!reader)
    return error;
  auto result = package::checkPlans(reader->index());
  auto *wrong = std::get_if<package::FalseClaim>(&result);
  return wrong ? wrong->text : "";
}

/// The problem and the plan of it that a file states.
struct Stated {
  RecomputeProblem problem;
  RecomputeSolution solution;

  explicit Stated(Index &index) {
    const Plan &plan = planOf(index);
    EXPECT_FALSE(
        solver::parseRecomputeProblem(plan.recomputationProblem, problem));
    EXPECT_FALSE(
        solver::parseRecomputeSolution(plan.recomputationSolution, solution));
  }
  /// Of the first save in the plan.
  size_t variant() const {
    const auto nodes = int32_t(problem.nodes.size());
    for (int32_t operation : solution.order)
      if (operation >= nodes)
        return size_t(operation - nodes) / 2;
    ADD_FAILURE() << "nothing waits";
    return 0;
  }
  /// Where in the plan an operation is first.
  auto place(int32_t operation) {
    return std::ranges::find(solution.order, operation);
  }
};

/// Changes what a file states.
std::string judgedWith(const std::function<void(Stated &)> &change) {
  Index index = offloaded();
  Stated stated(index);
  change(stated);
  planOf(index).recomputationProblem =
      solver::printRecomputeProblem(stated.problem);
  planOf(index).recomputationSolution =
      solver::printRecomputeSolution(stated.solution);
  return judged(index);
}

/// Changes the operation of the program that saves or loads a value first.
std::string
judgedWith(bool isLoad,
           const std::function<void(Plan &, PlannedOperation &)> &change) {
  Index index = offloaded();
  Stated stated(index);
  const int32_t node = isLoad ? stated.problem.loadOf(stated.variant())
                              : stated.problem.saveOf(stated.variant());
  Plan &plan = planOf(index);
  auto operation =
      std::ranges::find(plan.operations, node, &PlannedOperation::node);
  EXPECT_NE(operation, plan.operations.end());
  change(plan, *operation);
  return judged(index);
}

#define EXPECT_CLAIM(text, part)                                               \
  do {                                                                         \
    const std::string claim = (text);                                          \
    EXPECT_NE(claim.find(part), std::string::npos) << "'" << claim << "'";     \
  } while (false)

TEST(OffloadedPlan, IsTrue) { EXPECT_EQ(judged(offloaded()), ""); }

TEST(OffloadedPlan, IsOfTheProgram) {
  // Another variant than the plan's.
  EXPECT_CLAIM(judgedWith(false, [](Plan &, auto &save) { save.node += 2; }),
               "where the recomputation plan has the save of variant");
  EXPECT_CLAIM(judgedWith(true, [](Plan &, auto &load) { load.node += 2; }),
               "where the recomputation plan has the load of variant");
  EXPECT_CLAIM(judgedWith(true, [](Plan &, auto &load) { --load.node; }),
               "where the recomputation plan has the load of variant");
  // A node in its place.
  EXPECT_CLAIM(judgedWith(false, [](Plan &, auto &save) { save.node = 0; }),
               "where the recomputation plan has the save of variant");
  EXPECT_CLAIM(
      judgedWith(true, [](Plan &, auto &load) { load.recomputed = false; }),
      "is not marked as a recomputation");
  EXPECT_CLAIM(
      judgedWith(false, [](Plan &, auto &save) { save.recomputed = true; }),
      "is marked as a recomputation");
}

TEST(OffloadedPlan, MovesTheValueOfItsVariant) {
  // Another value of as many bytes.
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 auto &variants = stated.problem.variants;
                 auto &value = variants[stated.variant()].value;
                 auto other = std::ranges::find_if(variants, [&](auto &each) {
                   return each.value != value &&
                          stated.problem.bytes(each.value) ==
                              stated.problem.bytes(value);
                 });
                 ASSERT_NE(other, variants.end());
                 std::swap(other->value, value);
               }),
               "is saved before its value is computed");
  EXPECT_CLAIM(judgedWith(false,
                          [](Plan &plan, auto &save) {
                            plan.values[save.reads[0]].problemValue = -1;
                          }),
               "but the program moves what is none of its values");
  EXPECT_CLAIM(judgedWith(true,
                          [](Plan &plan, auto &load) {
                            plan.values[load.writes[1]].problemValue = -1;
                          }),
               "but the program moves what is none of its values");
}

TEST(OffloadedPlan, SavesBeforeItLoads) {
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 const size_t variant = stated.variant();
                 std::iter_swap(stated.place(stated.problem.saveOf(variant)),
                                stated.place(stated.problem.loadOf(variant)));
               }),
               "is loaded before it is saved");
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 auto save =
                     stated.place(stated.problem.saveOf(stated.variant()));
                 std::rotate(stated.solution.order.begin(), save, save + 1);
               }),
               "is saved before its value is computed");
}

TEST(OffloadedPlan, TakesTheTimeOfTheLink) {
  // Too little, for one value.
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 stated.problem.variants[stated.variant()].transfer /= 2;
               }),
               "which is another rate than that of others");
  // Too much: it comes late.
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 for (auto &variant : stated.problem.variants)
                   variant.transfer *= 1000;
               }),
               "recomputation: ");
  // Dearer to start, which would make plans without look better.
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 for (auto &variant : stated.problem.variants) {
                   ++variant.saveCost;
                   ++variant.loadCost;
                 }
                 for (int32_t operation : stated.solution.order)
                   stated.solution.cost +=
                       operation >= int32_t(stated.problem.nodes.size());
               }),
               "its instruction is predicted to take");
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 stated.problem.variants.back().loadCost += 5;
               }),
               "starting a transfer");
  // What waits on the host takes none of the device's memory.
  EXPECT_CLAIM(judgedWith([](Stated &stated) {
                 stated.problem.variants.back().bytes = 64;
               }),
               "waits as a copy of 64 bytes");
}

} // namespace
