//===- Stages.cpp - The stages of a compilation ---------------------------===//
//
// See Stages.h. The walk to a .tenon file.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/Stages.h"

#include "JoinEntry.h"
#include "OptionEntries.h"
#include "RunStages.h"
#include "StageEntries.h"
#include "StageOptions.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Codegen/CPU/EmitKernels.h"
#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Driver/RegisterPasses.h"
#include "tenon/Format/Hash.h"
#include "tenon/Format/PinnedMemory.h"
#include "tenon/Format/Writer.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Memory/Passes.h"
#include "tenon/Package/ObjectForm.h"
#include "tenon/Precision/Passes.h"
#include "tenon/Simplify/Passes.h"
#include "tenon/Simplify/Pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

//===----------------------------------------------------------------------===//
// read
//===----------------------------------------------------------------------===//

int64_t driver::countOperationsRead(ModuleOp module) {
  int64_t operations = 0;
  module->walk([&](Operation *) { ++operations; });
  return operations;
}

ExitCode driver::readInput(Program &program, StageRun &run) {
  const CompileOptions &options = run.options;
  codegen::prepareContext(*run.context);
  if (!options.from.empty()) {
    run.context->loadAllAvailableDialects();
    program.module = importer::readFormFile(options.input, *run.context);
  } else {
    program.module = importer::readStableHLOFile(options.input, *run.context);
  }
  if (!program.module)
    return exitUserError;
  run.details["operations"] = countOperationsRead(*program.module);
  Attribute mesh = (*program.module)->getAttr(step::meshAttrName);
  if (mesh && options.from.empty())
    return fail(exitUserError,
                "'" + options.input +
                    "' is cut for the ranks of a mesh already; pass "
                    "--compile-from=shard");
  if (mesh && options.target != OutputTarget::cpu)
    return fail(exitUserError, "'" + options.input +
                                   "' is cut for the ranks of a mesh, which "
                                   "are compiled for the target cpu alone");
  ExitCode code =
      resolveOptions(options, run.walk, *program.module, run.resolved);
  run.result.featureSet = run.resolved.featureSet;
  return code == exitOk ? readPrecisionPolicy(options, run.resolved) : code;
}

StageOption driver::subnormalsOption() {
  auto settled = [](auto &o) -> auto & { return o.features.subnormals; };
  return recordedAsOneOf<Subnormals>(
      givenOption("--subnormals", &CompileOptions::subnormals, settled),
      "subnormals", "\"keep\"", settled,
      {{Subnormals::flush, "", "--subnormals=flush"},
       {Subnormals::keep, "\"keep\"", "--subnormals=keep"}});
}

static ExitCode readForCpu(Program &program, StageRun &run) {
  ExitCode code = refuseOptionsOfOthers(run.options, run.walk);
  return code == exitOk ? readInput(program, run) : code;
}

static Stage readStage() {
  // That a text is for this target is all that it says of it.
  StageOption target = recordedAsOneOf<OutputTarget>(
      {}, "target", "\"cpu\"", [](auto &o) -> auto & { return o.target; },
      {{OutputTarget::cpu, "\"cpu\"", ""}});
  StageOption features = textOption(
      "--cpu", &CompileOptions::cpu, "feature_set", true,
      [](auto &o) -> auto & { return o.featureSet; });
  StageOption machine = textOption(
      "--machine", &CompileOptions::machineFile, "machine", false,
      [](auto &o) -> auto & { return o.machineText; });
  return {.name = "read",
          .options = {target, features, machine, subnormalsOption()},
          .run = readForCpu};
}

//===----------------------------------------------------------------------===//
// import, simplify
//===----------------------------------------------------------------------===//

ExitCode driver::checkStepForm(Program &program, StageRun &run) {
  return run.runPasses(*program.module, [](OpPassManager &passes) {
    passes.addPass(importer::createVerifyStepFormPass());
  });
}

/// What somebody wrote into the program as numbers: another learning rate there
/// makes another step with the same signature. In the order of the program, and
/// before any stage makes constants of its own.
static std::string hashOfConstants(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  module->walk([&](stablehlo::ConstantOp constant) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value)
      return;
    stream << value.getType() << (value.isSplat() ? "=" : ":");
    ArrayRef<char> raw = value.getRawData();
    stream.write(raw.data(), raw.size());
  });
  return format::hashText(
      format::hashOf(std::as_bytes(std::span(bytes.data(), bytes.size()))));
}

