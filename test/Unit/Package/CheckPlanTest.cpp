//===- CheckPlanTest.cpp - A damaged plan is refused ----------------------===//
//
// Compiles a step under a budget that makes it recompute, damages the program
// or its plan one entry at a time, packages the result with correct checksums,
// and expects the checker to name a false claim every time.
//
//===----------------------------------------------------------------------===//

#include "tenon/Package/CheckPlan.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"
#include "tenon/Solver/RecomputeChoice.h"
#include "test/Unit/Format/TemporaryFolder.h"

#include "llvm/Support/FormatVariadic.h"
#include <functional>
#include <gtest/gtest.h>
#include <map>

using namespace tenon;
using namespace tenon::format;

namespace {

constexpr int layers = 12;

/// The way back through the layers: layer i has what it made as `made`i and its
/// result as `result`i. `gradient` becomes that of %x, and `sum` that of %w.
std::string gradientsOf(std::string &gradient, std::string &sum,
                        const char *made, const char *result) {
  const char *wide = "tensor<256x32xf32>", *square = "tensor<32x32xf32>";
  std::string text;
  for (int i = layers - 1; i >= 0; --i) {
    std::string before =
        i ? llvm::formatv("{0}{1}", result, i - 1).str() : "%x";
    text += llvm::formatv(
        "  %q{0} = stablehlo.multiply {5}{0}, {1} : {3}\n"
        "  %g{0} = stablehlo.dot_general %q{0}, %w, contracting_dims = [1] x "
        "[1] : ({3}, {4}) -> {3}\n"
        "  %w{0} = stablehlo.dot_general {2}, %q{0}, contracting_dims = [0] x "
        "[0] : ({3}, {3}) -> {4}\n",
        i, gradient, before, wide, square, made);
    if (sum.empty())
      sum = llvm::formatv("%w{0}", i);
    else {
      text += llvm::formatv("  %s{0} = stablehlo.add {1}, %w{0} : {2}\n", i,
                            sum, square);
      sum = llvm::formatv("%s{0}", i);
    }
    gradient = llvm::formatv("%g{0}", i);
  }
  return text;
}

/// The way back, which returns the new %w and the gradient of %x.
std::string wayBack(std::string gradient, const char *made,
                    const char *result) {
  const char *wide = "tensor<256x32xf32>", *square = "tensor<32x32xf32>";
  std::string sum, text = gradientsOf(gradient, sum, made, result);
  text += llvm::formatv("  %step = stablehlo.multiply {0}, %rate : {1}\n"
                        "  %new = stablehlo.subtract %w, %step : {1}\n"
                        "  return %new, {2} : {1}, {3}\n}\n",
                        sum, square, gradient, wide);
  return text;
}

/// A chain of square matrix products and hyperbolic tangents, the way back, a
/// running mean in a loop, and a branch; one parameter, updated in place.
std::string stepText() {
  std::string text = R"(
func.func @main(%w: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<256x32xf32>)
    -> (tensor<32x32xf32> {jax.result_info = "result[0]['w']"},
        tensor<256x32xf32> {jax.result_info = "result[1]"}) {
  %rate = stablehlo.constant dense<0.1> : tensor<32x32xf32>
  %half = stablehlo.constant dense<0.5> : tensor<256x32xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
)";
  std::string wide = "tensor<256x32xf32>", square = "tensor<32x32xf32>";
  std::string value = "%x";
  for (int i = 0; i < layers; ++i) {
    text += llvm::formatv(
        "  %d{0} = stablehlo.dot_general {1}, %w, contracting_dims = [1] x "
        "[0] : ({2}, {3}) -> {2}\n"
        "  %t{0} = stablehlo.tanh %d{0} : {2}\n",
        i, value, wide, square);
    value = llvm::formatv("%t{0}", i);
  }
  text += llvm::formatv(R"(
  %l:2 = stablehlo.while(%i = %zero, %a = {0}) : tensor<i32>, {1}
    cond {{
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {{
      %n = stablehlo.add %i, %one : tensor<i32>
      %p = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : ({1}, {2}) -> {1}
      %b = stablehlo.multiply %p, %half : {1}
      stablehlo.return %n, %b : tensor<i32>, {1}
    }
  %s = "stablehlo.case"(%l#0) ({{
      %u = stablehlo.multiply %l#1, %half : {1}
      stablehlo.return %u : {1}
    }, {{
      %v = stablehlo.add %l#1, %half : {1}
      stablehlo.return %v : {1}
    }) : (tensor<i32>) -> {1}
)",
                        value, wide, square);
  return text + wayBack("%s", "%t", "%t");
}

/// Residual blocks: a sum of what came before and a product's hyperbolic
/// tangent, and the sum without its rows' means, which are one kernel with two
/// results that can be computed again in parts. The way back reads both.
std::string residualText() {
  std::string text = R"(
func.func @main(%w: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<256x32xf32>)
    -> (tensor<32x32xf32> {jax.result_info = "result[0]['w']"},
        tensor<256x32xf32> {jax.result_info = "result[1]"}) {
  %rate = stablehlo.constant dense<0.1> : tensor<32x32xf32>
  %width = stablehlo.constant dense<32.0> : tensor<256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
)";
  std::string wide = "tensor<256x32xf32>", square = "tensor<32x32xf32>",
              column = "tensor<256xf32>";
  std::string before = "%x", read = "%x";
  for (int i = 0; i < layers; ++i) {
    text += llvm::formatv(
        "  %d{0} = stablehlo.dot_general {1}, %w, contracting_dims = [1] x "
        "[0] : ({3}, {4}) -> {3}\n"
        "  %t{0} = stablehlo.tanh %d{0} : {3}\n"
        "  %x{0} = stablehlo.add {2}, %t{0} : {3}\n"
        "  %a{0} = stablehlo.reduce(%x{0} init: %zero) applies stablehlo.add "
        "across dimensions = [1] : ({3}, tensor<f32>) -> {5}\n"
        "  %m{0} = stablehlo.divide %a{0}, %width : {5}\n"
        "  %b{0} = stablehlo.broadcast_in_dim %m{0}, dims = [0] : ({5}) -> "
        "{3}\n"
        "  %n{0} = stablehlo.subtract %x{0}, %b{0} : {3}\n",
        i, read, before, wide, square, column);
    before = llvm::formatv("%x{0}", i);
    read = llvm::formatv("%n{0}", i);
  }
  return text + wayBack(read, "%x", "%n");
}

/// Layers whose kernel writes over a product's result and makes two values that
/// the way back reads.
std::string gatedText() {
  std::string text = R"(
func.func @main(%w: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<256x32xf32>)
    -> (tensor<32x32xf32> {jax.result_info = "result[0]['w']"},
        tensor<256x32xf32> {jax.result_info = "result[1]"}) {
  %rate = stablehlo.constant dense<0.1> : tensor<32x32xf32>
  %half = stablehlo.constant dense<0.5> : tensor<256x32xf32>
)";
  std::string read = "%x";
  for (int i = 0; i < layers; ++i) {
    text += llvm::formatv(
        "  %d{0} = stablehlo.dot_general {1}, %w, contracting_dims = [1] x "
        "[0] : ({2}, tensor<32x32xf32>) -> {2}\n"
        "  %a{0} = stablehlo.multiply %d{0}, %half : {2}\n"
        "  %t{0} = stablehlo.tanh %a{0} : {2}\n",
        i, read, "tensor<256x32xf32>");
    read = llvm::formatv("%t{0}", i);
  }
  return text + wayBack(read, "%a", "%t");
}

/// Layers and the way back in each round of a loop, which adds up gradients.
std::string roundsText() {
  std::string text = R"(
func.func @main(%w: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<256x32xf32>)
    -> (tensor<32x32xf32> {jax.result_info = "result[0]['w']"}) {
  %start = stablehlo.constant dense<0.0> : tensor<32x32xf32>
  %rate = stablehlo.constant dense<0.1> : tensor<32x32xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %b = %start) : tensor<i32>, tensor<32x32xf32>
    cond {
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
)";
  std::string read = "%x", sum;
  for (int i = 0; i < layers; ++i) {
    text += llvm::formatv(
        "  %d{0} = stablehlo.dot_general {1}, {3}, contracting_dims = [1] x "
        "[0] : ({2}, tensor<32x32xf32>) -> {2}\n"
        "  %t{0} = stablehlo.tanh %d{0} : {2}\n",
        i, read, "tensor<256x32xf32>", i ? "%w" : "%b");
    read = llvm::formatv("%t{0}", i);
  }
  text += gradientsOf(read, sum, "%t", "%t");
  text += llvm::formatv(R"(
      %n = stablehlo.add %i, %one : tensor<i32>
      %o = stablehlo.add %b, {0} : tensor<32x32xf32>
      stablehlo.return %n, %o : tensor<i32>, tensor<32x32xf32>
    }
  %step = stablehlo.multiply %l#1, %rate : tensor<32x32xf32>
  %new = stablehlo.subtract %w, %step : tensor<32x32xf32>
  return %new : tensor<32x32xf32>
}
)",
                        sum);
  return text;
}

