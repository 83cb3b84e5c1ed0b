//===- WaitingValuesTest.cpp - What is refused of values on the host ------===//
//
// Compiles a step in scheduled form in which two values of a GPU wait in memory
// of its host, damages program and plan alike, so that neither contradicts the
// other, and expects the checker to name a false claim.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Reader.h"
#include "tenon/Format/Writer.h"
#include "tenon/Package/CheckPlan.h"
#include "test/Unit/Format/TemporaryFolder.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;

namespace {

constexpr const char *type = "tensor<16xf32>";

/// A group that yields `body`, a line of text and the name of its value.
std::string group(const char *kind, const char *name, const char *place,
                  std::vector<const char *> operands,
                  std::pair<std::string, const char *> body, int beside = 0) {
  std::string names, types, arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const char *comma = i ? ", " : "";
    names += llvm::formatv("{0}%{1}", comma, operands[i]);
    types += llvm::formatv("{0}{1}", comma, type);
    arguments += llvm::formatv("{0}%p{1}: {2}", comma, i, type);
  }
  return llvm::formatv(
      "  %{0} = step.group {1}({2}) attributes {{step.beside = {3} : i64, "
      "step.places = [#step.place<{4}>]} : ({5}) -> {6} {{\n  ^bb0({7}):\n"
      "{8}    step.yield {9} : {6}\n  }\n",
      name, kind, names, beside, place, types, type, arguments, body.first,
      body.second);
}

/// A group of one operation on one or two operands.
std::string pointwise(const char *name, const char *place,
                      const char *operation,
                      std::vector<const char *> operands) {
  return group(
      "elementwise", name, place, operands,
      {llvm::formatv("    %r = stablehlo.{0} %p0{1} : {2}\n", operation,
                     operands.size() == 2 ? ", %p1" : "", type),
       "%r"});
}

/// One that cannot be in place.
std::string reversed(const char *name, const char *place, const char *operand) {
  return group("elementwise", name, place, {operand},
               {llvm::formatv(
                    "    %r = stablehlo.reverse %p0, dims = [0] : {0}\n", type),
                "%r"});
}

std::string save(const char *name, const char *place, const char *operand,
                 int beside) {
  return group("save", name, place, {operand}, {"", "%p0"}, beside);
}

std::string load(const char *name, const char *place, const char *operand,
                 int beside) {
  return group("load", name, place, {operand}, {"", "%p0"}, beside);
}

