//===- Compiler.cpp - From an exported module to a .tenon file ------------===//
//
// See Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"

#include "AnnotateForBudget.h"
#include "BatchFit.h"
#include "ExportStableHLO.h"
#include "Groupings.h"
#include "NoPlan.h"
#include "PlanReport.h"
#include "PlanUnderBudget.h"
#include "RecordedOptions.h"
#include "RegroupCopies.h"
#include "ReportingContext.h"
#include "ResolveOptions.h"
#include "StageLog.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Codegen/CPU/EmitKernels.h"
#include "tenon/Codegen/CPU/LowerToLLVM.h"
#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/Writer.h"
#include "tenon/Fusion/LibraryGroup.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Memory/OffloadPlan.h"
#include "tenon/Memory/Passes.h"
#include "tenon/Package/ObjectForm.h"
#include "tenon/Simplify/Pipeline.h"
#include "tenon/Support/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

void driver::registerDialects(DialectRegistry &registry) {
  importer::registerInputDialects(registry);
  registry.insert<exec::ExecDialect>();
  codegen::registerKernelDialects(registry);
}

namespace {

class Compilation : StageLog {
public:
  explicit Compilation(const CompileOptions &options)
      : StageLog(result.stages), options(options) {}

  CompileResult run();
  ExitCode planFrontier(int64_t count, llvm::raw_ostream &out);
  ExitCode planOffload(int64_t count, llvm::raw_ostream &out);
  ExitCode measureMemory(StepMemory &memory);

private:
  /// Runs the stages up to and including `last`, or what `options` say.
  ExitCode runStages(std::optional<Stage> last);
  ExitCode read();
  ExitCode verifyForm(Stage stage);
  ExitCode runStage(Stage stage);
  ExitCode runPasses(llvm::function_ref<void(OpPassManager &)> build);
  ExitCode runPasses(ModuleOp on,
                     llvm::function_ref<void(OpPassManager &)> build);
  ExitCode group();
  ExitCode askLibraries();
  ExitCode group(ModuleOp on, fusion::FusionOptions fusion,
                 Groupings::Part part);
  ExitCode groupForBudgets();
  ExitCode chooseGrouping(int64_t budget);
  void recordEverything(int64_t bytes, int64_t nanoseconds);
  ExitCode blame() const;
  bool isParallel() const { return options.threads != 1; }
  void countWork();
  void predictCost();
  ExitCode plan();
  ExitCode planUnderBudget(const memory::MemoryOptions &memory, int64_t budget);
  ExitCode codegen();
  ExitCode writePackage();

  const CompileOptions &options;
  CompileResult result;
  std::unique_ptr<ReportingContext> context;
  OwningOpRef<ModuleOp> module;
  /// For planning for budgets; the first is as `module`.
  std::optional<Groupings> groupings;
  /// The plan for which a grouping was chosen.
  std::optional<PlannedStep> chosenPlan;
  bool plansForBudgets = false;
  ResolvedOptions resolved;
  Stage running = Stage::import;
};

/// Leaves the FLOPs of a step on the module, for the file and its benchmarks.
void Compilation::countWork() {
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration())
    return;
  OperationCount count = countOperations(main.getBody());
  Builder builder(context.get());
  (*module)->setAttr(step::flopsAttrName, builder.getF64FloatAttr(count.flops));
  details["flops"] = count.flops;
  details["dots"] = count.dots;
  details["convolutions"] = count.convolutions;
  details["loops_counted_once"] = int64_t(count.loopsCountedOnce.size());
  for (Location loop : count.loopsCountedOnce)
    remark::analysis(
        loop,
        remark::RemarkOpts::name("LoopCountedOnce").category("operation-count"))
        << "how often this loop runs is not evident, so its work counts once";
}

