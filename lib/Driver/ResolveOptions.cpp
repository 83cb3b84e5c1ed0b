//===- ResolveOptions.cpp - What a compilation is for ---------------------===//
//
// See ResolveOptions.h. One function per option.
//
//===----------------------------------------------------------------------===//

#include "ResolveOptions.h"

#include "RecordedOptions.h"
#include "StageLog.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

class Resolution {
public:
  Resolution(const CompileOptions &options, ResolvedOptions &resolved)
      : options(options), resolved(resolved) {}

  ExitCode run(ModuleOp module);

private:
  ExitCode refuseImportOptions();
  ExitCode resolveMachine();
  ExitCode resolveSubnormals();
  ExitCode resolveFeatures();
  ExitCode resolveFusion();
  ExitCode resolveLibraries();
  ExitCode resolveBudget();
  ExitCode resolveReplanning();

  /// An option that says something else than what the text was written for.
  ExitCode contradiction(const Twine &option, const Twine &recorded) {
    return fail(exitUserError,
                option + " contradicts '" + options.input +
                    "', which was written " + recorded +
                    "; leave the option out, or compile the exported module");
  }

  const CompileOptions &options;
  ResolvedOptions &resolved;
  std::optional<RecordedOptions> recorded; // in the text of an earlier stage
  std::optional<target::Target> given;     // by --machine
  std::optional<target::Target> described; // by either
};

} // namespace

ExitCode Resolution::refuseImportOptions() {
  StringRef ofImport = !options.rolesFile.empty()   ? "--roles"
                       : options.function != "main" ? "--function"
                                                    : "";
  if (!options.from || ofImport.empty())
    return exitOk;
  return fail(exitBadUsage,
              ofImport + " is read by the stage import, which --compile-from=" +
                  nameOf(*options.from) + " leaves out");
}

ExitCode Resolution::resolveMachine() {
  std::string error;
  if (!options.machineFile.empty()) {
    given = target::readTarget(options.machineFile, error);
    if (!given)
      return fail(exitUserError, error);
    resolved.machineText = target::toJson(*given);
  }
  if (!recorded) {
    described = given;
    return exitOk;
  }
  resolved.machineText = recorded->machine;
  if (!recorded->machine.empty())
    described = target::fromJson(recorded->machine,
                                 "'machine' in '" + options.input + "'", error);
  else if (auto isa = target::isaOfFeatureSet(recorded->featureSet))
    described = target::builtInTarget(*isa);
  else
    error = "unknown feature set '" + recorded->featureSet + "' in '" +
            options.input + "'";
  if (!described)
    return fail(exitUserError, error);
  if (given && *given != *described)
    return contradiction("--machine=" + options.machineFile,
                         "for " + described->name);
  return exitOk;
}

ExitCode Resolution::resolveSubnormals() {
  auto spelling = [](Subnormals subnormals) {
    return "--subnormals=" + std::string(name(subnormals));
  };
  resolved.subnormals = options.subnormals.value_or(
      recorded ? recorded->subnormals : Subnormals::flush);
  if (recorded && resolved.subnormals != recorded->subnormals)
    return contradiction(spelling(resolved.subnormals),
                         "with " + spelling(recorded->subnormals));
  return exitOk;
}

