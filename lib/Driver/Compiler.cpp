//===- Compiler.cpp - From an exported module to a .tenon file ------------===//
//
// See Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Compiler.h"

#include "BatchFit.h"
#include "ExportStableHLO.h"
#include "NoPlan.h"
#include "PlanUnderBudget.h"
#include "RecordedOptions.h"
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
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
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
  ExitCode measureMemory(StepMemory &memory);

private:
  /// Runs the stages up to and including `last`, or what `options` say.
  ExitCode runStages(std::optional<Stage> last);
  ExitCode read();
  ExitCode runStage(Stage stage);
  ExitCode runPasses(llvm::function_ref<void(OpPassManager &)> build);
  ExitCode blame() const;
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
  PassManager passes(context.get());
  passes.enableVerifier(options.verifyForms);
  build(passes);
  if (succeeded(passes.run(*module)))
    return exitOk;
  return importer::isRefusedAsUnsupported(*module) ? exitUnsupported : blame();
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
  codegen::annotateScratch(*module, resolved.features);
  memory::MemoryOptions memory;
  if (!options.dumpProblems.empty())
    memory.problemFile = options.dumpProblems + "/offset-packing.csv";
  if (resolved.memoryBudget)
    return planUnderBudget(memory, *resolved.memoryBudget);
  return runPasses([&](OpPassManager &passes) {
    memory::buildPlanPipeline(passes, memory);
  });
}

ExitCode Compilation::planUnderBudget(const memory::MemoryOptions &memory,
                                      int64_t budget) {
  if (auto main = module->lookupSymbol<func::FuncOp>("main"))
    cost::annotateTimes(main.getBody(), resolved.machine);
  BudgetPlanner planner(*module, memory);
  std::optional<PlannedStep> everything = planner.keepEverything();
  if (!everything)
    return exitInternal;
  std::optional<PlannedStep> planned = planner.within(budget);
  if (!planned) {
    std::optional<PlannedStep> smallest = planner.smallest();
    if (!smallest)
      return exitInternal;
    if (smallest->bytes > budget)
      return fail(exitNoPlan,
                  whyNoPlan(budget, boundOf(*module, *everything), *smallest));
    planned = std::move(smallest);
  }
  module = std::move(planned->module);
  details["budget"] = budget;
  details["bytes"] = planned->bytes;
  details["bytes_keeping_everything"] = everything->bytes;
  details["temporaries"] = planned->temporaries;
  details["temporaries_bound"] = planned->temporariesBound;
  details["live_peak"] = planned->livePeak;
  auto [excluded, all] = excludedBytes(*module);
  details["excluded_bytes"] = excluded;
  details["value_bytes"] = all;
  details["exclusions"] = exclusionsJSON(*module);
  details["predicted_nanoseconds"] = planned->nanoseconds;
  details["predicted_nanoseconds_keeping_everything"] =
      planned->baseNanoseconds;
  details["bound_nanoseconds"] = planned->boundNanoseconds;
  auto percentAbove = [](int64_t value, int64_t base) {
    return base ? 100.0 * double(value - base) / double(base) : 0.0;
  };
  result.planSummary =
      llvm::formatv(
          "planned    {0} of {1} (keeping everything: {2}); recomputes {3:f1} "
          "% more work, at most {4:f2} % of the whole and {5} of the extra "
          "above the least for these kernels in this order (proved)",
          printBytes(planned->bytes), printBytes(budget),
          printBytes(everything->bytes),
          percentAbove(planned->nanoseconds, planned->baseNanoseconds),
          percentAbove(planned->nanoseconds, planned->boundNanoseconds),
          gapOfExtra(*planned))
          .str();
  return exitOk;
}