/// Reports what the groups should take on the machine planned for.
void Compilation::predictCost() {
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration())
    return;
  cost::StepCost step = cost::predictStep(main.getBody(), resolved.machine);
  details["machine"] = resolved.machine.name;
  details["predicted_seconds"] = step.total.seconds;
  details["predicted_bytes"] = step.total.bytes;
  llvm::json::Object kinds;
  for (auto &[kind, cost] : step.kinds)
    kinds[step::stringifyGroupKind(kind)] = llvm::json::Object{
        {"predicted_seconds", cost.seconds}, {"predicted_bytes", cost.bytes}};
  details["kinds"] = std::move(kinds);
}

ExitCode Compilation::read() {
  context = ReportingContext::create(options.remarks, result.remarks);
  if (!context)
    return exitBadUsage;
  codegen::prepareContext(*context);
  if (options.from) {
    context->loadAllAvailableDialects();
    module = importer::readFormFile(options.input, *context);
  } else {
    module = importer::readStableHLOFile(options.input, *context);
  }
  if (!module)
    return exitUserError;
  int64_t operations = 0;
  module->walk([&](Operation *) { ++operations; });
  details["operations"] = operations;
  return exitOk;
}

/// Whose fault it is that a stage failed. Import judges the program; what it
/// let through, every later stage has to take, unless a user edited the text.
ExitCode Compilation::blame() const {
  return running == Stage::import || options.from ? exitUserError
                                                  : exitInternal;
}

ExitCode
Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  return runPasses(*module, build);
}

ExitCode
Compilation::runPasses(ModuleOp on,
                       llvm::function_ref<void(OpPassManager &)> build) {
  PassManager passes(context.get());
  passes.enableVerifier(options.verifyForms);
  build(passes);
  if (succeeded(passes.run(on)))
    return exitOk;
  return importer::isRefusedAsUnsupported(on) ? exitUnsupported : blame();
}

/// Holds a text against its form: it may have been edited, and stages rely on
/// it.
ExitCode Compilation::verifyForm(Stage stage) {
  running = stage;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (stage == Stage::group && (!main || main.isDeclaration())) {
    module->emitError() << "grouped form holds a function @main with a body";
    return exitUserError;
  }
  // Groups are as they were after `group`; what a library is asked for is known
  // there alone.
  auto isWrong = [](step::GroupOp call) -> WalkResult {
    return failure(call.getKind() == step::GroupKind::library &&
                   failed(fusion::verifyLibraryGroup(call)));
  };
  if (stage == Stage::plan && module->walk(isWrong).wasInterrupted())
    return exitUserError;
  return runPasses([&](OpPassManager &passes) {
    switch (stage) {
    case Stage::import:
    case Stage::simplify:
      return passes.addPass(importer::createVerifyStepFormPass());
    case Stage::group:
      return passes.addPass(fusion::createVerifyGroupedFormPass());
    case Stage::plan:
      return passes.addPass(memory::createVerifyScheduledFormPass());
    case Stage::lower:
    case Stage::codegen:
      return passes.addPass(memory::createVerifyExecFormPass());
    }
  });
}

/// Groups a step; of the options, those about loops are given.
ExitCode Compilation::group(ModuleOp on, fusion::FusionOptions fusion,
                            Groupings::Part part) {
  return runPasses(on, [&](OpPassManager &passes) {
    fusion.merge = resolved.fuse;
    fusion.callLibraries = !resolved.noLibraries;
    fusion.isa = resolved.features.isa;
    fusion.machine = resolved.machine;
    if (part == Groupings::Part::loops)
      return fusion::buildLoopPipeline(passes, fusion);
    fusion::buildGroupPipeline(passes, fusion);
    if (options.verifyForms)
      passes.addPass(fusion::createVerifyGroupedFormPass());
  });
}

