//===- PrecisionStage.cpp - The stage `precision` -------------------------===//
//
// Values get number formats. Which values lie in memory says Fusion: a copy of
// the step is grouped, as it came and with the formats chosen. Whether
// operations are merged is not asked for that, so that formats do not depend on
// it. The groups of the chosen formats are handed on to the stage `group`.
//
//===----------------------------------------------------------------------===//

#include "OptionEntries.h"
#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Fusion/Passes.h"
#include "tenon/Precision/FormatPolicy.h"
#include "tenon/Precision/LiveBytes.h"
#include "tenon/Precision/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <utility>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

StringRef driver::nameOf(Precision precision) {
  switch (precision) {
  case Precision::f32:
    return "f32";
  case Precision::tf32:
    return "tf32";
  case Precision::bf16:
    return "bf16";
  case Precision::bf16State:
    return "bf16-state";
  case Precision::f16:
    return "f16";
  }
  llvm_unreachable("a policy");
}

/// The format of 16 bits that a policy lowers to.
static precision::NarrowFormat narrowFormatOf(Precision precision) {
  return precision == Precision::f16 ? precision::NarrowFormat::f16
                                     : precision::NarrowFormat::bf16;
}

bool driver::weighsBytes(const StageRun &run) {
  const Precision policy = run.resolved.precision;
  return run.resolved.target == OutputTarget::cpu &&
         run.options.target != OutputTarget::stablehlo &&
         (policy == Precision::bf16 || policy == Precision::bf16State) &&
         !run.resolved.machine.multipliesNatively(ElementType::bf16,
                                                  run.resolved.features.isa);
}

ExitCode driver::readPrecisionPolicy(const CompileOptions &options,
                                     ResolvedOptions &resolved) {
  if (options.roundingSeed && resolved.precision != Precision::bf16State)
    return fail(exitBadUsage,
                "--rounding-seed is read where state is rounded by chance; "
                "pass --precision=bf16-state, too");
  if (resolved.precision == Precision::tf32 &&
      resolved.target != OutputTarget::cuda)
    return fail(exitUserError,
                "--precision=tf32 lets products of f32 use the format tf32 of "
                "NVIDIA's tensor cores, which the target " +
                    std::string(resolved.target == OutputTarget::cpu
                                    ? "cpu"
                                    : "stablehlo") +
                    " does not have; pass a GPU, such as --target=sm_90, or "
                    "leave it out");
  if (options.precisionPolicyFile.empty())
    return exitOk;
  auto file = llvm::MemoryBuffer::getFile(options.precisionPolicyFile);
  if (!file)
    return fail(exitUserError, "cannot read '" + options.precisionPolicyFile +
                                   "': " + file.getError().message());
  if (!mayStoreNarrow(resolved.precision))
    return fail(exitBadUsage, "--precision-policy says what --precision=bf16 "
                              "or --precision=f16 lowers; pass one of them, "
                              "too");
  std::string error;
  StringRef text = (*file)->getBuffer();
  if (!precision::FormatPolicy::parse(
          text, "'" + options.precisionPolicyFile + "'",
          narrowFormatOf(resolved.precision), error))
    return fail(exitUserError, error);
  // Printed anew: keys in order, blanks gone.
  resolved.precisionPolicy =
      llvm::formatv("{0}", *llvm::json::parse(text)).str();
  return exitOk;
}

namespace {

/// The kernels that a step will have.
struct Outlook {
  OwningOpRef<ModuleOp> grouped;
  std::vector<precision::PlannedKernel> kernels;
  double seconds = 0;
  // Where bytes are weighed:
  double livePeak = 0; // bytes, see LiveBytes
  PlannedBytes planned;
};

/// Where products of 16 bits are not quicker than those of f32, 16 bits are for
/// memory: temporaries are to be at most this share of what they are in f32.
constexpr double wantedShare = 0.75;
/// A choice may be predicted to take this much of the step's time in f32 for
/// that.
constexpr double slowestForBytes = 1.02;

/// XLA gets the arguments and results that came. The upper half of an f32 is no
/// f16, so the policy f16 leaves state as it is.
precision::StateHolding holdingOf(const StageRun &run) {
  using precision::StateHolding;
  if (run.options.target == OutputTarget::stablehlo ||
      run.resolved.precision == Precision::f16)
    return StateHolding::none;
  return run.resolved.precision == Precision::bf16State ? StateHolding::bf16
                                                        : StateHolding::parts;
}

/// Chooses the formats of one step.
class FormatSearch {
public:
  FormatSearch(ModuleOp step, StageRun &run, bool handsOn)
      : step(step), run(run), handsOn(handsOn), holding(holdingOf(run)),
        forXla(run.options.target == OutputTarget::stablehlo),
        weighsBytes(driver::weighsBytes(run)) {}

