//===- RecordedOptions.cpp - Options in the text between stages -----------===//
//
// See RecordedOptions.h.
//
//===----------------------------------------------------------------------===//

#include "RecordedOptions.h"

#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

void driver::recordOptions(ModuleOp module, const RecordedOptions &options) {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("feature_set",
                           builder.getStringAttr(options.featureSet)),
      builder.getNamedAttr("fuse", builder.getBoolAttr(options.fuse)),
      builder.getNamedAttr("target", builder.getStringAttr("cpu"))};
  if (!options.machine.empty())
    entries.push_back(builder.getNamedAttr(
        "machine", builder.getStringAttr(options.machine)));
  if (options.memoryBudget)
    entries.push_back(builder.getNamedAttr(
        "memory_budget", builder.getI64IntegerAttr(*options.memoryBudget)));
  if (options.replanRecomputation)
    entries.push_back(
        builder.getNamedAttr("recompute", builder.getStringAttr("replan")));
  if (options.subnormals == Subnormals::keep)
    entries.push_back(
        builder.getNamedAttr("subnormals", builder.getStringAttr("keep")));
  if (options.noLibraries)
    entries.push_back(
        builder.getNamedAttr("libraries", builder.getBoolAttr(false)));
  module->setAttr(step::optionsAttrName, builder.getDictionaryAttr(entries));
}

FailureOr<std::optional<RecordedOptions>> driver::takeOptions(ModuleOp module) {
  Attribute recorded = module->removeAttr(step::optionsAttrName);
  if (!recorded)
    return std::optional<RecordedOptions>();
  auto wrong = [&](const Twine &expected) {
    return module.emitError() << "'" << step::optionsAttrName << "' is "
                              << recorded << ", expected " << expected;
  };
  auto entries = dyn_cast<DictionaryAttr>(recorded);
  if (!entries)
    return wrong("a dictionary");
  auto featureSet = entries.getAs<StringAttr>("feature_set");
  auto fuse = entries.getAs<BoolAttr>("fuse");
  auto target = entries.getAs<StringAttr>("target");
  auto machine = entries.getAs<StringAttr>("machine");
  auto budget = entries.getAs<IntegerAttr>("memory_budget");
  auto recompute = entries.getAs<StringAttr>("recompute");
  auto subnormals = entries.getAs<StringAttr>("subnormals");
  auto libraries = entries.getAs<BoolAttr>("libraries");
  if (!featureSet || !fuse || !target)
    return wrong("the strings 'feature_set' and 'target' and the boolean "
                 "'fuse'");
  if (target != "cpu")
    return wrong("the target \"cpu\"");
  if (budget &&
      (!budget.getType().isSignlessInteger(64) || budget.getInt() < 0))
    return wrong("'memory_budget' to be bytes, an i64 of at least 0");
  if (recompute && recompute != "replan")
    return wrong("'recompute' to be \"replan\" or to be left out");
  if (subnormals && subnormals != "keep")
    return wrong("'subnormals' to be \"keep\" or to be left out");
  if (libraries && libraries.getValue())
    return wrong("'libraries' to be false or to be left out");
  if (entries.size() != 3u + bool(machine) + bool(budget) + bool(recompute) +
                            bool(subnormals) + bool(libraries))
    return wrong("no more than 'feature_set', 'fuse', 'libraries' (a boolean), "
                 "'machine' (a string), 'memory_budget' (an integer), "
                 "'recompute' (a string), "
                 "'subnormals' (a string) and 'target'");
  RecordedOptions options{featureSet.str(),
                          fuse.getValue(),
                          machine ? machine.str() : "",
                          std::nullopt,
                          bool(recompute),
                          subnormals ? Subnormals::keep : Subnormals::flush,
                          bool(libraries)};
  if (budget)
    options.memoryBudget = budget.getInt();
  return std::optional(std::move(options));
}
