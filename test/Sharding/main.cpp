//===- main.cpp - Partitioned steps, simulated on all devices -------------===//
//
//   TenonShardingCheck run FILE --mesh=M [--layouts=FILE] [--random=SEED]
//                      [--integers=LEAST:MOST]
//   TenonShardingCheck every FILE --mesh=M [--most=N] [--integers=LEAST:MOST]
//   TenonShardingCheck mutate FILE --mesh=M [--most=N] [--random=SEED]
//                      [--operations=N] [--integers=LEAST:MOST]
//   TenonShardingCheck fold FILE --mesh=M [--most=N] [--random=SEED]
//                      [--errors=N] [--integers=LEAST:MOST]
//
// With --behind=collectives or --behind=expanded, all of them go on through the
// passes behind the partitioner; the latter leaves collectives bytes to move.
//
// `run` partitions @main with the layouts that are asked for, or with random
// ones, and prints its collectives and how far results are from those of the
// whole step. `every` takes each function of a file alone, as @main, and goes
// through all layouts of its arguments and results; N of them, drawn by chance,
// where there are more. Both end with 1 if anything differs, or if the checker
// refuses what the partitioner wrote.
//
// `mutate` makes N errors in what the partitioner writes for the functions of a
// file under random layouts, simulates each, and has the checker look at it: an
// error that changes a result and is accepted ends it with 1. A device that
// evaluates more than 100,000 operations, or N, is one that does not end.
//
// `fold` partitions the functions of a file N times under random layouts, has
// fewer ranks run the devices along the first axis, compares bits between their
// numbers, and makes errors in what a rank runs (Fold.h).
//
//===----------------------------------------------------------------------===//

#include "../Random/Random.h"
#include "Fold.h"
#include "Mutate.h"
#include "Simulate.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/ShardingCheck/CheckPartition.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;
using reference::Tensors;

namespace {

struct Options {
  std::string command, file, layouts;
  Mesh mesh;
  std::optional<uint64_t> random;
  int64_t most = 1000, mostOperations = 100'000, errors = 10;
  Behind behind = Behind::none;
  Inputs inputs;
};

int fail(const llvm::Twine &why) {
  llvm::errs() << "error: " << why << "\n";
  return 2;
}

FailureOr<Tensors> interpret(ModuleOp module,
                             llvm::ArrayRef<reference::Tensor> arguments) {
  reference::Interpreter whole(Subnormals::keep);
  return whole.run(module.lookupSymbol<func::FuncOp>("main"), arguments);
}

/// Whether devices that are neighbours along the first axis hold neighbours.
bool isForShards(const Layout &layout, const Mesh &mesh,
                 llvm::ArrayRef<int64_t> shape) {
  const AxisPart first{0, 1, mesh.axes[0].size};
  for (auto [parts, extent] : llvm::zip_equal(layout.dims, shape))
    for (const AxisPart &part : parts)
      if (part.axis == 0 && (part != first || parts.back() != first ||
                             extent % countOf(parts) != 0))
        return false;
  return true;
}

/// With `forShards`, of those that ranks can run several devices of.
AskedLayouts randomLayouts(func::FuncOp main, const Mesh &mesh, uint64_t seed,
                           bool forShards = false) {
  random::Random random(seed);
  AskedLayouts asked;
  auto draw = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    auto all = allLayouts(mesh, tensor.getRank());
    if (forShards)
      llvm::erase_if(all, [&](const Layout &layout) {
        return !isForShards(layout, mesh, tensor.getShape());
      });
    return all[random.below(all.size())];
  };
  for (Type type : main.getArgumentTypes())
    asked.arguments.push_back(draw(type));
  for (Type type : main.getResultTypes())
    asked.results.push_back(draw(type));
  // State is replaced where it lies.
  for (unsigned at = 0; at < main.getNumArguments(); ++at)
    if (auto successor =
            main.getArgAttrOfType<IntegerAttr>(at, "step.successor"))
      asked.results[successor.getInt()] = asked.arguments[at];
  return asked;
}

int run(ModuleOp module, Options &options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  AskedLayouts asked;
  if (options.random) {
    asked = randomLayouts(main, options.mesh, *options.random);
  } else {
    std::string text;
    if (!options.layouts.empty()) {
      auto file = llvm::MemoryBuffer::getFile(options.layouts);
      if (!file)
        return fail("cannot read " + options.layouts);
      text = (*file)->getBuffer().str();
    }
    auto read = readAskedLayouts(module, options.mesh, text, options.layouts);
    if (failed(read))
      return 2;
    asked = std::move(*read);
  }
  Tensors arguments = makeInputs(main, options.inputs);
  auto expected = interpret(module, arguments);
  if (failed(expected))
    return 2;
  for (auto [at, result] : llvm::enumerate(*expected))
    for (const reference::Element &element : result.elements)
      if (reference::isFloat(result.elementType()) &&
          element.real != element.real)
        return fail("result " + llvm::Twine(at) +
                    " has NaN, which hides differences");
  Comparison found = compare(module, options.mesh, asked, arguments, *expected,
                             options.behind);
  if (!found.failure.empty()) {
    llvm::outs() << found.failure << "\n";
    return 1;
  }
  for (auto &[name, count] : found.collectives)
    llvm::outs() << name << " " << count << "\n";
  llvm::outs() << "farthest " << llvm::formatv("{0:e2}", found.farthest)
               << "\n";
  return 0;
}

