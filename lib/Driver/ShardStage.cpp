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
#include "tenon/Cost/ExchangeCost.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/FoldDevices.h"
#include "tenon/Sharding/Passes.h"
#include "tenon/ShardingCheck/CheckFolding.h"
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

/// What --logical-shards adds: ranks run several devices of the mesh each, bit
/// by bit as their number does.
static ExitCode runLogicalShards(Program &program, StageRun &run,
                                 const DecidedLayouts &decided,
                                 bool mergesEqual) {
  const auto &[axis, ranks] = *decided.logical;
  // Where ranks add before they sum is decided for devices, not for ranks.
  if (ExitCode code =
          run.runPasses(*program.module,
                        [&](OpPassManager &passes) {
                          collectives::buildSumsPipeline(passes, mergesEqual);
                        });
      code != exitOk)
    return code;
  OwningOpRef<ModuleOp> devices = program.module->clone();
  if (failed(sharding::foldDevices(*program.module, axis, ranks)))
    return exitUserError;
  if (auto fault =
          shardingcheck::checkFolding(*devices, *program.module, axis)) {
    emitError(fault->location) << fault->message;
    return exitInternal;
  }
  return exitOk;
}

/// What a rank takes for a partitioned step as it is written: seconds.
static double secondsOf(ModuleOp module, const sharding::Mesh &mesh,
                        const target::Target &machine) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  double seconds = sharding::computeSecondsOf(main.getBody().front(),
                                              sharding::Prices(mesh, machine));
  main.walk([&](Operation *op) {
    if (auto exchange = cost::exchangeOf(op, machine))
      seconds += exchange->seconds;
  });
  return seconds;
}

static ExitCode expandTrees(ModuleOp module, StageRun &run) {
  return run.runPasses(module, [](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(
        collectives::createExpandPass({.onlyTrees = true}));
  });
}

/// What each rank runs of a program, or of the entry point of that name.
static ExitCode cutProgram(Program &program, StageRun &run, StringRef entry,
                           DecidedLayouts &decided) {
  auto &[mesh, logical, plan, choice] = decided;
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
  sharding::Mesh ranks = mesh;
  if (logical) {
    if (ExitCode code = runLogicalShards(program, run, decided, mergesEqual);
        code != exitOk)
      return code;
    ranks.axes[*mesh.find(logical->axis)].size = logical->ranks;
  }
  auto main = program.module->lookupSymbol<func::FuncOp>("main");
  if ((*program.module)->hasAttr(step::meshAttrName))
    describeCuts(main, ranks);
  if (choice && entry.empty())
    (*program.module)
        ->setAttr(step::layoutProofAttrName,
                  StringAttr::get(run.context, proofText(*choice, price)));
  run.details["mesh"] = ranks.text();
  run.details["ranks"] = ranks.devices();
  run.details["collectives"] = countCollectives(*program.module);
  reportPrice(price, run.details);
  if (choice)
    reportChoice(*choice, main, mesh, run.details);
  const int64_t bucketBytes = bucketBytesOf(ranks, run.resolved.machine);
  if (ExitCode code = run.runPasses(
          *program.module,
          [&](OpPassManager &passes) {
            if (logical)
              passes.addNestedPass<func::FuncOp>(
                  collectives::createBucketSumsPass({bucketBytes}));
            else
              collectives::buildCollectivesPipeline(passes, bucketBytes,
                                                    mergesEqual);
          });
      code != exitOk)
    return code;
  if (logical)
    if (ExitCode code = expandTrees(*program.module, run); code != exitOk)
      return code;
  run.details["scheduled_collectives"] = countCollectives(*program.module);
  // The check of the parts does not follow the shards of a rank.
  if (run.options.verifyForms && !logical)
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
  return run.options.verifyForms && !logical
             ? checkParts(*whole, *program.module)
             : exitOk;
}

