//===- XlaStages.cpp - A step as StableHLO for XLA ------------------------===//
//
// The short walk: read, lower, cut for a mesh, plan for what XLA will do,
// write. The module that leaves has the signature of the one that came, and
// with f16 the scale of the loss behind it. Nothing is simplified on this walk:
// XLA does the same itself (docs/Rationale/XlaOutput.md has the measurements),
// so what is neither lowered nor cut nor planned leaves as it came.
//
//===----------------------------------------------------------------------===//

#include "DecideLayouts.h"
#include "RunStages.h"
#include "StageEntries.h"
#include "StageOptions.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Analysis/DeviceTiles.h"
#include "tenon/Codegen/StableHLO/PlanForXla.h"
#include "tenon/Codegen/StableHLO/WriteStableHLO.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/Index.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Precision/Passes.h"
#include "tenon/Sharding/AnnotateShardings.h"
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
  run.resolved.target = OutputTarget::stablehlo;
  for (const Stage &stage : run.walk)
    for (const StageOption &option : stage.options)
      if (option.give)
        option.give(run.options, run.resolved);
  if (ExitCode code = readPrecisionPolicy(run.options, run.resolved);
      code != exitOk)
    return code;
  const bool isLowered = run.resolved.precision != Precision::f32;
  if (!isLowered && run.options.mesh.empty() && !run.options.rolesFile.empty())
    return fail(exitBadUsage, "--roles says what --precision=bf16 lowers for "
                              "the target stablehlo; pass that, too");
  if (!isLowered && !run.options.resultNames.empty())
    return fail(exitBadUsage, "--name names what --precision-policy speaks of "
                              "for the target stablehlo; pass "
                              "--precision=bf16, too");
  run.context->allowUnregisteredDialects();
  importer::ReadOptions reading;
  // Formats and layouts are chosen for what is understood alone.
  reading.keepUnknown = !isLowered && run.options.mesh.empty();
  program.module =
      importer::readStableHLOFile(run.options.input, *run.context, reading);
  if (!program.module)
    return exitUserError;
  run.details["operations"] = countOperationsRead(*program.module);
  // A text between stages may hold operations that XLA does not know.
  return run.runPasses(*program.module, [](OpPassManager &passes) {
    passes.addPass(simplify::createExpandAttentionPass());
    passes.addNestedPass<func::FuncOp>(
        precision::createExpandStochasticRoundingPass());
  });
}

//===----------------------------------------------------------------------===//
// precision
//===----------------------------------------------------------------------===//

namespace {

/// What of a program its exporter's tools read: types and attributes of the
/// arguments and results of its main function, and attributes of the module.
/// What a stage keeps as hidden state stands behind them, for the caller to
/// carry from step to step.
class Signature {
public:
  static func::FuncOp mainOf(ModuleOp module) {
    return module.lookupSymbol<func::FuncOp>("main");
  }

  explicit Signature(ModuleOp module) : ofModule(module->getAttrDictionary()) {
    func::FuncOp main = mainOf(module);
    type = main.getFunctionType();
    ofArguments = main.getArgAttrsAttr();
    ofResults = main.getResAttrsAttr();
  }

  /// False if the types of what came are others now.
  bool restore(ModuleOp module) const {
    func::FuncOp main = mainOf(module);
    if (!beginWith(main.getArgumentTypes(), type.getInputs()) ||
        !beginWith(main.getResultTypes(), type.getResults()))
      return false;
    module->setAttrs(ofModule);
    SmallVector<DictionaryAttr> arguments = attributesOf(ofArguments),
                                results = attributesOf(ofResults);
    for (unsigned index = type.getNumInputs(); index < main.getNumArguments();
         ++index) {
      DictionaryAttr hidden = main.getArgAttrDict(index);
      SplatElementsAttr initial = step::initialValueOf(hidden);
      if (!initial)
        return false;
      arguments.resize(index);
      arguments.push_back(carried(hidden, initial));
    }
    for (unsigned index = type.getNumResults(); index < main.getNumResults();
         ++index) {
      results.resize(index);
      results.push_back(carried(main.getResultAttrDict(index), {}));
    }
    main.removeArgAttrsAttr();
    main.removeResAttrsAttr();
    if (!arguments.empty())
      main.setAllArgAttrs(arguments);
    if (!results.empty())
      main.setAllResultAttrs(results);
    return true;
  }

private:
  static bool beginWith(TypeRange types, TypeRange those) {
    return types.size() >= those.size() &&
           types.take_front(those.size()) == those;
  }

  static SmallVector<DictionaryAttr> attributesOf(ArrayAttr known) {
    return known ? llvm::to_vector(known.getAsRange<DictionaryAttr>())
                 : SmallVector<DictionaryAttr>();
  }