  /// Puts the step with its formats into `chosen`, and what grouping made of it
  /// into `grouped`, if it was grouped.
  ExitCode choose(OwningOpRef<ModuleOp> &chosen, OwningOpRef<ModuleOp> &grouped,
                  precision::FormatReport &report);

private:
  /// The kernels of a step.
  ExitCode lookAhead(OwningOpRef<ModuleOp> module, Outlook &outlook);
  /// Those of a step that is left as it is. If groups are handed on, a copy
  /// takes its place: in which order a value's uses are, on which grouping may
  /// depend, differs in copies.
  ExitCode lookBeside(OwningOpRef<ModuleOp> &module, Outlook &outlook);
  /// What a choice may take where bytes are weighed; otherwise the least time
  /// is asked for.
  struct Limit {
    double seconds = 0;
    PlannedBytes planned;         // no more than in f32, and what is wanted
    double livePeak = 0;          // of the model, so that the plan has those
    std::optional<int64_t> price; // of a byte; nothing: the lowest for that
  };
  /// Gives `module` the formats that are cheapest with these kernels, as far as
  /// they are not settled, and holds its state as they ask for. If there is a
  /// reason to keep all f32, it has no others.
  ExitCode lower(ModuleOp module, std::vector<precision::PlannedKernel> kernels,
                 const precision::SettledFormats &settled, const Limit &limit,
                 StringRef whyWide, precision::FormatReport &report);
  /// Whether the groups of one choice are to be preferred to another's.
  bool isBetter(const Outlook &one, const Outlook &other,
                const Limit &limit) const;
  /// Whether the groups of a choice are worse than those of f32.
  bool isWorse(const Outlook &choice, const Outlook &wide) const;

  ModuleOp step;
  StageRun &run;
  bool handsOn; // groups, to the stage that forms them
  precision::StateHolding holding;
  /// XLA brings its own libraries, so each product is a call that nobody is
  /// asked about.
  bool forXla;
  bool weighsBytes;
};

} // namespace

ExitCode FormatSearch::lookBeside(OwningOpRef<ModuleOp> &module,
                                  Outlook &outlook) {
  OwningOpRef<ModuleOp> copy = module->clone();
  if (handsOn)
    std::swap(module, copy);
  return lookAhead(std::move(copy), outlook);
}

ExitCode FormatSearch::lookAhead(OwningOpRef<ModuleOp> module,
                                 Outlook &outlook) {
  ScopedDiagnosticHandler quiet(run.context);
  fusion::FusionOptions grouping = groupingOptions(run);
  grouping.merge = true;
  grouping.callAllLibraries = false;
  grouping.callLibraries &= !forXla;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  // Where values are to lie is no matter of kernels.
  step::dropShardingConstraints(*module);
  ExitCode code = run.runPasses(*module, [&](OpPassManager &passes) {
    fusion::buildLoopPipeline(passes, grouping);
  });
  if (code != exitOk)
    return code;
  if (forXla)
    precision::groupProducts(main);
  code = run.runPasses(*module, [&](OpPassManager &passes) {
    fusion::buildGroupPipeline(passes, grouping);
  });
  if (code != exitOk)
    return code;
  outlook.kernels = precision::kernelsOf(
      main, run.resolved.machine, narrowFormatOf(run.resolved.precision));
  outlook.seconds =
      cost::predictStep(main.getBody(), run.resolved.machine).total.seconds;
  outlook.grouped = std::move(module);
  if (!weighsBytes)
    return exitOk;
  outlook.livePeak = precision::LiveBytes(outlook.kernels).peak();
  OwningOpRef<ModuleOp> copy = outlook.grouped->clone();
  precision::removeNumbers(copy->lookupSymbol<func::FuncOp>("main"));
  return planBytes(*copy, run, outlook.planned);
}