/// The seconds of a program that is cut, where groups follow by them, which are
/// handed on: kernels on the rows of a shard take another time per row than
/// those on all rows of a rank.
static ExitCode predictGrouped(Program &program, const sharding::Mesh &mesh,
                               const StageRun &run, double &seconds) {
  const Stage *group = findForm(run.walk, "group");
  if (!group) {
    seconds = secondsOf(*program.module, mesh, run.resolved.machine);
    return exitOk;
  }
  program.ahead = std::make_shared<GroupedAhead>();
  Program &grouped = program.ahead->program;
  grouped.module = program.module->clone();
  StageRun trial = run;
  trial.details = {};
  if (ExitCode code = group->run(grouped, trial); code != exitOk)
    return code;
  seconds = trial.details.getNumber("predicted_seconds").value_or(0);
  program.ahead->details = std::move(trial.details);
  return exitOk;
}

/// Says what logical shards take, and what the same ranks would take for shards
/// of their own.
static ExitCode reportLogicalShards(ModuleOp whole, Program &folded,
                                    StageRun &run,
                                    const DecidedLayouts &decided) {
  Program plain{OwningOpRef<ModuleOp>(whole.clone())};
  StageRun trial = run;
  DecidedLayouts perRank;
  if (ExitCode code = decideLayouts(
          plain, trial, /*entry=*/"", [](auto &&...) { return true; },
          /*limit=*/std::nullopt, perRank, /*isPerRank=*/true);
      code != exitOk)
    return code;
  perRank.logical.reset();
  if (ExitCode code = cutProgram(plain, trial, /*entry=*/"", perRank);
      code != exitOk)
    return code;
  trial.resolved.memoryBudget.reset();
  double with = 0, without = 0;
  if (ExitCode code = predictGrouped(plain, perRank.mesh, trial, without);
      code != exitOk)
    return code;
  if (ExitCode code = predictGrouped(folded, perRank.mesh, run, with);
      code != exitOk)
    return code;
  const auto &[axis, ranks] = *decided.logical;
  const int64_t count =
      decided.mesh.axes[*decided.mesh.find(axis)].size / ranks;
  run.details["logical_shards"] =
      llvm::json::Object{{"mesh", decided.mesh.text()},
                         {"each", count},
                         {"seconds", with},
                         {"seconds_without", without}};
  run.result.shardSummary =
      llvm::formatv(
          "shards         {0} along {1}, {2} on each rank: {3:f3} ms "
          "predicted, {4:f3} ms with one on each rank ({5:f1} % more)",
          count * ranks, axis, count, with * 1e3, without * 1e3,
          (with / without - 1) * 100)
          .str();
  return exitOk;
}

/// On one device nothing lies anywhere else.
static ExitCode leaveWhole(Program &program, StageRun &run) {
  step::dropShardingConstraints(*program.module);
  return refuseLayoutsWithoutMesh(run.options);
}

static ExitCode shardStep(Program &program, StageRun &run) {
  if (run.options.mesh.empty())
    return leaveWhole(program, run);
  if (run.options.logicalShards && run.options.fastCollectives)
    return fail(exitBadUsage, "--fast-collectives adds up in an order of a "
                              "library's, and --logical-shards by a tree; "
                              "leave one of them out");
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
  OwningOpRef<ModuleOp> whole;
  if (run.options.logicalShards)
    whole = program.module->clone();
  DecidedLayouts decided;
  ExitCode code = exitOk;
  // Layouts may not depend on how many shards a rank has memory for.
  const bool choosesWithinBudget = run.resolved.memoryBudget &&
                                   choosesLayouts(run.options) &&
                                   !run.options.logicalShards;
  if (choosesWithinBudget && *run.resolved.memoryBudget == smallestBudget)
    return fail(exitBadUsage,
                "--memory-budget=smallest does not go with layouts that are "
                "chosen, since each of them has a smallest budget of its own; "
                "give a size, or the layouts with --sharding=FILE");
  if (choosesWithinBudget)
    code = chooseWithinBudget(program, run, decide, cut, decided);
  else if (code = decide(program, run, std::nullopt, decided); code == exitOk)
    code = cut(program, run, decided);
  if (code == exitOk && whole)
    code = reportLogicalShards(*whole, program, run, decided);
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
    if (run.options.logicalShards)
      return fail(exitBadUsage,
                  "--logical-shards does not go with --entry yet; "
                  "leave one of them out");
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
  options.push_back(
      {.flag = "--logical-shards",
       .isGiven = [](const CompileOptions &o) { return o.logicalShards > 0; }});
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
