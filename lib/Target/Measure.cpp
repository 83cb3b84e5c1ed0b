//===- Measure.cpp - The rates of the machine at hand ---------------------===//
//
// See Measure.h. What the machine says of itself, the overheads, and the order
// of measuring.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Measure.h"

#include "MeasureCompute.h"
#include "MeasureMemory.h"
#include "MeasureTeam.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <thread>

using namespace tenon;
using namespace tenon::target;

namespace {

/// The model that /proc/cpuinfo names.
std::string processorName() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

/// "32K" or "8M" in bytes, 0 if it is neither.
int64_t parseSize(const std::string &text) {
  size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits > 12 || digits == std::string::npos)
    return 0;
  int64_t number = std::stoll(text.substr(0, digits));
  return number * (text[digits] == 'K'   ? int64_t(1) << 10
                   : text[digits] == 'M' ? int64_t(1) << 20
                   : text[digits] == 'G' ? int64_t(1) << 30
                                         : 0);
}

/// A kernel as the runtime calls it: through a pointer, with its arguments in
/// an array.
using KernelFunction = void (*)(void *const *, int64_t, int64_t);

__attribute__((noinline)) void emptyKernel(void *const *arguments, int64_t part,
                                           int64_t) {
  *static_cast<int64_t *>(arguments[0]) += part;
}

double launchSeconds(double seconds) {
  constexpr int launches = 10000;
  int64_t counter = 0;
  void *arguments[] = {&counter};
  KernelFunction volatile kernel = emptyKernel;
  return shortestWindow(
             1, seconds, [](unsigned) {},
             [&](unsigned) {
               for (int i = 0; i < launches; ++i)
                 kernel(arguments, 1, 2);
             }) /
         launches;
}

double barrierSeconds(unsigned threads, double seconds) {
  constexpr int meetings = 10; // a window that nobody interrupts
  SpinBarrier barrier(threads);
  return shortestWindow(
             threads, seconds, [](unsigned) {},
             [&](unsigned) {
               for (int i = 0; i < meetings; ++i)
                 barrier.wait();
             }) /
         meetings;
}

} // namespace

unsigned target::availableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return unsigned(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

Caches target::hostCaches() {
  Caches caches;
  for (int index = 0; index < 8; ++index) {
    std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    int level = 0;
    std::string type, size;
    if (!(std::ifstream(folder + "/level") >> level) ||
        !(std::ifstream(folder + "/type") >> type) ||
        !(std::ifstream(folder + "/size") >> size) || type == "Instruction")
      continue;
    int64_t *places[] = {&caches.level1, &caches.level2, &caches.level3};
    if (level >= 1 && level <= 3)
      *places[level - 1] = parseSize(size);
  }
  return caches;
}

std::optional<Target> target::measureTarget(const MeasureOptions &options,
                                            std::string &error) {
  auto isa = hostIsa();
  if (!isa) {
    error = "this processor is none of " + featureSetNames();
    return std::nullopt;
  }
  unsigned threads = options.threads ? options.threads : availableProcessors();
  double seconds = options.secondsPerFigure;
  Target target;
  target.name = processorName();
  target.isa = *isa;
  target.cores = threads;
  target.caches = hostCaches();
  target.compute = measureCompute(*isa, threads, seconds);
  auto memory = measureMemory(target.caches, threads, seconds,
                              options.bufferBytes, error);
  if (!memory)
    return std::nullopt;
  target.memory = *memory;
  target.overheads.launch = launchSeconds(seconds / 10);
  target.overheads.barrier = barrierSeconds(threads, seconds / 2);
  return target;
}
