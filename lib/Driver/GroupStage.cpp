//===- GroupStage.cpp - The stage `group` ---------------------------------===//
//
// Operations become groups. Where budgets are planned for, further ways to
// group the step can follow.
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "ChooseCandidate.h"
#include "KernelScratch.h"
#include "OptionEntries.h"
#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Sharding/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

ExitCode driver::askLibraries(ModuleOp module, const StageRun &run) {
  if (run.resolved.noLibraries)
    return failed(fusion::verifyNoLibraryIsNeeded(module)) ? exitUnsupported
                                                           : exitOk;
  // What runs on a GPU does not depend on this machine.
  if (run.resolved.target == OutputTarget::cuda)
    return exitOk;
  std::string whyNot =
      fusion::whyLibrariesNotAskable(module, run.resolved.features.isa);
  if (whyNot.empty())
    return exitOk;
  return fail(exitUserError,
              whyNot + "; compile where it does, for a smaller --cpu, or with "
                       "--no-libraries");
}

static ExitCode checkGroupedForm(Program &program, StageRun &run) {
  auto main = program.module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration()) {
    program.module->emitError()
        << "grouped form holds a function @main with a body";
    return run.blame;
  }
  return run.runPasses(*program.module, [](OpPassManager &passes) {
    passes.addPass(fusion::createVerifyGroupedFormPass());
  });
}

fusion::FusionOptions driver::groupingOptions(const StageRun &run) {
  fusion::FusionOptions options;
  options.merge = run.resolved.fuse;
  options.callLibraries = !run.resolved.noLibraries;
  options.callAllLibraries = run.options.allLibraries;
  options.isa = run.resolved.features.isa;
  options.forGpus = run.resolved.target == OutputTarget::cuda;
  options.allowTf32 = run.resolved.precision == Precision::tf32;
  options.machine = run.resolved.machine;
  return options;
}

/// How many logical shards a rank runs: as often an operation of theirs stands
/// in its program before the next one comes.
static int64_t shardsOfRank(ModuleOp module) {
  auto devicesOf = [&](StringRef attribute) {
    std::string ignored;
    auto mesh = sharding::Mesh::of(module, attribute, ignored);
    return mesh ? mesh->devices() : 1;
  };
  return module->hasAttr(step::logicalShardsAttrName)
             ? devicesOf(step::logicalShardsAttrName) /
                   devicesOf(step::meshAttrName)
             : 1;
}

ExitCode driver::finishGroups(ModuleOp on, const StageRun &run) {
  return run.runPasses(on, [&](OpPassManager &passes) {
    fusion::FusionOptions fusion = groupingOptions(run);
    if (fusion.merge && fusion.forGpus && fusion.callLibraries)
      passes.addNestedPass<func::FuncOp>(fusion::createSumOperandsPass(
          fusion.machine,
          /*mayRound=*/mayStoreNarrow(run.resolved.precision)));
    if (fusion.merge && fusion.forGpus)
      passes.addNestedPass<func::FuncOp>(fusion::createSumGradientsPass(
          fusion.machine, hasScheduleOn(run.resolved)));
    if (fusion.merge) {
      fusion::ShareReadsPassOptions options{.keepMemory = !fusion.forGpus,
                                            .narrowAsF32 = weighsBytes(run)};
      options.farthest *= shardsOfRank(on);
      passes.addNestedPass<func::FuncOp>(
          fusion::createShareReadsPass(options, fusion.machine));
    }
    if (fusion.merge && fusion.forGpus)
      passes.addNestedPass<func::FuncOp>(fusion::createSumBesidePass(
          fusion.machine, hasScheduleOn(run.resolved)));
    if (run.options.verifyForms)
      passes.addPass(fusion::createVerifyGroupedFormPass());
  });
}

/// Groups a step, in two parts; of the options, those about loops are given.
static ExitCode groupPart(ModuleOp on, const fusion::FusionOptions &loops,
                          CandidateStream::Part part, const StageRun &run) {
  return run.runPasses(on, [&](OpPassManager &passes) {
    fusion::FusionOptions fusion = groupingOptions(run);
    fusion.loopChoices = loops.loopChoices;
    if (part == CandidateStream::Part::loops)
      return fusion::buildLoopPipeline(passes, fusion);
    fusion::buildGroupPipeline(passes, fusion);
  });
}

/// What a module's groups should take on the machine planned for; nothing
/// without a step.
static std::optional<cost::StepCost> predictedCost(ModuleOp module,
                                                   const StageRun &run) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration())
    return std::nullopt;
  return cost::predictStep(main.getBody(), run.resolved.machine);
}

