//===- Program.cpp - An entry point, flattened and resolved --------------===//
//
// Walking programs.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "LibraryCall.h"
#include "RunCollective.h"
#include "SpanLog.h"

#include "tenon/Support/FloatingPointMode.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace tenon;
using namespace tenon::runtime;

void Program::setPointer(size_t slot, void *address) {
  pointers[slot] = address;
  if (siteOfSlot[slot])
    toRebind.push_back(siteOfSlot[slot] - 1);
}

bool Program::update(Error &) {
  std::ranges::sort(toRebind);
  toRebind.erase(std::unique(toRebind.begin(), toRebind.end()), toRebind.end());
  for (uint32_t number : toRebind) {
    const Operation &operation = list[number];
    sites[operation.call].bound->bind(
        {&pointers[operation.firstPointer], operation.pointerCount});
  }
  toRebind.clear();
  return true;
}

InstructionTime Program::describe(size_t number) const {
  const Operation &operation = list[number];
  InstructionTime time;
  switch (operation.kind) {
  case Operation::launch: {
    const format::Callee &callee = callees.described[operation.callee];
    time.name = callee.name;
    time.what = callee.description;
    time.fallback = callee.fallback;
    break;
  }
  case Operation::libraryCall:
    return describeCall(callees.described, operation.callee,
                        *callees.calls[operation.callee]);
  case Operation::copy:
    time.name = "copy";
    time.what = std::to_string(operation.bytes) + " bytes";
    break;
  case Operation::collective:
  case Operation::start:
    time.name = "collective";
    time.what = callees.described[operation.callee].description;
    break;
  case Operation::branchUnless:
  case Operation::select:
    time.name = operation.kind == Operation::select ? "case" : "while";
    time.what = "control flow";
    break;
  case Operation::jump:
  case Operation::await:
  case Operation::wait:
    break; // nothing worth a line
  }
  return time;
}

unsigned Program::widestOperation() const {
  int64_t widest = 1;
  for (const Operation &operation : list)
    if (operation.kind == Operation::launch ||
        operation.kind == Operation::copy)
      widest = std::max<int64_t>(widest, operation.parts);
  for (const CallSite &site : sites)
    for (int64_t tasks : site.tasks)
      widest = std::max(widest, tasks);
  return unsigned(std::min<int64_t>(widest, std::numeric_limits<int>::max()));
}

namespace {

/// Watches nothing, and costs nothing.
struct Unwatched {
  struct Nothing {
    ~Nothing() {} // has a use by that
  };
  static constexpr bool oneByOne = false;
  void begin(size_t, unsigned) {}
  void end(size_t, unsigned) {}
  Nothing share(size_t) { return {}; }
  Nothing wait(size_t) { return {}; }
};

/// Tells an observer, of operations that wait for each other.
struct Observed : Unwatched {
  explicit Observed(OperationObserver &observer) : observer(observer) {}
  static constexpr bool oneByOne = true;
  void begin(size_t operation, unsigned thread) {
    if (thread == 0)
      observer.begin(operation);
  }
  void end(size_t operation, unsigned thread) {
    if (thread == 0)
      observer.end(operation);
  }
  OperationObserver &observer;
};

/// Notes what this thread does.
struct Traced : Unwatched {
  /// Something that lasts until the end of the scope.
  struct Span {
    Span(SpanLog &log, size_t operation, bool isWait)
        : log(log), operation(operation), isWait(isWait) {}
    ~Span() { log.add(operation, isWait, start); }
    Span(const Span &) = delete;
    Span &operator=(const Span &) = delete;

    SpanLog &log;
    size_t operation;
    bool isWait;
    int64_t start = SpanLog::now();
  };
  explicit Traced(SpanLog &log) : log(log) {}
  Span share(size_t operation) { return {log, operation, /*isWait=*/false}; }
  Span wait(size_t operation) { return {log, operation, /*isWait=*/true}; }
  SpanLog &log;
};

} // namespace

/// Whether this thread goes on: it leaves only where all others do.
template <typename Watcher>
bool Program::runCall(size_t operation, unsigned thread, unsigned threads,
                      Barrier &barrier, CallFailure &failure,
                      Watcher watcher) const {
  const CallSite &site = sites[list[operation].call];
  auto runTasks = [&](size_t phase) {
    auto share = watcher.share(operation);
    for (int64_t task = thread; task < site.tasks[phase]; task += threads)
      if (int status = site.bound->run(int64_t(phase), task)) {
        failure.report(operation, status);
        barrier.stop();
        return false;
      }
    return true;
  };
  for (size_t phase = 0; phase < site.tasks.size(); ++phase) {
    // A serial call belongs to thread 0 alone and has nobody to wait for.
    if (phase > 0 && !site.serial) {
      auto wait = watcher.wait(operation);
      if (!barrier.wait(threads))
        return false;
    }
    if (thread < site.tasks[phase] && !runTasks(phase) && site.serial)
      return true;
  }
  return true;
}

/// By thread 0, which nobody else uses the communicator beside.
template <typename Watcher>
bool Program::runCollective(size_t operation, CallFailure &failure,
                            Watcher watcher) const {
  const Operation &collective = list[operation];
  const std::string &what = callees.described[collective.callee].description;
  if (queue && !queue->await(0)) {
    failure.report(*queue->failed(), 1);
    return false;
  }
  auto share = watcher.share(operation);
  callees.communicator->await(what);
  if (runtime::runCollective(*callees.collectives[collective.callee],
                             pointers.data() + collective.firstPointer,
                             *callees.communicator))
    return true;
  failure.report(operation, 1);
  return false;
}