ExitCode Compilation::group() {
  bool hasBudget = plansForBudgets || resolved.memoryBudget;
  OwningOpRef<ModuleOp> step;
  if (hasBudget)
    step = module->clone();
  for (Groupings::Part part : {Groupings::Part::loops, Groupings::Part::groups})
    if (ExitCode code = group(*module, {}, part); code != exitOk)
      return code;
  if (hasBudget) {
    groupings.emplace(resolved.features, resolved.machine);
    groupings->begin(
        module->clone(), std::move(step),
        [this](ModuleOp on, const fusion::FusionOptions &loops,
               Groupings::Part part) { return group(on, loops, part); });
    if (!plansForBudgets && groupings->mayFormMore())
      if (ExitCode code = chooseGrouping(*resolved.memoryBudget);
          code != exitOk)
        return code;
  }
  predictCost();
  return exitOk;
}

/// Goes on with the grouping that has the quickest plan within the budget.
ExitCode Compilation::chooseGrouping(int64_t budget) {
  AlternativePlanner planner(*groupings, isParallel());
  const PlannedStep *everything = planner.keepEverything();
  if (!everything)
    return exitInternal;
  chosenPlan = planner.within(budget);
  if (groupings->failure() != exitOk)
    return groupings->failure();
  if (!chosenPlan) {
    const PlannedStep *least = planner.smallest();
    return least ? fail(exitNoPlan,
                        whyNoPlan(budget, boundOf(*groupings, *everything),
                                  *least))
                 : exitInternal;
  }
  if (groupings->size() > 1) {
    details["groupings"] = int64_t(groupings->size());
    details["grouping"] = int64_t(chosenPlan->alternative);
  }
  module = groupings->take(chosenPlan->alternative);
  // What a text says is of all groupings.
  if (!(*module)->hasAttr(step::keepingEverythingAttrName))
    recordEverything(everything->bytes, chosenPlan->baseNanoseconds);
  return exitOk;
}

/// Where loops compute values again, the quickest step without a budget is the
/// measure.
void Compilation::recordEverything(int64_t bytes, int64_t nanoseconds) {
  Builder builder(context.get());
  auto named = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  (*module)->setAttr(
      step::keepingEverythingAttrName,
      builder.getDictionaryAttr(
          {named("bytes", bytes), named("nanoseconds", nanoseconds)}));
}

ExitCode Compilation::codegen() {
  unsigned threads = options.threads
                         ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count();
  auto emitted = codegen::emitKernels(*module, resolved.features, threads);
  if (failed(emitted))
    return exitUnsupported;
  details["kernels"] = int64_t(emitted->symbols.size());
  details["distinct_kernels"] = int64_t(emitted->distinct);
  details["bytes"] = int64_t(emitted->sharedObject.size());
  llvm::StringMap<std::string> symbols;
  for (auto &[function, symbol] : emitted->symbols)
    symbols[function] = symbol;
  return succeeded(
             package::toObjectForm(*module, emitted->sharedObject, symbols))
             ? exitOk
             : exitInternal;
}

ExitCode Compilation::plan() {
  memory::MemoryOptions memory;
  if (!options.dumpProblems.empty()) {
    memory.problemFile = options.dumpProblems + "/offset-packing.csv";
    memory.orderingFile = options.dumpProblems + "/operation-ordering.txt";
    for (const std::string &file : {memory.problemFile, memory.orderingFile}) {
      std::error_code error;
      llvm::raw_fd_ostream(file, error);
      if (error)
        return fail(exitUserError,
                    "cannot write '" + file + "': " + error.message());
    }
  }
  if (resolved.memoryBudget)
    return planUnderBudget(memory, *resolved.memoryBudget);
  codegen::annotateScratch(*module, resolved.features);
  return runPasses([&](OpPassManager &passes) {
    memory::buildPlanPipeline(passes, memory);
  });
}