/// A step within `budget` bytes; nothing if there is no such plan. Compiled
/// once for all tests, and kernels once for all budgets.
std::optional<Index> compileStep(const std::string &text,
                                 std::optional<int64_t> budget) {
  static std::map<std::pair<std::string, std::optional<int64_t>>,
                  std::optional<Index>>
      known;
  static const test::TemporaryFolder kernels;
  auto [place, isNew] = known.try_emplace({text, budget});
  if (!isNew)
    return place->second;
  test::TemporaryFolder folder;
  test::writeWhole(folder.file("step.mlir"), text);
  driver::CompileOptions options;
  options.input = folder.file("step.mlir");
  options.cpu = "x86-64-v3";
  options.memoryBudget = budget;
  options.kernelCache = kernels.file("cache");
  driver::CompileResult result = driver::compile(options);
  if (result.code == exitNoPlan)
    return std::nullopt;
  EXPECT_EQ(result.code, exitOk);
  std::string error;
  auto reader = Reader::fromBytes(result.file, error);
  EXPECT_TRUE(reader) << error;
  return place->second = reader->index();
}

uint64_t bytesOf(const Index &index) {
  uint64_t bytes = 0;
  for (const Segment &segment : index.segments)
    bytes += segment.bytes;
  return bytes;
}

/// A step under a budget of some percent of what it takes.
std::optional<Index> withinPercent(const std::string &text, uint64_t percent) {
  uint64_t everything = bytesOf(*compileStep(text, std::nullopt));
  return compileStep(text, int64_t(everything * percent / 100));
}

Plan &planOf(Index &index) { return *index.entryPoints.front().plan; }
const Plan &planOf(const Index &index) {
  return *index.entryPoints.front().plan;
}

const Index &planned() {
  static const Index index = *withinPercent(stepText(), 66);
  return index;
}

/// One whose plan computes parts of kernels again.
const Index &plannedInParts() {
  static const Index index = *withinPercent(residualText(), 66);
  return index;
}