  /// The name of hidden state without its prefix, and its value before the
  /// first step, in attributes that no tool but the reader's own looks at.
  static DictionaryAttr carried(DictionaryAttr hidden,
                                SplatElementsAttr initial) {
    Builder builder(hidden.getContext());
    StringRef name = hidden.getAs<StringAttr>(step::nameAttrName);
    name.consume_front(format::hiddenPrefix);
    NamedAttrList attributes;
    attributes.set("tenon.name", builder.getStringAttr(name));
    if (initial)
      attributes.set("tenon.initial", initial);
    return attributes.getDictionary(hidden.getContext());
  }

  DictionaryAttr ofModule;
  FunctionType type;
  ArrayAttr ofArguments, ofResults;
};

} // namespace

/// Whether a conversion widens a value that was rounded: by the compiler, or
/// where it is read.
static bool readsRounded(stablehlo::ConvertOp widening) {
  Value narrow = widening.getOperand();
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(narrow));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(widening.getType()));
  if (!from || !to || from.getWidth() != 16 || to.getWidth() <= 16)
    return false;
  return step::isCompilerCast(widening) ||
         narrow.getDefiningOp<stablehlo::ConvertOp>();
}

/// Has whoever computes in f32 read what was rounded. XLA drops a conversion
/// to 16 bits and back, and so would some readers see other values than those
/// that read the 16 bits; a rounding of what is rounded changes nothing, and
/// stays (docs/Rationale/XlaOutput.md has the measurements).
static void keepRoundings(ModuleOp module) {
  module.walk([](stablehlo::ConvertOp widening) {
    if (!readsRounded(widening))
      return;
    const llvm::fltSemantics &narrow =
        cast<FloatType>(getElementTypeOrSelf(widening.getOperand()))
            .getFloatSemantics();
    const unsigned mantissa = APFloat::semanticsPrecision(narrow) - 1;
    OpBuilder builder(widening->getContext());
    builder.setInsertionPointAfter(widening);
    auto kept = stablehlo::ReducePrecisionOp::create(
        builder, widening.getLoc(), widening.getType(), widening,
        APFloat::semanticsSizeInBits(narrow) - 1 - mantissa, mantissa);
    widening.getResult().replaceAllUsesExcept(kept, kept);
  });
}

/// Takes off what stages note for each other.
static void removeNotes(ModuleOp module) {
  module.walk([](Operation *op) {
    for (NamedAttribute named : llvm::to_vector(op->getDiscardableAttrs()))
      if (isa_and_nonnull<step::StepDialect>(named.getNameDialect()))
        op->removeAttr(named.getName());
  });
}

/// To step form, in which formats and layouts are chosen.
static ExitCode importForXla(ModuleOp module, StageRun &run) {
  importer::ImportOptions importing;
  importing.rolesFile = run.options.rolesFile;
  importing.resultNames = run.options.resultNames;
  importing.mesh = run.options.mesh;
  run.blame = exitUserError;
  return run.runPasses(module, [&](OpPassManager &passes) {
    importer::buildImportPipeline(passes, importing);
  });
}

/// With --precision the step goes through import and gets the formats that are
/// cheapest where products of 16 bits are native, as on what XLA is used for.
/// Nothing of that depends on the processor that compiles.
static ExitCode lowerForXla(Program &program, StageRun &run) {
  if (run.resolved.precision == Precision::f32)
    return exitOk;
  if (run.resolved.precision == Precision::bf16State)
    return fail(exitUserError,
                "--precision=bf16-state holds state in bf16, but the target "
                "stablehlo keeps arguments as they are; pass --precision=bf16");
  ModuleOp module = *program.module;
  if (DeviceCount count = countDevices(module); count.devices > 1)
    return fail(exitUserError, "--precision is for programs for one device, "
                               "found that " +
                                   count.reason);
  func::FuncOp main = Signature::mainOf(module);
  if (!main || main.isDeclaration())
    return fail(exitUserError, "--precision lowers the function @main, found "
                               "none with a body in '" +
                                   run.options.input + "'");
  const Signature signature(module);
  ExitCode code = importForXla(module, run);
  if (code != exitOk)
    return code;
  run.resolved.features.isa = target::Isa::amxBf16;
  run.resolved.machine = target::builtInTarget(target::Isa::amxBf16);
  // What multiplies f16 does so at the rate of bf16.
  run.resolved.machine.compute.f16 = run.resolved.machine.compute.bf16;
  if (code = lowerPrecision(program, run); code != exitOk)
    return code;
  module = *program.module;
  keepRoundings(module);
  removeNotes(module);
  if (!signature.restore(module))
    return fail(exitUnsupported,
                "--precision is not there for the target stablehlo where "
                "arguments or results are complex or have less than 8 bits, "
                "since the lowered step would have others");
  return exitOk;
}

