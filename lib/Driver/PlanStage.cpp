//===- PlanStage.cpp - The stage `plan` -----------------------------------===//
//
// Operations get an order and values places. Under a budget that is a search
// through candidates.
//
//===----------------------------------------------------------------------===//

#include "ChooseCandidate.h"
#include "GroupReport.h"
#include "KernelScratch.h"
#include "OptionEntries.h"
#include "PlanReport.h"
#include "RegroupCopies.h"
#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Cost/ExchangeCost.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Cost/StepSplit.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LibraryGroup.h"
#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

static ExitCode checkScheduledForm(Program &program, StageRun &run) {
  // Groups are as they were after `group`; what a library is asked for is known
  // there alone.
  auto isWrong = [](step::GroupOp call) -> WalkResult {
    return failure(call.getKind() == step::GroupKind::library &&
                   failed(fusion::verifyLibraryGroup(call)));
  };
  if (program.module->walk(isWrong).wasInterrupted())
    return run.blame;
  return run.runPasses(*program.module, [](OpPassManager &passes) {
    passes.addPass(memory::createVerifyScheduledFormPass());
  });
}

/// What one rank has of the machine that the step is planned for.
static target::Target rankOf(ModuleOp module, const StageRun &run) {
  return target::ofRank(run.resolved.machine, cost::meshSizes(module));
}

/// Of a step for several ranks: what it should take on each.
static void reportSplit(ModuleOp module, StageRun &run) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || cost::meshSizes(module).empty())
    return;
  cost::StepSplit split = cost::splitStep(main, run.resolved.machine);
  run.details["compute_seconds"] = split.compute;
  run.details["exposed_communication_seconds"] = split.exposed;
  run.details["hidden_communication_seconds"] = split.hidden;
}

/// Has what touches none of a collective's bytes run beside it.
static ExitCode awaitCollectives(ModuleOp module,
                                 const memory::MemoryOptions &memory,
                                 StageRun &run) {
  return run.runPasses(module, [&](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(
        memory::createAwaitCollectivesPass({memory.switchNanoseconds}));
  });
}

static ExitCode planUnderBudget(const memory::MemoryOptions &memory,
                                Program &program, StageRun &run) {
  PlannedStep plan;
  if (ExitCode code = chooseCandidate(program, run, plan); code != exitOk)
    return code;
  auto figures =
      (*program.module)
          ->getAttrOfType<DictionaryAttr>(step::keepingEverythingAttrName);
  PlanBase base{figures.getAs<IntegerAttr>("bytes").getInt(),
                figures.getAs<IntegerAttr>("nanoseconds").getInt()};
  Regrouping regrouped =
      regroupCopies(plan, kernelScratchFor(run.resolved), run.resolved.machine,
                    searchOptions(run));
  run.result.planSummary =
      reportPlan(plan, *run.resolved.memoryBudget, base, regrouped,
                 run.resolved.offload, run.details);
  program.module = std::move(plan.module);
  program.search.reset();
  program.candidates.reset();
  (*program.module)->removeAttr(step::keepingEverythingAttrName);
  if (!memory.problemFile.empty()) {
    // On a copy: what is placed again may lie elsewhere than the figures say.
    OwningOpRef<ModuleOp> copy = program.module->clone();
    ExitCode code = run.runPasses(*copy, [&](OpPassManager &passes) {
      passes.addNestedPass<func::FuncOp>(
          memory::createPlanOffsetsPass({memory.problemFile, /*quick=*/false}));
    });
    if (code != exitOk)
      return code;
  }
  return memory.overlapsCollectives || run.resolved.offload
             ? awaitCollectives(*program.module, memory, run)
             : exitOk;
}

static ExitCode planWithoutBudget(ModuleOp module,
                                  const memory::MemoryOptions &memory,
                                  const StageRun &run) {
  codegen::annotateScratch(module, kernelScratchFor(run.resolved));
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (main && memory.overlapsCollectives)
    cost::annotateTimes(main.getBody(), rankOf(module, run));
  return run.runPasses(module, [&](OpPassManager &passes) {
    memory::buildPlanPipeline(passes, memory);
  });
}

