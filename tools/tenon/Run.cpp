//===- Run.cpp - tenon run -----------------------------------------------===//
//
// Runs steps: start values in, metrics while it goes, state and results out.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Batches.h"
#include "tools/tenon/LoadProgram.h"
#include "tools/tenon/Scalars.h"

#include "tenon/Runtime/State.h"
#include "tenon/Support/ExitCode.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

using namespace tenon;
using namespace tenon::tool;

namespace {

struct RunOptions {
  std::string file, state, inputs, batches, metrics, save, outputs;
  ModuleOptions module;
  int64_t steps = 1, threads = 0;
  bool checkMemory = false;
};

int fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return exitUserError;
}

/// Fills arguments from --state and --inputs; every argument must come from
/// somewhere.
int loadStart(runtime::Executor &executor, const RunOptions &options,
              std::set<size_t> &filled) {
  runtime::Error error;
  std::vector<size_t> read;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  if (!options.state.empty()) {
    if (!runtime::loadState(executor, options.state, error))
      return fail(error.message);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (executor.isState(i))
        filled.insert(i);
  }
  if (!options.inputs.empty() &&
      !runtime::loadArguments(executor, options.inputs, read, error))
    return fail(error.message);
  filled.insert(read.begin(), read.end());
  return exitOk;
}

int checkFilled(const runtime::Executor &executor,
                const std::set<size_t> &filled) {
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  std::string missing;
  int count = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].argument < 0 || filled.count(i))
      continue;
    if (++count <= 8)
      missing += (missing.empty() ? "'" : ", '") + tensors[i].name + "'";
  }
  if (count == 0)
    return exitOk;
  return fail(std::to_string(count) +
              (count == 1 ? " argument has" : " arguments have") +
              " no value: " + missing + (count > 8 ? ", ..." : "") +
              "; give state with --state, anything with --inputs, batches "
              "with --batches");
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

int saveOutputs(const runtime::Executor &executor, const std::string &path) {
  std::vector<format::TensorBytes> outputs;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].result >= 0)
      outputs.push_back({"result" + std::to_string(tensors[i].result),
                         tensors[i].type, tensors[i].shape,
                         executor.memory(i)});
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

int runSteps(runtime::Executor &executor, const RunOptions &options) {
  std::set<size_t> filled;
  if (int code = loadStart(executor, options, filled))
    return code;
  std::unique_ptr<Batches> batches;
  std::string message;
  if (!options.batches.empty() &&
      !(batches = Batches::open(options.batches, message)))
    return fail(message);

  std::vector<size_t> metrics = metricTensors(executor);
  std::ofstream metricsFile;
  if (!options.metrics.empty()) {
    metricsFile.open(options.metrics, std::ios::trunc);
    metricsFile << "step";
    for (size_t tensor : metrics)
      metricsFile << ",result" << executor.index().tensors[tensor].result;
    metricsFile << "\n";
    if (!metricsFile)
      return fail("cannot write '" + options.metrics + "'");
  }

  runtime::Error error;
  auto start = std::chrono::steady_clock::now();
  double lastLine = 0;
  std::vector<double> stepSeconds;
  for (int64_t step = 0; step < options.steps; ++step) {
    if (batches) {
      std::vector<size_t> read;
      if (!batches->load(executor, step, read, message))
        return fail(message);
      filled.insert(read.begin(), read.end());
    }
    if (step == 0)
      if (int code = checkFilled(executor, filled))
        return code;
    auto stepStart = std::chrono::steady_clock::now();
    if (!(options.checkMemory ? executor.checkMemory(1, error)
                              : executor.run(1, error)))
      return fail(error.message);
    stepSeconds.push_back(std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - stepStart)
                              .count());
    if (metricsFile.is_open()) {
      metricsFile << step;
      for (size_t tensor : metrics)
        metricsFile << ','
                    << scalarText(executor.index().tensors[tensor].type,
                                  executor.memory(tensor));
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
                    scalarText(executor.index().tensors[tensor].type,
                               executor.memory(tensor))
                        .c_str());
      std::printf("  %.1f steps/s\n", (step + 1) / seconds);
      std::fflush(stdout);
    }
  }
  printSummary(executor, stepSeconds);
  if (metricsFile.is_open() && !metricsFile.flush())
    return fail("cannot write '" + options.metrics + "'");
  if (!options.save.empty() &&
      !runtime::saveState(executor, options.save, error))
    return fail(error.message);
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
  parser.text("inputs", options.inputs, "F.safetensors",
              "values of any arguments, state or batch");
  parser.text("batches", options.batches, "PATH",
              "a folder with a file per step, or a file with a leading step "
              "dimension");
  parser.custom("steps", "N", "how many steps (1)",
                [&](std::string_view given) -> std::string {
                  options.steps = parseNumber(given).value_or(0);
                  return options.steps < 1 ? "expected a number from 1 on" : "";
                });
  parser.text("metrics", options.metrics, "F.csv",
              "write every scalar result of every step");
  parser.text("save", options.save, "F.safetensors",
              "write the state at the end");
  parser.text("outputs", options.outputs, "F.safetensors",
              "write the last step's results");
  parser.number("threads", options.threads, "N", "threads (all processors)");
  parser.flag("check-memory", options.checkMemory,
              "run operations alone in poisoned memory, slowly, and check what "
              "they write");
  parser.text("roles", options.module.rolesFile, "FILE",
              "for a module: JSON that says what each argument is");
  parser.text("function", options.module.function, "NAME",
              "for a module: which of its functions is the step (main)");
  bool reference = false;
  parser.flag("reference", reference,
              "for a module: interpret it element by element");
  parser.notes("example:\n"
               "  tenon run step.tenon --state=init.safetensors "
               "--batches=data/ --steps=200 --save=final.safetensors\n");
  std::vector<std::string> inputs;
  if (auto code = parser.parse(arguments, inputs))
    return *code;
  if (!modules && (reference || isModule(inputs.front())))
    return callCompiler("run", arguments);
  if (reference) {
    if (!options.state.empty() || !options.batches.empty() ||
        !options.save.empty() || options.checkMemory)
      return fail("--reference takes --inputs, --steps, --metrics and "
                  "--outputs only");
    return modules->runReference({inputs.front(), options.inputs,
                                  options.metrics, options.outputs,
                                  options.module, options.steps});
  }
  runtime::ExecutorOptions executorOptions;
  executorOptions.threads = options.threads;
  int code = 0;
  auto executor = loadProgram(inputs.front(), options.module, executorOptions,
                              modules, /*selfChecking=*/true, code);
  if (executor)
    code = runSteps(*executor, options);
  if (code == exitOk && modules && !modules->checkExpectations(*executor))
    return exitUserError;
  return code;
}