/// Puts a copy of the function into the module, under the name of a step.
func::FuncOp addMain(ModuleOp module, func::FuncOp function) {
  auto main = cast<func::FuncOp>(function->clone());
  main.setSymName("main");
  module.push_back(main);
  return main;
}

/// All layouts of one function.
bool everyLayout(func::FuncOp function, const Options &options) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  func::FuncOp main = addMain(*module, function);
  Tensors arguments = makeInputs(main, options.inputs);
  auto expected = interpret(*module, arguments);
  if (failed(expected))
    return false;
  SmallVector<Type> types(main.getArgumentTypes());
  llvm::append_range(types, main.getResultTypes());
  std::vector<std::vector<Layout>> choices;
  int64_t total = 1;
  for (Type type : types) {
    choices.push_back(
        allLayouts(options.mesh, cast<RankedTensorType>(type).getRank()));
    total *= int64_t(choices.back().size());
  }
  bool isSampled = total > options.most;
  random::Random random(options.inputs.seed + 1);
  std::map<std::string, int64_t> collectives;
  for (int64_t number = 0; number < std::min(total, options.most); ++number) {
    AskedLayouts asked;
    int64_t rest = number;
    std::string text;
    for (size_t at = 0; at < types.size(); ++at) {
      int64_t count = int64_t(choices[at].size());
      int64_t pick = isSampled ? random.below(count) : rest % count;
      rest /= count;
      text += " " + choices[at][pick].text(options.mesh);
      (at < main.getNumArguments() ? asked.arguments : asked.results)
          .push_back(choices[at][pick]);
    }
    Comparison found = compare(*module, options.mesh, asked, arguments,
                               *expected, options.behind);
    for (auto &[name, count] : found.collectives)
      collectives[name] += count;
    if (!found.failure.empty()) {
      llvm::outs() << function.getSymName() << " with" << text << ": "
                   << found.failure << "\n";
      return false;
    }
  }
  llvm::outs() << function.getSymName() << ": " << std::min(total, options.most)
               << " of " << total << " splits";
  for (auto &[name, count] : collectives)
    llvm::outs() << ", " << name << " " << count;
  llvm::outs() << "\n";
  return true;
}

/// Errors in partitioned functions: how many change what they compute, and how
/// many of those the checker finds.
int mutateAll(ModuleOp functions, const Options &options) {
  random::Random random(options.random.value_or(1));
  struct Program {
    OwningOpRef<ModuleOp> module;
    Tensors arguments, expected;
  };
  std::vector<Program> programs;
  for (auto function : functions.getOps<func::FuncOp>()) {
    Program program{ModuleOp::create(function.getLoc()), {}, {}};
    func::FuncOp main = addMain(*program.module, function);
    program.arguments = makeInputs(main, options.inputs);
    auto expected = interpret(*program.module, program.arguments);
    if (failed(expected))
      return 2;
    program.expected = std::move(*expected);
    programs.push_back(std::move(program));
  }
  // What does not verify or run says so; here that is one of the answers.
  ScopedDiagnosticHandler quiet(functions.getContext(),
                                [](Diagnostic &) { return success(); });
  int64_t changed = 0, unchanged = 0, unchangedRefused = 0, correct = 0;
  for (int64_t made = 0; made < options.most;) {
    Program &program = programs[size_t(random.below(int64_t(programs.size())))];
    auto main = program.module->lookupSymbol<func::FuncOp>("main");
    OwningOpRef<ModuleOp> parts(program.module->clone());
    if (failed(partition(*parts, options.mesh,
                         randomLayouts(main, options.mesh, random.bits()))))
      return fail("is not partitioned");
    if (auto fault = shardingcheck::checkPartition(*program.module, *parts))
      return fail("a correct program is refused: " + fault->message);
    if (std::string wrong = schedule(*program.module, *parts, options.behind);
        !wrong.empty())
      return fail("a correct program is refused " + wrong);
    double apart = 0;
    if (std::string wrong = differenceOf(
            parts->lookupSymbol<func::FuncOp>("main"), options.mesh,
            program.arguments, program.expected, apart, options.mostOperations);
        !wrong.empty())
      return fail("without an error, the step " + wrong);
    ++correct;
    for (int64_t tries = 0; tries < 20 && made < options.most; ++tries) {
      OwningOpRef<ModuleOp> mutant(parts->clone());
      std::string what = mutate(*mutant, options.mesh.devices(), random);
      if (what.empty() || failed(verify(*mutant)))
        continue;
      ++made;
      double farthest = 0;
      std::string wrong =
          differenceOf(mutant->lookupSymbol<func::FuncOp>("main"), options.mesh,
                       program.arguments, program.expected, farthest,
                       options.mostOperations);
      auto fault = shardingcheck::checkPartition(*program.module, *mutant);
      if (wrong.empty()) {
        ++unchanged;
        unchangedRefused += fault.has_value();
        continue;
      }
      ++changed;
      if (fault)
        continue;
      llvm::outs() << "accepted, but wrong: " << what << ": " << wrong << "\n";
      parts->print(llvm::outs());
      mutant->print(llvm::outs());
      return 1;
    }
  }
  llvm::outs() << changed << " errors that change a result, all refused; "
               << unchanged << " that change none, " << unchangedRefused
               << " of them refused; " << correct
               << " correct programs, all accepted\n";
  return 0;
}

