//===- Run.cpp - tenon run -----------------------------------------------===//
//
// Runs steps: start values in, metrics while it goes, state and results out.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Batches.h"
#include "tools/tenon/LoadProgram.h"
#include "tools/tenon/ResultNamesOption.h"
#include "tools/tenon/Scalars.h"
#include "tools/tenon/SubnormalsOption.h"

#include "tenon/Runtime/State.h"
#include "tenon/Support/ExitCode.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace tenon;
using namespace tenon::tool;

namespace {

struct RunOptions {
  std::string file, state, inputs, batches, metrics, save, outputs;
  ModuleOptions module;
  int64_t steps = 1, threads = 0;
  int64_t saveEvery = 0; // steps; 0 for only at the end
  bool checkMemory = false, zeroState = false, prefault = false;
};

int fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return exitUserError;
}

/// Fills arguments with zeros, from --state and from --inputs.
int loadStart(runtime::Executor &executor, const RunOptions &options) {
  runtime::Error error;
  if (options.zeroState && !executor.initializeZeros(error))
    return fail(error.message);
  if (!options.state.empty() &&
      !runtime::loadState(executor, options.state, error))
    return fail(error.message);
  if (!options.inputs.empty() &&
      !runtime::loadArguments(executor, options.inputs, error))
    return fail(error.message);
  return exitOk;
}

/// Every argument must come from somewhere.
int checkFilled(const runtime::Executor &executor) {
  std::string missing;
  size_t count = 0;
  for (size_t tensor : executor.withoutValue())
    if (++count <= 8)
      missing += (missing.empty() ? "'" : ", '") +
                 executor.index().tensors[tensor].name + "'";
  if (count == 0)
    return exitOk;
  return fail(std::to_string(count) +
              (count == 1 ? " argument has" : " arguments have") +
              " no value: " + missing + (count > 8 ? ", ..." : "") +
              "; give state with --state or --zero-state, anything with "
              "--inputs, batches with --batches");
}

/// The scalar results a metrics line holds.
std::vector<size_t> metricTensors(const runtime::Executor &executor) {
  std::vector<size_t> metrics;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].argument < 0 && tensors[i].result >= 0 &&
        tensors[i].shape.empty())
      metrics.push_back(i);
  return metrics;
}

std::string metricText(const runtime::Executor &executor, size_t tensor) {
  const format::Tensor &described = executor.index().tensors[tensor];
  std::vector<std::byte> bytes(format::bytesOf(described));
  executor.read(tensor, bytes);
  return scalarText(described.type, bytes);
}

int saveOutputs(const runtime::Executor &executor, const std::string &path) {
  std::vector<format::TensorBytes> outputs;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].result >= 0)
      outputs.push_back(runtime::bytesOf(
          executor, i, "result" + std::to_string(tensors[i].result)));
  std::string error;
  if (!format::writeSafetensors(path, outputs, {}, error))
    return fail(error);
  return exitOk;
}

/// The most memory this process has held; getrusage would count what started
/// it as well.
int64_t mostResidentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::atoll(line.c_str() + 6);
  return 0;
}

/// Step time, and the planned memory beside what the process really held.
void printSummary(const runtime::Executor &executor,
                  std::vector<double> &stepSeconds) {
  std::sort(stepSeconds.begin(), stepSeconds.end());
  std::printf("time       median %.3f ms, min %.3f ms, max %.3f ms per step\n",
              stepSeconds[stepSeconds.size() / 2] * 1e3,
              stepSeconds.front() * 1e3, stepSeconds.back() * 1e3);
  uint64_t planned = 0;
  for (const format::Segment &segment : executor.index().segments)
    planned += segment.bytes;
  std::printf("memory     planned %.1f MiB, process at most %.1f MiB\n",
              planned / 1048576.0, mostResidentKiB() / 1024.0);
}

/// Ends a run that failed after `steps` complete steps. `saved` is the last
/// step whose state was saved, 0 for none.
int endFailedRun(const std::string &message, const RunOptions &options,
                 int64_t steps, int64_t saved) {
  fail(message);
  std::string rest = std::to_string(steps) + " of " +
                     std::to_string(options.steps) + " steps are complete; ";
  if (saved > 0)
    rest += "'" + options.save + "' holds the state after step " +
            std::to_string(saved);
  else if (options.save.empty())
    rest += "no state was saved, because --save is not given";
  else
    rest +=
        "this run saved no state, '" + options.save + "' is as it was before";
  std::fprintf(stderr, "note: %s\n", rest.c_str());
  return exitUserError;
}

