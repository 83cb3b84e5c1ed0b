//===- ResolveTarget.cpp - The machine and the instruction set ------------===//
//
// See ResolveTarget.h.
//
//===----------------------------------------------------------------------===//

#include "ResolveTarget.h"

#include "RunStages.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

ExitCode driver::resolveTarget(
    const CompileOptions &options, const ResolvedOptions *text,
    function_ref<ExitCode(const Twine &, const Twine &)> contradiction,
    ResolvedOptions &resolved) {
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
  resolved.machine =
      described ? std::move(*described) : target::builtInTarget(*isa);
  return exitOk;
}