ExitCode FormatSearch::lower(ModuleOp module,
                             std::vector<precision::PlannedKernel> kernels,
                             const precision::SettledFormats &settled,
                             const Limit &limit, StringRef whyWide,
                             precision::FormatReport &report) {
  return run.runPasses(module, [&](OpPassManager &passes) {
    precision::ChooseFormatsPassOptions options;
    options.cpu = target::describe(run.resolved.features.isa).featureSet;
    options.narrowKernels = run.resolved.target == OutputTarget::cuda || forXla;
    options.format = narrowFormatOf(run.resolved.precision);
    options.keepWide = whyWide.str();
    options.mostBytes = limit.livePeak;
    options.mostSeconds = limit.seconds;
    options.price = limit.price.value_or(-1);
    options.policy = run.resolved.precisionPolicy;
    options.holding = holding;
    options.holdBatches = run.resolved.holdBatches && !forXla;
    passes.addNestedPass<func::FuncOp>(precision::createChooseFormatsPass(
        options, run.resolved.machine, std::move(kernels), settled, report));
    if (run.resolved.holdBatches && !forXla) {
      precision::HoldBatchPassOptions batch;
      batch.format = options.format;
      batch.policy = options.policy;
      passes.addNestedPass<func::FuncOp>(precision::createHoldBatchPass(batch));
    }
    const target::Isa isa = run.resolved.features.isa;
    if (whyWide.empty() && run.resolved.target == OutputTarget::cpu &&
        options.format == precision::NarrowFormat::bf16 &&
        isa == target::Isa::amxBf16 &&
        run.resolved.machine.multipliesNatively(ElementType::bf16, isa)) {
      precision::NarrowAttentionPassOptions attention;
      attention.policy = run.resolved.precisionPolicy;
      passes.addNestedPass<func::FuncOp>(
          precision::createNarrowAttentionPass(attention));
    }
    if (holding == precision::StateHolding::parts)
      passes.addNestedPass<func::FuncOp>(precision::createHoldParametersPass());
    if (holding != precision::StateHolding::bf16)
      return;
    precision::HoldStatePassOptions held;
    held.seed = run.resolved.roundingSeed;
    held.policy = run.resolved.precisionPolicy;
    passes.addNestedPass<func::FuncOp>(precision::createHoldStatePass(held));
  });
}

/// Whether two reports on one step say the same.
static bool haveSameFormats(const precision::FormatReport &a,
                            const precision::FormatReport &b) {
  return llvm::equal(a.lines, b.lines, [](const auto &x, const auto &y) {
    return x.isNarrow == y.isNarrow;
  });
}

/// Notes what another report on the step says otherwise, as it is.
static void settle(const precision::FormatReport &report,
                   const precision::FormatReport &other,
                   precision::SettledFormats &settled) {
  for (auto [index, own, others] : llvm::enumerate(report.lines, other.lines))
    if (own.isNarrow != others.isNarrow)
      settled[index] = own.isNarrow;
}

bool FormatSearch::isBetter(const Outlook &one, const Outlook &other,
                            const Limit &limit) const {
  auto rank = [&](const Outlook &outlook) {
    const bool isWithin = outlook.seconds <= limit.seconds &&
                          outlook.planned.all <= limit.planned.all;
    // Fewer bytes than are wanted are worth no time.
    return std::tuple(!isWithin,
                      isWithin ? std::max(outlook.planned.temporaries,
                                          limit.planned.temporaries)
                               : 0,
                      outlook.seconds);
  };
  return weighsBytes ? rank(one) < rank(other) : one.seconds < other.seconds;
}

bool FormatSearch::isWorse(const Outlook &choice, const Outlook &wide) const {
  if (!weighsBytes)
    return wide.seconds < choice.seconds;
  return choice.planned.all > wide.planned.all ||
         slowestForBytes * wide.seconds < choice.seconds ||
         (wide.seconds < choice.seconds &&
          choice.planned.temporaries >= wide.planned.temporaries);
}