ExitCode Compilation::planUnderBudget(const memory::MemoryOptions &memory,
                                      int64_t budget) {
  if (!chosenPlan) {
    if (!groupings) // a grouped module was read
      groupings.emplace(resolved.features, resolved.machine)
          .begin(std::move(module));
    if (ExitCode code = chooseGrouping(budget); code != exitOk)
      return code;
  }
  auto figures =
      (*module)->getAttrOfType<DictionaryAttr>(step::keepingEverythingAttrName);
  int64_t mostBytes = figures.getAs<IntegerAttr>("bytes").getInt();
  int64_t leastNanoseconds = figures.getAs<IntegerAttr>("nanoseconds").getInt();
  std::optional<PlannedStep> planned = std::move(chosenPlan);
  Regrouping regrouped =
      regroupCopies(*planned, resolved.features, resolved.machine);
  auto [excluded, all] = excludedBytes(planned->main());
  details["excluded_bytes"] = excluded;
  details["value_bytes"] = all;
  details["exclusions"] = exclusionsJSON(planned->main());
  module = std::move(planned->module);
  if (!memory.problemFile.empty()) {
    // On a copy: what is placed again may lie elsewhere than the figures say.
    OwningOpRef<ModuleOp> copy = module->clone();
    if (ExitCode code = runPasses(*copy, [&](OpPassManager &passes) {
          passes.addNestedPass<func::FuncOp>(memory::createPlanOffsetsPass(
              {memory.problemFile, /*quick=*/false}));
        }))
      return code;
  }
  (*module)->removeAttr(step::keepingEverythingAttrName);
  details["budget"] = budget;
  details["bytes"] = planned->bytes;
  details["bytes_keeping_everything"] = mostBytes;
  details["temporaries"] = planned->temporaries;
  details["temporaries_bound"] = planned->temporariesBound;
  details["live_peak"] = planned->livePeak;
  details["predicted_nanoseconds"] = planned->nanoseconds;
  details["predicted_nanoseconds_keeping_everything"] = leastNanoseconds;
  details["bound_nanoseconds"] = planned->boundNanoseconds;
  details["regrouped_copies"] = regrouped.copies;
  details["regrouped_nanoseconds_saved"] = regrouped.nanosecondsSaved;
  auto percentAbove = [](int64_t value, int64_t base) {
    return base ? 100.0 * double(value - base) / double(base) : 0.0;
  };
  result.planSummary =
      llvm::formatv(
          "planned    {0} of {1} (keeping everything: {2}); recomputes {3:f1} "
          "% more work than the quickest plan known without a budget\n"
          "proved     {4}{5}",
          printBytes(planned->bytes), printBytes(budget), printBytes(mostBytes),
          percentAbove(planned->nanoseconds, leastNanoseconds),
          solver::describe(claimOf(*planned)),
          regrouped.copies ? " (before copies joined their readers)" : "")
          .str();
  return exitOk;
}

/// Libraries are asked about the processor that code is for. Where they cannot
/// be, kernels in their place would make the file depend on this machine.
ExitCode Compilation::askLibraries() {
  if (resolved.noLibraries)
    return failed(fusion::verifyNoLibraryIsNeeded(*module)) ? exitUnsupported
                                                            : exitOk;
  std::string whyNot =
      fusion::whyLibrariesNotAskable(*module, resolved.features.isa);
  if (whyNot.empty())
    return exitOk;
  return fail(exitUserError,
              whyNot + "; compile where it does, for a smaller --cpu, or with "
                       "--no-libraries");
}

ExitCode Compilation::runStage(Stage stage) {
  if (stage == Stage::group || stage == Stage::plan)
    if (ExitCode code = askLibraries(); code != exitOk)
      return code;
  switch (stage) {
  case Stage::import: {
    ExitCode code = runPasses([&](OpPassManager &passes) {
      importer::ImportOptions import;
      import.entry = options.function;
      import.rolesFile = options.rolesFile;
      import.separateExpectations = options.separateExpectations;
      importer::buildImportPipeline(passes, import);
    });
    if (options.separateExpectations)
      result.expectations = importer::takeExpectations(*module);
    return code;
  }
  case Stage::simplify: {
    ExitCode code = runPasses([&](OpPassManager &passes) {
      simplify::SimplifyOptions simplify;
      simplify.dropBarriers = resolved.replanRecomputation;
      simplify.subnormals = resolved.subnormals;
      simplify::buildSimplifyPipeline(passes, simplify);
    });
    if (code == exitOk)
      countWork();
    return code;
  }
  case Stage::group:
    return group();
  case Stage::plan:
    return plan();
  case Stage::lower:
    return runPasses([&](OpPassManager &passes) {
      memory::buildLowerPipeline(passes, resolved.machine.launches);
      if (options.verifyForms)
        passes.addPass(memory::createVerifyExecFormPass());
    });
  case Stage::codegen:
    return codegen();
  }
  return exitInternal;
}

