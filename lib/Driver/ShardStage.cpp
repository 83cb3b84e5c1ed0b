//===- ShardStage.cpp - The stage `shard` ---------------------------------===//
//
// A step becomes one that each rank of a mesh runs on its parts of the tensors.
// How tensors are cut is chosen by what the step takes, or follows from layouts
// of a file or of the step.
//
//===----------------------------------------------------------------------===//

#include "JoinEntry.h"
#include "LayoutReport.h"
#include "OptionEntries.h"
#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Passes.h"
#include "tenon/ShardingCheck/CheckPartition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

static bool isChosen(const CompileOptions &options) {
  return options.sharding.empty() || options.sharding == "solve";
}

/// The text of the file of layouts; empty for those of the step alone.
static ExitCode readLayouts(const CompileOptions &options, std::string &text) {
  if (options.sharding == "propagate" || isChosen(options))
    return exitOk;
  auto file = llvm::MemoryBuffer::getFile(options.sharding);
  if (!file)
    return fail(exitUserError,
                "cannot read '" + options.sharding +
                    "' of --sharding: " + file.getError().message());
  text = (*file)->getBuffer().str();
  return exitOk;
}

/// What a file of layouts says of an entry point, whose names there begin with
/// its own, or without a name of the step. Lines of others are blank.
static std::string linesFor(StringRef text, StringRef entry,
                            ArrayRef<EntryOption> entries) {
  std::string lines;
  SmallVector<StringRef> each;
  text.split(each, '\n');
  for (StringRef line : each) {
    StringRef name = line.ltrim();
    auto isOf = [&](StringRef other) {
      return name.starts_with((other + ".").str());
    };
    if (!entry.empty() && isOf(entry))
      lines += name.drop_front(entry.size() + 1);
    else if (entry.empty() && llvm::none_of(entries, [&](const auto &other) {
               return isOf(other.name);
             }))
      lines += line;
    lines += '\n';
  }
  return lines;
}

static bool asksForNothing(const sharding::AskedLayouts &asked) {
  auto isOpen = [](const auto &layout) { return !layout; };
  return llvm::all_of(asked.arguments, isOpen) &&
         llvm::all_of(asked.results, isOpen);
}

/// How a tensor with these attributes is cut, in numbers, for whoever reads and
/// writes whole ones; null if it has no layout on the mesh.
static ArrayAttr cutsOf(DictionaryAttr attributes, const sharding::Mesh &mesh) {
  auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                         : StringAttr();
  std::string error;
  auto layout = text ? sharding::Layout::parse(text, mesh, error)
                     : std::optional<sharding::Layout>();
  if (!layout)
    return {};
  Builder builder(text.getContext());
  SmallVector<Attribute> cuts;
  for (const sharding::AxisParts &parts : layout->dims) {
    SmallVector<int64_t> numbers;
    for (const sharding::AxisPart &part : parts)
      numbers.append({mesh.stride(part), part.size});
    cuts.push_back(builder.getDenseI64ArrayAttr(numbers));
  }
  return builder.getArrayAttr(cuts);
}

/// The layout that is cut so, the inverse of cutsOf.
static sharding::Layout layoutOf(ArrayAttr cuts, const sharding::Mesh &mesh) {
  auto layout = sharding::Layout::replicated(int64_t(cuts.size()));
  for (auto [attribute, parts] : llvm::zip_equal(cuts, layout.dims)) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
    for (size_t i = 0; i + 1 < numbers.size(); i += 2)
      for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
        const int64_t span =
            mesh.stride({axis, 1, mesh.axes[axis].size}) * mesh.axes[axis].size;
        const int64_t covered = numbers[i] * numbers[i + 1];
        sharding::AxisPart part{axis, span / covered, numbers[i + 1]};
        if (covered <= span && mesh.stride(part) == numbers[i]) {
          parts.push_back(part);
          break;
        }
      }
  }
  return layout;
}

static void describeCuts(func::FuncOp main, const sharding::Mesh &mesh) {
  for (unsigned at = 0; at < main.getNumArguments(); ++at)
    main.setArgAttr(at, step::cutsAttrName,
                    cutsOf(main.getArgAttrDict(at), mesh));
  for (unsigned at = 0; at < main.getNumResults(); ++at)
    main.setResultAttr(at, step::cutsAttrName,
                       cutsOf(main.getResultAttrDict(at), mesh));
}

/// How often each collective stands in the step.
static llvm::json::Object countCollectives(ModuleOp module) {
  std::map<std::string, int64_t> counts;
  module.walk([&](Operation *op) {
    if (isCollective(op) && op->getNumOperands() > 0)
      ++counts[op->getName().stripDialect().str()];
  });
  llvm::json::Object collectives;
  for (auto &[name, count] : counts)
    collectives[name] = count;
  return collectives;
}

/// Adds what is asked for besides, and says whether that contradicts nothing.
using AskMore = llvm::function_ref<bool(func::FuncOp, const sharding::Mesh &,
                                        sharding::AskedLayouts &)>;

/// Empty if the machine has a link for each axis, or none at all.
static std::string whyOtherLinks(const target::Target &machine,
                                 const sharding::Mesh &mesh) {
  if (machine.links.empty() || machine.links.size() == mesh.axes.size())
    return "";
  return "the machine description '" + machine.name + "' has links for " +
         std::to_string(machine.links.size()) + " axes, and the mesh " +
         mesh.text() + " has " + std::to_string(mesh.axes.size()) +
         "; give one link per axis, the major one first, or none";
}

