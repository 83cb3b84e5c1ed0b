//===- Bench.cpp - tenon bench --------------------------------------------===//
//
// Times steps of a .tenon file, or every kernel and call of one.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/DeviceOptions.h"
#include "tools/tenon/Fail.h"
#include "tools/tenon/Floor.h"
#include "tools/tenon/LoadProgram.h"
#include "tools/tenon/SubnormalsOption.h"

#include "tenon/Format/Reader.h"
#include "tenon/Runtime/State.h"
#include "tenon/Support/ExitCode.h"
#include "tenon/Target/Measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace tenon;
using namespace tenon::tool;

namespace {

/// What every kernel and call takes in a step, one entry per name and size, the
/// dearest first.
struct KernelTimes {
  std::vector<runtime::InstructionTime> kernels;
  double total = 0, fallback = 0, library = 0; // seconds
};

/// The step's instructions, each with its median over some steps.
bool timeInstructions(runtime::Executor &executor, int64_t steps,
                      std::vector<runtime::InstructionTime> &times,
                      runtime::Error &error) {
  std::vector<std::vector<double>> seconds;
  for (int64_t step = 0; step < steps; ++step) {
    if (!executor.profile(1, times, error))
      return false;
    seconds.resize(times.size());
    for (size_t i = 0; i < times.size(); ++i)
      seconds[i].push_back(times[i].seconds);
  }
  for (size_t i = 0; i < times.size(); ++i) {
    auto middle = seconds[i].begin() + steps / 2;
    std::nth_element(seconds[i].begin(), middle, seconds[i].end());
    times[i].seconds = *middle;
  }
  return true;
}

std::optional<KernelTimes> profile(runtime::Executor &executor, int64_t steps,
                                   runtime::Error &error) {
  std::vector<runtime::InstructionTime> times;
  if (!timeInstructions(executor, steps, times, error))
    return std::nullopt;
  KernelTimes result;
  for (const runtime::InstructionTime &time : times) {
    result.total += time.seconds;
    result.fallback += time.fallback ? time.seconds : 0;
    result.library += time.library ? time.seconds : 0;
    auto known =
        std::find_if(result.kernels.begin(), result.kernels.end(),
                     [&](const runtime::InstructionTime &m) {
                       return m.name == time.name && m.what == time.what;
                     });
    if (known == result.kernels.end()) {
      result.kernels.push_back(time);
      continue;
    }
    known->seconds += time.seconds;
    known->runs += time.runs;
  }
  std::sort(result.kernels.begin(), result.kernels.end(),
            [](const auto &a, const auto &b) {
              return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
            });
  return result;
}

/// A part of a time; none of no time, which the emulated driver's clock shows.
double percentOf(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// At most `rows` lines of kernels and what they take.
void printKernels(const KernelTimes &times, int64_t rows) {
  std::printf("%8s %8s %6s  %-14s %s\n", "ms/step", "share", "runs", "name",
              "what");
  for (size_t i = 0; i < times.kernels.size() && int64_t(i) < rows; ++i) {
    const runtime::InstructionTime &kernel = times.kernels[i];
    std::printf("%8.3f %7.2f%% %6lld  %-14s %s\n", kernel.seconds * 1e3,
                percentOf(kernel.seconds, times.total),
                static_cast<long long>(kernel.runs), kernel.name.c_str(),
                kernel.what.c_str());
  }
}

/// Above this multiple of the floor the kernels answer for it.
constexpr double namedMultiple = 2.0;
constexpr int64_t namedKernels = 5;

/// The median step against what `machine` can do.
int printFloor(runtime::Executor &executor, double median, const Floor &floor,
               const target::Target &machine) {
  const format::Index &index = executor.index();
  const format::EntryPoint *step = index.findEntryPoint("step");
  if (step && step->flops > 0)
    std::printf(
        "rate       %.1f GFLOP/s, %.1f%% of the peak of %.1f of %s\n",
        step->flops / median * 1e-9, 100 * floor.computeSeconds / median,
        step->flops / floor.computeSeconds * 1e-9, machine.name.c_str());
  if (floor.seconds() <= 0) {
    std::printf("floor      none: no dots or convolutions, and the state "
                "stays in a cache\n");
    return exitOk;
  }
  double multiple = median / floor.seconds();
  std::printf(
      "floor      %.3f ms: %.3f compute + %.3f state of %.1f MiB at %.1f GB/s; "
      "the step takes %.2f times that\n",
      floor.seconds() * 1e3, floor.computeSeconds * 1e3,
      floor.memorySeconds * 1e3, floor.stateBytes / (1 << 20),
      machine.memory.copy.allCores * 1e-9, multiple);
  if (multiple <= namedMultiple)
    return exitOk;
  runtime::Error error;
  constexpr int64_t steps = 3;
  auto times = profile(executor, steps, error);
  if (!times)
    return fail(error.message);
  std::printf("the dearest of %zu kernels and calls, each timed alone:\n",
              times->kernels.size());
  printKernels(*times, namedKernels);
  return exitOk;
}

/// Times `steps` single steps, after one that warms caches.
int timeSteps(runtime::Executor &executor, int64_t steps, const Floor &floor,
              const target::Target &machine) {
  runtime::Error error;
  if (!executor.run(1, error))
    return fail(error.message);
  std::vector<double> seconds;
  for (int64_t step = 0; step < steps; ++step) {
    auto start = std::chrono::steady_clock::now();
    if (!executor.run(1, error))
      return fail(error.message);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(seconds.begin(), seconds.end());
  double median = seconds[seconds.size() / 2];
  std::printf("step       min %.3f ms, median %.3f ms, max %.3f ms over %lld "
              "steps, %u threads\n",
              seconds.front() * 1e3, median * 1e3, seconds.back() * 1e3,
              static_cast<long long>(steps), unsigned(executor.threads()));
  return printFloor(executor, median, floor, machine);
}

/// A table of instructions, the dearest first, and the fallback share.
int timeKernels(runtime::Executor &executor, int64_t steps, int64_t rows) {
  runtime::Error error;
  if (!executor.run(1, error))
    return fail(error.message);
  auto times = profile(executor, steps, error);
  if (!times)
    return fail(error.message);
  printKernels(*times, rows);
  std::printf(
      "total      %.3f ms per step in %zu kernels and calls; library %.2f%%, "
      "fallback %.2f%%\n",
      times->total * 1e3, times->kernels.size(),
      percentOf(times->library, times->total),
      percentOf(times->fallback, times->total));
  return exitOk;
}

/// All arguments, batch included: memory of the Executor's starts at zero.
bool startAtZero(runtime::Executor &executor, runtime::Error &error) {
  if (!executor.initializeZeros(error))
    return false;
  for (size_t tensor : executor.withoutValue())
    executor.markWritten(tensor);
  return true;
}

/// The described machine; otherwise the GPU that plans for the file's
/// architecture are made for, or this processor, measured on the spot.
std::optional<target::Target> machineOf(const std::string &file,
                                        const format::Index &index,
                                        unsigned threads, std::string &error) {
  if (!file.empty())
    return target::readTarget(file, error);
  for (const format::DeviceClass &device : index.deviceClasses)
    if (const auto *gpu = target::gpuArchitectureNamed(device.architecture))
      return target::builtInTarget(*gpu);
  target::MeasureOptions options;
  options.threads = threads;
  options.secondsPerFigure = 0.07; // two seconds in all
  return target::measureTarget(options, error);
}

} // namespace

int tool::runBench(Arguments arguments, Modules *modules) {
  std::string inputs, machineFile;
  ModuleOptions module;
  int64_t steps = 20, threads = 0, rows = 30;
  bool kernels = false;
  ArgumentParser parser("bench",
                        "Measures how long a step of a .tenon file takes, "
                        "or each of its kernels and library calls.",
                        "FILE");
  parser.number("steps", steps, "N", "how many steps to time (default: 20)");
  parser.number("threads", threads, "N",
                "threads that run a step (default: one per processor)");
  parser.text("inputs", inputs, "F.safetensors",
              "values of arguments; the others are zero");
  parser.text("machine", machineFile, "FILE.json",
              "rates of the machine from tenon calibrate (default: measured "
              "now, or a GPU's)");
  parser.text("roles", module.rolesFile, "FILE",
              "for a module: a roles file (see docs/GettingStarted.md)");
  parser.text("function", module.function, "NAME",
              "for a module: the function that is the step (default: main)");
  takeSubnormals(parser, module.subnormals, "for a module: ");
  parser.flag("kernels", kernels,
              "list the median time of every kernel and library call");
  parser.number("rows", rows, "N", "how many kernels to list (default: 30)");
  std::vector<std::string> files;
  runtime::ExecutorOptions options;
  takeDeviceOptions(parser, options);
  parser.examples("tenon bench step.tenon --steps=100\n"
                  "tenon bench step.tenon --kernels --rows=10\n");
  if (auto code = parser.parse(arguments, files))
    return *code;
  if (!modules && isModule(files.front()))
    return callCompiler("bench", arguments);
  options.threads = threads;
  int code = 0;
  auto executor = loadProgram(files.front(), module, options, modules,
                              /*selfChecking=*/false, code);
  if (!executor)
    return code;
  runtime::Error error;
  if (!startAtZero(*executor, error) ||
      (!inputs.empty() && !runtime::loadArguments(*executor, inputs, error)))
    return fail(error.message);
  steps = std::max<int64_t>(steps, 1);
  if (kernels)
    return timeKernels(*executor, steps, rows);
  std::string fault;
  auto machine =
      machineOf(machineFile, executor->index(), executor->threads(), fault);
  if (!machine)
    return fail(fault);
  // The file still has the programs, which say how often each call runs.
  auto reader = isModule(files.front())
                    ? nullptr
                    : format::Reader::open(files.front(), fault);
  Floor floor = floorOf(reader ? reader->index() : executor->index(), *machine);
  return timeSteps(*executor, steps, floor, *machine);
}