ExitCode Compilation::writePackage() {
  package::PackageOptions packageOptions{
      resolved.features.isa, resolved.subnormals,
      uint64_t(resolved.memoryBudget.value_or(0))};
  auto packaged = package::packageModule(*module, packageOptions);
  auto sharedObject = package::sharedObjectOf(*module);
  // A form that the caller wrote may be wrong; ours may not.
  if (failed(packaged) || failed(sharedObject))
    return options.from ? exitUserError : exitInternal;
  std::vector<format::SectionBytes> sections;
  if (!packaged->constants.empty())
    sections.push_back({format::SectionKind::constants, packaged->constants});
  if (!sharedObject->empty())
    sections.push_back(
        {format::SectionKind::cpuKernels,
         std::as_bytes(std::span(sharedObject->data(), sharedObject->size()))});
  result.file = format::write(packaged->index, sections);
  details["bytes"] = int64_t(result.file.size());
  return exitOk;
}

ExitCode Compilation::runStages(std::optional<Stage> last) {
  if (last && options.from > last)
    return fail(exitBadUsage, "--compile-from=" + nameOf(*options.from) +
                                  " begins behind the last stage, " +
                                  nameOf(*last));
  ExitCode code = timed("read", [&] { return read(); });
  if (code == exitOk) {
    code = resolveOptions(options, *module, resolved);
    result.featureSet = resolved.featureSet();
  }
  if (code == exitOk && options.from)
    code = verifyForm(*options.from);
  if (code != exitOk || (last && options.from == last))
    return code;
  for (const StageDescription &description : stages()) {
    if (code != exitOk)
      return code;
    if (options.from && description.stage <= *options.from)
      continue;
    running = description.stage;
    code = timed(description.name, [&] { return runStage(running); });
    if (last == description.stage)
      return code;
  }
  return code;
}

CompileResult Compilation::run() {
  result.code = runStages(options.to);
  if (result.code != exitOk)
    return std::move(result);
  if (options.to) {
    recordOptions(*module,
                  {resolved.featureSet(), resolved.fuse, resolved.machineText,
                   resolved.memoryBudget, resolved.replanRecomputation,
                   resolved.subnormals, resolved.noLibraries});
    // Positions go with the text: what is compiled from it names them.
    llvm::raw_string_ostream stream(result.text);
    module->print(stream, OpPrintingFlags().enableDebugInfo());
    stream << "\n";
    return std::move(result);
  }
  result.code = timed("package", [&] { return writePackage(); });
  return std::move(result);
}

/// Begins `groupings` for plans within several budgets.
ExitCode Compilation::groupForBudgets() {
  plansForBudgets = true;
  if (ExitCode code = runStages(Stage::group); code != exitOk)
    return code;
  if (!groupings) // a grouped module was read
    groupings.emplace(resolved.features, resolved.machine)
        .begin(module->clone());
  return exitOk;
}

ExitCode Compilation::planFrontier(int64_t count, llvm::raw_ostream &out) {
  if (ExitCode code = groupForBudgets(); code != exitOk)
    return code;
  AlternativePlanner planner(*groupings, isParallel());
  std::vector<FrontierPoint> points = planner.frontier(count);
  if (points.empty())
    return groupings->failure() ? groupings->failure() : exitInternal;
  printFrontier(points, out);
  const PlannedStep *everything = planner.keepEverything();
  int64_t bound = boundOf(*groupings, *everything).bytes;
  int64_t least = planner.smallest()->bytes;
  out << "smallest budget " << least << " bytes (" << printBytes(least)
      << "), with these kernels every plan needs " << printBytes(bound)
      << " (proved)\n";
  printExclusions(everything->main(), out);
  return exitOk;
}

