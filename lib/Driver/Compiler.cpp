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
#include "StageLog.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Codegen/CPU/EmitKernels.h"
#include "tenon/Codegen/CPU/LowerToLLVM.h"
#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Writer.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Memory/Passes.h"
#include "tenon/Package/ObjectForm.h"
#include "tenon/Simplify/Pipeline.h"
#include "tenon/Support/Bytes.h"
#include "tenon/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
  ExitCode resolveOptions();
  ExitCode read();
  ExitCode runStage(Stage stage);
  ExitCode runPasses(llvm::function_ref<void(OpPassManager &)> build);
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
  codegen::FeatureSet features;
  bool fuse = true;
  std::optional<int64_t> memoryBudget;
  bool replanRecomputation = false;
  target::Target machine;  // what is planned for
  std::string machineText; // its JSON; empty for a built-in one
};

/// What a text was written for, against an option that says something else.
static std::string contradiction(const CompileOptions &options,
                                 const Twine &option, const Twine &recorded) {
  return (option + " contradicts '" + options.input + "', which was written " +
          recorded + "; leave the option out, or compile the exported module")
      .str();
}

ExitCode Compilation::resolveOptions() {
  StringRef ofImport = !options.rolesFile.empty()   ? "--roles"
                       : options.function != "main" ? "--function"
                                                    : "";
  if (options.from && !ofImport.empty())
    return fail(exitBadUsage, ofImport +
                                  " is read by the stage import, which "
                                  "--compile-from=" +
                                  nameOf(*options.from) + " leaves out");
  auto taken = takeOptions(*module);
  if (failed(taken))
    return exitUserError;
  std::optional<RecordedOptions> recorded = *taken;
  std::string error;
  std::optional<target::Target> given, described;
  if (!options.machineFile.empty()) {
    given = target::readTarget(options.machineFile, error);
    if (!given)
      return fail(exitUserError, error);
  }
  if (recorded) {
    described =
        recorded->machine.empty()
            ? target::builtInTarget(recorded->featureSet)
            : target::fromJson(recorded->machine,
                               "'machine' in '" + options.input + "'", error);
    if (!described)
      return fail(exitUserError, error.empty()
                                     ? "unknown feature set '" +
                                           recorded->featureSet + "' in '" +
                                           options.input + "'"
                                     : error);
    if (given && *given != *described)
      return fail(exitUserError,
                  contradiction(options, "--machine=" + options.machineFile,
                                "for " + described->name));
  } else {
    described = given;
  }

  // What is described need not be the machine that compiles.
  std::string cpu = options.cpu;
  if (cpu.empty() && recorded)
    cpu = recorded->featureSet;
  else if ((cpu.empty() || cpu == "host") && given)
    cpu = given->featureSet;
  else if (cpu.empty())
    cpu = "host";
  auto parsed = codegen::FeatureSet::parse(cpu);
  if (!parsed)
    return fail(cpu == "host" ? exitUserError : exitBadUsage,
                cpu == "host"
                    ? Twine("this processor lacks AVX2 and FMA; pass --cpu to "
                            "compile for another one")
                    : "unknown feature set '" + Twine(cpu) +
                          "', expected host, x86-64-v3, x86-64-v4 or "
                          "x86-64-v4+avx512bf16");
  features = *parsed;
  result.featureSet = features.spelling().str();
  if (recorded && result.featureSet != recorded->featureSet)
    return fail(
        exitUserError,
        contradiction(
            options,
            "--cpu=" + cpu +
                (cpu == "host" ? " (here " + result.featureSet + ")" : ""),
            "for " + recorded->featureSet));
  if (described && target::featureSetRank(result.featureSet) >
                       target::featureSetRank(described->featureSet))
    return fail(exitUserError, "--cpu=" + Twine(result.featureSet) +
                                   " does not run on the machine of '" +
                                   options.machineFile + "', which has " +
                                   described->featureSet);
  fuse = options.fuse.value_or(!recorded || recorded->fuse);
  if (recorded && fuse != recorded->fuse)
    return fail(exitUserError,
                contradiction(options,
                              Twine("--fuse=") + (fuse ? "true" : "false"),
                              Twine("with --fuse=") +
                                  (recorded->fuse ? "true" : "false")));
  memoryBudget = options.memoryBudget;
  if (recorded && !memoryBudget)
    memoryBudget = recorded->memoryBudget;
  if (recorded && options.from >= Stage::plan &&
      memoryBudget != recorded->memoryBudget)
    return fail(exitUserError,
                contradiction(
                    options, "--memory-budget=" + Twine(*memoryBudget),
                    recorded->memoryBudget ? "with --memory-budget=" +
                                                 Twine(*recorded->memoryBudget)
                                           : Twine("without a budget")));
  replanRecomputation = options.replanRecomputation.value_or(
      recorded && recorded->replanRecomputation);
  if (recorded && options.from >= Stage::simplify &&
      replanRecomputation != recorded->replanRecomputation)
    return fail(
        exitUserError,
        contradiction(options,
                      Twine("--recompute=") +
                          (replanRecomputation ? "replan" : "keep"),
                      Twine("with --recompute=") +
                          (recorded->replanRecomputation ? "replan" : "keep")));
  if (recorded)
    machineText = recorded->machine;
  else if (given)
    machineText = target::toJson(*given);
  machine = described ? std::move(*described)
                      : *target::builtInTarget(result.featureSet);
  return exitOk;
}

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
  cost::StepCost step = cost::predictStep(main.getBody(), machine);
  details["machine"] = machine.name;
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