ExitCode FormatSearch::choose(OwningOpRef<ModuleOp> &chosen,
                              OwningOpRef<ModuleOp> &grouped,
                              precision::FormatReport &report) {
  struct Choice {
    OwningOpRef<ModuleOp> lowered;
    precision::FormatReport report;
    Outlook outlook; // of the groups that it leads to
    Limit limit;     // that it was made within
    bool inCalls;    // whether calls convert by themselves, as far as they can
    // What is chosen with the kernels of these groups.
    std::optional<precision::FormatReport> next = std::nullopt;

    std::vector<precision::PlannedKernel>
    kernelsOf(const Outlook &outlook) const {
      std::vector<precision::PlannedKernel> kernels = outlook.kernels;
      if (!inCalls)
        for (precision::PlannedKernel &kernel : kernels)
          kernel.converting.reset();
      return kernels;
    }
  };
  Outlook asItIs;
  if (ExitCode code = lookAhead(step.clone(), asItIs); code != exitOk)
    return code;
  Limit wanted;
  if (weighsBytes)
    wanted = {slowestForBytes * asItIs.seconds,
              {asItIs.planned.all,
               int64_t(wantedShare * double(asItIs.planned.temporaries))},
              wantedShare * asItIs.livePeak};
  // Narrow values change what is worth joining, so a choice is made anew with
  // the kernels that the last one leads to, as long as its groups are not
  // slower.
  constexpr size_t mostChoices = 3;
  constexpr double nearlyEqual = 1.01;
  std::vector<Choice> choices;
  size_t preferred = 0;
  auto chooseAgainAndAgain = [&](bool inCalls) -> ExitCode {
    const size_t first = choices.size();
    Limit limit = wanted;
    do {
      const bool isFirst = choices.size() == first;
      Choice choice{step.clone(), {}, {}, limit, inCalls};
      if (ExitCode code =
              lower(*choice.lowered,
                    choice.kernelsOf(isFirst ? asItIs : choices.back().outlook),
                    {}, limit, /*whyWide=*/"", choice.report);
          code != exitOk)
        return code;
      if (!isFirst)
        choices.back().next = choice.report;
      if (llvm::any_of(choices, [&](const Choice &known) {
            return haveSameFormats(known.report, choice.report);
          }))
        return exitOk;
      if (ExitCode code = lookBeside(choice.lowered, choice.outlook);
          code != exitOk)
        return code;
      choices.push_back(std::move(choice));
      const Outlook &found = choices.back().outlook;
      if (isBetter(found, choices[preferred].outlook, wanted))
        preferred = choices.size() - 1;
      // The plan is what counts.
      if (found.planned.temporaries > limit.planned.temporaries)
        limit.livePeak = std::min(
            limit.livePeak, found.livePeak * double(limit.planned.temporaries) /
                                double(found.planned.temporaries));
    } while (
        choices.size() - first < mostChoices &&
        (weighsBytes || choices.back().outlook.seconds <=
                            nearlyEqual * choices[preferred].outlook.seconds));
    return exitOk;
  };
  // If calls convert, more values are worth 16 bits, and the step may have more
  // kernels in the end. That shows only when operations are grouped.
  if (ExitCode code = chooseAgainAndAgain(/*inCalls=*/false); code != exitOk)
    return code;
  if (llvm::any_of(asItIs.kernels, [](const precision::PlannedKernel &kernel) {
        return kernel.converting.has_value();
      }))
    if (ExitCode code = chooseAgainAndAgain(/*inCalls=*/true); code != exitOk)
      return code;
  const double wideSeconds = choices.front().report.wideSeconds;
  // The last cut is made with the kernels of that choice, and finds it:
  // what it would have otherwise leads to kernels that are slower, or that
  // nobody has seen, and stays as it is.
  Choice best = std::move(choices[preferred]);
  std::optional<precision::FormatReport> next = std::move(best.next);
  Limit limit = wanted;
  if (weighsBytes && (!next || !haveSameFormats(best.report, *next))) {
    // That may have had another price.
    next.reset();
    limit = best.limit;
    limit.price = best.report.problem.price;
  }
  precision::SettledFormats settled;
  while (!next || !haveSameFormats(best.report, *next)) {
    if (next) {
      settle(best.report, *next, settled);
      limit.price = next->problem.price;
    }
    next.emplace();
    OwningOpRef<ModuleOp> again = step.clone();
    if (ExitCode code = lower(*again, best.kernelsOf(best.outlook), settled,
                              limit, /*whyWide=*/"", *next);
        code != exitOk)
      return code;
  }
  best.report = std::move(*next);
  // The model charges bytes, and kernels that cast; what grouping makes of the
  // choice may still take longer than f32. What a policy asks for is kept, and
  // what groups XLA makes nobody knows. Only the policy bf16-state makes
  // another step of f32; of others it is known what they take.
  const bool isAsItIs = holding != precision::StateHolding::bf16;
  if (!best.report.isWished && !forXla &&
      (!isAsItIs || isWorse(best.outlook, asItIs))) {
    const bool isLarger = best.outlook.planned.all > asItIs.planned.all;
    const StringRef why =
        isAsItIs && isLarger ? "the step takes less memory in f32"
        : isAsItIs || !weighsBytes
            ? "the step is predicted to be quicker in f32"
            : "the step is predicted to be quicker, or smaller, in f32";
    Choice wide{step.clone(), {}, {}, {}, /*inCalls=*/false};
    if (ExitCode code =
            lower(*wide.lowered, asItIs.kernels, {}, {}, why, wide.report);
        code != exitOk)
      return code;
    if (!isAsItIs)
      if (ExitCode code = lookBeside(wide.lowered, wide.outlook);
          code != exitOk)
        return code;
    if (isWorse(best.outlook, isAsItIs ? asItIs : wide.outlook)) {
      best = std::move(wide);
      if (isAsItIs) // its groups are formed anew
        best.outlook.planned = asItIs.planned;
    }
  }
  grouped = std::move(best.outlook.grouped);
  report = std::move(best.report);
  report.wideSeconds = wideSeconds;
  if (weighsBytes) {
    run.details["planned_bytes"] = best.outlook.planned.all;
    run.details["planned_bytes_f32"] = asItIs.planned.all;
  }
  chosen = std::move(best.lowered);
  return exitOk;
}