static ExitCode importStep(Program &program, StageRun &run) {
  importer::ImportOptions importing;
  importing.entry = run.options.function;
  importing.rolesFile = run.options.rolesFile;
  importing.resultNames = run.options.resultNames;
  importing.mesh = run.options.mesh;
  importing.separateExpectations = run.options.separateExpectations;
  // This stage judges the program; what it lets through, every later one takes.
  run.blame = exitUserError;
  ExitCode code = run.runPasses(*program.module, [&](OpPassManager &passes) {
    importer::buildImportPipeline(passes, importing);
  });
  if (code == exitOk)
    run.resolved.constants = hashOfConstants(*program.module);
  if (importing.separateExpectations)
    run.result.expectations = importer::takeExpectations(*program.module);
  return code;
}

StageOption driver::rolesOption() {
  return {.flag = "--roles", .isGiven = [](const CompileOptions &o) {
            return !o.rolesFile.empty();
          }};
}

StageOption driver::resultNamesOption() {
  return {.flag = "--name", .isGiven = [](const CompileOptions &o) {
            return !o.resultNames.empty();
          }};
}

Stage driver::importStage() {
  StageOption function{
      .flag = "--function",
      .isGiven = [](const CompileOptions &o) { return o.function != "main"; }};
  StageOption constants{.key = "constants",
                        .expected = "a string",
                        .read =
                            [](Attribute recorded, ResolvedOptions &resolved) {
                              auto text = dyn_cast<StringAttr>(recorded);
                              if (text)
                                resolved.constants = text.str();
                              return bool(text);
                            },
                        .write = [](const ResolvedOptions &resolved,
                                    Builder &builder) -> Attribute {
                          return resolved.constants.empty()
                                     ? nullptr
                                     : builder.getStringAttr(
                                           resolved.constants);
                        }};
  return {.name = "import",
          .form = "step form",
          .summary = "read the module, find roles and successors",
          .options = {rolesOption(), resultNamesOption(), function, constants},
          .run = importStep,
          .checkForm = checkStepForm,
          .registerPasses = importer::registerImportPipeline};
}

/// Leaves the FLOPs of a step on the module, for the file and its benchmarks.
static void countWork(ModuleOp module, llvm::json::Object &details) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration())
    return;
  OperationCount count = countOperations(main.getBody());
  module->setAttr(step::flopsAttrName,
                  Builder(module.getContext()).getF64FloatAttr(count.flops));
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

static ExitCode simplifyStep(Program &program, StageRun &run) {
  ExitCode code = run.runPasses(*program.module, [&](OpPassManager &passes) {
    simplify::SimplifyOptions simplifying;
    simplifying.dropBarriers = run.resolved.replanRecomputation;
    simplifying.subnormals = run.resolved.features.subnormals;
    simplifying.raiseAttention = false;
    simplify::buildSimplifyPipeline(passes, simplifying);
    // The weights of attention are computed again in the backward loop of a
    // scan, where they belong to its gradient.
    OpPassManager &functions = passes.nest<func::FuncOp>();
    fusion::RecomputeAcrossLoopsPassOptions across;
    across.attention = true;
    functions.addPass(fusion::createRecomputeAcrossLoopsPass(across));
    functions.addPass(simplify::createTrimLoopsPass());
    simplify::ApplyRulesPassOptions rules;
    rules.subnormals = name(run.resolved.features.subnormals);
    functions.addPass(simplify::createApplyRulesPass(rules));
    functions.addPass(simplify::createMergeDuplicatesPass());
    functions.addPass(simplify::createRaiseAttentionPass());
    functions.addPass(simplify::createComputeReadPartsPass());
  });
  if (code == exitOk)
    countWork(*program.module, run.details);
  return code;
}

Stage driver::simplifyStage() {
  auto settled = [](auto &o) -> auto & { return o.replanRecomputation; };
  StageOption recompute = recordedAsOneOf<bool>(
      givenOption("--recompute", &CompileOptions::replanRecomputation, settled),
      "recompute", "\"replan\"", settled,
      {{false, "", "--recompute=keep"},
       {true, "\"replan\"", "--recompute=replan"}});
  return {.name = "simplify",
          .form = "step form",
          .summary = "same meaning, less work",
          .options = {recompute},
          .run = simplifyStep,
          .checkForm = checkStepForm,
          .registerPasses = simplify::registerSimplifyPipeline};
}

//===----------------------------------------------------------------------===//
// lower, codegen, package
//===----------------------------------------------------------------------===//

