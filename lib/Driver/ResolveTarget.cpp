//===- ResolveTarget.cpp - The machine and the instruction set ------------===//
//
// See ResolveTarget.h.
//
//===----------------------------------------------------------------------===//

#include "ResolveTarget.h"

#include "RunStages.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// Settles what GPUs code is for.
static ExitCode
resolveGpus(const CompileOptions &options, const ResolvedOptions *text,
            function_ref<ExitCode(const Twine &, const Twine &)> contradiction,
            ResolvedOptions &resolved) {
  std::string error;
  resolved.gpus = target::gpuArchitecturesOf(options.architectures, error);
  if (resolved.gpus.empty())
    return fail(exitBadUsage, error);
  resolved.featureSet = llvm::join(
      llvm::map_range(resolved.gpus,
                      [](const auto *gpu) { return std::string(gpu->name); }),
      ",");
  if (text && text->featureSet != resolved.featureSet)
    return contradiction("--target=" + options.architectures,
                         "for " + text->featureSet);
  resolved.target = OutputTarget::cuda;
  // One plan serves all of them; the least of them is what must run it.
  resolved.machine = target::builtInTarget(*resolved.gpus.front());
  return exitOk;
}

ExitCode driver::resolveTarget(
    const CompileOptions &options, const ResolvedOptions *text,
    function_ref<ExitCode(const Twine &, const Twine &)> contradiction,
    ResolvedOptions &resolved) {
  if (options.target == OutputTarget::cuda)
    return resolveGpus(options, text, contradiction, resolved);
  std::string error;
  std::optional<target::Target> given;     // by --machine
  std::optional<target::Target> described; // by either
  if (!options.machineFile.empty()) {
    given = target::readTarget(options.machineFile, error);
    if (!given)
      return fail(exitUserError, error);
  }
  if (!text) {
    described = given;
    resolved.machineText = given ? target::toJson(*given) : "";
  } else {
    if (!text->machineText.empty())
      described = target::fromJson(
          text->machineText, "'machine' in '" + options.input + "'", error);
    else if (auto isa = target::isaOfFeatureSet(text->featureSet))
      described = target::builtInTarget(*isa);
    else
      error = "unknown feature set '" + text->featureSet + "' in '" +
              options.input + "'";
    if (!described)
      return fail(exitUserError, error);
    if (given && *given != *described)
      return contradiction("--machine=" + options.machineFile,
                           "for " + described->name);
  }
  // What is described need not be the machine that compiles.
  std::string cpu = options.cpu;
  bool isStated = !cpu.empty() && cpu != "host";
  if (cpu.empty() && text)
    cpu = text->featureSet;
  else if ((cpu.empty() || cpu == "host") && given)
    cpu = target::describe(given->isa).featureSet;
  else if (cpu.empty())
    cpu = "host";
  const target::ProcessorFamily *family = nullptr;
  std::optional<target::Isa> isa;
  if (cpu == "host") {
    if (isa = target::hostIsa(); !isa)
      return fail(exitUserError, "this processor lacks AVX2 and FMA; pass "
                                 "--cpu to compile for another one");
    family = &target::familyOf(target::hostModel(), *isa);
  } else if (family = target::familyNamed(cpu); family) {
    isa = family->isa;
  } else {
    return fail(exitBadUsage, "unknown feature set '" + Twine(cpu) +
                                  "', expected host, " + target::familyNames());
  }
  // VDPBF16PS and VCVTNEPS2BF16 flush, whatever the processor is told (Intel's
  // Software Developer's Manual).
  for (; resolved.features.subnormals == Subnormals::keep &&
         describe(*isa).hasBf16;
       isa = target::Isa(int(*isa) - 1))
    if (isStated)
      return fail(exitBadUsage,
                  "--subnormals=keep does not work with --cpu=" + Twine(cpu) +
                      ", whose instructions for bf16 always flush; pass "
                      "--cpu=x86-64-v4");
  resolved.features.isa = *isa;
  resolved.featureSet = resolved.features.info().featureSet;
  if (text && resolved.featureSet != text->featureSet)
    return contradiction(
        "--cpu=" + cpu +
            (cpu == "host" ? " (here " + resolved.featureSet + ")" : ""),
        "for " + text->featureSet);
  if (described && *isa > described->isa)
    return fail(exitUserError,
                "--cpu=" + resolved.featureSet +
                    " does not run on the machine of '" + options.machineFile +
                    "', which has " +
                    target::describe(described->isa).featureSet.data());
  if (described) {
    resolved.machine = std::move(*described);
    return exitOk;
  }
  // What follows from the feature set need not be recorded beside it.
  resolved.machine = target::builtInTarget(*isa);
  if (auto built = target::builtInTarget(*family, *isa);
      built.compute != resolved.machine.compute) {
    resolved.machine = built;
    resolved.machineText = target::toJson(built);
  }
  return exitOk;
}