static void reportFormats(const precision::FormatReport &report,
                          StageRun &run) {
  run.details["precision"] = nameOf(run.resolved.precision);
  run.details["policy"] = run.resolved.precisionPolicy;
  run.details["narrow_values"] = report.narrowValues;
  run.details["wide_values"] = report.wideValues;
  run.details["narrow_products"] = report.narrowProducts;
  run.details["wide_products"] = report.wideProducts;
  run.details["predicted_seconds"] = report.chosenSeconds;
  run.details["predicted_seconds_f32"] = report.wideSeconds;
  run.details["picoseconds_per_byte"] = report.problem.price;
  if (run.resolved.precision == Precision::f16)
    run.details["values_that_may_overflow"] = report.mayOverflow;
  llvm::json::Array lines;
  lines.reserve(report.lines.size());
  for (const precision::FormatReport::Line &line : report.lines)
    lines.push_back(llvm::json::Object{
        {"what", line.what()},
        {"kind", line.isProduct ? "product" : "value"},
        {"format", line.isNarrow ? nameOf(report.format) : "f32"},
        {"bytes", line.bytes},
        {"why", line.why},
        {"may_overflow", line.mayOverflow}});
  run.details["formats"] = std::move(lines);
}

static void reportLossScaling(const precision::LossScalingReport &report,
                              StageRun &run) {
  llvm::json::Array entries;
  for (Location where : report.entries) {
    std::string text;
    llvm::raw_string_ostream(text) << where;
    entries.push_back(text);
  }
  run.details["loss_scaling"] =
      llvm::json::Object{{"entries", std::move(entries)},
                         {"why_not", report.whyNot},
                         {"gradients", report.gradients},
                         {"gradient_bytes", report.gradientBytes}};
}