/// The least budget, between the smallest and keeping everything, whose plan
/// has what `shows` looks for; an index without plans if there is none.
Index withinFirst(const std::string &text, bool (*shows)(const Plan &)) {
  const uint64_t everything = bytesOf(*compileStep(text, std::nullopt)),
                 smallest = bytesOf(*compileStep(text, driver::smallestBudget));
  for (uint64_t percent = smallest * 100 / everything; percent < 100; ++percent)
    if (std::optional<Index> found = withinPercent(text, percent))
      if (shows(planOf(*found)))
        return *found;
  return {};
}

/// One with several copies that joined the kernels that read them.
const Index &plannedWithJoins() {
  static const Index index = withinFirst(gatedText(), [](const Plan &plan) {
    return std::ranges::count_if(plan.operations, [](const auto &operation) {
             return !operation.joinedNodes.empty();
           }) >= 2;
  });
  return index;
}

/// The first operation that runs the node of the one before it, which joined
/// its kernel; the end if there is none.
auto finishOf(const Plan &plan) {
  const std::vector<PlannedOperation> &operations = plan.operations;
  return std::ranges::adjacent_find(
      operations, [](const auto &before, const auto &operation) {
        return !operation.joinedNodes.empty() &&
               operation.joinedNodes.front() == before.node;
      });
}

/// The operations that compute a part: their node runs first in another's.
std::vector<size_t> partsIn(const Plan &plan) {
  std::vector<size_t> parts;
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    int32_t node = plan.operations[i].node;
    if (node >= 0 &&
        std::ranges::none_of(plan.operations, [&](const auto &other) {
          return other.node == node && !other.recomputed;
        }))
      parts.push_back(i);
  }
  return parts;
}

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

Block &program(Index &index) { return index.entryPoints.front().program; }

/// Of a kernel or library call.
std::vector<Slice> *argumentsOf(const Index &index, Instruction &instruction) {
  bool isCopy = instruction.kind == InstructionKind::invoke &&
                index.callees[instruction.callee].kind == CalleeKind::copy;
  return instruction.kind == InstructionKind::invoke && !isCopy
             ? &instruction.operands
             : nullptr;
}

TEST(CheckPlan, AcceptsWhatTheCompilerWrites) {
  EXPECT_EQ(judged(planned()), "");
  auto claims = package::checkPlans(planned());
  auto *proved = std::get_if<package::ProvedClaims>(&claims);
  ASSERT_TRUE(proved);
  EXPECT_EQ(proved->size(), 5u);
  // What a file cannot show is said.
  EXPECT_NE(proved->back().find("does not show"), std::string::npos);
  // The budget has an effect: something runs twice.
  EXPECT_TRUE(std::ranges::any_of(planOf(planned()).operations,
                                  &PlannedOperation::recomputed));
}

TEST(CheckPlan, RefusesLibrarySumsIn16Bits) {
  int tried = 0;
  for (const char *type : {"bf16", "f16"}) {
    Index damaged = planned();
    for (Callee &callee : damaged.callees)
      for (Attribute &attribute : callee.attributes)
        if (attribute.name == "accumulate") {
          attribute.text = type;
          ++tried;
        }
    EXPECT_NE(judged(damaged).find("sums are held in " + std::string(type) +
                                   ", expected f32"),
              std::string::npos)
        << judged(damaged);
  }
  EXPECT_GT(tried, 0);
}

/// Whatever slice of whatever instruction is somewhere else.
void expectRefusalOfMovedSlices(const Index &sound) {
  size_t count = program(const_cast<Index &>(sound)).instructions.size();
  int tried = 0;
  for (size_t i = 0; i < count; ++i)
    for (size_t argument = 0;; ++argument) {
      Index damaged = sound;
      auto *slices = argumentsOf(damaged, program(damaged).instructions[i]);
      if (!slices || argument >= slices->size())
        break;
      Slice &slice = (*slices)[argument];
      slice.offset += slice.offset >= 64 ? -64 : 64;
      ++tried;
      EXPECT_NE(judged(damaged), "") << i << " " << argument;
    }
  EXPECT_GT(tried, 100);
}

TEST(CheckPlan, RefusesEveryMovedSlice) {
  expectRefusalOfMovedSlices(planned());
  expectRefusalOfMovedSlices(plannedInParts());
  expectRefusalOfMovedSlices(plannedWithJoins());
}

/// Instructions that are left out or run in another order.
void expectRefusalOfOtherOrders(const Index &sound) {
  size_t count = program(const_cast<Index &>(sound)).instructions.size();
  for (size_t i = 0; i < count; ++i) {
    Index damaged = sound;
    auto &instructions = program(damaged).instructions;
    instructions.erase(instructions.begin() + int64_t(i));
    EXPECT_NE(judged(damaged), "") << "without instruction " << i;
    if (i + 1 == count)
      break;
    damaged = sound;
    auto &swapped = program(damaged).instructions;
    std::swap(swapped[i], swapped[i + 1]);
    if (swapped[i] == swapped[i + 1])
      continue;
    EXPECT_NE(judged(damaged), "") << i << " after " << i + 1;
  }
}

TEST(CheckPlan, RefusesEveryOtherOrder) {
  expectRefusalOfOtherOrders(planned());
  expectRefusalOfOtherOrders(plannedInParts());
  expectRefusalOfOtherOrders(plannedWithJoins());
}

