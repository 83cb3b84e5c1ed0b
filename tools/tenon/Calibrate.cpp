//===- Calibrate.cpp - tenon calibrate ------------------------------------===//
//
// Measures the machine it runs on, prints the table, and writes the file that
// --machine reads.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Format/AtomicFile.h"
#include "tenon/Target/Measure.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <span>

using namespace tenon;
using namespace tenon::tool;

namespace {

int fail(const std::string &message) {
  llvm::errs() << "error: " << message << "\n";
  return driver::exitUserError;
}

void printTable(const target::Target &target) {
  llvm::outs() << llvm::formatv(
      "{0}: {1}, {2} cores, caches {3} KiB, {4} KiB, {5} MiB\n\n", target.name,
      target.featureSet, target.cores, target.caches.level1 >> 10,
      target.caches.level2 >> 10, target.caches.level3 >> 20);
  llvm::outs() << llvm::formatv("{0,-24}{1,12}{2,12}\n", "", "one core",
                                "all cores");
  auto line = [](const char *what, const target::Rate &rate, const char *unit) {
    llvm::outs() << llvm::formatv("{0,-24}{1,12:f1}{2,12:f1}  {3}\n", what,
                                  rate.oneCore * 1e-9, rate.allCores * 1e-9,
                                  unit);
  };
  line("multiply-add f32", target.compute.f32, "GFLOP/s");
  line("multiply-add bf16", target.compute.bf16, "GFLOP/s");
  line("multiply-add f16", target.compute.f16, "GFLOP/s (computed in f32)");
  line("copy, memory", target.memory.copy, "GB/s, read and written");
  line("read, memory", target.memory.read, "GB/s");
  line("copy, last-level cache", target.memory.cachedCopy,
       "GB/s, read and written");
  llvm::outs() << llvm::formatv(
      "{0,-24}{1,12:f2}{2,12}  ns\n{3,-24}{4,12}{5,12:f2}  ns\n", "launch",
      target.overheads.launch * 1e9, "", "barrier", "",
      target.overheads.barrier * 1e9);
}

} // namespace

int tool::runCalibrate(Arguments arguments) {
  std::string output;
  int64_t threads = 0;
  ArgumentParser parser("calibrate",
                        "Measures this machine in under a minute. Nothing else "
                        "should run meanwhile.",
                        "");
  parser.text("output", output, "FILE.json",
              "where to write the machine description (also -o)");
  parser.number("threads", threads, "N",
                "threads that stand for all cores (all processors)");
  std::vector<std::string> none;
  if (auto code = parser.parse(arguments, none, 0))
    return *code;
  if (threads > 4096)
    return fail("option '--threads' is given " + std::to_string(threads) +
                ": expected at most 4096");
  target::MeasureOptions options;
  options.threads = unsigned(threads);
  std::string error;
  auto measured = target::measureTarget(options, error);
  if (!measured)
    return fail(error);
  printTable(*measured);
  if (output.empty())
    return driver::exitOk;
  std::string text = target::toJson(*measured);
  if (output == "-") {
    llvm::outs() << text;
    return driver::exitOk;
  }
  auto file = format::AtomicFile::create(output, error);
  if (!file || !file->append(std::as_bytes(std::span(text)), error) ||
      !file->commit(error))
    return fail(error);
  llvm::outs() << "\nwritten    " << output << "\n";
  return driver::exitOk;
}
