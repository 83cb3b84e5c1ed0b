//===- Calibrate.cpp - tenon calibrate ------------------------------------===//
//
// Measures the machine it runs on, prints the table, and writes the file that
// --machine reads.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Fail.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Support/ExitCode.h"
#include "tenon/Target/Measure.h"

#include <cstdio>
#include <span>

using namespace tenon;
using namespace tenon::tool;

namespace {

void printTable(const target::Target &target) {
  auto count = [](int64_t value) { return static_cast<long long>(value); };
  std::printf("%s: %s, %lld cores, caches %lld KiB, %lld KiB, %lld MiB\n\n",
              target.name.c_str(), describe(target.isa).featureSet.data(),
              count(target.cores), count(target.caches.level1 >> 10),
              count(target.caches.level2 >> 10),
              count(target.caches.level3 >> 20));
  std::printf("%-24s%12s%12s\n", "", "one core", "all cores");
  auto line = [](const char *what, const target::Rate &rate, const char *unit) {
    std::printf("%-24s%12.1f%12.1f  %s\n", what, rate.oneCore * 1e-9,
                rate.allCores * 1e-9, unit);
  };
  line("multiply-add f32", target.compute.f32, "GFLOP/s");
  line("multiply-add bf16", target.compute.bf16, "GFLOP/s");
  line("multiply-add f16", target.compute.f16, "GFLOP/s (computed in f32)");
  std::printf("%-24s%12.2f%12.2f  times f32's rate, so they %s\n",
              "products of bf16",
              target.compute.bf16.oneCore / target.compute.f32.oneCore,
              target.compute.bf16.allCores / target.compute.f32.allCores,
              target.multipliesNatively(ElementType::bf16, target.isa)
                  ? "run as such"
                  : "are widened to f32");
  line("copy, memory", target.memory.copy, "GB/s, read and written");
  line("read, memory", target.memory.read, "GB/s");
  line("copy, last-level cache", target.memory.cachedCopy,
       "GB/s, read and written");
  std::printf("%-24s%12.2f%12s  ns\n%-24s%12s%12.2f  ns\n", "launch",
              target.overheads.launch * 1e9, "", "barrier", "",
              target.overheads.barrier * 1e9);
}

} // namespace

int tool::runCalibrate(Arguments arguments, Modules *) {
  std::string output;
  int64_t threads = 0;
  ArgumentParser parser("calibrate",
                        "Measures the rates of this machine, which takes less "
                        "than a minute. Nothing else should run meanwhile.",
                        "");
  parser.text("output", output, "FILE.json",
              "the machine description to write (also -o)");
  parser.number("threads", threads, "N",
                "how many threads use all cores (default: one per processor)");
  parser.examples("tenon calibrate -o machine.json\n"
                  "tenon calibrate --threads=4 -o four.json\n");
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
    return exitOk;
  std::string text = target::toJson(*measured);
  if (output == "-") {
    std::fputs(text.c_str(), stdout);
    return exitOk;
  }
  if (!format::writeFile(output, std::as_bytes(std::span(text)), error))
    return fail(error);
  std::printf("\nwritten    %s\n", output.c_str());
  return exitOk;
}
