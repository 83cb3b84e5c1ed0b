//===- ShardStage.cpp - The stage `shard` ---------------------------------===//
//
// A step becomes one that each rank of a mesh runs on its parts of the tensors.
// How tensors are cut is chosen by what the step takes, or follows from layouts
// of a file or of the step.
//
//===----------------------------------------------------------------------===//

#include "DecideLayouts.h"
#include "JoinEntry.h"
#include "LayoutReport.h"
#include "LayoutsWithinBudget.h"
#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Collectives/Passes.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Passes.h"
#include "tenon/ShardingCheck/CheckPartition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

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
    if (exchanges(op))
      ++counts[op->getName().stripDialect().str()];
  });
  llvm::json::Object collectives;
  for (auto &[name, count] : counts)
    collectives[name] = count;
  return collectives;
}

/// Small sums share a collective up to where their bytes take ranks so many
/// times the latency of a message, along the axis that is reached first.
static int64_t bucketBytesOf(const sharding::Mesh &mesh,
                             const target::Target &machine) {
  constexpr double latencies = 8;
  double bytes = std::numeric_limits<int32_t>::max();
  for (const target::Link &link : target::ofRank(machine, mesh.sizes()).links)
    bytes = std::min(bytes, latencies * link.latency * link.perRank());
  return int64_t(bytes);
}

/// As --fast-collectives asks for.
static ExitCode reduceByLibrary(ModuleOp module, StageRun &run) {
  const bool isForGpus = run.resolved.target == OutputTarget::cuda;
  return run.runPasses(module, [&](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(collectives::createReduceByLibraryPass(
        {.library = isForGpus ? "nccl" : "mpi"}));
  });
}

/// Between GPUs a library moves bytes, and kernels add up.
static ExitCode expandCollectives(ModuleOp module, StageRun &run) {
  return run.runPasses(module, [](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(collectives::createExpandPass());
  });
}

/// Whether the parts compute what the whole step does.
static ExitCode checkParts(ModuleOp whole, ModuleOp parts,
                           bool withConstraints = false) {
  auto fault = shardingcheck::checkPartition(whole, parts, withConstraints);
  if (!fault)
    return exitOk;
  emitError(fault->location) << fault->message;
  return exitInternal;
}

static ExitCode placeRoundings(ModuleOp module, StageRun &run) {
  return run.runPasses(module, [](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(sharding::createPlaceRoundingsPass());
  });
}

/// What each rank runs of a program, or of the entry point of that name.
static ExitCode cutProgram(Program &program, StageRun &run, StringRef entry,
                           DecidedLayouts &decided) {
  auto &[mesh, plan, choice] = decided;
  sharding::Prices prices(mesh, run.resolved.machine);
  OwningOpRef<ModuleOp> whole = program.module->clone();
  sharding::StepPrice price;
  const bool mergesEqual = !plan.keepsOnlyCopies;
  if (failed(sharding::partition(*program.module, mesh, std::move(plan),
                                 &prices, &price)))
    return run.blame;
  if (ExitCode code =
          checkParts(*whole, *program.module, /*withConstraints=*/true);
      code != exitOk)
    return code;
  run.details["check"] = "accepted";
  auto main = program.module->lookupSymbol<func::FuncOp>("main");
  describeCuts(main, mesh);
  if (choice && entry.empty())
    (*program.module)
        ->setAttr(step::layoutProofAttrName,
                  StringAttr::get(run.context, proofText(*choice, price)));
  run.details["mesh"] = mesh.text();
  run.details["ranks"] = mesh.devices();
  run.details["collectives"] = countCollectives(*program.module);
  reportPrice(price, run.details);
  if (choice)
    reportChoice(*choice, main, mesh, run.details);
  const int64_t bucketBytes = bucketBytesOf(mesh, run.resolved.machine);
  if (ExitCode code = run.runPasses(*program.module,
                                    [&](OpPassManager &passes) {
                                      collectives::buildCollectivesPipeline(
                                          passes, bucketBytes, mergesEqual);
                                    });
      code != exitOk)
    return code;
  run.details["scheduled_collectives"] = countCollectives(*program.module);
  if (run.options.verifyForms)
    if (ExitCode code = checkParts(*whole, *program.module); code != exitOk)
      return code;
  run.details["fast_collectives"] = run.options.fastCollectives;
  if (run.options.fastCollectives)
    if (ExitCode code = reduceByLibrary(*program.module, run); code != exitOk)
      return code;
  if (run.resolved.target != OutputTarget::cuda)
    return exitOk;
  if (ExitCode code = expandCollectives(*program.module, run); code != exitOk)
    return code;
  return run.options.verifyForms ? checkParts(*whole, *program.module) : exitOk;
}

/// On one device nothing lies anywhere else.
static ExitCode leaveWhole(Program &program, StageRun &run) {
  step::dropShardingConstraints(*program.module);
  return refuseLayoutsWithoutMesh(run.options);
}

static ExitCode shardStep(Program &program, StageRun &run) {
  if (run.options.mesh.empty())
    return leaveWhole(program, run);
  if (ExitCode code = placeRoundings(*program.module, run); code != exitOk)
    return code;
  auto decide = [](Program &of, StageRun &with,
                   std::optional<sharding::ByteLimit> limit,
                   DecidedLayouts &decided) {
    return decideLayouts(
        of, with, /*entry=*/"", [](auto &&...) { return true; }, limit,
        decided);
  };
  auto cut = [](Program &of, StageRun &with, DecidedLayouts &decided) {
    return cutProgram(of, with, /*entry=*/"", decided);
  };
  DecidedLayouts decided;
  ExitCode code = exitOk;
  if (run.resolved.memoryBudget && choosesLayouts(run.options))
    code = chooseWithinBudget(program, run, decide, cut, decided);
  else if (code = decide(program, run, std::nullopt, decided); code == exitOk)
    code = cut(program, run, decided);
  return code == exitOk ? dumpLayoutProblem(decided, run) : code;
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
    if (layout && !(layout->layout == has)) {
      main.emitError() << "argument " << i << " has the layout "
                       << layout->layout.text(mesh) << ", and the step has '"
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
    if (run.options.mesh.empty())
      return leaveWhole(program, run);
    if (ExitCode code = placeRoundings(*program.module, run); code != exitOk)
      return code;
    DecidedLayouts decided;
    ExitCode code = decideLayouts(
        program, run, entry,
        [step](auto main, auto &mesh, auto &asked) {
          return askAsTheStep(step, main, mesh, asked);
        },
        /*limit=*/std::nullopt, decided);
    return code == exitOk ? cutProgram(program, run, entry, decided) : code;
  };
  return stage;
}

Stage driver::shardStage() {
  std::vector<StageOption> options = layoutOptions();
  options.push_back(
      {.flag = "--fast-collectives",
       .isGiven = [](const CompileOptions &o) { return o.fastCollectives; }});
  return {.name = "shard",
          .form = "device form",
          .summary = "with --mesh: what each rank runs on its parts",
          .options = std::move(options),
          .run = shardStep,
          .checkForm = checkStepForm,
          .registerPasses = [] {
            sharding::registerShardingPasses();
            collectives::registerCollectivesPasses();
          }};
}