ExitCode Compilation::runStage(Stage stage) {
  switch (stage) {
  case Stage::import: {
    ExitCode code = runPasses([&](OpPassManager &passes) {
      importer::ImportOptions import;
      import.entry = options.function;
      import.rolesFile = options.rolesFile;
      import.separateExpectations = options.separateExpectations;
      importer::buildImportPipeline(passes, import);
    });
    result.expectations = importer::takeExpectations(*module);
    return code;
  }
  case Stage::simplify: {
    ExitCode code = runPasses([&](OpPassManager &passes) {
      simplify::SimplifyOptions simplify;
      simplify.dropBarriers = resolved.replanRecomputation;
      simplify::buildSimplifyPipeline(passes, simplify);
    });
    if (code == exitOk)
      countWork();
    return code;
  }
  case Stage::group: {
    ExitCode code = runPasses([&](OpPassManager &passes) {
      fusion::FusionOptions fusion;
      fusion.merge = resolved.fuse;
      fusion.libraryInstructionSet = libraries::name(resolved.features.isa);
      fusion.machine = resolved.machine;
      fusion::buildFusionPipeline(passes, fusion);
      if (options.verifyForms)
        passes.addPass(fusion::createVerifyGroupedFormPass());
    });
    if (code == exitOk)
      predictCost();
    return code;
  }
  case Stage::plan:
    return plan();
  case Stage::lower:
    return runPasses([&](OpPassManager &passes) {
      memory::buildLowerPipeline(passes);
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
      resolved.featureSet, resolved.features.isa,
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
  ExitCode code = timed("read", [&] { return read(); });
  if (code == exitOk) {
    code = resolveOptions(options, *module, resolved);
    result.featureSet = resolved.featureSet;
  }
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
                  {resolved.featureSet, resolved.fuse, resolved.machineText,
                   resolved.memoryBudget, resolved.replanRecomputation});
    // Positions go with the text: what is compiled from it names them.
    llvm::raw_string_ostream stream(result.text);
    module->print(stream, OpPrintingFlags().enableDebugInfo());
    stream << "\n";
    return std::move(result);
  }
  result.code = timed("package", [&] { return writePackage(); });
  return std::move(result);
}

ExitCode Compilation::planFrontier(int64_t count, llvm::raw_ostream &out) {
  if (ExitCode code = runStages(Stage::group); code != exitOk)
    return code;
  codegen::annotateScratch(*module, resolved.features);
  if (auto main = module->lookupSymbol<func::FuncOp>("main"))
    cost::annotateTimes(main.getBody(), resolved.machine);
  memory::MemoryOptions memory;
  BudgetPlanner planner(*module, memory);
  std::vector<FrontierPoint> points = planner.frontier(count);
  if (points.empty())
    return exitInternal;
  printFrontier(points, out);
  std::optional<PlannedStep> everything = planner.keepEverything();
  if (!everything)
    return exitInternal;
  out << "smallest budget " << points.front().bytes << " bytes ("
      << printBytes(points.front().bytes) << "), every plan needs "
      << printBytes(boundOf(*module, *everything).bytes) << " (proved)\n";
  printExclusions(*everything->module, out);
  return exitOk;
}

/// What the step needs with everything kept, and at least.
ExitCode Compilation::measureMemory(StepMemory &memory) {
  if (ExitCode code = runStages(Stage::group); code != exitOk)
    return code;
  codegen::annotateScratch(*module, resolved.features);
  memory.input = options.input;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return exitInternal;
  cost::annotateTimes(main.getBody(), resolved.machine);
  for (BlockArgument argument : main.getArguments()) {
    auto role = main.getArgAttrOfType<step::RoleAttr>(argument.getArgNumber(),
                                                      step::roleAttrName);
    if (!role || !step::isState(role.getValue()))
      memory.batchShapes.push_back(
          cast<RankedTensorType>(argument.getType()).getShape().vec());
  }
  memory::MemoryOptions plain;
  BudgetPlanner planner(*module, plain);
  std::optional<PlannedStep> everything = planner.keepEverything();
  std::optional<PlannedStep> least = planner.smallest();
  if (!everything || !least)
    return exitInternal;
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