ExitCode driver::checkExecForm(Program &program, StageRun &run) {
  return run.runPasses(*program.module, [](OpPassManager &passes) {
    passes.addPass(memory::createVerifyExecFormPass());
  });
}

static ExitCode lowerStep(Program &program, StageRun &run) {
  return run.runPasses(*program.module, [&](OpPassManager &passes) {
    memory::ProgramDevice device{.launches = run.resolved.machine.launches};
    if (run.resolved.target == OutputTarget::cuda) {
      device.deviceClass = "cuda";
      device.space = "device";
      device.hostSpace = "pinned";
    }
    memory::buildLowerPipeline(passes, device);
    if (mayStoreNarrow(run.resolved.precision) &&
        !program.module->getOperation()->hasAttr(step::narrowSumsAttrName))
      passes.addPass(precision::createVerifyAccumulatorsPass());
  });
}

Stage driver::lowerStage() {
  return {.name = "lower",
          .form = "exec form",
          .summary = "write the device program and outline kernels",
          .run = lowerStep,
          .checkForm = checkExecForm,
          .registerPasses = [] {
            PassPipelineRegistration<>("lower", "scheduled form to exec form",
                                       [](OpPassManager &passes) {
                                         memory::buildLowerPipeline(passes);
                                       });
          }};
}

/// Has an entry point read the state in the form that the step holds it in.
static Stage readHeldStage(ModuleOp step) {
  return {.name = "read-held", .run = [step](Program &program, StageRun &run) {
            auto main = program.module->lookupSymbol<func::FuncOp>("main");
            if (!main || main.isDeclaration())
              return exitOk;
            markHeldState(step, main);
            return run.runPasses(*program.module, [](OpPassManager &passes) {
              passes.addNestedPass<func::FuncOp>(
                  precision::createReadHeldStatePass());
            });
          }};
}

/// Each further entry point goes through the stages up to here by itself; its
/// context ends with it, so it comes over as text.
static OwningOpRef<ModuleOp> compileEntry(const EntryOption &entry,
                                          ModuleOp step, StageRun &run,
                                          ExitCode &code) {
  CompileOptions options = run.options;
  options.input = entry.file;
  options.function = "main";
  options.entries.clear();
  options.resultNames.clear();
  options.rolesFile.clear();
  options.dumpProblems.clear();
  options.ptxas.clear();
  options.kernelCache.clear();
  options.noCubins = false;
  // Nothing of it is kept for a backward part; the sum is checked at the end.
  options.memoryBudget.reset();
  options.offload = false;
  options.from.clear();
  options.to.clear();
  Walk upToHere;
  for (const Stage &stage : run.walk) {
    if (!upToHere.empty() && upToHere.back().name == "lower")
      break;
    upToHere.push_back(stage.name == "shard" ? shardEntryStage(step, entry.name)
                                             : stage);
    if (stage.name == "precision")
      upToHere.push_back(readHeldStage(step));
  }
  Compilation compilation(options, upToHere);
  // Inputs are not told by precision.
  compilation.run.resolved.holdBatches = false;
  compilation.run.resolved.isStep = false;
  code = compilation.runTo("");
  if (code != exitOk)
    return nullptr;
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*compilation.program.module)
      ->print(stream, OpPrintingFlags().enableDebugInfo());
  auto module = parseSourceString<ModuleOp>(text, run.context);
  code = module ? exitOk : exitInternal;
  return module;
}

static ExitCode joinEntries(Program &program, StageRun &run) {
  for (const EntryOption &entry : run.options.entries) {
    ExitCode code = exitOk;
    OwningOpRef<ModuleOp> module =
        compileEntry(entry, *program.module, run, code);
    if (!module) {
      llvm::errs() << "note: this is about the entry point '" << entry.name
                   << "', " << entry.file << "\n";
      return code;
    }
    JoinedEntry joined;
    std::string error;
    if (!joinEntry(*program.module, *module, entry.name, joined, error))
      return fail(exitUserError, "'" + entry.file + "': " + error);
    run.result.entrySummary += joined.summary + "\n";
    run.details[entry.name] = std::move(joined.report);
  }
  int64_t bytes = 0;
  for (auto segment : program.module->getOps<exec::SegmentOp>())
    if (segment.getSpace() != StringRef(format::pinnedSpaceName))
      bytes += int64_t(segment.getBytes());
  if (!run.options.entries.empty() && run.resolved.memoryBudget &&
      bytes > *run.resolved.memoryBudget)
    return fail(exitNoPlan,
                "not found (not proved infeasible): with its entry points the "
                "program takes " +
                    std::to_string(bytes) + " bytes, the budget is " +
                    std::to_string(*run.resolved.memoryBudget) +
                    "; give a budget of that size, or leave entry points out");
  return exitOk;
}