/// The tensors that the step has in another form, by a rule.
static llvm::json::Array heldBy(StringRef rule, func::FuncOp main) {
  llvm::json::Array names;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (auto held = step::heldPartOf(main.getArgAttrDict(index));
        held && held->part == 0 && held->rule == rule)
      names.push_back(held->tensor.str());
  return names;
}

/// Whether the argument that holds a tensor is replaced by no result.
static bool isBatch(func::FuncOp main, StringRef tensor) {
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (auto held = step::heldPartOf(main.getArgAttrDict(index));
        held && held->tensor == tensor)
      return !main.getArgAttr(index, step::successorAttrName);
  return false;
}

ExitCode driver::chooseFormats(ModuleOp step, StageRun &run,
                               OwningOpRef<ModuleOp> &chosen,
                               precision::FormatReport &report,
                               OwningOpRef<ModuleOp> *grouped) {
  if (run.options.target == OutputTarget::cpu)
    if (ExitCode code = askLibraries(step, run); code != exitOk)
      return code;
  auto main = step.lookupSymbol<func::FuncOp>("main");
  precision::numberOperations(main);
  // The policy is the user's.
  run.blame = exitUserError;
  OwningOpRef<ModuleOp> ahead;
  ExitCode code =
      FormatSearch(step, run, grouped != nullptr).choose(chosen, ahead, report);
  for (ModuleOp module : {step, chosen.get(), ahead.get()})
    if (module)
      precision::removeNumbers(module.lookupSymbol<func::FuncOp>("main"));
  if (grouped)
    *grouped = std::move(ahead);
  return code;
}

ExitCode driver::scaleLoss(ModuleOp step, StageRun &run,
                           precision::LossScalingReport &report) {
  if (run.resolved.precision != Precision::f16)
    return exitOk;
  const ExitCode before = std::exchange(run.blame, exitUnsupported);
  ExitCode code = run.runPasses(step, [&](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(precision::createScaleLossPass(report));
  });
  run.blame = before;
  return code;
}

/// Has the step count what f16 is too small for. XLA keeps the arguments that
/// came; and which values have a scale that the step brings is not known.
static ExitCode countOverflows(ModuleOp step,
                               const precision::LossScalingReport &scaling,
                               StageRun &run) {
  if (run.options.target == OutputTarget::stablehlo || scaling.scalesItself)
    return exitOk;
  ExitCode code = run.runPasses(step, [](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(precision::createCountOverflowsPass());
  });
  run.details["overflow_counters"] = llvm::json::Array(
      precision::countedTensors(step.lookupSymbol<func::FuncOp>("main")));
  return code;
}

/// Values stay as they are: which products may be those of tf32.
static void reportTf32(func::FuncOp main, StageRun &run) {
  llvm::json::Array lines;
  main.walk([&](stablehlo::DotGeneralOp dot) {
    auto isF32 = [](Value value) {
      return getElementTypeOrSelf(value.getType()).isF32();
    };
    if (!isF32(dot.getLhs()) || !isF32(dot.getRhs()))
      return;
    std::string what;
    llvm::raw_string_ostream(what)
        << "stablehlo.dot_general at " << dot.getLoc();
    const int64_t elements =
        cast<RankedTensorType>(dot.getType()).getNumElements();
    lines.push_back(llvm::json::Object{
        {"what", what},
        {"kind", "product"},
        {"format", "tf32"},
        {"bytes", elements * 4},
        {"why", "the library may round its operands of f32 to tf32"},
        {"may_overflow", false}});
  });
  run.details["precision"] = nameOf(run.resolved.precision);
  run.details["policy"] = "";
  run.details["tf32_products"] = int64_t(lines.size());
  run.details["formats"] = std::move(lines);
}

/// Whether `group` is given what this stage leaves, and does what this stage
/// has done to say what it leads to.
static bool isGroupedAsItIs(const StageRun &run) {
  return run.resolved.isStep && run.options.mesh.empty() &&
         run.resolved.precision != Precision::f16 && // counters follow
         run.options.target != OutputTarget::stablehlo && run.resolved.fuse &&
         !run.options.allLibraries;
}

