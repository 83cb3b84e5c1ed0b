//===- Bench.cpp - tenon bench --------------------------------------------===//
//
// Times steps of a .tenon file, or every kernel and call of one.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Floor.h"
#include "tools/tenon/LoadExecutor.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/Reader.h"
#include "tenon/Runtime/State.h"
#include "tenon/Target/Measure.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>

using namespace tenon;
using namespace tenon::tool;

namespace {

int fail(const std::string &message) {
  llvm::errs() << "error: " << message << "\n";
  return driver::exitUserError;
}

/// What every kernel and call took over some steps, one entry per name and
/// size, the dearest first.
struct KernelTimes {
  std::vector<runtime::InstructionTime> kernels;
  double total = 0, fallback = 0, library = 0; // seconds over all steps
};

std::optional<KernelTimes> profile(runtime::Executor &executor, int64_t steps,
                                   runtime::Error &error) {
  std::vector<runtime::InstructionTime> times;
  if (!executor.profile(steps, times, error))
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

/// At most `rows` lines of kernels and what they take.
void printKernels(const KernelTimes &times, int64_t steps, int64_t rows) {
  llvm::outs() << llvm::formatv("{0,8} {1,8} {2,6}  {3,-14} {4}\n", "ms/step",
                                "share", "runs", "name", "what");
  for (size_t i = 0; i < times.kernels.size() && int64_t(i) < rows; ++i) {
    const runtime::InstructionTime &kernel = times.kernels[i];
    llvm::outs() << llvm::formatv(
        "{0,8:f3} {1,7:f2}% {2,6}  {3,-14} {4}\n", kernel.seconds / steps * 1e3,
        100 * kernel.seconds / times.total, kernel.runs / steps, kernel.name,
        kernel.what);
  }
}

/// Above this multiple of the floor the kernels answer for it.
constexpr double namedMultiple = 2.0;
constexpr int64_t namedKernels = 5;

/// The median step against what `machine` can do.
int printFloor(runtime::Executor &executor, double median, const Floor &floor,
               const target::Target &machine) {
  const format::Index &index = executor.index();
  if (index.flops > 0)
    llvm::outs() << llvm::formatv(
        "rate       {0:f1} GFLOP/s, {1:f1}% of the measured peak of {2:f1}\n",
        index.flops / median * 1e-9, 100 * floor.computeSeconds / median,
        index.flops / floor.computeSeconds * 1e-9);
  if (floor.seconds() <= 0) {
    llvm::outs() << "floor      none: no dots or convolutions, and the state "
                    "stays in a cache\n";
    return driver::exitOk;
  }
  double multiple = median / floor.seconds();
  llvm::outs() << llvm::formatv(
      "floor      {0:f3} ms: {1:f3} compute + {2:f3} state of {3:f1} MiB at "
      "{4:f1} GB/s; the step takes {5:f2} times that\n",
      floor.seconds() * 1e3, floor.computeSeconds * 1e3,
      floor.memorySeconds * 1e3, floor.stateBytes / (1 << 20),
      machine.memory.copy.allCores * 1e-9, multiple);
  if (multiple <= namedMultiple)
    return driver::exitOk;
  runtime::Error error;
  constexpr int64_t steps = 3;
  auto times = profile(executor, steps, error);
  if (!times)
    return fail(error.message);
  llvm::outs() << llvm::formatv(
      "the dearest of {0} kernels and calls, each timed alone:\n",
      times->kernels.size());
  printKernels(*times, steps, namedKernels);
  return driver::exitOk;
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
  llvm::outs() << llvm::formatv(
      "step       min {0:f3} ms, median {1:f3} ms, max {2:f3} ms over {3} "
      "steps, {4} threads\n",
      seconds.front() * 1e3, median * 1e3, seconds.back() * 1e3, steps,
      executor.threads());
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
  printKernels(*times, steps, rows);
  llvm::outs() << llvm::formatv(
      "total      {0:f3} ms per step in {1} kernels and calls; library "
      "{2:f2}%, fallback {3:f2}%\n",
      times->total / steps * 1e3, times->kernels.size(),
      100 * times->library / times->total,
      100 * times->fallback / times->total);
  return driver::exitOk;
}

/// The described machine, or this one measured on the spot.
std::optional<target::Target> machineOf(const std::string &file,
                                        unsigned threads, std::string &error) {
  if (!file.empty())
    return target::readTarget(file, error);
  target::MeasureOptions options;
  options.threads = threads;
  options.secondsPerFigure = 0.07; // two seconds in all
  return target::measureTarget(options, error);
}

} // namespace

int tool::runBench(Arguments arguments) {
  std::string inputs, machineFile;
  ModuleOptions module;
  int64_t steps = 20, threads = 0, rows = 30;
  bool kernels = false;
  ArgumentParser parser("bench",
                        "Times steps of a .tenon file, or its kernels and "
                        "library calls one by one.",
                        "FILE");
  parser.number("steps", steps, "N", "how many steps are timed (20)");
  parser.number("threads", threads, "N", "threads (all processors)");
  parser.text("inputs", inputs, "F.safetensors",
              "values of arguments; zeros otherwise");
  parser.text("machine", machineFile, "FILE.json",
              "rates from tenon calibrate; measured in this run otherwise");
  parser.text("roles", module.rolesFile, "FILE",
              "for a module: JSON that says what each argument is");
  parser.text("function", module.function, "NAME",
              "for a module: which of its functions is the step (main)");
  parser.flag("kernels", kernels, "time every kernel and library call");
  parser.number("rows", rows, "N", "how many lines of kernels (30)");
  std::vector<std::string> files;
  if (auto code = parser.parse(arguments, files))
    return *code;
  runtime::ExecutorOptions options;
  options.threads = threads;
  int code = 0;
  auto executor = loadExecutor(files.front(), module, options, code);
  if (!executor)
    return code;
  runtime::Error error;
  std::vector<size_t> filled;
  if (!inputs.empty() &&
      !runtime::loadArguments(*executor, inputs, filled, error))
    return fail(error.message);
  steps = std::max<int64_t>(steps, 1);
  if (kernels)
    return timeKernels(*executor, steps, rows);
  std::string fault;
  auto machine = machineOf(machineFile, executor->threads(), fault);
  if (!machine)
    return fail(fault);
  // The file still has the programs, which say how often each call runs.
  auto reader = llvm::StringRef(files.front()).ends_with(".mlir")
                    ? nullptr
                    : format::Reader::open(files.front(), fault);
  Floor floor = floorOf(reader ? reader->index() : executor->index(), *machine);
  return timeSteps(*executor, steps, floor, *machine);
}