/// Partitioned functions on fewer ranks than they have devices.
int foldAll(ModuleOp functions, const Options &options) {
  random::Random random(options.random.value_or(1));
  ScopedDiagnosticHandler quiet(functions.getContext(),
                                [](Diagnostic &) { return success(); });
  FoldCounts counts;
  auto all = llvm::to_vector(functions.getOps<func::FuncOp>());
  for (int64_t made = 0; made < options.most; ++made) {
    func::FuncOp function = all[size_t(random.below(int64_t(all.size())))];
    OwningOpRef<ModuleOp> parts(ModuleOp::create(function.getLoc()));
    func::FuncOp main = addMain(*parts, function);
    Tensors arguments = makeInputs(main, options.inputs);
    auto expected = interpret(*parts, arguments);
    if (failed(expected) ||
        failed(partition(*parts, options.mesh,
                         randomLayouts(main, options.mesh, random.bits(),
                                       /*forShards=*/true))))
      return fail("is not partitioned");
    if (std::string wrong = foldAndCompare(
            *parts, options.mesh, arguments, *expected, options.errors,
            options.mostOperations, random, counts);
        !wrong.empty()) {
      llvm::outs() << function.getSymName() << ": " << wrong << "\n";
      return 1;
    }
  }
  llvm::outs() << counts.programs << " programs have the same bits on all "
               << "numbers of ranks, " << counts.refused
               << " layouts have no such form; " << counts.changed
               << " errors that change a bit, all refused; " << counts.unchanged
               << " that change none, " << counts.unchangedRefused
               << " of them refused\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Options options;
  std::string error;
  for (int at = 1; at < argc; ++at) {
    llvm::StringRef word = argv[at];
    auto number = [&](llvm::StringRef text, auto &to) {
      if (text.getAsInteger(10, to))
        error = "'" + text.str() + "' is no number";
    };
    if (word.consume_front("--mesh=")) {
      auto mesh = Mesh::parse(word, error);
      if (mesh)
        options.mesh = *mesh;
    } else if (word.consume_front("--layouts=")) {
      options.layouts = word.str();
    } else if (word.consume_front("--random=")) {
      number(word, options.random.emplace());
    } else if (word == "--behind=collectives") {
      options.behind = Behind::collectives;
    } else if (word == "--behind=expanded") {
      options.behind = Behind::expanded;
    } else if (word.consume_front("--most=")) {
      number(word, options.most);
    } else if (word.consume_front("--errors=")) {
      number(word, options.errors);
    } else if (word.consume_front("--operations=")) {
      number(word, options.mostOperations);
    } else if (word.consume_front("--integers=")) {
      number(word.split(':').first, options.inputs.leastInteger);
      number(word.split(':').second, options.inputs.mostInteger);
    } else if (options.command.empty()) {
      options.command = word.str();
    } else {
      options.file = word.str();
    }
  }
  if (!error.empty())
    return fail(error);
  if ((options.command != "run" && options.command != "every" &&
       options.command != "mutate" && options.command != "fold") ||
      options.file.empty())
    return fail(
        "usage: TenonShardingCheck run|every|mutate|fold FILE --mesh=AXES ...");
  DialectRegistry registry;
  registry.insert<chlo::CHLODialect, func::FuncDialect, sdy::SdyDialect,
                  stablehlo::StableHLODialect, step::StepDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceFile<ModuleOp>(options.file, &context);
  if (!module)
    return 2;
  if (options.command == "run")
    return run(*module, options);
  if (options.command == "mutate")
    return mutateAll(*module, options);
  if (options.command == "fold")
    return foldAll(*module, options);
  bool ok = true;
  for (func::FuncOp function : llvm::to_vector(module->getOps<func::FuncOp>()))
    ok &= everyLayout(function, options);
  return ok ? 0 : 1;
}