/// Temporaries that overlap another one, or that are touched when not live.
TEST(CheckPlan, RefusesEveryMovedBufferAndMissingLifetime) {
  const Plan &plan = planOf(planned());
  auto isTemporary = [&](uint32_t buffer) {
    return planned().segments[plan.buffers[buffer].segment].kind ==
           SegmentKind::temporaries;
  };
  int tried = 0;
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
    if (!isTemporary(buffer))
      continue;
    Index damaged = planned();
    Slice &place = planOf(damaged).buffers[buffer];
    place.offset += place.offset >= 64 ? -64 : 64;
    EXPECT_NE(judged(damaged), "") << "buffer " << buffer;
  }
  for (size_t value = 0; value < plan.values.size(); ++value) {
    if (!isTemporary(plan.values[value].buffer))
      continue;
    Index damaged = planned();
    planOf(damaged).values[value].lifetimes.clear();
    EXPECT_NE(judged(damaged), "") << "value " << value;
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

/// One damage, and what the refusal must speak of.
struct Damage {
  const char *name;
  std::function<void(Index &)> apply;
  const char *expected;
};

/// It changes the file, and what is false is what was expected.
void expectRefusal(const Damage &damage) {
  Index damaged = planned();
  damage.apply(damaged);
  ASSERT_NE(damaged, planned()) << damage.name;
  std::string wrong = judged(damaged);
  EXPECT_NE(wrong, "") << damage.name;
  EXPECT_NE(wrong.find(damage.expected), std::string::npos)
      << damage.name << ": " << wrong;
}

/// Changes the recomputation plan.
std::function<void(Index &)>
inSolution(std::function<void(solver::RecomputeSolution &)> change) {
  return [change](Index &index) {
    solver::RecomputeSolution solution;
    std::string &text = planOf(index).recomputationSolution;
    ASSERT_FALSE(solver::parseRecomputeSolution(text, solution));
    change(solution);
    text = solver::printRecomputeSolution(solution);
  };
}

using solver::RecomputeProblem;
using solver::RecomputeSolution;

/// Corrects what follows from a problem and an order: cost and peak.
void measure(const RecomputeProblem &problem, RecomputeSolution &solution) {
  for (int tries = 0; tries < 2; ++tries) {
    auto wrong = solver::checkRecompute(problem, solution);
    size_t found = wrong ? wrong->find(" is claimed, found ") : wrong->npos;
    if (!wrong || found == wrong->npos)
      return;
    int64_t right = std::stoll(wrong->substr(found + 19));
    if (wrong->starts_with("cost "))
      solution.cost = right;
    else if (wrong->starts_with("peak "))
      solution.peak = right;
  }
}

/// Rewrites the problem, and its plan, so that each is what checkRecompute()
/// says of it: only the program shows the difference.
std::function<void(Index &)>
inProblem(std::function<void(RecomputeProblem &, RecomputeSolution &)> change) {
  return [change](Index &index) {
    Plan &plan = planOf(index);
    RecomputeProblem problem;
    RecomputeSolution solution;
    ASSERT_FALSE(
        solver::parseRecomputeProblem(plan.recomputationProblem, problem));
    ASSERT_FALSE(
        solver::parseRecomputeSolution(plan.recomputationSolution, solution));
    const size_t before = problem.nodes.size();
    change(problem, solution);
    // Further nodes move the values that are no main outputs.
    for (PlannedValue &value : plan.values)
      if (value.problemValue >= int32_t(before))
        value.problemValue += int32_t(problem.nodes.size() - before);
    measure(problem, solution);
    EXPECT_EQ(solver::checkRecompute(problem, solution), std::nullopt);
    plan.recomputationProblem = solver::printRecomputeProblem(problem);
    plan.recomputationSolution = solver::printRecomputeSolution(solution);
    for (Certificate &certificate : index.entryPoints.front().certificates)
      if (certificate.kind == "recomputation")
        certificate.text = llvm::formatv(
            "predicted {0} ns, bound {1} ns, recomputing nothing {2} ns",
            solution.cost, solution.bound, problem.baseCost());
  };
}

/// The bound that every problem has: each node runs once.
void dropProof(const RecomputeProblem &problem, RecomputeSolution &solution) {
  solution.certificate = solution.anyOrderCertificate = {};
  solution.bound = solution.anyOrderBound = problem.baseCost();
}

/// A node after all others; the values that are no main outputs move up.
int32_t addNode(RecomputeProblem &problem, RecomputeSolution &solution,
                RecomputeProblem::Node node) {
  auto added = int32_t(problem.nodes.size());
  problem.nodes.push_back(node);
  auto move = [&](int32_t &value) { value += value >= added; };
  for (auto *edges : {&problem.edges, &problem.lateReads})
    for (auto &edge : *edges)
      move(edge.value);
  for (auto &overwrite : problem.overwrites)
    move(overwrite.value);
  solution.order.push_back(added);
  dropProof(problem, solution);
  return added;
}

/// The nodes that are instructions of the program, once.
std::vector<int32_t> nodesThatRunOnce(const Index &index) {
  std::map<int32_t, int> runs;
  for (const PlannedOperation &operation : planOf(index).operations)
    ++runs[operation.node];
  std::vector<int32_t> nodes;
  for (auto [node, count] : runs)
    if (node >= 0 && count == 1)
      nodes.push_back(node);
  return nodes;
}

PlannedOperation &firstRecomputation(Index &index) {
  return *std::ranges::find(planOf(index).operations, true,
                            &PlannedOperation::recomputed);
}

TEST(CheckPlan, RefusesFalseClaims) {
  const Damage damages[] = {
      {"a larger arena",
       [](Index &index) {
         for (Segment &segment : index.segments)
           if (segment.kind == SegmentKind::temporaries)
             segment.bytes += 64;
       },
       "arena"},
      {"a higher bound on the arena",
       [](Index &index) { planOf(index).temporariesBound += 64; }, "bound"},
      {"a smaller budget",
       [](Index &index) { planOf(index).memoryBudget = bytesOf(index) - 1; },
       "the budget is"},
      {"a cheaper plan",
       inSolution([](solver::RecomputeSolution &s) { --s.cost; }), "cost"},
      {"a lower peak",
       inSolution([](solver::RecomputeSolution &s) { --s.peak; }), "peak"},
      {"a higher bound on the time",
       inSolution([](solver::RecomputeSolution &s) { s.bound = s.cost + 1; }),
       "bound"},
      {"a higher bound for every order",
       inSolution(
           [](solver::RecomputeSolution &s) { s.anyOrderBound = s.cost + 1; }),
       "bound"},
      {"a budget below the peak",
       inSolution([](solver::RecomputeSolution &s) { s.budget = s.peak - 1; }),
       ""},
      {"another order of nodes", inSolution([](solver::RecomputeSolution &s) {
         std::swap(s.order[3], s.order[4]);
       }),
       "runs before"},
      {"a node left out",
       inSolution([](solver::RecomputeSolution &s) { s.order.pop_back(); }),
       "never runs"},
      {"no recomputation problem",
       [](Index &index) { planOf(index).recomputationProblem.clear(); },
       "recomputation"},
      {"cheaper nodes",
       [](Index &index) {
         solver::RecomputeProblem problem;
         std::string &text = planOf(index).recomputationProblem;
         ASSERT_FALSE(solver::parseRecomputeProblem(text, problem));
         ++problem.nodes.front().cost;
         text = solver::printRecomputeProblem(problem);
       },
       "cost"},
      {"a node that must run once",
       [](Index &index) {
         solver::RecomputeProblem problem;
         std::string &text = planOf(index).recomputationProblem;
         ASSERT_FALSE(solver::parseRecomputeProblem(text, problem));
         problem.nodes[firstRecomputation(index).node].pinned = true;
         text = solver::printRecomputeProblem(problem);
       },
       "must run once"},
      {"another node", [](Index &index) { ++firstRecomputation(index).node; },
       "node"},
      {"a recomputation that is not marked",
       [](Index &index) { firstRecomputation(index).recomputed = false; },
       "not marked"},
      {"an operation at another time",
       [](Index &index) { planOf(index).operations[2].begin = 0; }, "time"},
      {"another value read",
       [](Index &index) { planOf(index).operations[4].reads.front() = 0; }, ""},
      {"a kernel that writes what it reads",
       [](Index &index) {
         for (Callee &kernel : index.callees)
           kernel.reads.clear();
       },
       "disagree"},
      {"a result somewhere else",
       [](Index &index) {
         std::swap(planOf(index).results[0], planOf(index).results[1]);
       },
       "result"},
      {"state that is not updated",
       [](Index &index) {
         planOf(index).results[0] = planOf(index).initial[0];
       },
       "not there"},
      {"a value that nobody wrote",
       [](Index &index) {
         PlannedOperation &operation = planOf(index).operations.back();
         operation.writes.back() =
             (operation.writes.back() + 1) % int(planOf(index).values.size());
       },
       ""},
      {"an operation the program lacks",
       [](Index &index) {
         planOf(index).operations.push_back(planOf(index).operations.back());
       },
       ""},
  };
  for (const Damage &damage : damages)
    expectRefusal(damage);
}

/// A problem that is worth what its certificate says, but is not that of the
/// program, makes bounds that no program has to keep.
TEST(CheckPlan, RefusesProblemsOfOtherPrograms) {
  // What the plan drops is the dearest to keep.
  const int32_t dropped = std::ranges::find(planOf(planned()).operations, true,
                                            &PlannedOperation::recomputed)
                              ->node;
  const Damage damages[] = {
      {"a larger cost",
       inProblem([](RecomputeProblem &problem, RecomputeSolution &solution) {
         problem.nodes[0].cost += 1000;
         solution.bound += 1000;
         solution.anyOrderBound += 1000;
       }),
       "predicted to take"},
      {"a value of more bytes",
       inProblem([&](RecomputeProblem &problem, RecomputeSolution &) {
         problem.nodes[dropped].bytes += 64;
         problem.nodes[dropped].workspace -= 64;
       }),
       "bytes of the temporaries"},
      {"more bytes while a node runs",
       inProblem([](RecomputeProblem &problem, RecomputeSolution &) {
         problem.nodes[0].workspace += 64;
       }),
       "while it runs"},
      {"another node",
       inProblem([](RecomputeProblem &problem, RecomputeSolution &solution) {
         addNode(problem, solution, {.cost = 5});
       }),
       "is no instruction"},
      {"another node that reads a value",
       inProblem([&](RecomputeProblem &problem, RecomputeSolution &solution) {
         problem.edges.push_back(
             {dropped, addNode(problem, solution, {.pinned = true})});
       }),
       "but not in the program"},
      {"a value that nobody has to keep",
       inProblem([](RecomputeProblem &problem, RecomputeSolution &solution) {
         problem.aliases.push_back({1, 0});
         dropProof(problem, solution);
       }),
       "views"},
      {"a bound for less than the budget leaves",
       inProblem([](RecomputeProblem &problem, RecomputeSolution &solution) {
         solution.budget = std::max(solution.peak, solution.budget - 64);
         dropProof(problem, solution);
       }),
       "the budget leaves"},
      {"a budget that is just kept",
       [](Index &index) { planOf(index).memoryBudget = bytesOf(index); },
       "the budget leaves"},
      {"a segment with room for nothing",
       [](Index &index) {
         for (Segment &segment : index.segments)
           if (segment.kind == SegmentKind::results)
             segment.bytes += 64;
         inProblem([](RecomputeProblem &problem, RecomputeSolution &solution) {
           solution.budget = std::max(solution.peak, solution.budget - 64);
           dropProof(problem, solution);
         })(index);
       },
       "what lies there"},
      {"a summary of another plan",
       [](Index &index) {
         for (Certificate &certificate : index.entryPoints.front().certificates)
           if (certificate.kind == "recomputation")
             certificate.text = "predicted 1 ns";
       },
       "the summary"},
      {"values under other names",
       [](Index &index) {
         std::vector<PlannedValue> &values = planOf(index).values;
         auto named = [](const PlannedValue &value) {
           return value.problemValue >= 0;
         };
         auto first = std::ranges::find_if(values, named);
         auto second = std::find_if(first + 1, values.end(), named);
         std::swap(first->problemValue, second->problemValue);
       },
       "but the program makes it"},
  };
  for (const Damage &damage : damages)
    expectRefusal(damage);
}

/// One after the other: nodes that must run once, and reads that are not there.
TEST(CheckPlan, RefusesEveryFurtherLimit) {
  const Index &sound = planned();
  int pinned = 0, read = 0;
  auto refused = [&](auto change) {
    Index damaged = sound;
    inProblem(change)(damaged);
    EXPECT_NE(judged(damaged), "");
  };
  for (int32_t node : nodesThatRunOnce(sound)) {
    RecomputeProblem problem;
    ASSERT_FALSE(solver::parseRecomputeProblem(
        planOf(sound).recomputationProblem, problem));
    bool isKept = std::ranges::any_of(problem.edges, [&](const auto &edge) {
      return edge.value == node && problem.bytes(node) > 0;
    });
    if (isKept && !problem.nodes[node].pinned) {
      ++pinned;
      refused([&](RecomputeProblem &changed, RecomputeSolution &) {
        changed.nodes[node].pinned = true;
      });
    }
    // Reading once more what the node before read changes no peak.
    for (const auto &edge : problem.edges)
      if (edge.consumer == node - 1 &&
          std::ranges::find(problem.edges,
                            RecomputeProblem::Edge{edge.value, node}) ==
              problem.edges.end()) {
        Index damaged = sound;
        RecomputeSolution solution;
        ASSERT_FALSE(solver::parseRecomputeSolution(
            planOf(sound).recomputationSolution, solution));
        RecomputeProblem changed = problem;
        changed.edges.push_back({edge.value, node});
        measure(changed, solution);
        // Only what its own checker accepts.
        if (solver::checkRecompute(changed, solution))
          continue;
        ++read;
        refused([&](RecomputeProblem &again, RecomputeSolution &) {
          again.edges.push_back({edge.value, node});
        });
      }
  }
  EXPECT_GT(pinned, 2);
  EXPECT_GT(read, 2);
}

/// A node of several instructions, the last of which has joined the kernel that
/// reads it: what the others read it has read.
TEST(CheckPlan, KernelsFinishWhatOthersHaveBegun) {
  const Index sound = withinFirst(gatedText(), [](const Plan &plan) {
    return finishOf(plan) != plan.operations.end();
  });
  ASSERT_FALSE(sound.entryPoints.empty());
  EXPECT_EQ(judged(sound), "");
  // The two together read one more value.
  const int32_t node = finishOf(planOf(sound))->node;
  Index damaged = sound;
  inProblem([&](RecomputeProblem &problem, RecomputeSolution &solution) {
    for (int32_t value = node - 1; value >= 0; --value)
      if (std::ranges::find(problem.edges,
                            RecomputeProblem::Edge{value, node}) ==
              problem.edges.end() &&
          problem.bytes(value) == 0) {
        problem.edges.push_back({value, node});
        break;
      }
    dropProof(problem, solution);
  })(damaged);
  ASSERT_NE(damaged, sound);
  EXPECT_NE(judged(damaged).find("but not in the program"), std::string::npos)
      << judged(damaged);
}

/// The way in which a program runs its rounds is one of those that the problem
/// knows of, so that one of these takes no longer and needs no more.
TEST(CheckPlan, RefusesRoundsThatAlwaysNeedMore) {
  const Index sound = *withinPercent(roundsText(), 70);
  EXPECT_EQ(judged(sound), "");
  auto withRaised = [&](auto raise) {
    Index damaged = sound;
    // There is room for more.
    planOf(damaged).memoryBudget += 1 << 20;
    inProblem([&](RecomputeProblem &problem, RecomputeSolution &solution) {
      ASSERT_FALSE(problem.loops.empty());
      ASSERT_FALSE(problem.loops.front().floors.empty());
      for (RecomputeProblem::Loop &loop : problem.loops)
        for (auto *ways : {&loop.rows, &loop.floors})
          for (RecomputeProblem::Loop::Row &way : *ways)
            raise(way);
      solution.budget += 1 << 20;
      dropProof(problem, solution);
    })(damaged);
    return judged(damaged);
  };
  using Row = RecomputeProblem::Loop::Row;
  EXPECT_EQ(withRaised([](Row &) {}), "");
  std::string needs = withRaised([](Row &way) { way.bytes += 1 << 20; });
  EXPECT_NE(needs.find("while it runs"), std::string::npos) << needs;
  std::string takes = withRaised([](Row &way) { way.cost *= 10; });
  EXPECT_NE(takes.find("predicted to take"), std::string::npos) << takes;
}

/// Lifetimes may be longer than values are needed, but prove nothing then.
TEST(CheckPlan, BoundsOfThePackingFollowFromTheProgram) {
  auto linesOf = [](const Index &index) {
    auto claims = package::checkPlans(index);
    auto *proved = std::get_if<package::ProvedClaims>(&claims);
    return proved ? (*proved)[1] : std::get<package::FalseClaim>(claims).text;
  };
  ASSERT_NE(linesOf(planned()).find("proved smallest"), std::string::npos)
      << linesOf(planned());
  // A value that nothing writes or reads, behind all others, for all times.
  Index damaged = planned();
  Plan &plan = planOf(damaged);
  for (Segment &segment : damaged.segments)
    if (segment.kind == SegmentKind::temporaries) {
      plan.buffers.push_back(
          {uint32_t(&segment - damaged.segments.data()), segment.bytes, 64});
      segment.bytes += 64;
    }
  PlannedValue added = plan.values.front();
  added.buffer = uint32_t(plan.buffers.size() - 1);
  added.bytes = 64;
  added.lifetimes = {{0, plan.operations.back().end * 2}};
  plan.values.push_back(added);
  plan.temporariesBound += 64;
  plan.memoryBudget += 64;
  for (Certificate &certificate : damaged.entryPoints.front().certificates)
    if (certificate.kind == "offset-packing")
      for (const Segment &segment : damaged.segments)
        if (segment.kind == SegmentKind::temporaries)
          certificate.text = llvm::formatv("arena {0} bytes, bound {1} bytes",
                                           segment.bytes, segment.bytes);
  // The budget leaves more.
  inProblem([](RecomputeProblem &problem, RecomputeSolution &solution) {
    solution.budget += 64;
    dropProof(problem, solution);
  })(damaged);
  std::string line = linesOf(damaged);
  EXPECT_EQ(line.find("proved smallest"), std::string::npos) << line;
  EXPECT_NE(line.find("not repeated here"), std::string::npos) << line;
}

/// A kernel runs the nodes that it says it runs, and no others.
TEST(CheckPlan, RefusesFalseJoins) {
  const Index &sound = plannedWithJoins();
  ASSERT_EQ(judged(sound), "");
  auto refused = [&](const char *what, size_t at,
                     std::function<void(PlannedOperation &)> change) {
    Index damaged = sound;
    change(planOf(damaged).operations[at]);
    ASSERT_NE(damaged, sound) << what;
    EXPECT_NE(judged(damaged), "") << what << ", operation " << at;
  };
  size_t joins = 0;
  for (size_t i = 0; i < planOf(sound).operations.size(); ++i) {
    const PlannedOperation &operation = planOf(sound).operations[i];
    if (operation.node < 0)
      continue;
    refused("a copy that is not there", i, [](PlannedOperation &changed) {
      changed.joinedNodes.push_back(changed.node + 2);
    });
    if (operation.joinedNodes.empty())
      continue;
    ++joins;
    refused("no copy", i,
            [](PlannedOperation &changed) { changed.joinedNodes.clear(); });
    for (int32_t by : {-1, 1})
      refused("another copy", i, [&](PlannedOperation &changed) {
        changed.joinedNodes.front() += by;
      });
  }
  EXPECT_GE(joins, 2u);
}

/// What is computed in parts is another node than its kernel, reads what is
/// there by then, and writes its own results.
TEST(CheckPlan, RefusesFalseParts) {
  const Index &sound = plannedInParts();
  ASSERT_EQ(judged(sound), "");
  std::vector<size_t> parts = partsIn(planOf(sound));
  ASSERT_GT(parts.size(), 3u);
  auto refused = [&](const char *what, size_t part,
                     std::function<void(Index &, PlannedOperation &)> change) {
    Index damaged = sound;
    change(damaged, planOf(damaged).operations[part]);
    ASSERT_NE(damaged, sound) << what;
    EXPECT_NE(judged(damaged), "") << what << ", operation " << part;
  };
  const Plan &plan = planOf(sound);
  for (size_t part : parts) {
    const PlannedOperation &operation = plan.operations[part];
    for (int32_t other : {operation.node - 1, operation.node + 1})
      refused("another part", part, [&](Index &, PlannedOperation &changed) {
        changed.node = other;
      });
    refused(
        "a part that is not marked", part,
        [](Index &, PlannedOperation &changed) { changed.recomputed = false; });
    // The program and its plan agree on a value that is gone by then.
    for (size_t argument = 0; argument < operation.reads.size(); ++argument)
      for (int32_t value = 0; value < int32_t(plan.values.size()); ++value) {
        auto isLive = [&](const Lifetime &lifetime) {
          return lifetime.begin <= 2 * operation.begin &&
                 2 * operation.begin < lifetime.end;
        };
        const PlannedValue &gone = plan.values[value];
        int32_t read = operation.reads[argument];
        Slice place = plan.buffers[gone.buffer];
        place.bytes = gone.bytes;
        if (read < 0 || gone.bytes != plan.values[read].bytes ||
            sound.segments[place.segment].kind != SegmentKind::temporaries ||
            std::ranges::any_of(gone.lifetimes, isLive))
          continue;
        refused("a value that is gone", part,
                [&](Index &index, PlannedOperation &changed) {
                  changed.reads[argument] = value;
                  (*argumentsOf(index,
                                program(index).instructions[part]))[argument] =
                      place;
                });
      }
    // What the kernel computed first instead of what the part computes now.
    for (size_t argument = 0; argument < operation.writes.size(); ++argument)
      for (int32_t value : plan.operations[part - 1].writes)
        if (operation.writes[argument] >= 0 && value >= 0)
          refused("another's result", part,
                  [&](Index &, PlannedOperation &changed) {
                    changed.writes[argument] = value;
                  });
    // The solution repeats another node than the program.
    refused("another node in the solution", part,
            [&](Index &index, PlannedOperation &) {
              inSolution([&](solver::RecomputeSolution &solution) {
                auto last = std::find(solution.order.rbegin(),
                                      solution.order.rend(), operation.node);
                *last = operation.node - 1;
              })(index);
            });
  }
}

/// State goes to memory of the host and comes back, while a result takes it.
Index waitingIndex() {
  Index index;
  index.name = "waiting";
  index.deviceClasses = {{"cuda", "sm_80", {}}};
  index.gpuModules = {{"sm_80", 80, 525, 12000, 0, {}}};
  index.sections = {{SectionKind::ptx, 0, 1}};
  index.memorySpaces = {{"device"}, {"pinned"}};
  index.segments = {{"state", SegmentKind::state, 0, 0, 64, 64},
                    {"results", SegmentKind::results, 0, 0, 64, 64},
                    {"waiting", SegmentKind::temporaries, 1, 0, 64, 64}};
  const Slice state{0, 0, 64}, result{1, 0, 64}, waiting{2, 0, 64};
  auto addTensor = [&](const char *name, int32_t argument, int32_t result,
                       Slice place) {
    index.storages.push_back({ElementType::i32, {16}, place});
    Tensor &tensor = index.tensors.emplace_back();
    tensor.name = name;
    tensor.type = ElementType::i32;
    tensor.shape = {16};
    tensor.argument = argument;
    tensor.result = result;
    tensor.held.storages = {uint32_t(index.storages.size()) - 1};
  };
  addTensor("x", 0, 0, state);
  addTensor("before", -1, 1, result);
  index.callees = {{CalleeKind::copy, "copy", "", {0}}};
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.arguments = {0};
  step.results = {0, 1};
  Plan &plan = step.plan.emplace();
  plan.texts = {"16xi32", "x"};
  plan.buffers = {state, result, waiting};
  for (uint32_t buffer : {0, 2, 1, 0})
    plan.values.push_back({buffer, 64, 0, 1, false, {{1, 10}}});
  plan.initial = {0};
  plan.results = {3, 2};
  plan.temporariesBound = 64;
  auto add = [&](Instruction instruction, uint32_t queue,
                 std::vector<int32_t> reads, std::vector<int32_t> writes) {
    instruction.queue = queue;
    step.program.instructions.push_back(std::move(instruction));
    PlannedOperation &operation = plan.operations.emplace_back();
    operation.begin = operation.end = int64_t(plan.operations.size()) - 1;
    operation.source = 1;
    operation.reads = std::move(reads);
    operation.writes = std::move(writes);
  };
  const Instruction wait{InstructionKind::wait};
  auto copy = [](Slice from, Slice to) {
    return Instruction{InstructionKind::invoke, 0, 0, {from, to}};
  };
  add(copy(state, waiting), 2, {0, -1}, {-1, 1});
  add(copy(state, result), 0, {0, -1}, {-1, 2});
  add(wait, 2, {}, {});
  add(copy(waiting, state), 3, {1, -1}, {-1, 3});
  add(wait, 3, {}, {});
  return index;
}

TEST(CheckPlan, FollowsEveryQueue) {
  EXPECT_EQ(judged(waitingIndex()), "");
  auto inQueue = [](size_t instruction, uint32_t queue) {
    Index index = waitingIndex();
    program(index).instructions[instruction].queue = queue;
    return judged(index);
  };
  auto says = [](const std::string &text, const char *part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(inQueue(2, 3), "instruction 3 (x) touches bytes that instruction 0 (x), "
                      "which is not awaited yet, works on");
  says(inQueue(4, 2), "a block ends before instruction 3 (x), which is not "
                      "awaited");
  says(inQueue(0, 4), "instruction 0 (x) is in queue 4, which there is not");
  says(inQueue(0, 1), "instruction 0 (x) is in queue 1, which is for "
                      "collectives");
  says(inQueue(0, 3), "instruction 0 (x) is in queue 3, which is for copies "
                      "from the host");
  says(inQueue(3, 2), "instruction 3 (x) is in queue 2, which is for copies to "
                      "the host");
  says(inQueue(2, 7),
       "instruction 2 (x) waits for queue 7, which there is not");
}

/// Numbers in the plan that name nothing are damage, never a crash.
TEST(CheckPlan, NumbersNameSomething) {
  const std::function<void(Plan &)> changes[] = {
      [](Plan &plan) { plan.values[3].buffer = 100'000; },
      [](Plan &plan) { plan.values[3].source = 100'000; },
      [](Plan &plan) { plan.operations[3].reads[0] = 100'000; },
      [](Plan &plan) { plan.operations[3].reads[0] = -2; },
      [](Plan &plan) { plan.operations[3].handovers = {1}; },
      [](Plan &plan) { plan.results[0] = -1; },
      [](Plan &plan) { plan.operations[3].end = INT64_MAX; },
      [](Plan &plan) { plan.operations[3].begin = INT64_MIN; },
      [](Plan &plan) { plan.values[3].lifetimes = {{INT64_MIN, INT64_MAX}}; },
      [](Plan &plan) { plan.initial.clear(); },
      [](Plan &plan) { plan.results.clear(); },
      [](Plan &plan) { plan.operations.clear(); },
      [](Plan &plan) { plan.values.clear(); },
      [](Plan &plan) { plan.recomputationSolution = "recompute-solution 9"; },
  };
  for (const auto &change : changes) {
    Index damaged = planned();
    change(planOf(damaged));
    EXPECT_NE(judged(damaged), "");
  }
}

} // namespace
