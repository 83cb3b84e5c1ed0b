//===- Run.cpp - tenon run ------------------------------------------------===//
//
// Runs training steps, or an entry point beside the step once.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/DeviceOptions.h"
#include "tools/tenon/Fail.h"
#include "tools/tenon/Interruption.h"
#include "tools/tenon/Launch.h"
#include "tools/tenon/LoadProgram.h"
#include "tools/tenon/TrainingRun.h"

#include "tenon/Runtime/Scalars.h"
#include "tenon/Runtime/State.h"
#include "tenon/Support/ExitCode.h"

#include <cstdio>

using namespace tenon;
using namespace tenon::tool;

/// Runs an entry point beside the step once.
static int runEntry(runtime::Executor &executor, const RunOptions &options) {
  const format::Index &index = executor.index();
  runtime::Error error;
  if (!index.findEntryPoint(options.entry))
    // Says which there are.
    return executor.run(0, error, options.entry) ? int(exitOk)
                                                 : fail(error.message);
  if (int code = loadStartState(executor, options))
    return code;
  if (!options.inputs.empty() &&
      !runtime::loadInputs(executor, options.inputs, options.entry, error))
    return fail(error.message);
  if (!(options.checkMemory ? executor.checkMemory(1, error, options.entry)
                            : executor.run(1, error, options.entry)))
    return fail(error.message);
  for (size_t tensor : executor.resultsOf(options.entry)) {
    const format::Tensor &result = index.tensors[tensor];
    if (!result.shape.empty())
      continue;
    auto value = runtime::valueText(executor, tensor, error);
    if (!value)
      return fail(error.message);
    std::printf("%s %s\n", result.name.c_str(), value->c_str());
  }
  if (!options.outputs.empty() &&
      !runtime::saveResultsOf(executor, options.outputs, options.entry, error))
    return fail(error.message);
  return exitOk;
}

int tool::runRun(Arguments arguments, Modules *modules) {
  RunOptions options;
  ArgumentParser parser("run",
                        "Runs training steps of a .tenon file, or of a module "
                        "that is compiled in memory first.\n"
                        "A .tenon file is a program: running one executes the "
                        "machine code in it. Run only files that\nyou trust.",
                        "FILE");
  takeRunOptions(parser, options);
  runtime::ExecutorOptions executorOptions;
  takeDeviceOptions(parser, executorOptions);
  double heartbeat = 10;
  takeHeartbeat(parser, heartbeat);
  bool reference = false;
  parser.flag("reference", reference,
              "for a module: interpret it element by element");
  describeRuns(parser);
  std::vector<std::string> inputs;
  if (auto code = parser.parse(arguments, inputs))
    return *code;
  if (std::string wrong = whyContradictory(options); !wrong.empty()) {
    std::fprintf(stderr, "error: %s\n", wrong.c_str());
    return exitBadUsage;
  }
  if (!modules && (reference || isModule(inputs.front())))
    return callCompiler("run", arguments);
  if (reference) {
    if (!options.state.empty() || !options.batches.path.empty() ||
        !options.save.empty() || !options.checkpoints.empty() ||
        !options.settings.empty() || !options.stopConditions.empty() ||
        options.until.steps > 0 || options.until.seconds > 0 ||
        options.checkMemory || options.zeroState || options.prefault ||
        options.stopOnOverflow || !options.entry.empty() ||
        !options.trace.empty() || options.norms.isWanted())
      return fail("--reference takes --inputs, --steps, --metrics and "
                  "--outputs only");
    return modules->runReference({inputs.front(), options.inputs,
                                  options.metrics, options.outputs,
                                  options.module, options.steps.value_or(1)});
  }
  options.file = inputs.front();
  executorOptions.threads = options.threads;
  executorOptions.prefault = options.prefault;
  int code = joinLaunch(executorOptions, heartbeat, options.saves());
  std::unique_ptr<runtime::Executor> executor;
  if (code == exitOk)
    executor = loadProgram(inputs.front(), options.module, executorOptions,
                           modules, /*selfChecking=*/true, code);
  if (executor) {
    // Without a place to save to, a signal ends the run as it always does.
    if (options.saves() && !executorOptions.processes)
      Interruption::catchSignals();
    code = options.entry.empty() ? train(*executor, options)
                                 : runEntry(*executor, options);
  }
  code = leaveLaunch(executorOptions, code);
  if (code == exitOk && modules && !modules->checkExpectations(*executor))
    return exitUserError;
  return code;
}
