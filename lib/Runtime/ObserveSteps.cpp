//===- ObserveSteps.cpp - Looks at operations as they run -----------------===//
//
// Looks at operations as they run: how long each takes, when it ran on which
// thread, and what it wrote.
//
//===----------------------------------------------------------------------===//

#include "ExecutorImplementation.h"
#include "MemoryCheck.h"

#include <chrono>

using namespace tenon;
using namespace tenon::runtime;

namespace {

/// Times operations into one entry each.
class Timer final : public OperationObserver {
public:
  explicit Timer(std::vector<InstructionTime> &times) : times(times) {}

  void begin(size_t) override { start = Clock::now(); }
  void end(size_t operation) override {
    took(operation,
         std::chrono::duration<double>(Clock::now() - start).count());
  }
  void took(size_t operation, double seconds) override {
    InstructionTime &time = times[operation];
    time.shortest = time.runs == 0 ? seconds : std::min(time.shortest, seconds);
    time.seconds += seconds;
    ++time.runs;
  }

private:
  using Clock = std::chrono::steady_clock;
  std::vector<InstructionTime> &times;
  Clock::time_point start;
};

} // namespace

std::string Executor::Implementation::sourceOf(size_t entryPoint,
                                               size_t operation) const {
  const std::optional<format::Plan> &plan = index.entryPoints[entryPoint].plan;
  std::string source;
  if (!plan)
    return source;
  for (uint32_t number : first().steps[entryPoint]->instructionsOf(operation)) {
    if (number >= plan->operations.size())
      continue;
    const std::string &text = plan->texts[plan->operations[number].source];
    if (!text.empty() && source.find(text) == std::string::npos)
      source += (source.empty() ? "" : "; ") + text;
  }
  return source;
}

void Executor::Implementation::nameRanges() {
  for (size_t entry = 0; entry < first().steps.size(); ++entry) {
    CapturedStep &step = *first().steps[entry];
    std::vector<std::string> names;
    for (size_t i = 0; i < step.operationCount(); ++i) {
      const std::string source = sourceOf(entry, i);
      names.push_back(step.describe(i).name +
                      (source.empty() ? "" : ", " + source));
    }
    step.nameRanges(index.entryPoints[entry].name, std::move(names));
  }
}

bool Executor::Implementation::trace(size_t entryPoint, StepTrace &trace,
                                     Error &error) {
  const CapturedStep &step = *first().steps[entryPoint];
  for (size_t i = trace.operations.size(); i < step.operationCount(); ++i) {
    InstructionTime described = step.describe(i);
    trace.operations.push_back({.name = std::move(described.name),
                                .what = std::move(described.what),
                                .source = sourceOf(entryPoint, i),
                                .library = described.library});
  }
  trace.spans.clear();
  trace.leftOut = 0;
  std::vector<StepTrace> ofRanks(ranks.size());
  bool done = run(
      entryPoint, 1,
      [&](CapturedStep &each, size_t rank) {
        return each.trace(options.threads, ofRanks[rank]);
      },
      error);
  for (size_t rank = 0; rank < ofRanks.size(); ++rank) {
    for (TracedSpan span : ofRanks[rank].spans) {
      span.rank = uint32_t(rank);
      trace.spans.push_back(span);
    }
    trace.leftOut += ofRanks[rank].leftOut;
    trace.isOneByOne |= ofRanks[rank].isOneByOne;
  }
  return done;
}

bool Executor::Implementation::checkMemory(size_t entryPoint, int64_t count,
                                           Error &error) {
  const auto &segments = first().segments;
  for (size_t i = 0; i < segments.size(); ++i)
    if (segments[i]->bytes().empty() && index.segments[i].bytes > 0)
      return refuse(error, Failure::argument,
                    "memory is checked only where the process sees it, which "
                    "is on a CPU; the emulated CUDA driver checks every access "
                    "of a file for GPUs as it runs");
  for (size_t i = 0; i < tensors.size() && !isCut(); ++i)
    if (uses[storageOf(i)].address !=
        ownAddress(index.storages[storageOf(i)].place))
      return refuse(error, Failure::argument,
                    "cannot check memory while tensor '" +
                        index.tensors[i].name + "' lives in the caller's");
  // Ranks meet in collectives while each looks at memory of its own.
  std::vector<std::unique_ptr<MemoryCheck>> checks;
  for (const Rank &rank : ranks)
    checks.push_back(std::make_unique<MemoryCheck>(
        *rank.steps[entryPoint], index.segments, rank.segments));
  bool done = true;
  for (int64_t i = 0; done && i < count; ++i) {
    for (auto &check : checks)
      check->beginStep();
    done = run(
        entryPoint, 1,
        [&](CapturedStep &step, size_t rank) {
          return step.run(1, 1, checks[rank].get());
        },
        error);
    for (size_t rank = 0; rank < checks.size(); ++rank)
      if (auto breach = checks[rank]->breach()) {
        const CapturedStep &step = *ranks[rank].steps[entryPoint];
        InstructionTime operation = step.describe(breach->operation);
        error = {Failure::run,
                 "operation " + std::to_string(breach->operation) + ", " +
                     operation.name + " (" + operation.what + "), wrote byte " +
                     std::to_string(breach->byte) + " of the " +
                     std::string(name(index.segments[breach->segment].kind)) +
                     " of " +
                     std::to_string(index.segments[breach->segment].bytes) +
                     ", which it does not name"};
        done = false;
      }
  }
  for (auto &check : checks)
    check->finish();
  return done;
}

bool Executor::profile(int64_t steps, std::vector<InstructionTime> &times,
                       Error &error, std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  if (!found)
    return false;
  const CapturedStep &step = *implementation->first().steps[*found];
  times.clear();
  for (size_t i = 0; i < step.operationCount(); ++i)
    times.push_back(step.describe(i));
  Timer timer(times);
  bool done = implementation->run(
      *found, steps, implementation->options.threads, &timer, error);
  std::erase_if(times,
                [](const InstructionTime &time) { return time.name.empty(); });
  return done;
}

bool Executor::trace(StepTrace &trace, Error &error,
                     std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  return found && implementation->trace(*found, trace, error);
}

bool Executor::checkMemory(int64_t steps, Error &error,
                           std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  return found && implementation->checkMemory(*found, steps, error);
}
