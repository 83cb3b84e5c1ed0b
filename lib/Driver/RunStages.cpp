//===- RunStages.cpp - Walks through stages -------------------------------===//
//
// See RunStages.h.
//
//===----------------------------------------------------------------------===//

#include "RunStages.h"

#include "tenon/Import/Pipeline.h"

#include <chrono>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

const Stage *driver::findForm(const Walk &walk, StringRef name) {
  auto found = llvm::find_if(walk, [&](const Stage &stage) {
    return stage.name == name && !stage.form.empty();
  });
  return found == walk.end() ? nullptr : &*found;
}

std::string driver::formNames(const Walk &walk) {
  std::string names;
  for (const Stage &stage : walk)
    if (!stage.form.empty())
      names += (names.empty() ? "" : ", ") + stage.name.str();
  return names;
}

LogicalResult driver::runPasses(ModuleOp on, bool verify,
                                function_ref<void(OpPassManager &)> add) {
  PassManager passes(on.getContext());
  passes.enableVerifier(verify);
  add(passes);
  return passes.run(on);
}

ExitCode StageRun::runPasses(ModuleOp on,
                             function_ref<void(OpPassManager &)> add) const {
  if (succeeded(driver::runPasses(on, options.verifyForms, add)))
    return exitOk;
  return importer::isRefusedAsUnsupported(on) ? exitUnsupported : blame;
}

/// What an option names; null for nothing or after an error.
static const Stage *namedForm(const Walk &walk, StringRef flag, StringRef name,
                              ExitCode &code) {
  const Stage *stage = findForm(walk, name);
  if (!stage && !name.empty()) {
    std::string names = formNames(walk);
    code = fail(exitBadUsage,
                flag + "=" + name +
                    (names.empty() ? " is for the target cpu; no text is "
                                     "written between stages of another one"
                                   : " names no stage, expected one of ") +
                    names);
  }
  return stage;
}

ExitCode Compilation::runTo(StringRef last, bool forText) {
  if (!context)
    return exitBadUsage;
  const Walk &walk = run.walk;
  ExitCode code = exitOk;
  const Stage *from = namedForm(walk, "--compile-from", run.options.from, code);
  const Stage *to = namedForm(walk, "--compile-to", last, code);
  if (code == exitOk && from && to && from > to)
    code = fail(exitBadUsage, "--compile-from=" + from->name +
                                  " begins behind the last stage, " + to->name);
  for (const Stage &stage : walk) {
    const bool reads = &stage == &walk.front();
    if (!reads && from && &stage <= from)
      continue;
    if (code != exitOk)
      break;
    // What is read is not ours. Ours may not be wrong, what stages rely on.
    run.blame = from ? exitUserError : exitInternal;
    auto start = std::chrono::steady_clock::now();
    code = stage.run(program, run);
    const Stage *left = reads ? from : &stage;
    if (code == exitOk && left && left->checkForm &&
        (reads || run.options.verifyForms))
      code = left->checkForm(program, run);
    if (code == exitOk && forText && &stage == to && stage.beforeText)
      code = stage.beforeText(program, run);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    result.stages.push_back(
        {stage.name.str(), seconds.count(), std::move(run.details)});
    run.details = llvm::json::Object();
    if (left && left == to)
      break;
  }
  return code;
}