int runSteps(runtime::Executor &executor, const RunOptions &options) {
  if (int code = loadStart(executor, options))
    return code;
  std::unique_ptr<Batches> batches;
  std::string message;
  if (!options.batches.empty() &&
      !(batches = Batches::open(options.batches, executor, message)))
    return fail(message);

  std::vector<size_t> metrics = metricTensors(executor);
  std::ofstream metricsFile;
  if (!options.metrics.empty()) {
    metricsFile.open(options.metrics, std::ios::trunc);
    metricsFile << "step";
    for (size_t tensor : metrics)
      metricsFile << ',' << executor.index().tensors[tensor].name;
    metricsFile << "\n";
    if (!metricsFile)
      return fail("cannot write '" + options.metrics + "'");
  }

  runtime::Error error;
  auto start = std::chrono::steady_clock::now();
  double lastLine = 0;
  int64_t saved = 0;
  std::vector<double> stepSeconds;
  for (int64_t step = 0; step < options.steps; ++step) {
    if (batches && !batches->load(executor, step, message))
      return endFailedRun(message, options, step, saved);
    if (step == 0)
      if (int code = checkFilled(executor))
        return code;
    auto stepStart = std::chrono::steady_clock::now();
    if (!(options.checkMemory ? executor.checkMemory(1, error)
                              : executor.run(1, error)))
      return endFailedRun(error.message, options, step, saved);
    stepSeconds.push_back(std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - stepStart)
                              .count());
    if (metricsFile.is_open()) {
      metricsFile << step;
      for (size_t tensor : metrics)
        metricsFile << ',' << metricText(executor, tensor);
      metricsFile << "\n";
    }
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    bool last = step + 1 == options.steps;
    if (last || seconds - lastLine > 1) {
      lastLine = seconds;
      std::printf("step %lld/%lld", static_cast<long long>(step + 1),
                  static_cast<long long>(options.steps));
      for (size_t tensor : metrics)
        std::printf("  %s %s", executor.index().tensors[tensor].name.c_str(),
                    metricText(executor, tensor).c_str());
      std::printf("  %.1f steps/s\n", (step + 1) / seconds);
      std::fflush(stdout);
    }
    if (!last && options.saveEvery > 0 && (step + 1) % options.saveEvery == 0) {
      if (!runtime::saveState(executor, options.save, error))
        return endFailedRun(error.message, options, step + 1, saved);
      saved = step + 1;
    }
  }
  printSummary(executor, stepSeconds);
  if (metricsFile.is_open() && !metricsFile.flush())
    return fail("cannot write '" + options.metrics + "'");
  if (!options.save.empty() &&
      !runtime::saveState(executor, options.save, error))
    return endFailedRun(error.message, options, options.steps, saved);
  if (!options.outputs.empty())
    return saveOutputs(executor, options.outputs);
  return exitOk;
}

} // namespace

int tool::runRun(Arguments arguments, Modules *modules) {
  RunOptions options;
  ArgumentParser parser("run",
                        "Runs training steps of a .tenon file, or of a module "
                        "that is compiled in memory first.\n"
                        "A .tenon file is a program: running one executes the "
                        "machine code in it. Run only files that\nyou trust.",
                        "FILE");
  parser.text("state", options.state, "F.safetensors",
              "start values of all state");
  parser.flag("zero-state", options.zeroState,
              "start with zeros in all state that no file gives");
  parser.text("inputs", options.inputs, "F.safetensors",
              "values of any arguments, state or batch");
  parser.text("batches", options.batches, "PATH",
              "a folder with one file per step, or one file with all steps");
  parser.custom("steps", "N", "how many steps (1)",
                [&](std::string_view given) -> std::string {
                  options.steps = parseNumber(given).value_or(0);
                  return options.steps < 1 ? "expected a number from 1 on" : "";
                });
  parser.text("metrics", options.metrics, "F.csv",
              "write every scalar result of every step");
  parser.text("save", options.save, "F.safetensors",
              "write the state at the end");
  parser.custom("save-every", "N", "write it after every N steps, too",
                [&](std::string_view given) -> std::string {
                  options.saveEvery = parseNumber(given).value_or(0);
                  return options.saveEvery < 1 ? "expected a number from 1 on"
                                               : "";
                });
  parser.text("outputs", options.outputs, "F.safetensors",
              "write the last step's results");
  parser.number("threads", options.threads, "N", "threads (all processors)");
  parser.flag("prefault", options.prefault,
              "take all memory before the first step");
  parser.flag("check-memory", options.checkMemory,
              "run operations alone in poisoned memory, slowly, and check what "
              "they write");
  parser.text("roles", options.module.rolesFile, "FILE",
              "for a module: JSON that says what each argument is");
  takeResultNames(parser, options.module.resultNames, "for a module: ");
  parser.text("function", options.module.function, "NAME",
              "for a module: which of its functions is the step (main)");
  takeSubnormals(parser, options.module.subnormals, "for a module: ");
  bool reference = false;
  parser.flag("reference", reference,
              "for a module: interpret it element by element");
  parser.notes(
      "--batches takes a folder or one file. The .safetensors files of a "
      "folder "
      "are used in natural order\n(batch2 comes before batch10), one file per "
      "step. In a single file the first dimension of every tensor\ncounts the "
      "steps. After the last batch the run starts again with the first. Before "
      "the first step all\nfiles are checked: every file must hold the same "
      "tensors, in the types and shapes of the step, and all\ntensors of a "
      "single file must have the same number of steps.\n\n"
      "If a step fails, the run ends with exit code 1. The file of --save then "
      "still holds what was saved last,\nand the message says from which step "
      "that is.\n\n"
      "example:\n"
      "  tenon run step.tenon --state=init.safetensors "
      "--batches=data/ --steps=200 --save=final.safetensors\n");
  std::vector<std::string> inputs;
  if (auto code = parser.parse(arguments, inputs))
    return *code;
  if (options.saveEvery > 0 && options.save.empty()) {
    std::fprintf(stderr, "error: --save-every needs a file, give --save\n");
    return exitBadUsage;
  }
  if (!modules && (reference || isModule(inputs.front())))
    return callCompiler("run", arguments);
  if (reference) {
    if (!options.state.empty() || !options.batches.empty() ||
        !options.save.empty() || options.checkMemory || options.zeroState ||
        options.prefault)
      return fail("--reference takes --inputs, --steps, --metrics and "
                  "--outputs only");
    return modules->runReference({inputs.front(), options.inputs,
                                  options.metrics, options.outputs,
                                  options.module, options.steps});
  }
  runtime::ExecutorOptions executorOptions;
  executorOptions.threads = options.threads;
  executorOptions.prefault = options.prefault;
  int code = 0;
  auto executor = loadProgram(inputs.front(), options.module, executorOptions,
                              modules, /*selfChecking=*/true, code);
  if (executor)
    code = runSteps(*executor, options);
  if (code == exitOk && modules && !modules->checkExpectations(*executor))
    return exitUserError;
  return code;
}