static ExitCode writeProblem(const solver::ShardingProblem &problem,
                             const std::string &folder) {
  const std::string file = folder + "/sharding.txt";
  std::error_code error;
  llvm::raw_fd_ostream out(file, error);
  if (error)
    return fail(exitUserError,
                "cannot write '" + file + "': " + error.message());
  out << solver::printShardingProblem(problem);
  return exitOk;
}

static ExitCode shardProgram(Program &program, StageRun &run, StringRef entry,
                             AskMore askMore) {
  const CompileOptions &options = run.options;
  if (options.mesh.empty())
    return options.sharding.empty()
               ? exitOk
               : fail(exitBadUsage,
                      "--sharding needs the ranks, give them as --mesh=data=2");
  std::string error, text;
  auto mesh = sharding::Mesh::parse(options.mesh, error);
  if (!mesh)
    return fail(exitBadUsage, "--mesh=" + options.mesh + ": " + error);
  if (std::string wrong = whyOtherLinks(run.resolved.machine, *mesh);
      !wrong.empty())
    return fail(exitUserError, wrong);
  if (ExitCode code = readLayouts(options, text); code != exitOk)
    return code;
  auto asked = sharding::readAskedLayouts(
      *program.module, *mesh, linesFor(text, entry, options.entries),
      options.sharding);
  if (ExitCode code = run.runPasses(*program.module,
                                    [](OpPassManager &passes) {
                                      passes.addNestedPass<func::FuncOp>(
                                          sharding::createPlaceRoundingsPass());
                                    });
      code != exitOk)
    return code;
  auto main = program.module->lookupSymbol<func::FuncOp>("main");
  if (failed(asked) || !askMore(main, *mesh, *asked))
    return exitUserError;
  if (!isChosen(options) && asksForNothing(*asked) && entry.empty())
    return fail(exitUserError,
                options.sharding == "propagate"
                    ? "the step has no shardings on its arguments and results; "
                      "give --sharding=FILE with layouts"
                    : "'" + options.sharding +
                          "' has no layout, so nothing would be cut");
  sharding::Prices prices(*mesh, run.resolved.machine);
  std::optional<sharding::LayoutChoice> choice;
  sharding::LayoutPlan plan;
  if (isChosen(options)) {
    choice = sharding::chooseLayouts(main, *mesh, *asked, prices,
                                     entry.empty() ? run.resolved.memoryBudget
                                                   : std::nullopt);
    if (!choice)
      return run.blame;
    plan = std::move(choice->plan);
    if (!options.dumpProblems.empty())
      if (ExitCode code = writeProblem(choice->problem, options.dumpProblems);
          code != exitOk)
        return code;
  } else {
    plan.layouts = sharding::propagate(main, *asked);
  }
  OwningOpRef<ModuleOp> whole = program.module->clone();
  sharding::StepPrice price;
  if (failed(sharding::partition(*program.module, *mesh, std::move(plan),
                                 &prices, &price)))
    return run.blame;
  if (auto fault = shardingcheck::checkPartition(*whole, *program.module)) {
    emitError(fault->location) << fault->message;
    return exitInternal;
  }
  run.details["check"] = "accepted";
  main = program.module->lookupSymbol<func::FuncOp>("main");
  describeCuts(main, *mesh);
  if (choice && entry.empty())
    (*program.module)
        ->setAttr(step::layoutProofAttrName,
                  StringAttr::get(run.context, proofText(*choice, price)));
  run.details["mesh"] = mesh->text();
  run.details["ranks"] = mesh->devices();
  run.details["collectives"] = countCollectives(*program.module);
  reportPrice(price, run.details);
  if (choice)
    reportChoice(*choice, main, *mesh, run.details);
  return exitOk;
}

static ExitCode shardStep(Program &program, StageRun &run) {
  return shardProgram(program, run, /*entry=*/"",
                      [](auto &&...) { return true; });
}

/// Has the state of an entry point lie where the step has it.
static bool askAsTheStep(ModuleOp step, func::FuncOp main,
                         const sharding::Mesh &mesh,
                         sharding::AskedLayouts &asked) {
  for (auto [i, state] : llvm::enumerate(stateArguments(step, main))) {
    auto cuts = state ? state->getAttrOfType<ArrayAttr>(step::cutsAttrName)
                      : ArrayAttr();
    // Whoever joins the two says what is wrong with another shape.
    if (!cuts || int64_t(cuts.size()) !=
                     cast<ShapedType>(main.getArgumentTypes()[i]).getRank())
      continue;
    sharding::Layout has = layoutOf(cuts, mesh);
    auto &layout = asked.arguments[i];
    if (layout && !(*layout == has)) {
      main.emitError() << "argument " << i << " has the layout "
                       << layout->text(mesh) << ", and the step has '"
                       << state.getName() << "' in the layout "
                       << has.text(mesh);
      return false;
    }
    layout = has;
  }
  return true;
}

Stage driver::shardEntryStage(ModuleOp step, StringRef entry) {
  Stage stage = shardStage();
  stage.run = [step, entry = entry.str()](Program &program, StageRun &run) {
    return shardProgram(program, run, entry,
                        [step](auto main, auto &mesh, auto &asked) {
                          return askAsTheStep(step, main, mesh, asked);
                        });
  };
  return stage;
}

Stage driver::shardStage() {
  StageOption mesh{.flag = "--mesh", .isGiven = [](const CompileOptions &o) {
                     return !o.mesh.empty();
                   }};
  StageOption layouts{
      .flag = "--sharding",
      .isGiven = [](const CompileOptions &o) { return !o.sharding.empty(); }};
  return {.name = "shard",
          .form = "device form",
          .summary = "with --mesh: what each rank runs on its parts",
          .options = {mesh, layouts},
          .run = shardStep,
          .checkForm = checkStepForm,
          .registerPasses = sharding::registerShardingPasses};
}