ExitCode driver::lowerPrecision(Program &program, StageRun &run) {
  auto main = program.module->lookupSymbol<func::FuncOp>("main");
  if (run.resolved.precision == Precision::f32 || !main || main.isDeclaration())
    return exitOk;
  if (run.resolved.precision == Precision::tf32) {
    reportTf32(main, run);
    return exitOk;
  }
  // Where the program adds up in 16 bits itself, nothing can be said of sums.
  const bool addsUpNarrow = precision::narrowSum(*program.module) != nullptr;
  if (addsUpNarrow)
    (*program.module)
        ->setAttr(step::narrowSumsAttrName, UnitAttr::get(run.context));
  // An entry point beside a step learns nothing, and keeps no counters.
  const bool isStep = run.resolved.isStep;
  precision::LossScalingReport scaling;
  if (isStep)
    if (ExitCode code = scaleLoss(*program.module, run, scaling);
        code != exitOk)
      return code;
  precision::FormatReport report;
  OwningOpRef<ModuleOp> chosen, grouped;
  ExitCode code = chooseFormats(*program.module, run, chosen, report,
                                isGroupedAsItIs(run) ? &grouped : nullptr);
  if (code == exitOk)
    program.module = std::move(chosen);
  main = program.module->lookupSymbol<func::FuncOp>("main");
  if (grouped)
    program.partlyGrouped =
        PartlyGrouped{std::move(grouped), OperationFingerPrint(main)};
  if (code == exitOk && !addsUpNarrow)
    code = run.runPasses(*program.module, [](OpPassManager &passes) {
      passes.addPass(precision::createVerifyAccumulatorsPass());
    });
  if (code == exitOk) {
    precision::explainFormats(report);
    reportFormats(report, run);
    if (run.resolved.precision == Precision::f16 && isStep) {
      precision::countGradients(main, scaling);
      reportLossScaling(scaling, run);
      code = countOverflows(*program.module, scaling, run);
    }
    run.details["held_in_parts"] = heldBy(step::highAndLowRule, main);
    llvm::json::Array batches, states;
    for (llvm::json::Value &name : heldBy(step::convertedRule, main))
      (isBatch(main, *name.getAsString()) ? batches : states)
          .push_back(std::move(name));
    run.details["held_in_bf16"] = std::move(states);
    run.details["batches_held_narrow"] = std::move(batches);
  }
  return code;
}

static StageOption roundingSeed() {
  StageOption option = givenOption(
      "--rounding-seed", &CompileOptions::roundingSeed,
      [](auto &o) -> auto & { return o.roundingSeed; });
  option.key = "rounding_seed";
  option.expected = "an i64";
  option.read = [](Attribute value, ResolvedOptions &options) {
    auto seed = dyn_cast<IntegerAttr>(value);
    if (!seed || !seed.getType().isSignlessInteger(64))
      return false;
    options.roundingSeed = uint64_t(seed.getInt());
    return true;
  };
  option.write = [](const ResolvedOptions &options,
                    Builder &builder) -> Attribute {
    return options.roundingSeed
               ? builder.getI64IntegerAttr(int64_t(options.roundingSeed))
               : nullptr;
  };
  option.spell = [](const ResolvedOptions &options) {
    return "--rounding-seed=" + std::to_string(options.roundingSeed);
  };
  return option;
}

std::vector<StageOption> driver::precisionOptions() {
  auto settled = [](auto &o) -> auto & { return o.precision; };
  StageOption format = recordedAsOneOf<Precision>(
      givenOption("--precision", &CompileOptions::precision, settled),
      "precision", "\"tf32\", \"bf16\", \"bf16-state\" or \"f16\"", settled,
      {{Precision::f32, "", "--precision=f32"},
       {Precision::tf32, "\"tf32\"", "--precision=tf32"},
       {Precision::bf16, "\"bf16\"", "--precision=bf16"},
       {Precision::bf16State, "\"bf16-state\"", "--precision=bf16-state"},
       {Precision::f16, "\"f16\"", "--precision=f16"}});
  StageOption file{.flag = "--precision-policy",
                   .isGiven = [](const CompileOptions &o) {
                     return !o.precisionPolicyFile.empty();
                   }};
  StageOption policy = textOption(
      {}, &CompileOptions::precisionPolicyFile, "precision_policy", false,
      [](auto &o) -> auto & { return o.precisionPolicy; });
  return {format, file, policy};
}

