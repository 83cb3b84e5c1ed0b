//===- ToyStageTest.cpp - A stage that the tree does not know -------------===//
//
// A stage is one entry: put into the walk, it runs in its place, has its own
// line in the report, its own form and text to stop at and resume from, and
// options that a text records, without a word about it elsewhere.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"

#include "test/Unit/Format/TemporaryFolder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

constexpr const char *step = R"(
func.func @main(%w: tensor<8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %w, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
})";

/// Marks the step as often as its option says, and holds a text against that.
struct Toy {
  int64_t times = 1;
  int runs = 0;

  Stage entry() {
    StageOption option{.flag = "--toy-times",
                       .isGiven = [](const CompileOptions &) { return false; },
                       .key = "toy_times",
                       .expected = "an integer",
                       .isRequired = true,
                       .read =
                           [this](Attribute value, ResolvedOptions &) {
                             auto number = dyn_cast<IntegerAttr>(value);
                             times = number ? number.getInt() : 0;
                             return bool(number);
                           },
                       .write = [this](const ResolvedOptions &,
                                       Builder &builder) -> Attribute {
                         return builder.getI64IntegerAttr(times);
                       }};
    auto mark = [this](Program &program, StageRun &run) {
      ++runs;
      auto main = program.module->lookupSymbol<func::FuncOp>("main");
      main->setAttr("toy.marks", Builder(run.context).getI64IntegerAttr(times));
      run.details["marks"] = times;
      return exitOk;
    };
    auto check = [this](Program &program, StageRun &run) {
      auto main = program.module->lookupSymbol<func::FuncOp>("main");
      auto marks = main->getAttrOfType<IntegerAttr>("toy.marks");
      return marks && marks.getInt() == times ? exitOk : run.blame;
    };
    return {.name = "toy",
            .form = "toy form",
            .summary = "mark the step",
            .options = {option},
            .run = mark,
            .checkForm = check};
  }
};

struct ToyStage : testing::Test {
  ToyStage() {
    auto behind = llvm::find_if(
        walk, [](const Stage &stage) { return stage.name == "simplify"; });
    walk.insert(std::next(behind), toy.entry());
    options.input = write("step.mlir", step);
    options.cpu = "x86-64-v3";
    options.verifyForms = true;
  }

  std::string write(const char *name, const std::string &text) {
    test::writeWhole(folder.file(name), text);
    return folder.file(name);
  }

  test::TemporaryFolder folder;
  Toy toy;
  Walk walk = walkTo(OutputTarget::cpu);
  CompileOptions options;
};

TEST_F(ToyStage, RunsInItsPlace) {
  CompileResult result = compile(options, walk);
  ASSERT_EQ(result.code, exitOk);
  EXPECT_FALSE(result.file.empty());
  EXPECT_EQ(toy.runs, 1);
  std::vector<std::string> names;
  for (const StageReport &report : result.stages)
    names.push_back(report.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"read", "import", "simplify", "toy",
                                      "precision", "shard", "group", "plan",
                                      "lower", "join", "codegen", "package"}));
  EXPECT_EQ(result.stages[3].details.getInteger("marks"), 1);
  EXPECT_FALSE(result.stages[4].details.getInteger("marks"));
}

TEST_F(ToyStage, IsStoppedAtAndResumedFrom) {
  toy.times = 7;
  options.to = "toy";
  CompileResult stopped = compile(options, walk);
  ASSERT_EQ(stopped.code, exitOk);
  EXPECT_NE(stopped.text.find("toy.marks = 7"), std::string::npos);
  EXPECT_NE(stopped.text.find("toy_times = 7"), std::string::npos);
  CompileOptions resumed = options;
  resumed.input = write("toy.mlir", stopped.text);
  resumed.from = "toy";
  resumed.to = "";
  toy.times = 1; // the text says another number
  CompileResult result = compile(resumed, walk);
  EXPECT_EQ(result.code, exitOk);
  EXPECT_EQ(toy.times, 7);
  EXPECT_EQ(toy.runs, 1);
  EXPECT_FALSE(result.file.empty());
}

TEST_F(ToyStage, HoldsATextAgainstItsForm) {
  options.to = "toy";
  std::string text = compile(options, walk).text;
  size_t marks = text.find("toy.marks = 1");
  ASSERT_NE(marks, std::string::npos);
  options.input =
      write("edited.mlir", text.replace(marks, 13, "toy.marks = 2"));
  options.from = "toy";
  options.to = "";
  EXPECT_EQ(compile(options, walk).code, exitUserError);
}

TEST_F(ToyStage, IsKnownByName) {
  ASSERT_TRUE(findForm(walk, "toy"));
  EXPECT_EQ(findForm(walk, "package"), nullptr); // leaves no form
  EXPECT_EQ(formNames(walk),
            "import, simplify, toy, precision, shard, group, plan, lower, "
            "codegen");
  EXPECT_EQ(findForm(walkTo(OutputTarget::cpu), "toy"), nullptr);
  options.to = "game";
  EXPECT_EQ(compile(options, walk).code, exitBadUsage);
}

} // namespace
