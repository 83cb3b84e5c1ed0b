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

static ExitCode planUnderBudget(const memory::MemoryOptions &memory,
                                int64_t budget, Program &program,
                                StageRun &run) {
  PlannedStep plan;
  if (ExitCode code = chooseCandidate(budget, program, run, plan);
      code != exitOk)
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
      reportPlan(plan, budget, base, regrouped, run.details);
  program.module = std::move(plan.module);
  program.candidates.reset();
  (*program.module)->removeAttr(step::keepingEverythingAttrName);
  if (memory.problemFile.empty())
    return exitOk;
  // On a copy: what is placed again may lie elsewhere than the figures say.
  OwningOpRef<ModuleOp> copy = program.module->clone();
  return run.runPasses(*copy, [&](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(
        memory::createPlanOffsetsPass({memory.problemFile, /*quick=*/false}));
  });
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
  if (run.resolved.memoryBudget)
    return planUnderBudget(memory, *run.resolved.memoryBudget, program, run);
  codegen::annotateScratch(*program.module, kernelScratchFor(run.resolved));
  return run.runPasses(*program.module, [&](OpPassManager &passes) {
    memory::buildPlanPipeline(passes, memory);
  });
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
  option.expected = "bytes, an i64 of at least 0,";
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
    return options.memoryBudget
               ? "--memory-budget=" + std::to_string(*options.memoryBudget)
               : "no budget";
  };
  return option;
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
