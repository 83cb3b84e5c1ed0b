//===- ExportStableHLO.cpp - A step as StableHLO for XLA ------------------===//
//
// See ExportStableHLO.h. Nothing is simplified on this walk: XLA does the same
// itself (docs/Rationale/XlaOutput.md has the measurements), so what is not
// planned leaves as it came.
//
//===----------------------------------------------------------------------===//

#include "ExportStableHLO.h"

#include "ReportingContext.h"
#include "StageLog.h"

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
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

/// What an option that belongs to native targets is called; empty for none.
StringRef nativeOption(const CompileOptions &options) {
  if (!options.cpu.empty())
    return "--cpu";
  if (!options.machineFile.empty())
    return "--machine";
  if (!options.rolesFile.empty())
    return "--roles";
  if (options.from)
    return "--compile-from";
  if (options.to)
    return "--compile-to";
  if (options.fuse)
    return "--fuse";
  if (options.subnormals)
    return "--subnormals";
  if (options.noLibraries)
    return "--no-libraries";
  return "";
}

class Export : StageLog {
public:
  explicit Export(const CompileOptions &options)
      : StageLog(result.stages), options(options) {}

  CompileResult run() {
    result.code = timed("read", [&] { return read(); });
    if (result.code == exitOk)
      result.code = timed("plan", [&] { return plan(); });
    if (result.code == exitOk)
      result.code = timed("write", [&] { return write(); });
    return std::move(result);
  }

private:
  ExitCode read() {
    if (StringRef option = nativeOption(options); !option.empty())
      return fail(exitBadUsage, option + " is for the target cpu; XLA decides "
                                         "that for the target stablehlo");
    context = ReportingContext::create(options.remarks, result.remarks);
    if (!context)
      return exitBadUsage;
    context->allowUnregisteredDialects();
    importer::ReadOptions reading;
    reading.keepUnknown = true;
    module = importer::readStableHLOFile(options.input, *context, reading);
    if (!module)
      return exitUserError;
    int64_t operations = 0;
    module->walk([&](Operation *) { ++operations; });
    details["operations"] = operations;
    return exitOk;
  }

  /// Under a budget, what is recomputed so that XLA should stay within it.
  ExitCode plan() {
    if (!options.memoryBudget)
      return exitOk;
    if (DeviceCount count = countDevices(*module); count.devices > 1)
      return fail(exitUserError, "--memory-budget is for programs for one "
                                 "device, found that " +
                                     count.reason +
                                     "; what a device holds is decided by XLA "
                                     "later");
    PassManager passes(context.get());
    passes.addPass(importer::createInlineFunctionsPass());
    OwningOpRef<ModuleOp> flat = module->clone();
    if (failed(passes.run(*flat)))
      return exitUserError;
    auto main = flat->lookupSymbol<func::FuncOp>("main");
    codegen::XlaSignature signature = codegen::signatureBytes(main);
    int64_t given = signature.arguments + signature.results;
    int64_t asked = *options.memoryBudget - given;
    if (asked < 0)
      return fail(exitNoPlan, "no plan within " +
                                  printBytes(*options.memoryBudget) +
                                  ": infeasible (proved), since arguments and "
                                  "results alone take " +
                                  printBytes(given));
    int64_t before = codegen::predictedTemporaries(main);
    bool segmented = false;
    std::optional<codegen::XlaPlan> plan;
    if (before > codegen::withRoomToSpare(asked)) {
      plan = planFor(*flat, asked, /*segments=*/false);
      if (plan && plan->temporaries > asked)
        if (auto cut = planFor(*flat, asked, /*segments=*/true);
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
        module = std::move(plan->module);
    }
    if (!plan) {
      segmented = false;
      plan.emplace();
      plan->temporaries = before;
    }
    details["loops_in_segments"] = segmented;
    report(asked, before, *plan, segmented);
    return exitOk;
  }

  /// Segments of loops take a second run of their forward rounds, so that they
  /// must need this part less.
  static constexpr int64_t leastGain = 20;

  /// Plans the flat step as XLA would run it. Between the loops of a scan's two
  /// directions, what follows from what is there is computed again; XLA would
  /// stack all of it. `segments` has them stack only what they carry, and that
  /// once per segment; nothing if there are no such loops. Loops have to carry
  /// nothing but what changes for that.
  std::optional<codegen::XlaPlan> planFor(ModuleOp flat, int64_t asked,
                                          bool segments) {
    OwningOpRef<ModuleOp> step = flat.clone();
    PassManager passes(context.get());
    passes.addNestedPass<func::FuncOp>(simplify::createTrimLoopsPass());
    passes.addNestedPass<func::FuncOp>(
        fusion::createRecomputeAcrossLoopsPass());
    if (segments)
      passes.addNestedPass<func::FuncOp>(fusion::createSegmentLoopsPass());
    if (failed(passes.run(*step)))
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

  void report(int64_t asked, int64_t before, const codegen::XlaPlan &plan,
              bool segmented) {
    details["budget"] = *options.memoryBudget;
    details["temporaries_asked"] = asked;
    details["temporaries_predicted"] = plan.temporaries;
    details["temporaries_predicted_as_it_came"] = before;
    details["recomputed_dots"] = plan.dots;
    details["recomputed_convolutions"] = plan.convolutions;
    details["recomputed_fusions"] = plan.clusters;
    details["ties"] = plan.ties;
    details["predicted_nanoseconds"] = plan.nanoseconds;
    details["predicted_nanoseconds_as_it_came"] = plan.baseNanoseconds;
    result.planSummary =
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

  ExitCode write() {
    codegen::WriteOptions writing;
    writing.generic = options.generic;
    result.text = codegen::writeStableHLO(*module, writing);
    details["bytes"] = int64_t(result.text.size());
    return exitOk;
  }

  const CompileOptions &options;
  CompileResult result;
  std::unique_ptr<ReportingContext> context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

CompileResult driver::exportStableHLO(const CompileOptions &options) {
  return Export(options).run();
}
