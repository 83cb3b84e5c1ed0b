//===- Program.cpp - An entry point, flattened and resolved --------------===//
//
// Walking programs.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "RunCollective.h"

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
    time.name =
        "library_call_" +
        std::to_string(std::count_if(
            callees.calls.begin(), callees.calls.begin() + operation.callee,
            [](const auto &call) { return call != nullptr; }));
    time.what = callees.described[operation.callee].description + " (" +
                callees.calls[operation.callee]->implementation() + ")";
    time.library = true;
    break;
  case Operation::copy:
    time.name = "copy";
    time.what = std::to_string(operation.bytes) + " bytes";
    break;
  case Operation::collective:
    time.name = "collective";
    time.what = callees.described[operation.callee].description;
    break;
  case Operation::branchUnless:
  case Operation::select:
    time.name = operation.kind == Operation::select ? "case" : "while";
    time.what = "control flow";
    break;
  case Operation::jump:
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

/// Whether this thread goes on: it leaves only where all others do.
bool Program::runCall(size_t operation, unsigned thread, unsigned threads,
                      Barrier &barrier, CallFailure &failure) const {
  const CallSite &site = sites[list[operation].call];
  for (size_t phase = 0; phase < site.tasks.size(); ++phase) {
    // A serial call belongs to thread 0 alone and has nobody to wait for.
    if (phase > 0 && !site.serial && !barrier.wait(threads))
      return false;
    for (int64_t task = thread; task < site.tasks[phase]; task += threads) {
      int status = site.bound->run(int64_t(phase), task);
      if (status == 0)
        continue;
      failure.report(operation, status);
      barrier.stop();
      if (site.serial)
        return true;
      break;
    }
  }
  return true;
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

template <bool observed>
bool Program::walk(unsigned thread, unsigned threads, Barrier &barrier,
                   CallFailure &failure, OperationObserver *observer) const {
  size_t next = 0;
  const size_t end = list.size();
  while (next < end) {
    const Operation &operation = list[next];
    const size_t current = next;
    if constexpr (observed) {
      if (!barrier.wait(threads))
        return false;
      if (thread == 0)
        observer->begin(current);
    }
    ++next;
    void *const *arguments = pointers.data() + operation.firstPointer;
    switch (operation.kind) {
    case Operation::launch: {
      unsigned parts = std::min(operation.parts, threads);
      if (thread < parts)
        operation.function(arguments, thread, parts);
      break;
    }
    case Operation::libraryCall:
      if (!runCall(current, thread, threads, barrier, failure))
        return false;
      break;
    case Operation::copy: {
      unsigned parts = std::min(operation.parts, threads);
      if (thread < parts)
        copyPart(arguments[0], arguments[1], operation.bytes, thread, parts);
      break;
    }
    case Operation::collective:
      if (thread == 0) {
        callees.communicator->await(
            callees.described[operation.callee].description);
        if (!runCollective(*callees.collectives[operation.callee], arguments,
                           *callees.communicator)) {
          failure.report(current, 1);
          barrier.stop();
        }
      }
      break;
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
    if ((observed || operation.barrierAfter) && !barrier.wait(threads))
      return false;
    if constexpr (observed)
      if (thread == 0)
        observer->end(current);
  }
  return true;
}

/// What a team works on.
struct Program::Run {
  const Program &program;
  int64_t steps;
  OperationObserver *observer;
  Barrier barrier;
  CallFailure failure;
  int64_t wholeSteps = 0; // until a call failed
};

void Program::walkSteps(void *context, unsigned thread, unsigned threads) {
  Run &run = *static_cast<Run *>(context);
  FloatingPointMode mode(run.program.subnormals);
  auto walk = run.observer ? &Program::walk<true> : &Program::walk<false>;
  // The last operation of a step ends with a barrier, so steps do not mix.
  int64_t step = 0;
  while (step < run.steps && (run.program.*walk)(thread, threads, run.barrier,
                                                 run.failure, run.observer))
    ++step;
  if (thread == 0)
    run.wholeSteps = step;
}

RunOutcome Program::run(int64_t steps, unsigned threads,
                        OperationObserver *observer) {
  Run work{*this, steps, observer, {}, {}};
  runTeam(std::min(threads, widestOperation()), walkSteps, &work);
  RunOutcome outcome{.wholeSteps = work.wholeSteps};
  if (work.wholeSteps < steps) {
    const Operation &failed = list[work.failure.operation];
    outcome.failedOperation = work.failure.operation;
    outcome.whatFailed =
        failed.kind == Operation::collective
            ? callees.communicator->whyEnded()
            : callees.calls[failed.callee]->statusText(work.failure.status);
  }
  return outcome;
}