Stage driver::joinStage() {
  return {.name = "join",
          .options = {{.flag = "--entry",
                       .isGiven =
                           [](const CompileOptions &o) {
                             return !o.entries.empty();
                           }}},
          .run = joinEntries,
          .checkForm = checkExecForm};
}

StageOption driver::kernelCacheOption() {
  return {.flag = "--kernel-cache", .isGiven = [](const CompileOptions &o) {
            return !o.kernelCache.empty();
          }};
}

codegen::CodeWork driver::codeWork(const CompileOptions &options) {
  const std::string &cache = options.kernelCache.empty()
                                 ? options.usualKernelCache
                                 : options.kernelCache;
  return {.threads = options.threads
                         ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count(),
          .cache = cache == "none" ? "" : cache};
}

static ExitCode compileKernels(Program &program, StageRun &run) {
  auto emitted = codegen::emitKernels(*program.module, run.resolved.features,
                                      codeWork(run.options));
  if (failed(emitted))
    return exitUnsupported;
  run.details["kernels"] = int64_t(emitted->symbols.size());
  run.details["distinct_kernels"] = int64_t(emitted->distinct);
  run.details["bytes"] = int64_t(emitted->sharedObject.size());
  llvm::StringMap<std::string> symbols;
  for (auto &[function, symbol] : emitted->symbols)
    symbols[function] = symbol;
  return succeeded(package::toObjectForm(*program.module, emitted->sharedObject,
                                         symbols))
             ? exitOk
             : exitInternal;
}

static Stage codegenStage() {
  return {.name = "codegen",
          .form = "object form",
          .summary = "compile kernels",
          .options = {kernelCacheOption()},
          .run = compileKernels,
          .checkForm = checkExecForm,
          .registerPasses = codegen::registerCodegenCPUPasses};
}

/// What a run must know to say whether it goes on with equal bits.
static std::vector<format::Attribute>
arithmeticOf(const ResolvedOptions &options, ModuleOp module) {
  std::vector<format::Attribute> words{
      {"precision", nameOf(options.precision).str(), {}}};
  if (!options.constants.empty())
    words.push_back({"constants", options.constants, {}});
  if (!options.precisionPolicy.empty())
    words.push_back({"precision_policy", options.precisionPolicy, {}});
  if (options.precision == Precision::bf16State)
    words.push_back(
        {"rounding_seed", std::to_string(options.roundingSeed), {}});
  // In place of the ranks, on whose number nothing depends.
  if (auto shards =
          module->getAttrOfType<StringAttr>(step::logicalShardsAttrName))
    words.push_back({"ranks", "logical " + shards.str(), {}});
  return words;
}

static ExitCode writePackage(Program &program, StageRun &run) {
  package::PackageOptions options{
      run.resolved.features.isa, run.resolved.features.subnormals,
      uint64_t(run.resolved.memoryBudget.value_or(0)),
      arithmeticOf(run.resolved, *program.module)};
  auto packaged = package::packageModule(*program.module, options);
  if (failed(packaged))
    return run.blame;
  run.result.file = format::write(packaged->index, packaged->sections);
  run.details["bytes"] = int64_t(run.result.file.size());
  return exitOk;
}

Stage driver::packageStage() {
  return {.name = "package", .run = writePackage};
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

const Walk &driver::walkTo(OutputTarget target) {
  static const Walk toFile = {readStage(),      importStage(), simplifyStage(),
                              precisionStage(), shardStage(),  groupStage(),
                              planStage(),      lowerStage(),  joinStage(),
                              codegenStage(),   packageStage()};
  static const Walk toCuda = walkToCuda(), toXla = walkToXla();
  switch (target) {
  case OutputTarget::cpu:
    return toFile;
  case OutputTarget::cuda:
    return toCuda;
  case OutputTarget::stablehlo:
    return toXla;
  }
  llvm_unreachable("a target without a walk");
}

void tenon::registerAllPasses() {
  for (OutputTarget target : {OutputTarget::cpu, OutputTarget::stablehlo})
    for (const Stage &stage : walkTo(target))
      if (stage.registerPasses)
        stage.registerPasses();
}
