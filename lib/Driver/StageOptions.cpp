//===- StageOptions.cpp - What a compilation is for -----------------------===//
//
// See StageOptions.h.
//
//===----------------------------------------------------------------------===//

#include "StageOptions.h"

#include "ResolveTarget.h"
#include "RunStages.h"

#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

void driver::recordOptions(ModuleOp module, const Walk &walk,
                           const ResolvedOptions &resolved) {
  Builder builder(module.getContext());
  NamedAttrList entries;
  for (const Stage &stage : walk)
    for (const StageOption &option : stage.options)
      if (Attribute value = option.key.empty()
                                ? Attribute()
                                : option.write(resolved, builder))
        entries.set(option.key, value);
  module->setAttr(step::optionsAttrName,
                  entries.getDictionary(module.getContext()));
}

/// Reads what a text records; fails with a diagnostic if that is not what
/// recordOptions() writes.
static LogicalResult readRecorded(ModuleOp module, Attribute recorded,
                                  const Walk &walk, ResolvedOptions &options) {
  auto wrong = [&](const Twine &expected) {
    return module.emitError() << "'" << step::optionsAttrName << "' is "
                              << recorded << ", expected " << expected;
  };
  auto entries = dyn_cast<DictionaryAttr>(recorded);
  if (!entries)
    return wrong("a dictionary");
  size_t count = 0;
  std::string keys;
  for (const Stage &stage : walk)
    for (const StageOption &option : stage.options) {
      if (option.key.empty())
        continue;
      keys += (keys.empty() ? "'" : ", '") + option.key.str() + "'";
      Attribute value = entries.get(option.key);
      count += bool(value);
      if (value ? !option.read(value, options) : option.isRequired)
        return wrong("'" + option.key + "' to be " + option.expected +
                     (option.isRequired ? "" : " or to be left out"));
    }
  return entries.size() == count ? success()
                                 : LogicalResult(wrong("no more than " + keys));
}

ExitCode driver::resolveOptions(const CompileOptions &options, const Walk &walk,
                                ModuleOp module, ResolvedOptions &resolved) {
  const Stage *from = findForm(walk, options.from);
  // Of stages that have run, a text says what they were told.
  auto isOver = [&](const Stage &stage) { return from && &stage <= from; };
  for (const Stage &stage : walk)
    for (const StageOption &option : stage.options)
      if (isOver(stage) && option.key.empty() && option.isGiven(options))
        return fail(exitBadUsage,
                    option.flag + " is read by the stage " + stage.name +
                        ", which --compile-from=" + from->name + " leaves out");
  Attribute recorded = module->removeAttr(step::optionsAttrName);
  if (recorded && failed(readRecorded(module, recorded, walk, resolved)))
    return exitUserError;
  const ResolvedOptions text = resolved;
  auto contradiction = [&](const Twine &option, const Twine &written) {
    return fail(exitUserError,
                option + " contradicts '" + options.input +
                    "', which was written " + written +
                    "; leave the option out, or compile the exported module");
  };
  Builder builder(module.getContext());
  for (const Stage &stage : walk)
    for (const StageOption &option : stage.options) {
      if (!option.give)
        continue;
      option.give(options, resolved);
      if (recorded && isOver(stage) &&
          option.write(resolved, builder) != option.write(text, builder))
        return contradiction(option.spell(resolved),
                             "with " + option.spell(text));
    }
  return resolveTarget(options, recorded ? &text : nullptr, contradiction,
                       resolved);
}

ExitCode driver::refuseOptionsOfOthers(const CompileOptions &options,
                                       const Walk &walk) {
  llvm::StringSet<> known;
  for (const Stage &stage : walk)
    for (const StageOption &option : stage.options)
      known.insert(option.flag);
  auto firstGiven = [&](OutputTarget target) -> StringRef {
    for (const Stage &stage : walkTo(target))
      for (const StageOption &option : stage.options)
        if (!option.flag.empty() && !known.contains(option.flag) &&
            option.isGiven(options))
          return option.flag;
    return "";
  };
  if (StringRef flag = firstGiven(OutputTarget::cpu); !flag.empty())
    return fail(exitBadUsage,
                flag + " is for the target cpu; " +
                    (options.target == OutputTarget::stablehlo
                         ? "XLA decides that for the target stablehlo"
                         : "GPUs do not take it yet"));
  if (StringRef flag = firstGiven(OutputTarget::cuda); !flag.empty())
    return fail(exitBadUsage,
                flag + " is for GPUs; name one, such as --target=sm_90");
  return exitOk;
}