ExitCode
Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager passes(context.get());
  passes.enableVerifier(options.verifyForms);
  build(passes);
  if (succeeded(passes.run(*module)))
    return exitOk;
  return importer::isRefusedAsUnsupported(*module) ? exitUnsupported
                                                   : exitUserError;
}

ExitCode Compilation::codegen() {
  unsigned threads = options.threads
                         ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count();
  auto emitted = codegen::emitKernels(*module, features, threads);
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
  codegen::annotateScratch(*module, features);
  memory::MemoryOptions memory;
  if (!options.dumpProblems.empty())
    memory.problemFile = options.dumpProblems + "/offset-packing.csv";
  if (memoryBudget)
    return planUnderBudget(memory, *memoryBudget);
  return runPasses([&](OpPassManager &passes) {
    memory::buildPlanPipeline(passes, memory);
  });
}

ExitCode Compilation::planUnderBudget(const memory::MemoryOptions &memory,
                                      int64_t budget) {
  if (auto main = module->lookupSymbol<func::FuncOp>("main"))
    cost::annotateTimes(main.getBody(), machine);
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
      simplify.dropBarriers = replanRecomputation;
      simplify::buildSimplifyPipeline(passes, simplify);
    });
    if (code == exitOk)
      countWork();
    return code;
  }
  case Stage::group: {
    ExitCode code = runPasses([&](OpPassManager &passes) {
      fusion::FusionOptions fusion;
      fusion.merge = fuse;
      fusion.libraryInstructionSet = libraries::name(features.isa);
      fusion.machine = machine;
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
  package::PackageOptions packageOptions{features.spelling().str(),
                                         features.isa,
                                         uint64_t(memoryBudget.value_or(0))};
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
  if (code == exitOk)
    code = resolveOptions();
  for (const StageDescription &description : stages()) {
    if (code != exitOk)
      return code;
    if (options.from && description.stage <= *options.from)
      continue;
    code = timed(description.name, [&] { return runStage(description.stage); });
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
    recordOptions(*module, {result.featureSet, fuse, machineText, memoryBudget,
                            replanRecomputation});
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
  codegen::annotateScratch(*module, features);
  if (auto main = module->lookupSymbol<func::FuncOp>("main"))
    cost::annotateTimes(main.getBody(), machine);
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
  codegen::annotateScratch(*module, features);
  memory.input = options.input;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return exitInternal;
  cost::annotateTimes(main.getBody(), machine);
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

/// Writes a file so that `path` is the old or the whole new one.
static bool writeFile(const std::string &path, std::span<const std::byte> bytes,
                      std::string &error) {
  auto file = format::AtomicFile::create(path, error);
  return file && file->append(bytes, error) && file->commit(error);
}

static bool writeReport(const CompileOptions &options,
                        const CompileResult &result) {
  llvm::json::Array stages;
  double total = 0;
  for (const StageReport &stage : result.stages) {
    llvm::json::Object entry = stage.details;
    entry["stage"] = stage.name;
    entry["seconds"] = stage.seconds;
    total += stage.seconds;
    stages.push_back(std::move(entry));
  }
  llvm::json::Object report{{"report_version", 1},
                            {"input", options.input},
                            {"cpu", result.featureSet},
                            {"exit_code", int64_t(result.code)},
                            {"seconds", total},
                            {"stages", std::move(stages)},
                            {"remarks", llvm::json::Array(result.remarks)}};
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
  std::string error;
  if (writeFile(options.reportFile, std::as_bytes(std::span(text)), error))
    return true;
  llvm::errs() << "error: " << error << "\n";
  return false;
}

ExitCode driver::compileToFile(const CompileOptions &options,
                               llvm::raw_ostream &progress) {
  CompileResult result = compile(options);
  if (!options.reportFile.empty() && !writeReport(options, result))
    return exitUserError;
  if (result.code != exitOk)
    return result.code;
  std::span<const std::byte> bytes =
      result.file.empty() ? std::as_bytes(std::span(result.text))
                          : std::span<const std::byte>(result.file);
  if (options.output == "-") {
    llvm::outs() << llvm::StringRef(
        reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return exitOk;
  }
  std::string error;
  if (!writeFile(options.output, bytes, error)) {
    llvm::errs() << "error: " << error << "\n";
    return exitUserError;
  }
  if (!result.planSummary.empty())
    progress << result.planSummary << "\n";
  double total = 0;
  for (const StageReport &stage : result.stages)
    total += stage.seconds;
  progress << llvm::formatv("compiled   {0:f2} s -> {1}, {2:f1} KB\n", total,
                            options.output, bytes.size() / 1024.0);
  return exitOk;
}