/// `a` and `b` wait on the host while others take their places.
std::string waitingText() {
  return llvm::formatv(R"(
func.func @main(%w: {0} {{step.name = "w", step.aliases = ["arg0"], step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: {0} {{step.name = "x", step.aliases = ["arg1"], step.role = #step.role<batch>})
    -> ({0} {{step.name = "w", step.aliases = ["result0"]}, {0} {{step.name = "y", step.aliases = ["result1"]})
    attributes {{step.argument_places = [#step.place<state, 0>, #step.place<batch, 0>],
                step.result_places = [#step.place<state, 0>, #step.place<results, 0>],
                step.segment_bytes = {{batch = 64 : i64, constants = 0 : i64, host = 128 : i64, results = 64 : i64, state = 64 : i64, temporaries = 192 : i64},
                step.temporaries_bound = 128 : i64} {{
)",
                       type)
             .str() +
         pointwise("a", "temporaries, 0", "tanh", {"x"}) +
         save("sa", "host, 0", "a", 2) +
         pointwise("b", "temporaries, 64", "multiply", {"a", "w"}) +
         save("sb", "host, 64", "b", 2) +
         reversed("c", "temporaries, 128", "b") +
         reversed("d", "temporaries, 0", "c") +
         reversed("e", "temporaries, 64", "d") +
         load("lb", "temporaries, 128", "sb", 1) +
         reversed("f", "results, 0", "e") +
         load("la", "temporaries, 64", "sa", 1) +
         pointwise("g", "results, 0", "multiply", {"f", "lb"}) +
         pointwise("y", "results, 0", "add", {"g", "la"}) +
         pointwise("n", "state, 0", "subtract", {"w", "y"}) +
         llvm::formatv("  return %n, %y : {0}, {0}\n}\n", type).str();
}

const Index &waiting() {
  static const Index index = [] {
    test::TemporaryFolder folder;
    test::writeWhole(folder.file("plan.mlir"), waitingText());
    driver::CompileOptions options;
    options.input = folder.file("plan.mlir");
    options.from = "plan";
    options.target = driver::OutputTarget::cuda;
    options.architectures = "sm_90";
    options.noCubins = true;
    driver::CompileResult result = driver::compile(options);
    EXPECT_EQ(result.code, exitOk);
    std::string error;
    auto reader = Reader::fromBytes(result.file, error);
    EXPECT_TRUE(reader) << error;
    return reader ? reader->index() : Index();
  }();
  return index;
}

/// What is proved, or what is false.
std::variant<package::ProvedClaims, package::FalseClaim>
judge(const Index &index) {
  std::vector<SectionBytes> sections;
  std::vector<std::byte> zeros;
  for (const Section &section : index.sections)
    zeros.resize(std::max<size_t>(zeros.size(), section.bytes));
  for (const Section &section : index.sections)
    sections.push_back({section.kind, std::span(zeros).first(section.bytes)});
  std::string error;
  auto reader = Reader::fromBytes(write(index, sections), error);
  if (!reader)
    return package::FalseClaim{error};
  return package::checkPlans(reader->index());
}

std::string judged(const Index &index) {
  auto result = judge(index);
  auto *wrong = std::get_if<package::FalseClaim>(&result);
  return wrong ? wrong->text : "";
}

std::vector<Instruction> &instructionsOf(Index &index) {
  return index.entryPoints.front().program.instructions;
}
Plan &planOf(Index &index) { return *index.entryPoints.front().plan; }

/// The numbers of instructions of a kind in a queue.
std::vector<size_t> numbersOf(InstructionKind kind, uint32_t queue) {
  std::vector<size_t> numbers;
  Index index = waiting();
  for (size_t i = 0; i < instructionsOf(index).size(); ++i)
    if (instructionsOf(index)[i].kind == kind &&
        instructionsOf(index)[i].queue == queue)
      numbers.push_back(i);
  return numbers;
}

/// The number of the segment that has what waits.
uint32_t host() {
  auto found = std::ranges::find(waiting().segments, "host", &Segment::name);
  return uint32_t(found - waiting().segments.begin());
}

/// The changed file is refused, and the reason speaks of `part`, which is empty
/// where several are as good.
void expectRefusal(const std::string &part, auto change) {
  Index index = waiting();
  change(index);
  EXPECT_NE(index, waiting());
  const std::string wrong = judged(index);
  EXPECT_NE(wrong, "");
  EXPECT_NE(wrong.find(part), std::string::npos)
      << "expected '" << part << "', found '" << wrong << "'";
}

/// Has instruction `from` run as number `to`, in the plan as well, which then
/// says that all values live all the time.
void move(Index &index, size_t from, size_t to) {
  auto shift = [&](auto &list) {
    auto at = [&](size_t i) { return list.begin() + std::ptrdiff_t(i); };
    if (from < to)
      std::rotate(at(from), at(from + 1), at(to + 1));
    else
      std::rotate(at(to), at(from), at(from + 1));
  };
  std::vector<int64_t> times;
  for (const PlannedOperation &operation : planOf(index).operations)
    times.push_back(operation.begin);
  shift(instructionsOf(index));
  shift(planOf(index).operations);
  for (size_t i = 0; i < times.size(); ++i)
    planOf(index).operations[i].begin = planOf(index).operations[i].end =
        times[i];
  for (PlannedValue &value : planOf(index).values)
    value.lifetimes = {{0, 2 * times.back() + 2}};
}

TEST(WaitingValues, AreProved) {
  auto result = judge(waiting());
  auto *proved = std::get_if<package::ProvedClaims>(&result);
  ASSERT_TRUE(proved) << std::get<package::FalseClaim>(result).text;
  auto says = [&](const char *text) {
    return std::ranges::find(*proved, text) != proved->end();
  };
  EXPECT_TRUE(says("waiting        2 buffers do not overlap; pinned memory of "
                   "the host 128 B"));
  EXPECT_TRUE(says("memory         384 B in all segments of the device, no budget"));
  EXPECT_EQ(numbersOf(InstructionKind::invoke, 2).size(), 2u);
  EXPECT_EQ(numbersOf(InstructionKind::invoke, 3).size(), 2u);
}

TEST(WaitingValues, AreAwaited) {
  for (uint32_t queue : {2u, 3u}) {
    const auto waits = numbersOf(InstructionKind::wait, queue);
    EXPECT_EQ(waits.size(), 2u);
    for (size_t i : waits) {
      SCOPED_TRACE("wait " + std::to_string(i));
      expectRefusal("not awaited", [&](Index &index) {
        auto erase = [&](auto &list) {
          list.erase(list.begin() + std::ptrdiff_t(i));
        };
        erase(instructionsOf(index));
        erase(planOf(index).operations);
      });
      expectRefusal("not awaited", [&](Index &index) {
        instructionsOf(index)[i].queue = 5 - queue;
      });
      expectRefusal("not awaited",
                    [&](Index &index) { ++instructionsOf(index)[i].pending; });
    }
  }
}

TEST(WaitingValues, MoveInTheirQueue) {
  for (uint32_t queue : {2u, 3u})
    for (size_t i : numbersOf(InstructionKind::invoke, queue)) {
      auto refusedIn = [&](uint32_t other, const std::string &why) {
        expectRefusal(
            "is in queue " + std::to_string(other) + ", which " + why,
            [&](Index &index) { instructionsOf(index)[i].queue = other; });
      };
      refusedIn(1, "is for collectives");
      refusedIn(5 - queue, queue == 2 ? "is for copies from the host"
                                      : "is for copies to the host");
      refusedIn(4, "there is not");
    }
}

TEST(WaitingValues, AreSavedBeforeTheyAreLoaded) {
  const auto saves = numbersOf(InstructionKind::invoke, 2),
             loads = numbersOf(InstructionKind::invoke, 3);
  for (size_t i = 0; i < 2; ++i) {
    const size_t itsSave = saves[i], itsLoad = loads[1 - i];
    expectRefusal("but nothing is there",
                  [&](Index &index) { move(index, itsLoad, itsSave); });
    // What it saves is overwritten then, or under way elsewhere.
    expectRefusal("", [&](Index &index) { move(index, itsSave, itsLoad); });
  }
}

TEST(WaitingValues, LieWhereThePlanSays) {
  for (uint32_t queue : {2u, 3u})
    for (size_t i : numbersOf(InstructionKind::invoke, queue))
      for (size_t operand : {0, 1})
        expectRefusal("", [&](Index &index) {
          instructionsOf(index)[i].operands[operand].offset ^= 64;
        });
  // Both at one place, in the plan as well.
  expectRefusal("not awaited", [&](Index &index) {
    for (Slice &buffer : planOf(index).buffers)
      if (buffer.segment == host())
        buffer.offset = 0;
    for (Instruction &instruction : instructionsOf(index))
      for (Slice &operand : instruction.operands)
        if (operand.segment == host())
          operand.offset = 0;
  });
  expectRefusal("placing what waits on the host: arena 192: the buffers reach "
                "128",
                [&](Index &index) { index.segments[host()].bytes = 192; });
}

TEST(WaitingValues, LiveWhileTheyWait) {
  auto withLifetimes = [&](std::vector<Lifetime> lifetimes) {
    return [=](Index &index) {
      for (PlannedValue &value : planOf(index).values)
        if (planOf(index).buffers[value.buffer].segment == host())
          value.lifetimes = lifetimes;
    };
  };
  expectRefusal("when it is not live", withLifetimes({}));
  // Two buffers that share bytes live at once.
  expectRefusal("placing what waits on the host: ", [&](Index &index) {
    Plan &plan = planOf(index);
    PlannedValue another =
        *std::ranges::find_if(plan.values, [&](const PlannedValue &value) {
          return plan.buffers[value.buffer].segment == host();
        });
    plan.buffers.push_back(plan.buffers[another.buffer]);
    another.buffer = uint32_t(plan.buffers.size()) - 1;
    plan.values.push_back(another);
  });
}

TEST(WaitingValues, AreNobodyElses) {
  expectRefusal("touches memory of the host, which only copies may",
                [&](Index &index) {
                  instructionsOf(index).front().operands[0] = {host(), 0, 64};
                });
  const std::string otherThan =
      "lies in memory of a GPU's host and has other than temporaries of a GPU";
  for (SegmentKind kind : {SegmentKind::state, SegmentKind::results})
    expectRefusal(otherThan,
                  [&](Index &index) { index.segments[host()].kind = kind; });
  // A budget counts memory of the processor.
  expectRefusal(otherThan,
                [&](Index &index) { index.deviceClasses[0].name = "cpu"; });
}

/// Memory of the host does not count, that of the GPU does.
TEST(WaitingValues, LeaveTheBudgetToOthers) {
  auto judgedWithin = [](uint64_t budget) {
    Index index = waiting();
    planOf(index).memoryBudget = budget;
    return judged(index);
  };
  const std::string exceeded = "the segments take 384 bytes, the budget is ";
  EXPECT_EQ(judgedWithin(383), exceeded + "383");
  EXPECT_EQ(judgedWithin(384).find(exceeded), std::string::npos);
}

} // namespace