ExitCode Compilation::planOffload(int64_t count, llvm::raw_ostream &out) {
  if (ExitCode code = runStages(Stage::group); code != exitOk)
    return code;
  if (resolved.machine.hostLink == 0)
    return fail(exitUserError,
                "the machine '" + resolved.machine.name +
                    "' has no link to a host's memory; describe one with "
                    "--machine=FILE.json and gigabytes_per_second.host_link");
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return exitInternal;
  annotateForBudget(*module, resolved.features, resolved.machine);
  ExitCode code = runPasses([](OpPassManager &passes) {
    memory::buildOrderPipeline(passes, /*hasBudget=*/true);
  });
  if (code != exitOk)
    return code;
  std::string error;
  auto points = memory::planOffload(
      main, {resolved.machine.hostLink, resolved.machine.overheads.launch},
      count, error);
  if (!points)
    return fail(exitInternal, "a plan with offload is wrong: " + error);
  out << " temporaries   waits   moved bytes  runs again  predicted ms     "
         "bound ms  more work  without link\n";
  for (const memory::OffloadPoint &point : *points) {
    std::string without =
        point.timeWithout
            ? llvm::formatv("{0:f3} ms", *point.timeWithout / 1e6).str()
            : "no plan found";
    out << llvm::formatv(
        "{0,12} {1,7} {2,13} {3,11} {4,13:f3} {5,12:f3} {6,8:f2} %  {7}\n",
        printBytes(point.budget), point.copies, printBytes(point.copiedBytes),
        point.repeated, point.time / 1e6, point.timeBound / 1e6,
        100.0 * double(point.time - point.baseTime) /
            double(std::max<int64_t>(point.baseTime, 1)),
        without);
  }
  out << "offload is planned and priced; nothing executes it yet\n";
  return exitOk;
}

/// What the step needs with everything kept, and at least.
ExitCode Compilation::measureMemory(StepMemory &memory) {
  if (ExitCode code = groupForBudgets(); code != exitOk)
    return code;
  memory.input = options.input;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return exitInternal;
  for (BlockArgument argument : main.getArguments()) {
    auto role = main.getArgAttrOfType<step::RoleAttr>(argument.getArgNumber(),
                                                      step::roleAttrName);
    if (!role || !step::isState(role.getValue()))
      memory.batchShapes.push_back(
          cast<RankedTensorType>(argument.getType()).getShape().vec());
  }
  AlternativePlanner planner(*groupings, isParallel());
  const PlannedStep *everything = planner.keepEverything();
  const PlannedStep *least = planner.smallest();
  if (!everything || !least)
    return groupings->failure() ? groupings->failure() : exitInternal;
  memory.everything = everything->bytes;
  memory.least = least->bytes;
  return exitOk;
}

} // namespace

CompileResult driver::compile(const CompileOptions &options) {
  if (options.target == OutputTarget::stablehlo)
    return exportStableHLO(options);
  return Compilation(options).run();
}

ExitCode driver::planFrontier(const CompileOptions &options, int64_t count,
                              llvm::raw_ostream &out) {
  return Compilation(options).planFrontier(count, out);
}

ExitCode driver::planOffload(const CompileOptions &options, int64_t count,
                             llvm::raw_ostream &out) {
  return Compilation(options).planOffload(count, out);
}

ExitCode driver::planBatches(const CompileOptions &options,
                             const std::string &other, llvm::raw_ostream &out) {
  CompileOptions otherOptions = options;
  otherOptions.input = other;
  StepMemory first, second;
  if (ExitCode code = Compilation(options).measureMemory(first))
    return code;
  if (ExitCode code = Compilation(otherOptions).measureMemory(second))
    return code;
  std::string error;
  if (printBatchFit(first, second, options.memoryBudget, out, error))
    return exitOk;
  llvm::errs() << "error: " << error << "\n";
  return exitUserError;
}