Stage driver::precisionStage() {
  std::vector<StageOption> options = precisionOptions();
  options.push_back(roundingSeed());
  return {.name = "precision",
          .form = "step form",
          .summary = "choose number formats",
          .options = std::move(options),
          .run = lowerPrecision,
          .checkForm = checkStepForm,
          .registerPasses = precision::registerPrecisionPasses};
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

ExitCode driver::printFormats(const CompileOptions &options,
                              llvm::raw_ostream &out) {
  Compilation compilation(options);
  if (ExitCode code = compilation.runTo("group"); code != exitOk)
    return code;
  const llvm::json::Object *formats = nullptr, *groups = nullptr;
  for (const StageReport &stage : compilation.result.stages) {
    if (stage.name == "precision")
      formats = &stage.details;
    if (stage.name == "group")
      groups = &stage.details;
  }
  auto policy = formats ? formats->getString("policy") : std::nullopt;
  if (!formats || !policy || !groups)
    return fail(exitInternal, "the stage precision says nothing");
  out << llvm::formatv(
      "policy: {0}\n\n{1,6} {2,12} {3,-8}  what\n{4,-28}  why\n",
      policy->empty() ? *formats->getString("precision") : *policy, "format",
      "bytes", "kind", "");
  for (const llvm::json::Value &value : *formats->getArray("formats")) {
    const llvm::json::Object &line = *value.getAsObject();
    out << llvm::formatv("{0,6} {1,12} {2,-8}  {3}\n{4,-28}  {5}\n",
                         *line.getString("format"), *line.getInteger("bytes"),
                         *line.getString("kind"), *line.getString("what"), "",
                         *line.getString("why"));
    if (line.getBoolean("may_overflow").value_or(false))
      out << llvm::formatv("{0,-28}  is infinite where it exceeds 65504\n", "");
  }
  auto listHeld = [&](StringRef key, StringRef how) {
    const llvm::json::Array *held = formats->getArray(key);
    if (!held || held->empty())
      return;
    out << llvm::formatv("\n{0} {1}\n", held->size(), how);
    for (const llvm::json::Value &name : *held)
      out << "  " << *name.getAsString() << "\n";
  };
  listHeld("held_in_parts",
           "parameters are held as bf16 and the rest of their bits");
  listHeld("held_in_bf16",
           "tensors of state are held as bf16, rounded by chance");
  listHeld("batches_held_narrow",
           "batch tensors are held in 16 bits, rounded when they are written");
  if (const llvm::json::Object *scaling = formats->getObject("loss_scaling")) {
    StringRef whyNot = *scaling->getString("why_not");
    if (!whyNot.empty())
      out << "\nthe loss is not scaled: " << whyNot << "\n";
    else
      out << llvm::formatv("\nthe loss is scaled; {0} gradients of {1} bytes "
                           "are known before state is replaced\n",
                           *scaling->getInteger("gradients"),
                           *scaling->getInteger("gradient_bytes"));
    for (const llvm::json::Value &entry : *scaling->getArray("entries"))
      out << "  the scale enters at " << *entry.getAsString() << "\n";
  }
  listHeld("overflow_counters",
           "tensors in f16 have their infinite elements counted");
  const llvm::json::Array *casts = groups->getArray("cast_kernels");
  out << llvm::formatv("\n{0} kernels only cast\n", casts ? casts->size() : 0);
  if (casts)
    for (const llvm::json::Value &cast : *casts)
      out << "  " << *cast.getAsString() << "\n";
  auto microseconds = [](std::optional<double> seconds) {
    return seconds.value_or(0) * 1e6;
  };
  out << llvm::formatv(
      "\npredicted  {0:f1} us, in f32 {1:f1} us; of the groups {2:f1} us\n",
      microseconds(formats->getNumber("predicted_seconds")),
      microseconds(formats->getNumber("predicted_seconds_f32")),
      microseconds(groups->getNumber("predicted_seconds")));
  return exitOk;
}
