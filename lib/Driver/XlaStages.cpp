//===- XlaStages.cpp - A step as StableHLO for XLA ------------------------===//
//
// The short walk: read, plan for what XLA will do, write. The module that
// leaves has the signature of the one that came. Nothing is simplified on this
// walk: XLA does the same itself (docs/Rationale/XlaOutput.md has the
// measurements), so what is not planned leaves as it came.
//
//===----------------------------------------------------------------------===//

#include "RunStages.h"
#include "StageEntries.h"
#include "StageOptions.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Codegen/StableHLO/PlanForXla.h"
#include "tenon/Codegen/StableHLO/WriteStableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Simplify/Passes.h"
#include "tenon/Support/Bytes.h"
#include "tenon/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

static ExitCode readForXla(Program &program, StageRun &run) {
  if (ExitCode code = refuseOptionsOfOthers(run.options, run.walk);
      code != exitOk)
    return code;
  run.context->allowUnregisteredDialects();
  importer::ReadOptions reading;
  reading.keepUnknown = true;
  program.module =
      importer::readStableHLOFile(run.options.input, *run.context, reading);
  if (!program.module)
    return exitUserError;
  run.details["operations"] = countOperationsRead(*program.module);
  // A text between stages may hold attention, which XLA does not know.
  return run.runPasses(*program.module, [](OpPassManager &passes) {
    passes.addPass(simplify::createExpandAttentionPass());
  });
}

/// Segments of loops take a second run of their forward rounds, so that they
/// must need this part less.
static constexpr int64_t leastGain = 20;

/// Plans the flat step as XLA would run it. Between the loops of a scan's two
/// directions, what follows from what is there is computed again; XLA would
/// stack all of it. `segments` has them stack only what they carry, and that
/// once per segment; nothing if there are no such loops. Loops have to carry
/// nothing but what changes for that.
static std::optional<codegen::XlaPlan>
planFor(ModuleOp flat, int64_t asked, bool segments, const StageRun &run) {
  OwningOpRef<ModuleOp> step = flat.clone();
  ExitCode code = run.runPasses(*step, [&](OpPassManager &passes) {
    OpPassManager &functions = passes.nest<func::FuncOp>();
    functions.addPass(simplify::createTrimLoopsPass());
    functions.addPass(fusion::createRecomputeAcrossLoopsPass());
    if (segments)
      functions.addPass(fusion::createSegmentLoopsPass());
  });
  if (code != exitOk)
    return std::nullopt;
  // What the passes note is not for XLA.
  auto main = step->lookupSymbol<func::FuncOp>("main");
  main->removeAttr(step::loopSavingsAttrName);
  main->removeAttr(step::segmentsCanNestAttrName);
  main.walk([](stablehlo::WhileOp loop) {
    loop->removeAttr(step::loopPairAttrName);
  });
  if (!main->removeAttr(step::segmentSavingsAttrName) && segments)
    return std::nullopt;
  return codegen::planForXla(*step, asked, target::builtInTarget());
}

static void report(int64_t asked, int64_t before, const codegen::XlaPlan &plan,
                   bool segmented, StageRun &run) {
  run.details["budget"] = *run.options.memoryBudget;
  run.details["temporaries_asked"] = asked;
  run.details["temporaries_predicted"] = plan.temporaries;
  run.details["temporaries_predicted_as_it_came"] = before;
  run.details["recomputed_dots"] = plan.dots;
  run.details["recomputed_convolutions"] = plan.convolutions;
  run.details["recomputed_fusions"] = plan.clusters;
  run.details["ties"] = plan.ties;
  run.details["predicted_nanoseconds"] = plan.nanoseconds;
  run.details["predicted_nanoseconds_as_it_came"] = plan.baseNanoseconds;
  run.result.planSummary =
      llvm::formatv("planned    XLA's temporaries {0} (predicted) of {1}, as "
                    "it came {2}; runs {3} dots, {4} convolutions and {5} "
                    "other fusions again{6}",
                    printBytes(plan.temporaries), printBytes(asked),
                    printBytes(before), plan.dots, plan.convolutions,
                    plan.clusters - plan.dots - plan.convolutions,
                    segmented ? ", and the rounds of loops in segments" : "")
          .str();
  if (plan.temporaries > asked)
    llvm::errs() << "warning: XLA is predicted to need "
                 << printBytes(plan.temporaries)
                 << " of temporaries, the budget leaves " << printBytes(asked)
                 << "; this is the least that was found\n";
}

/// Under a budget, what is recomputed so that XLA should stay within it.
static ExitCode planForXla(Program &program, StageRun &run) {
  const std::optional<int64_t> &budget = run.options.memoryBudget;
  if (!budget)
    return exitOk;
  if (DeviceCount count = countDevices(*program.module); count.devices > 1)
    return fail(exitUserError, "--memory-budget is for programs for one "
                               "device, found that " +
                                   count.reason +
                                   "; what a device holds is decided by XLA "
                                   "later");
  OwningOpRef<ModuleOp> flat = program.module->clone();
  ExitCode code = run.runPasses(*flat, [](OpPassManager &passes) {
    passes.addPass(importer::createInlineFunctionsPass());
  });
  if (code != exitOk)
    return exitUserError;
  auto main = flat->lookupSymbol<func::FuncOp>("main");
  codegen::XlaSignature signature = codegen::signatureBytes(main);
  int64_t given = signature.arguments + signature.results;
  int64_t asked = *budget - given;
  if (asked < 0)
    return fail(exitNoPlan, "no plan within " + printBytes(*budget) +
                                ": infeasible (proved), since arguments and "
                                "results alone take " +
                                printBytes(given));
  int64_t before = codegen::predictedTemporaries(main);
  bool segmented = false;
  std::optional<codegen::XlaPlan> plan;
  if (before > codegen::withRoomToSpare(asked)) {
    plan = planFor(*flat, asked, /*segments=*/false, run);
    if (plan && plan->temporaries > asked)
      if (auto cut = planFor(*flat, asked, /*segments=*/true, run);
          cut && cut->temporaries <
                     plan->temporaries - plan->temporaries / leastGain) {
        plan = std::move(cut);
        segmented = true;
      }
    if (!plan)
      return fail(exitInternal, "the recomputation problem is not well "
                                "formed");
    // What is expected to make it worse does not leave.
    if (plan->temporaries > before)
      plan.reset();
    else
      program.module = std::move(plan->module);
  }
  if (!plan) {
    segmented = false;
    plan.emplace();
    plan->temporaries = before;
  }
  run.details["loops_in_segments"] = segmented;
  report(asked, before, *plan, segmented, run);
  return exitOk;
}

static ExitCode writeForXla(Program &program, StageRun &run) {
  codegen::WriteOptions writing;
  writing.generic = run.options.generic;
  run.result.text = codegen::writeStableHLO(*program.module, writing);
  run.details["bytes"] = int64_t(run.result.text.size());
  return exitOk;
}

Walk driver::walkToXla() {
  return {
      {.name = "read", .run = readForXla},
      {.name = "plan", .options = {memoryBudgetOption()}, .run = planForXla},
      {.name = "write", .run = writeForXla}};
}