/// Groups a step with its loops as they are.
static ExitCode groupModule(Program &program, StageRun &run) {
  if (program.partlyGrouped &&
      program.partlyGrouped->step ==
          OperationFingerPrint(program.module->lookupSymbol("main"))) {
    program.module = std::move(program.partlyGrouped->module);
  } else {
    program.partlyGrouped.reset();
    using Part = CandidateStream::Part;
    for (Part part : {Part::loops, Part::groups})
      if (ExitCode code = groupPart(*program.module, {}, part, run);
          code != exitOk)
        return code;
  }
  // What formats were chosen by.
  if (auto cost = predictedCost(*program.module, run))
    run.details["predicted_seconds_unfinished"] = cost->total.seconds;
  return finishGroups(*program.module, run);
}

/// Kernels that do nothing but cast, in words.
static llvm::json::Array castKernels(func::FuncOp main) {
  llvm::json::Array kernels;
  main.walk([&](step::GroupOp group) {
    bool casts = false;
    for (Operation &op : group.bodyOperations()) {
      OperationClass which = classify(&op);
      if (step::isCompilerCast(&op))
        casts = true;
      else if (which != OperationClass::indexMap &&
               which != OperationClass::view)
        return;
    }
    if (!casts)
      return;
    std::string text;
    llvm::raw_string_ostream(text)
        << group.getInputs().front().getType() << " to "
        << group.getOutputs().front().getType() << " at " << group.getLoc();
    kernels.push_back(std::move(text));
  });
  return kernels;
}

/// Reports what the groups should take on the machine planned for.
static void predictCost(ModuleOp module, StageRun &run) {
  std::optional<cost::StepCost> step = predictedCost(module, run);
  if (!step)
    return;
  if (mayStoreNarrow(run.resolved.precision))
    run.details["cast_kernels"] =
        castKernels(module.lookupSymbol<func::FuncOp>("main"));
  run.details["machine"] = run.resolved.machine.name;
  run.details["predicted_seconds"] = step->total.seconds;
  run.details["predicted_bytes"] = step->total.bytes;
  llvm::json::Object kinds;
  for (auto &[kind, cost] : step->kinds)
    kinds[step::stringifyGroupKind(kind)] = llvm::json::Object{
        {"predicted_seconds", cost.seconds}, {"predicted_bytes", cost.bytes}};
  run.details["kinds"] = std::move(kinds);
}

static ExitCode groupStep(Program &program, StageRun &run) {
  if (auto ahead = std::move(program.ahead)) {
    program = std::move(ahead->program);
    run.details = std::move(ahead->details);
    return exitOk;
  }
  if (ExitCode code = askLibraries(*program.module, run); code != exitOk)
    return code;
  OwningOpRef<ModuleOp> step;
  if (run.forBudgets || run.resolved.memoryBudget)
    step = program.module->clone();
  if (ExitCode code = groupModule(program, run); code != exitOk)
    return code;
  if (step)
    program.candidates = std::make_shared<CandidateStream>(
        kernelScratchFor(run.resolved), run.resolved.machine,
        program.module->clone(), std::move(step),
        [run](ModuleOp on, const fusion::FusionOptions &loops,
              CandidateStream::Part part) {
          ExitCode code = groupPart(on, loops, part, run);
          if (code != exitOk || part == CandidateStream::Part::loops)
            return code;
          return finishGroups(on, run);
        });
  predictCost(*program.module, run);
  return exitOk;
}

/// A text is of one grouping, the one that the budget asks for.
static ExitCode settleGrouping(Program &program, StageRun &run) {
  if (!program.candidates || !program.candidates->mayFormMore())
    return exitOk;
  PlannedStep chosen;
  return chooseCandidate(program, run, chosen);
}

Stage driver::groupStage() {
  auto merges = [](auto &o) -> auto & { return o.fuse; };
  StageOption fuse = recordedAsOneOf<bool>(
      givenOption("--fuse", &CompileOptions::fuse, merges), "fuse", "a boolean",
      merges,
      {{true, "true", "--fuse=true"}, {false, "false", "--fuse=false"}});
  auto callsNone = [](auto &o) -> auto & { return o.noLibraries; };
  StageOption libraries = recordedAsOneOf<bool>(
      givenOption("--no-libraries", &CompileOptions::noLibraries, callsNone),
      "libraries", "false", callsNone,
      {{false, "", "library calls"}, {true, "false", "--no-libraries"}});
  return {.name = "group",
          .form = "grouped form",
          .summary = "put operations into kernels and library calls",
          .options = {fuse, libraries},
          .run = groupStep,
          .checkForm = checkGroupedForm,
          .beforeText = settleGrouping,
          .registerPasses = [] {
            fusion::registerFusionPasses();
            PassPipelineRegistration<>("group", "step form to grouped form",
                                       [](OpPassManager &passes) {
                                         fusion::buildFusionPipeline(passes,
                                                                     {});
                                       });
          }};
}