ExitCode driver::planBytes(ModuleOp grouped, const StageRun &run,
                           PlannedBytes &bytes) {
  ExitCode code = finishGroups(grouped, run);
  if (code == exitOk)
    code = planWithoutBudget(grouped, {}, run);
  if (code != exitOk)
    return code;
  auto main = grouped.lookupSymbol<func::FuncOp>("main");
  for (NamedAttribute segment :
       main->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName)) {
    const int64_t size = cast<IntegerAttr>(segment.getValue()).getInt();
    bytes.all += size;
    if (segment.getName() == step::stringifySegment(step::Segment::temporaries))
      bytes.temporaries = size;
  }
  return exitOk;
}

/// Without the list of groups.
static ExitCode orderAndPlace(Program &program, StageRun &run) {
  if (ExitCode code = askLibraries(*program.module, run); code != exitOk)
    return code;
  memory::MemoryOptions memory;
  memory.gathersLaunches = run.resolved.target == OutputTarget::cuda;
  if (const std::string &folder = run.options.dumpProblems; !folder.empty()) {
    memory.problemFile = folder + "/offset-packing.csv";
    memory.orderingFile = folder + "/operation-ordering.txt";
    for (const std::string &file : {memory.problemFile, memory.orderingFile}) {
      std::error_code error;
      llvm::raw_fd_ostream(file, error);
      if (error)
        return fail(exitUserError,
                    "cannot write '" + file + "': " + error.message());
    }
  }
  const target::Target rank = rankOf(*program.module, run);
  memory.overlapsCollectives =
      !cost::meshSizes(*program.module).empty() &&
      llvm::any_of(rank.links, [](const target::Link &link) {
        return link.hiddenShare > 0;
      });
  // On a GPU no thread has to be woken: two nodes of its graph have one more to
  // come behind.
  if (rank.isGpu())
    memory.switchNanoseconds = int64_t(2e9 * rank.overheads.launch);
  ExitCode code = exitOk;
  if (run.resolved.memoryBudget) {
    code = planUnderBudget(memory, program, run);
  } else {
    code = planWithoutBudget(*program.module, memory, run);
  }
  if (code == exitOk)
    reportSplit(*program.module, run);
  return code;
}

static ExitCode planStep(Program &program, StageRun &run) {
  ExitCode code = orderAndPlace(program, run);
  if (code == exitOk && !run.options.reportFile.empty())
    if (auto main = program.module->lookupSymbol<func::FuncOp>("main"))
      run.details["groups"] = reportGroups(main, run.resolved.machine);
  return code;
}

StageOption driver::memoryBudgetOption() {
  StageOption option =
      givenOption("--memory-budget", &CompileOptions::memoryBudget,
                  [](auto &o) -> auto & { return o.memoryBudget; });
  option.key = "memory_budget";
  option.expected = "bytes, an i64, or 0 for the fewest that are found,";
  option.read = [](Attribute value, ResolvedOptions &options) {
    auto budget = dyn_cast<IntegerAttr>(value);
    if (!budget || !budget.getType().isSignlessInteger(64) ||
        budget.getInt() < 0)
      return false;
    options.memoryBudget = budget.getInt();
    return true;
  };
  option.write = [](const ResolvedOptions &options,
                    Builder &builder) -> Attribute {
    return options.memoryBudget
               ? builder.getI64IntegerAttr(*options.memoryBudget)
               : nullptr;
  };
  option.spell = [](const ResolvedOptions &options) {
    if (!options.memoryBudget)
      return std::string("no budget");
    return "--memory-budget=" + (*options.memoryBudget == smallestBudget
                                     ? "smallest"
                                     : std::to_string(*options.memoryBudget));
  };
  return option;
}

Stage driver::planStageForCuda() {
  auto waits = [](auto &o) -> auto & { return o.offload; };
  Stage stage = planStage();
  stage.options.push_back(recordedAsOneOf<bool>(
      givenOption("--offload", &CompileOptions::offload, waits), "offload",
      "true", waits,
      {{false, "", "values in the GPU's memory alone"},
       {true, "true", "--offload"}}));
  return stage;
}

Stage driver::planStage() {
  return {.name = "plan",
          .form = "scheduled form",
          .summary = "order operations, give every value a place",
          .options = {memoryBudgetOption()},
          .run = planStep,
          .checkForm = checkScheduledForm,
          .registerPasses = [] {
            memory::registerMemoryPasses();
            PassPipelineRegistration<>("plan", "grouped form to scheduled form",
                                       [](OpPassManager &passes) {
                                         memory::buildPlanPipeline(passes, {});
                                       });
          }};
}