//===----------------------------------------------------------------------===//
// shard
//===----------------------------------------------------------------------===//

static void setShardings(func::FuncOp main,
                         const sharding::BoundaryShardings &shardings) {
  for (auto [at, attribute] : llvm::enumerate(shardings.arguments)) {
    main.removeArgAttr(at, deviceTilesAttrName);
    main.setArgAttr(at, sdy::shardingAttrName, attribute);
  }
  for (auto [at, attribute] : llvm::enumerate(shardings.results)) {
    StringAttr old = StringAttr::get(main.getContext(), deviceTilesAttrName);
    main.removeResultAttr(at, old);
    main.setResultAttr(at, sdy::shardingAttrName, attribute);
  }
}

/// With --mesh the step says how XLA is to cut it. Layouts are chosen for step
/// form, by the machine that is described, or by the one that stands for what
/// XLA is used for.
static ExitCode shardForXla(Program &program, StageRun &run) {
  const CompileOptions &options = run.options;
  if (options.mesh.empty()) {
    if (ExitCode code = refuseLayoutsWithoutMesh(options); code != exitOk)
      return code;
    return options.machineFile.empty()
               ? exitOk
               : fail(exitBadUsage, "--machine says by what layouts are chosen "
                                    "for the target stablehlo; pass --mesh, "
                                    "too");
  }
  if (options.memoryBudget)
    return fail(exitBadUsage, "--memory-budget does not go with --mesh for the "
                              "target stablehlo: what a device holds is "
                              "decided by XLA later");
  if (run.resolved.precision != Precision::f32)
    return fail(exitBadUsage, "--precision does not go with --mesh for the "
                              "target stablehlo yet; leave one of them out");
  run.resolved.machine = target::builtInTarget(target::Isa::amxBf16);
  if (!options.machineFile.empty()) {
    std::string error;
    auto described = target::readTarget(options.machineFile, error);
    if (!described)
      return fail(exitUserError, error);
    run.resolved.machine = std::move(*described);
  }
  ModuleOp module = *program.module;
  func::FuncOp main = Signature::mainOf(module);
  if (!main || main.isDeclaration())
    return fail(exitUserError, "--mesh is for the function @main, found none "
                               "with a body in '" +
                                   options.input + "'");
  const Signature signature(module);
  if (ExitCode code = importForXla(module, run); code != exitOk)
    return code;
  run.blame = exitInternal;
  DecidedLayouts decided;
  if (ExitCode code = decideLayouts(
          program, run, /*entry=*/"", [](auto &&...) { return true; },
          /*limit=*/std::nullopt, decided);
      code != exitOk)
    return code;
  if (ExitCode code = dumpLayoutProblem(decided, run); code != exitOk)
    return code;
  int64_t constraints = 0;
  const sharding::BoundaryShardings shardings = sharding::annotateShardings(
      module, decided.mesh, decided.plan, constraints);
  removeNotes(module);
  if (!signature.restore(module))
    return fail(exitUnsupported,
                "--mesh is not there for the target stablehlo where arguments "
                "or results are complex or have less than 8 bits, since the "
                "step would have others");
  setShardings(Signature::mainOf(module), shardings);
  const int64_t devices = decided.mesh.devices();
  module->setAttr("mhlo.num_partitions",
                  IntegerAttr::get(IntegerType::get(run.context, 32), devices));
  run.details["mesh"] = decided.mesh.text();
  run.details["devices"] = devices;
  run.details["constraints"] = constraints;
  return exitOk;
}

//===----------------------------------------------------------------------===//
// plan
//===----------------------------------------------------------------------===//

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
  if (*budget == smallestBudget)
    return fail(exitBadUsage, "--memory-budget=smallest is not for the target "
                              "stablehlo, whose memory XLA plans; give a size");
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
  std::vector<StageOption> lowering = precisionOptions();
  lowering.push_back(rolesOption());
  lowering.push_back(resultNamesOption());
  std::vector<StageOption> cutting = layoutOptions();
  cutting.push_back(
      {.flag = "--machine", .isGiven = [](const CompileOptions &o) {
         return !o.machineFile.empty();
       }});
  return {
      {.name = "read", .run = readForXla},
      {.name = "precision", .options = lowering, .run = lowerForXla},
      {.name = "shard", .options = cutting, .run = shardForXla},
      {.name = "plan", .options = {memoryBudgetOption()}, .run = planForXla},
      {.name = "write", .run = writeForXla}};
}
