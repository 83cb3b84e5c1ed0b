//===- RunSteps.cpp - Runs entry points -----------------------------------===//
//
// Runs entry points: on the ranks of this process, one step after the other or
// ahead of the caller, and says what is lost if one fails.
//
//===----------------------------------------------------------------------===//

#include "ExecutorImplementation.h"

#include <atomic>
#include <system_error>
#include <thread>

using namespace tenon;
using namespace tenon::runtime;

std::optional<size_t>
Executor::Implementation::findEntryPoint(std::string_view name,
                                         Error &error) const {
  for (size_t i = 0; i < first().steps.size(); ++i)
    if (index.entryPoints[i].name == name)
      return i;
  std::string known;
  for (const format::EntryPoint &entry : index.entryPoints)
    if (entry.name != "init")
      known += (known.empty() ? "'" : ", '") + entry.name + "'";
  error = {Failure::argument, "the file has no entry point '" +
                                  std::string(name) + "'; it has " + known};
  return std::nullopt;
}

/// Every rank on a thread of its own, the first on the caller's.
RunOutcome Executor::Implementation::runRanks(size_t entryPoint, int64_t count,
                                              const RankRun &runOne) {
  if (!exchange)
    return runOne(*first().steps[entryPoint], 0);
  exchange->restart();
  std::vector<RunOutcome> outcomes(ranks.size());
  std::atomic<size_t> ended = 0; // 1 + the first rank that did not go on
  auto runToEnd = [&](size_t rank) {
    outcomes[rank] = runOne(*ranks[rank].steps[entryPoint], rank);
    if (outcomes[rank].wholeSteps == count)
      return;
    size_t none = 0;
    ended.compare_exchange_strong(none, rank + 1);
    exchange->stop();
  };
  std::vector<std::thread> others;
  std::string failure;
  try {
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      others.emplace_back(runToEnd, rank);
  } catch (const std::system_error &thrown) {
    failure = std::string("the system gives no thread for every rank: ") +
              thrown.what();
    exchange->stop();
  }
  if (failure.empty())
    runToEnd(0);
  for (std::thread &other : others)
    other.join();
  if (!failure.empty())
    return {.wholeSteps = 0, .failedOperation = {}, .whatFailed = failure};
  return outcomes[ended ? ended - 1 : 0];
}

/// The observer watches the first rank.
bool Executor::Implementation::run(size_t entryPoint, int64_t count,
                                   unsigned threads,
                                   OperationObserver *observer, Error &error) {
  auto runOne = [&](CapturedStep &step, size_t rank) {
    return step.run(count, threads, rank == 0 ? observer : nullptr);
  };
  // A reference, since a copy of what it captures would be allocated.
  return run(entryPoint, count, std::ref(runOne), error);
}

bool Executor::Implementation::run(size_t entryPoint, int64_t count,
                                   const RankRun &runOne, Error &error) {
  if (count < 0)
    return refuse(error, Failure::argument,
                  "cannot run " + std::to_string(count) +
                      " steps, expected at least 0");
  if (underWay(0))
    return refuse(error, Failure::argument,
                  "steps are under way; finish them before others run");
  if (count > 0 && !checkTaken(entryPoint, error))
    return false;
  Processes *processes = options.processes.get();
  auto receivedSoFar = [&] {
    return processes->receivedBytes() + first().device->receivedBytes();
  };
  const uint64_t before = processes ? receivedSoFar() : 0;
  if (processes)
    processes->setStep(stepsRun + 1);
  RunOutcome outcome = runRanks(entryPoint, count, runOne);
  if (processes) {
    processes->setStep(0);
    receivedBytes += receivedSoFar() - before;
  }
  if (index.entryPoints[entryPoint].name == "step")
    stepsRun += outcome.wholeSteps;
  return outcome.wholeSteps == count || refuseRun(entryPoint, outcome, error);
}

bool Executor::Implementation::checkTaken(size_t entryPoint,
                                          Error &error) const {
  std::vector<size_t> missing;
  for (size_t tensor : takes[entryPoint])
    if (lacksValue(tensor))
      missing.push_back(tensor);
  return checkValues(missing, error);
}

bool Executor::Implementation::refuseRun(size_t entryPoint,
                                         const RunOutcome &outcome,
                                         Error &error) {
  const std::string &name = index.entryPoints[entryPoint].name;
  const bool isStep = name == "step";
  brokenStep = (isStep ? "step " + std::to_string(stepsRun + 1)
                       : "entry point '" + name + "'") +
               " failed";
  if (outcome.failedOperation) {
    InstructionTime call =
        first().steps[entryPoint]->describe(*outcome.failedOperation);
    brokenStep += " in " + call.name + ", " + call.what;
  }
  brokenStep += ": " + outcome.whatFailed;
  if (format::Index::isExtra(name))
    return refuse(error, Failure::run, std::exchange(brokenStep, ""));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (isState(i))
      tensors[i].hasValue = false;
  return refuse(error, Failure::run,
                brokenStep + "; the state is only partly written");
}

StepPipeline *Executor::Implementation::pipeline(Error &error) {
  Rank &rank = ranks.front();
  if (isCut() || !rank.device->runsAhead()) {
    error = {Failure::argument,
             "steps are started without waiting for them only on GPUs"};
    return nullptr;
  }
  if (!rank.pipeline)
    rank.pipeline = rank.device->newPipeline(error);
  return rank.pipeline.get();
}

bool Executor::Implementation::start(Error &error) {
  const auto step = findEntryPoint("step", error);
  StepPipeline *steps = step ? pipeline(error) : nullptr;
  if (!steps || !checkTaken(*step, error))
    return false;
  if (steps->underWay() == StepPipeline::mostUnderWay)
    return refuse(error, Failure::argument,
                  std::to_string(steps->underWay()) +
                      " steps are under way, which is the most; finish one "
                      "before the next is started");
  RunOutcome outcome;
  if (steps->start(*first().steps[*step], outcome))
    return true;
  // What was under way is lost as well.
  while (steps->underWay() > 0) {
    RunOutcome ignored;
    steps->finish(ignored);
  }
  return refuseRun(*step, outcome, error);
}

bool Executor::Implementation::finish(Error &error) {
  const auto step = findEntryPoint("step", error);
  StepPipeline *steps = step ? underWay(0) : nullptr;
  if (!steps)
    return refuse(error, Failure::argument, "no step is under way");
  RunOutcome outcome;
  const bool isDone = steps->finish(outcome);
  stepsRun += outcome.wholeSteps;
  return isDone || refuseRun(*step, outcome, error);
}

bool Executor::run(int64_t steps, Error &error, std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  return found &&
         implementation->run(*found, steps, implementation->options.threads,
                             nullptr, error);
}

bool Executor::runsAhead() const {
  return !implementation->isCut() &&
         implementation->first().device->runsAhead();
}

bool Executor::watch(const std::vector<size_t> &results, Error &error) {
  StepPipeline *steps = implementation->pipeline(error);
  if (!steps)
    return false;
  for (size_t tensor : results)
    for (uint32_t storage : index().tensors[tensor].held.storages)
      if (!steps->watch(implementation->addressOf(storage, 0),
                        index().storages[storage].place.bytes, error))
        return false;
  return true;
}

bool Executor::start(Error &error) { return implementation->start(error); }

bool Executor::finish(Error &error) { return implementation->finish(error); }

int64_t Executor::stepsUnderWay() const {
  const StepPipeline *steps = implementation->underWay(0);
  return steps ? steps->underWay() : 0;
}