ExitCode Resolution::resolveFeatures() {
  // What is described need not be the machine that compiles.
  std::string cpu = options.cpu;
  bool isStated = !cpu.empty() && cpu != "host";
  if (cpu.empty() && recorded)
    cpu = recorded->featureSet;
  else if ((cpu.empty() || cpu == "host") && given)
    cpu = target::describe(given->isa).featureSet;
  else if (cpu.empty())
    cpu = "host";
  auto isa = cpu == "host" ? target::hostIsa() : target::isaOfFeatureSet(cpu);
  if (!isa && cpu == "host")
    return fail(exitUserError, "this processor lacks AVX2 and FMA; pass --cpu "
                               "to compile for another one");
  if (!isa)
    return fail(exitBadUsage, "unknown feature set '" + Twine(cpu) +
                                  "', expected host, " +
                                  target::featureSetNames());
  // VDPBF16PS and VCVTNEPS2BF16 flush, whatever the processor is told (Intel's
  // Software Developer's Manual).
  for (; resolved.subnormals == Subnormals::keep && describe(*isa).hasBf16;
       isa = target::Isa(int(*isa) - 1))
    if (isStated)
      return fail(exitBadUsage,
                  "--subnormals=keep does not work with --cpu=" + Twine(cpu) +
                      ", whose instructions for bf16 always flush; pass "
                      "--cpu=x86-64-v4");
  resolved.features = {*isa, resolved.subnormals};
  if (recorded && resolved.featureSet() != recorded->featureSet)
    return contradiction(
        "--cpu=" + cpu +
            (cpu == "host" ? " (here " + resolved.featureSet() + ")" : ""),
        "for " + recorded->featureSet);
  if (described && *isa > described->isa)
    return fail(exitUserError,
                "--cpu=" + resolved.featureSet() +
                    " does not run on the machine of '" + options.machineFile +
                    "', which has " +
                    target::describe(described->isa).featureSet.data());
  resolved.machine =
      described ? std::move(*described) : target::builtInTarget(*isa);
  return exitOk;
}

ExitCode Resolution::resolveFusion() {
  auto spelling = [](bool fuse) {
    return std::string("--fuse=") + (fuse ? "true" : "false");
  };
  resolved.fuse = options.fuse.value_or(!recorded || recorded->fuse);
  if (recorded && resolved.fuse != recorded->fuse)
    return contradiction(spelling(resolved.fuse),
                         "with " + spelling(recorded->fuse));
  return exitOk;
}

ExitCode Resolution::resolveLibraries() {
  resolved.noLibraries =
      options.noLibraries || (recorded && recorded->noLibraries);
  if (recorded && options.from >= Stage::group &&
      resolved.noLibraries != recorded->noLibraries)
    return contradiction("--no-libraries", "with library calls");
  return exitOk;
}

ExitCode Resolution::resolveBudget() {
  auto spelling = [](int64_t budget) {
    return "--memory-budget=" + std::to_string(budget);
  };
  resolved.memoryBudget = options.memoryBudget;
  if (recorded && !resolved.memoryBudget)
    resolved.memoryBudget = recorded->memoryBudget;
  if (recorded && options.from >= Stage::plan &&
      resolved.memoryBudget != recorded->memoryBudget)
    return contradiction(spelling(*resolved.memoryBudget),
                         recorded->memoryBudget
                             ? "with " + spelling(*recorded->memoryBudget)
                             : "without a budget");
  return exitOk;
}

ExitCode Resolution::resolveReplanning() {
  auto spelling = [](bool replan) {
    return std::string("--recompute=") + (replan ? "replan" : "keep");
  };
  resolved.replanRecomputation = options.replanRecomputation.value_or(
      recorded && recorded->replanRecomputation);
  if (recorded && options.from >= Stage::simplify &&
      resolved.replanRecomputation != recorded->replanRecomputation)
    return contradiction(spelling(resolved.replanRecomputation),
                         "with " + spelling(recorded->replanRecomputation));
  return exitOk;
}

ExitCode Resolution::run(ModuleOp module) {
  if (ExitCode code = refuseImportOptions())
    return code;
  auto taken = takeOptions(module);
  if (failed(taken))
    return exitUserError;
  recorded = *taken;
  for (auto resolve :
       {&Resolution::resolveMachine, &Resolution::resolveSubnormals,
        &Resolution::resolveFeatures, &Resolution::resolveFusion,
        &Resolution::resolveLibraries, &Resolution::resolveBudget,
        &Resolution::resolveReplanning})
    if (ExitCode code = (this->*resolve)())
      return code;
  return exitOk;
}

ExitCode driver::resolveOptions(const CompileOptions &options, ModuleOp module,
                                ResolvedOptions &resolved) {
  return Resolution(options, resolved).run(module);
}