static void copyPart(void *from, void *to, uint64_t bytes, unsigned part,
                     unsigned parts) {
  uint64_t chunk = ((bytes + parts - 1) / parts + 63) & ~uint64_t(63);
  uint64_t begin = std::min(bytes, part * chunk);
  uint64_t end = std::min(bytes, begin + chunk);
  if (begin < end)
    std::memcpy(static_cast<char *>(to) + begin,
                static_cast<const char *>(from) + begin, end - begin);
}

template <typename Watcher>
bool Program::walk(unsigned thread, unsigned threads, Barrier &barrier,
                   CallFailure &failure, Watcher watcher) const {
  size_t next = 0;
  const size_t end = list.size();
  while (next < end) {
    const Operation &operation = list[next];
    const size_t current = next;
    if (Watcher::oneByOne && !barrier.wait(threads))
      return false;
    watcher.begin(current, thread);
    ++next;
    void *const *arguments = pointers.data() + operation.firstPointer;
    switch (operation.kind) {
    case Operation::launch: {
      unsigned parts = std::min(operation.parts, threads);
      if (thread >= parts)
        break;
      auto share = watcher.share(current);
      operation.function(arguments, thread, parts);
      break;
    }
    case Operation::libraryCall:
      if (!runCall(current, thread, threads, barrier, failure, watcher))
        return false;
      break;
    case Operation::copy: {
      unsigned parts = std::min(operation.parts, threads);
      if (thread >= parts)
        break;
      auto share = watcher.share(current);
      copyPart(arguments[0], arguments[1], operation.bytes, thread, parts);
      break;
    }
    case Operation::start:
      if (queue && !Watcher::oneByOne) {
        if (thread == 0)
          queue->start({&*callees.collectives[operation.callee], arguments,
                        callees.described[operation.callee].description,
                        current});
        break;
      }
      [[fallthrough]];
    case Operation::collective:
      if (thread == 0 && !runCollective(current, failure, watcher))
        barrier.stop();
      break;
    case Operation::await: {
      if (thread != 0 || !queue)
        break;
      auto wait = watcher.wait(current);
      if (!queue->await(operation.target)) {
        failure.report(*queue->failed(), 1);
        barrier.stop();
      }
      break;
    }
    case Operation::branchUnless:
      if (*static_cast<const uint8_t *>(arguments[0]) == 0)
        next = operation.target;
      break;
    case Operation::jump:
      next = operation.target;
      break;
    case Operation::wait: // for the barrier around it
      break;
    case Operation::select:
      next = targets[operation.target +
                     branchOf(arguments[0], operation.bytes, operation.parts)];
      break;
    }
    if (Watcher::oneByOne || operation.barrierAfter) {
      auto wait = watcher.wait(current);
      if (!barrier.wait(threads))
        return false;
    }
    watcher.end(current, thread);
  }
  return true;
}

/// What a team works on.
struct Program::Run {
  const Program &program;
  int64_t steps;
  OperationObserver *observer = nullptr; // or none
  std::vector<SpanLog> *logs = nullptr;  // per thread and of the queue, or none
  Barrier barrier = {};
  CallFailure failure = {};
  int64_t wholeSteps = 0; // until a call failed
};

void Program::walkSteps(void *context, unsigned thread, unsigned threads) {
  Run &run = *static_cast<Run *>(context);
  FloatingPointMode mode(run.program.subnormals);
  auto walkOnce = [&](auto watcher) {
    return run.program.walk(thread, threads, run.barrier, run.failure, watcher);
  };
  // The last operation of a step ends with a barrier, so steps do not mix.
  int64_t step = 0;
  while (step < run.steps && (run.observer ? walkOnce(Observed(*run.observer))
                              : run.logs ? walkOnce(Traced((*run.logs)[thread]))
                                         : walkOnce(Unwatched())))
    ++step;
  if (thread == 0)
    run.wholeSteps = step;
}

RunOutcome Program::runTeamOn(Run &work, unsigned threads) const {
  if (queue)
    queue->restart(work.logs ? &work.logs->back() : nullptr);
  runTeam(std::min(threads, widestOperation()), walkSteps, &work);
  // Threads that left the walk may have left collectives behind.
  if (queue)
    (void)queue->await(0);
  RunOutcome outcome{.wholeSteps = work.wholeSteps};
  if (work.wholeSteps < work.steps) {
    const Operation &failed = list[work.failure.operation];
    outcome.failedOperation = work.failure.operation;
    outcome.whatFailed =
        failed.kind == Operation::collective || failed.kind == Operation::start
            ? callees.communicator->whyEnded()
            : callees.calls[failed.callee]->statusText(work.failure.status);
  }
  return outcome;
}

RunOutcome Program::run(int64_t steps, unsigned threads,
                        OperationObserver *observer) {
  Run work{*this, steps, observer};
  return runTeamOn(work, threads);
}

RunOutcome Program::trace(unsigned threads, StepTrace &trace) {
  std::vector<SpanLog> logs;
  const unsigned team = std::min(threads, widestOperation());
  logs.reserve(team + 1);
  for (unsigned i = 0; i < team; ++i)
    logs.emplace_back(i);
  logs.emplace_back(team, /*isCollective=*/true);
  Run work{*this, /*steps=*/1, /*observer=*/nullptr, &logs};
  RunOutcome outcome = runTeamOn(work, threads);
  for (const SpanLog &log : logs)
    log.addTo(trace);
  return outcome;
}
