//===- Bench.cpp - tenon bench
//----------------------------------------------===//
//
// Times steps of a .tenon file, or every kernel and call of one.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/LoadExecutor.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Runtime/State.h"

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

/// Seconds of `steps` single steps, after one that warms caches.
int timeSteps(runtime::Executor &executor, int64_t steps) {
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
  if (executor.index().flops > 0)
    llvm::outs() << llvm::formatv("rate       {0:f1} GFLOP/s\n",
                                  executor.index().flops / median * 1e-9);
  return driver::exitOk;
}

/// A table of instructions, the dearest first, and the fallback share.
int timeKernels(runtime::Executor &executor, int64_t steps, int64_t rows) {
  runtime::Error error;
  std::vector<runtime::InstructionTime> times;
  if (!executor.run(1, error) || !executor.profile(steps, times, error))
    return fail(error.message);
  // One line per kernel or call, however often the program runs it.
  std::vector<runtime::InstructionTime> merged;
  double total = 0, fallback = 0, library = 0;
  for (const runtime::InstructionTime &time : times) {
    total += time.seconds;
    fallback += time.fallback ? time.seconds : 0;
    library += time.library ? time.seconds : 0;
    auto known = std::find_if(
        merged.begin(), merged.end(),
        [&](const runtime::InstructionTime &m) { return m.name == time.name; });
    if (known == merged.end()) {
      merged.push_back(time);
      continue;
    }
    known->seconds += time.seconds;
    known->runs += time.runs;
  }
  std::sort(merged.begin(), merged.end(), [](const auto &a, const auto &b) {
    return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
  });
  llvm::outs() << llvm::formatv("{0,8} {1,8} {2,6}  {3,-14} {4}\n", "ms/step",
                                "share", "runs", "name", "what");
  for (size_t i = 0; i < merged.size() && int64_t(i) < rows; ++i)
    llvm::outs() << llvm::formatv(
        "{0,8:f3} {1,7:f2}% {2,6}  {3,-14} {4}\n",
        merged[i].seconds / steps * 1e3, 100 * merged[i].seconds / total,
        merged[i].runs / steps, merged[i].name, merged[i].what);
  llvm::outs() << llvm::formatv(
      "total      {0:f3} ms per step in {1} kernels and calls; library "
      "{2:f2}%, fallback {3:f2}%\n",
      total / steps * 1e3, merged.size(), 100 * library / total,
      100 * fallback / total);
  return driver::exitOk;
}

} // namespace

int tool::runBench(Arguments arguments) {
  std::string rolesFile, inputs;
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
  parser.flag("kernels", kernels, "time every kernel and library call");
  parser.number("rows", rows, "N", "how many lines of kernels (30)");
  std::vector<std::string> files;
  if (auto code = parser.parse(arguments, files))
    return *code;
  runtime::ExecutorOptions options;
  options.threads = threads;
  int code = 0;
  auto executor = loadExecutor(files.front(), rolesFile, options, code);
  if (!executor)
    return code;
  runtime::Error error;
  std::vector<size_t> filled;
  if (!inputs.empty() &&
      !runtime::loadArguments(*executor, inputs, filled, error))
    return fail(error.message);
  steps = std::max<int64_t>(steps, 1);
  return kernels ? timeKernels(*executor, steps, rows)
                 : timeSteps(*executor, steps);
}
