//===- TrainingRun.cpp - A run from its first step to its last ------------===//
//
// Start values in, metrics while it goes, state and results out.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/TrainingRun.h"
#include "tools/tenon/BatchReaders.h"
#include "tools/tenon/Fail.h"
#include "tools/tenon/Interruption.h"
#include "tools/tenon/MetricsFile.h"
#include "tools/tenon/OverflowWatch.h"
#include "tools/tenon/ProgressLine.h"
#include "tools/tenon/TraceFile.h"

#include "tenon/Format/PinnedMemory.h"
#include "tenon/Runtime/Checkpoint.h"
#include "tenon/Runtime/Processes.h"
#include "tenon/Runtime/Scalars.h"
#include "tenon/Runtime/Settings.h"
#include "tenon/Support/CheckedArithmetic.h"
#include "tenon/Support/ExitCode.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

using namespace tenon;
using namespace tenon::tool;

int tool::loadStartState(runtime::Executor &executor,
                         const RunOptions &options) {
  runtime::Error error;
  if (options.zeroState && !executor.initializeZeros(error))
    return fail(error.message);
  if (!options.state.empty() &&
      !runtime::loadState(executor, options.state, error))
    return fail(error.message);
  return exitOk;
}

namespace {

/// Fills arguments with zeros, from --state and from --inputs.
int loadStart(runtime::Executor &executor, const RunOptions &options) {
  if (int code = loadStartState(executor, options))
    return code;
  runtime::Error error;
  if (!options.inputs.empty() &&
      !runtime::loadArguments(executor, options.inputs, error))
    return fail(error.message);
  return exitOk;
}

/// Every argument must come from somewhere, if not from batches.
int checkFilled(const runtime::Executor &executor,
                const std::vector<size_t> &perStep) {
  std::string missing;
  size_t count = 0;
  for (size_t tensor : executor.withoutValue())
    if (std::ranges::find(perStep, tensor) == perStep.end() && ++count <= 8)
      missing += (missing.empty() ? "'" : ", '") +
                 executor.index().tensors[tensor].name + "'";
  if (count == 0)
    return exitOk;
  return fail(std::to_string(count) +
              (count == 1 ? " argument has" : " arguments have") +
              " no value: " + missing + (count > 8 ? ", ..." : "") +
              "; give state with --state or --zero-state, anything with "
              "--inputs, batches with --batches");
}

/// A number with all its bits.
static std::string exactText(double number) {
  if (std::isnan(number))
    return "nan"; // which has a sign that means nothing
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", number);
  return text;
}

/// The scalar results of the step that a metrics line holds.
std::vector<size_t> metricTensors(const runtime::Executor &executor) {
  std::vector<size_t> metrics;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].argument < 0 && tensors[i].result >= 0 &&
        tensors[i].shape.empty())
      metrics.push_back(i);
  return metrics;
}

std::string metricText(const runtime::Executor &executor, size_t tensor) {
  runtime::Error error;
  return runtime::valueText(executor, tensor, error).value_or("unknown");
}

int saveOutputs(const runtime::Executor &executor, const std::string &path) {
  std::vector<std::pair<std::string, size_t>> outputs;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].result >= 0)
      outputs.emplace_back("result" + std::to_string(tensors[i].result), i);
  runtime::Error error;
  return runtime::saveTensors(executor, path, outputs, error)
             ? int(exitOk)
             : fail(error.message);
}

/// The most memory this process has held; getrusage would count what started
/// it as well.
int64_t mostResidentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::atoll(line.c_str() + 6);
  return 0;
}

/// The data that a run goes on with, where it is not what a checkpoint counted
/// in.
void noteOtherData(const std::map<std::string, std::string> &before,
                   const std::map<std::string, std::string> &now,
                   int64_t step) {
  for (const auto &[what, text] : now)
    if (auto found = before.find(what);
        found != before.end() && found->second != text)
      std::fprintf(stderr,
                   "note: data: %s was '%s' and is '%s' now: from step %s on, "
                   "batches differ from those of the run that was stopped\n",
                   what.c_str(), found->second.c_str(), text.c_str(),
                   std::to_string(step + 1).c_str());
}

/// Step time, and the planned memory beside what the process really held.
void printSummary(const runtime::Executor &executor,
                  std::vector<double> &stepSeconds) {
  std::sort(stepSeconds.begin(), stepSeconds.end());
  std::printf("time       median %.3f ms, min %.3f ms, max %.3f ms per step\n",
              stepSeconds[stepSeconds.size() / 2] * 1e3,
              stepSeconds.front() * 1e3, stepSeconds.back() * 1e3);
  if (auto *processes = executor.processes()) {
    const uint64_t reductions = processes->reductionsByMpi();
    std::printf(
        "ranks      received %s bytes per step from others%s\n",
        std::to_string(executor.receivedBytes() / stepSeconds.size()).c_str(),
        reductions == 0
            ? ""
            : (", MPI combined elements " +
               std::to_string(reductions / stepSeconds.size()) + " times")
                  .c_str());
  }
  uint64_t planned = 0;
  for (const format::Segment &segment : executor.index().segments)
    if (!format::isPinned(executor.index(), segment))
      planned += segment.bytes;
  std::printf("memory     planned %.1f MiB, process at most %.1f MiB\n",
              planned / 1048576.0, mostResidentKiB() / 1024.0);
}

/// A run from its first step to its last.
class TrainingRun {
public:
  TrainingRun(runtime::Executor &executor, const RunOptions &options)
      : executor(executor), options(options) {}

  /// The exit code.
  int run() {
    if (int code = begin())
      return code;
    saves.clear(); // what was saved to try it
    started = lastSave = std::chrono::steady_clock::now();
    goal = goalOfRun();
    if (record.step >= goal)
      std::printf("step %s is complete, there is nothing to do\n",
                  std::to_string(record.step).c_str());
    chooseTracedSteps();
    while (record.step < goal) {
      // A step under way is finished first.
      if (executor.stepsUnderWay() == 0) {
        if (!lookForEnd())
          return endFailed(failure);
        if (isOver)
          break;
      }
      if (int code = step())
        return code;
    }
    return end();
  }

private:
  /// Whether a signal or the time ends the run here; as decide().
  bool lookForEnd() {
    constexpr int64_t timeIsOver = -1; // no signal has this number
    int64_t cause = options.saves() ? Interruption::signal() : 0;
    if (cause == 0 && processes && processes->isAskedToEnd())
      cause = SIGTERM;
    if (cause == 0 && isTimeOver())
      cause = timeIsOver;
    if (!decide(cause))
      return false;
    isOver = cause != 0;
    stoppedBy = cause == timeIsOver ? 0 : int(cause);
    return true;
  }

  /// What depends on the time or on signals: several processes take the word of
  /// the first. False with `failure` filled in if one of them is lost.
  bool decide(int64_t &value) {
    runtime::Error error;
    return !processes || processes->decide(value, "what comes next", error) ||
           refuse(failure, error.message);
  }

  /// Processes that do not run the same would wait for each other in vain.
  int checkOthers() const {
    if (!processes)
      return exitOk;
    std::vector<runtime::Processes::Statement> statements = {
        {"step to begin with", std::to_string(record.step + 1)},
        {"step to end with", std::to_string(goalOfRun())},
        {"time to end at", std::to_string(options.until.seconds)},
        {"time to save at", std::to_string(options.saveEvery.steps) + " " +
                                std::to_string(options.saveEvery.seconds)},
        {"place to save to",
         options.save + " " + options.checkpoints + " " + options.outputs}};
    for (const auto &[what, text] : record.data)
      statements.push_back({"data (" + what + ")", text});
    std::map<std::string, runtime::Setting> given;
    runtime::Error error;
    if (!settings.current(executor, given, error))
      return fail(error.message);
    for (const auto &[name, setting] : given)
      statements.push_back(
          {"value of '" + name + "'", setting.value + " " + setting.schedule});
    return processes->agree(statements, error) ? int(exitOk)
                                               : fail(error.message);
  }

  /// The step after which this run ends.
  int64_t goalOfRun() const {
    int64_t last = options.until.steps > 0 ? options.until.steps : INT64_MAX;
    if (options.batches.epochs > 0)
      last = std::min(last, lastOfEpochs());
    if (options.steps || (last == INT64_MAX && options.until.seconds == 0))
      last = std::min(last, record.step + options.steps.value_or(1));
    return last;
  }

  /// Unless the user says which steps to trace, it is three that find memory as
  /// others do, which the first does not.
  void chooseTracedSteps() {
    traced = options.traceSteps;
    if (trace && traced.isEmpty())
      traced = {std::min(goal, record.step + 2),
                std::min(goal, record.step + 4)};
  }

  /// The step after which all epochs are over.
  int64_t lastOfEpochs() const {
    auto all = mulChecked(options.batches.epochs, batches->perEpoch());
    return all ? record.step + std::max<int64_t>(0, *all - record.batches)
               : INT64_MAX;
  }

  /// Fills all arguments and tries to save before any time is spent.
  int begin() {
    if (int code = loadStart(executor, options))
      return code;
    bool isResumed = false;
    runtime::Error error;
    if (!options.checkpoints.empty()) {
      checkpoints = runtime::CheckpointFolder::open(options.checkpoints, error,
                                                    processes);
      if (!checkpoints)
        return fail(error.message);
      isResumed = !checkpoints->steps().empty();
      if (isResumed && !options.resume)
        return fail("'" + options.checkpoints +
                    "' holds checkpoints already; go on from the newest with "
                    "--resume, or give another folder");
    }
    if (isResumed) {
      std::vector<std::string> notes;
      bool isLoaded = checkpoints->load(executor, record, notes, error);
      for (const std::string &note : notes)
        std::fprintf(stderr, "note: %s\n", note.c_str());
      if (!isLoaded)
        return fail(error.message);
      std::printf("resumed    from '%s', %s steps are complete\n",
                  checkpoints->pathOf(record.step).c_str(),
                  std::to_string(record.step).c_str());
      std::fflush(stdout);
    }
    std::string message;
    if (!openBatches(message))
      return fail(message);
    std::vector<size_t> perStep;
    if (batches)
      perStep = batches->given();
    if (!settings.give(executor, options.settings, record.settings, perStep,
                       message))
      return fail(message);
    if (!settings.apply(executor, record.step, error))
      return fail(error.message);
    if (int code = checkFilled(executor, perStep))
      return code;
    if (!openEvaluation(message))
      return fail(message);
    if (options.norms.isWanted() &&
        !(norms = NormWatch::open(executor, message)))
      return fail(message);
    if (int code = openMetrics())
      return code;
    // Calls that only one rank captures are none that NCCL matches.
    if (!options.trace.empty() && processes &&
        !executor.index().gpuModules.empty())
      return fail(
          "--trace watches the kernels of one GPU, and ranks on several "
          "exchange tensors; leave it out");
    // Of several processes one writes.
    if (!options.trace.empty() && (!processes || processes->isFirst()) &&
        !(trace = TraceFile::create(options.trace, options.file, message)))
      return fail(message);
    if (!overflows.open(executor, record.step, error))
      return fail(error.message);
    // Counters are state, and a condition ends the run before the next step.
    isAhead = executor.runsAhead() && !options.checkMemory &&
              !overflows.hasCounters() && stopColumns.empty();
    // Without memory for that, steps wait for each other.
    isAhead = isAhead && executor.watch(columns, error);
    if (options.stopOnOverflow && !overflows.hasCounters())
      std::fprintf(stderr, "note: this step stores nothing in f16 that may "
                           "overflow, so --stop-on-overflow changes nothing\n");
    if (int code = checkOthers())
      return code;
    if (int code = trySaving(isResumed))
      return code;
    if (batches &&
        !(readers = BatchReaders::start(
              *batches, executor, record.batches, options.batches.readers,
              /*inPlace=*/!options.checkMemory, message)))
      return fail(message);
    return exitOk;
  }

  bool openBatches(std::string &message) {
    if (options.batches.path.empty())
      return true;
    batches = Batches::open(options.batches, executor, message);
    if (!batches)
      return false;
    auto description = batches->description();
    noteOtherData(record.data, description, record.step);
    record.data = description;
    if (!options.batches.isSamples && !options.batches.tokenType)
      return true;
    std::printf("data       %s %s, %s batches of %s per epoch%s\n",
                std::to_string(batches->rows()).c_str(), batches->rowWord(),
                std::to_string(batches->perEpoch()).c_str(),
                std::to_string(batches->rowsPerBatch()).c_str(),
                batches->leftOut() == 0 ? ""
                                        : ("; each leaves out " +
                                           std::to_string(batches->leftOut()))
                                              .c_str());
    return true;
  }

  bool openEvaluation(std::string &message) {
    if (options.evalEvery == 0)
      return true;
    evaluation = Evaluation::open(options.evaluation, executor, message);
    if (!evaluation)
      return false;
    const BestRule &rule = options.best;
    if (rule.name.empty())
      return true;
    auto tensor = executor.findTensor(rule.name);
    auto results = executor.resultsOf(options.evaluation.entryPoint);
    if (!tensor || std::ranges::find(results, *tensor) == results.end() ||
        !executor.index().tensors[*tensor].shape.empty())
      return refuse(message, "'" + rule.name +
                                 "' of --keep-best is no scalar result of "
                                 "the entry point '" +
                                 options.evaluation.entryPoint + "'");
    if (record.best && record.best->rule != rule.text()) {
      std::fprintf(stderr,
                   "note: the best checkpoint was that of '%s', from now on it "
                   "is that of '%s'\n",
                   record.best->rule.c_str(), rule.text().c_str());
      record.best.reset();
    }
    return true;
  }

  /// Prints what the evaluation found, and saves the state if it is the best so
  /// far.
  bool reportEvaluation() {
    progressLine.finish();
    std::printf("evaluated  step %s: %s\n", std::to_string(record.step).c_str(),
                evaluation->text().c_str());
    std::fflush(stdout);
    const BestRule &rule = options.best;
    if (rule.name.empty())
      return true;
    const std::string &name =
        executor.index().tensors[*executor.findTensor(rule.name)].name;
    for (const auto &[result, mean] : evaluation->means()) {
      if (result != name)
        continue;
      double before =
          record.best ? parseNumber<double>(record.best->value)
                            .value_or(std::numeric_limits<double>::quiet_NaN())
                      : (rule.isGreatest ? -1 : 1) *
                            std::numeric_limits<double>::infinity();
      if (!rule.isBetter(mean, before))
        return true;
      record.best = {record.step, rule.text(), exactText(mean)};
      return save();
    }
    return true;
  }

  /// What would fail later fails now: a disk that is full, or a folder that
  /// nobody may write to.
  int trySaving(bool isResumed) {
    if (!checkpoints)
      return exitOk;
    saved = record.step;
    runtime::Error error;
    if (isResumed)
      return checkpoints->trySaving(executor, record, error)
                 ? int(exitOk)
                 : fail(error.message);
    return save() ? int(exitOk) : fail(failure);
  }

  int openMetrics() {
    columns = metricTensors(executor);
    const std::vector<format::Tensor> &tensors = executor.index().tensors;
    for (size_t i = 0; i < columns.size(); ++i) {
      bool isFloat = runtime::takesFraction(tensors[columns[i]].type);
      if (isFloat && (!lossColumn || tensors[columns[i]].name == "loss"))
        lossColumn = i;
    }
    std::string message;
    if (!findStopColumns(message))
      return fail(message);
    if (options.metrics.empty() || (processes && !processes->isFirst()))
      return exitOk;
    std::vector<std::string> names{"step"};
    for (size_t tensor : columns)
      names.push_back(tensors[tensor].name);
    if (evaluation)
      for (const std::string &name : evaluation->names())
        names.push_back(name);
    if (norms)
      for (const std::string &name : norms->names()) {
        if (std::ranges::find(names, name) != names.end())
          return fail("the step has a result '" + name +
                      "', which is what a norm is called in --metrics; give "
                      "the result another name with --name of tenon compile");
        names.push_back(name);
      }
    metrics =
        MetricsFile::open(options.metrics, names, record.metricsBytes, message);
    return metrics ? int(exitOk) : fail(message);
  }

  /// Which result each condition of --stop-if is about.
  bool findStopColumns(std::string &message) {
    for (const StopCondition &condition : options.stopConditions) {
      auto tensor = executor.findTensor(condition.name);
      auto column =
          tensor ? std::ranges::find(columns, *tensor) : columns.end();
      if (column == columns.end()) {
        std::string known;
        for (size_t result : columns)
          known += (known.empty() ? "'" : ", '") +
                   executor.index().tensors[result].name + "'";
        return refuse(message, "'" + condition.name +
                                   "' of --stop-if is no scalar result of the "
                                   "step; it has " +
                                   (known.empty() ? "none" : known));
      }
      stopColumns.push_back(size_t(column - columns.begin()));
    }
    return true;
  }

  double secondsSince(std::chrono::steady_clock::time_point time) const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         time)
        .count();
  }

  bool isTimeOver() const {
    return options.until.seconds > 0 &&
           secondsSince(started) >= options.until.seconds;
  }

  /// False with `failure` filled in as decide() is.
  bool saveIfDue() {
    const Period &every = options.saveEvery;
    int64_t isDue = every.steps > 0 && record.step % every.steps == 0;
    if (every.seconds > 0) {
      isDue = secondsSince(lastSave) >= every.seconds;
      if (!decide(isDue))
        return false;
    }
    return !isDue || save();
  }

  /// Something that the run does, for the trace.
  TraceFile::Activity doing(std::string what) {
    return {isTraced ? trace.get() : nullptr, std::move(what)};
  }

  /// The next step, and what it writes about itself.
  int step() {
    isTraced = trace && traced.contains(record.step + 1);
    if (!isTraced)
      return makeStep();
    if (readers)
      readers->note(true);
    int code = exitOk;
    {
      TraceFile::Activity whole =
          doing("step " + std::to_string(record.step + 1));
      code = makeStep();
    }
    if (readers) {
      readers->note(traced.contains(record.step + 1));
      for (const BatchReaders::Read &read : readers->takeNotes())
        trace->addRead(read.reader, read.batch, read.begin, read.end);
    }
    isTraced = false;
    ++tracedSteps;
    std::string message;
    if (!trace->write(message) && code == exitOk)
      return endFailed(message);
    return code;
  }

  /// Gives the program what it takes in the step behind `step` others.
  bool prepare(int64_t step, std::string &message) {
    if (readers) {
      TraceFile::Activity waiting = doing("wait for a batch");
      if (!readers->load(message))
        return false;
    }
    runtime::Error error;
    return settings.apply(executor, step, error) ||
           refuse(message, error.message);
  }

  /// Has the device run the step.
  bool runStep(runtime::Error &error) {
    if (options.checkMemory)
      return executor.checkMemory(1, error);
    if (!isTraced)
      return executor.run(1, error);
    TraceFile::Activity running = doing("run the step");
    return executor.trace(spans, error);
  }

  /// Whether the device may go on behind step `last` before anybody has looked
  /// at what it left. Nobody may wish to see its state, or to end the run.
  bool mayRunAhead(int64_t last) const {
    const bool isTimeToSave =
        options.saveEvery.seconds > 0 &&
        secondsSince(lastSave) >= options.saveEvery.seconds;
    return last < goal && isAhead && whyNotPrepared.empty() && !isTimeToSave &&
           !isTimeOver() && !(options.saves() && Interruption::signal()) &&
           !(trace && traced.contains(last + 1)) &&
           !(norms &&
             (options.norms.isDue(last) || options.norms.isDue(last + 1))) &&
           !(evaluation && last % options.evalEvery == 0) &&
           !(options.saveEvery.steps > 0 &&
             last % options.saveEvery.steps == 0);
  }

  /// Makes the step behind those that are complete, by a device that works by
  /// itself: it is given the next one, too, before this one is waited for.
  bool makeStepAhead(std::string &message) {
    const int64_t number = record.step + 1;
    runtime::Error error;
    if (executor.stepsUnderWay() == 0) {
      if (!whyNotPrepared.empty())
        return refuse(message, whyNotPrepared);
      if (!prepare(number - 1, message))
        return false;
      stepBegan = std::chrono::steady_clock::now();
      if (!executor.start(error))
        return refuse(message, error.message);
    }
    // A batch that cannot be read ends the run behind this step.
    if (mayRunAhead(number) && prepare(number, whyNotPrepared) &&
        !executor.start(error))
      return refuse(message, error.message);
    return executor.finish(error) || refuse(message, error.message);
  }

  /// Makes it and waits for its end.
  bool makeStepAlone(std::string &message) {
    runtime::Error error;
    if (!prepare(record.step, message))
      return false;
    if (isNormDue() && !norms->beginStep(error))
      return refuse(message, error.message);
    stepBegan = std::chrono::steady_clock::now();
    return runStep(error) || refuse(message, error.message);
  }

  bool isNormDue() const {
    return norms && options.norms.isDue(record.step + 1);
  }

  int makeStep() {
    std::string message;
    runtime::Error error;
    const bool hasNorms = isNormDue();
    if (!(isAhead && !isTraced && !hasNorms ? makeStepAhead(message)
                                            : makeStepAlone(message)))
      return endFailed(message);
    stepSeconds.push_back(secondsSince(stepBegan));
    // One that is under way goes on from here.
    stepBegan = std::chrono::steady_clock::now();
    if (isTraced)
      trace->add(spans, record.step + 1);
    if (hasNorms && !norms->endStep(error))
      return endFailed(error.message);
    bool isLineDue =
        record.step + 1 >= goal || progressLine.isDue(secondsSince(started));
    {
      TraceFile::Activity reading = doing("read results");
      readValues(/*all=*/metrics || isLineDue);
    }
    // The line of a step also has what the evaluation behind it found, so the
    // evaluation runs first. A failed one still leaves the line of its step.
    bool isEvaluated = evaluation && (record.step + 1) % options.evalEvery == 0;
    bool hasMeans = false;
    if (isEvaluated) {
      TraceFile::Activity evaluating = doing("evaluate");
      hasMeans = evaluation->run(failure);
    }
    if (metrics) {
      TraceFile::Activity writing = doing("write metrics");
      metrics->add(lineOfStep(hasMeans, hasNorms));
      if (!metrics->write(/*durable=*/false, message))
        return endFailed(message);
    }
    if (lossColumn)
      smoothed.add(valueOf(*lossColumn));
    ++ran;
    ++record.step;
    record.batches += batches ? 1 : 0;
    if (options.stopOnOverflow)
      if (int code = stopIfOverflowed())
        return code;
    if (isLineDue) {
      std::string overflowed;
      if (!overflows.look(executor, record.step, overflowed, error))
        return endFailed(error.message);
      report();
    }
    if (int code = endIfAsked())
      return code;
    if (isEvaluated && (!hasMeans || !reportEvaluation()))
      return endFailed(failure);
    if (record.step < goal && saved != record.step &&
        executor.stepsUnderWay() == 0 && !saveIfDue())
      return endFailed(failure);
    return exitOk;
  }

  /// The number in a column of the last step; no number if it has none.
  double valueOf(size_t column) const {
    return parseNumber<double>(values[column + 1])
        .value_or(std::numeric_limits<double>::quiet_NaN());
  }

  /// Reads all results of the step, or those that are looked at after each:
  /// each costs a copy where results are a GPU's.
  void readValues(bool all) {
    values.assign(columns.size() + 1, "");
    values[0] = std::to_string(record.step);
    for (size_t i = 0; i < columns.size(); ++i)
      if (all || lossColumn == i ||
          std::ranges::find(stopColumns, i) != stopColumns.end())
        values[i + 1] = metricText(executor, columns[i]);
  }

  /// The step's values, the means of the evaluation behind it, and the norms of
  /// parameters; these are empty where there are none.
  std::vector<std::string> lineOfStep(bool hasMeans, bool hasNorms) const {
    std::vector<std::string> line = values;
    if (hasMeans)
      for (const auto &[name, mean] : evaluation->means())
        line.push_back(exactText(mean));
    else if (evaluation)
      line.resize(line.size() + evaluation->names().size());
    if (hasNorms)
      for (double norm : norms->values())
        line.push_back(exactText(norm));
    else if (norms)
      line.resize(line.size() + norms->names().size());
    return line;
  }

  void report() {
    double seconds = secondsSince(started);
    Progress progress;
    progress.step = record.step;
    for (size_t i = 0; i < columns.size(); ++i)
      progress.results.emplace_back(executor.index().tensors[columns[i]].name,
                                    values[i + 1]);
    progress.smoothed = smoothed.value();
    progress.stepsPerSecond = double(ran) / seconds;
    if (batches && batches->itemsPerBatch() > 0) {
      progress.itemsPerSecond =
          progress.stepsPerSecond * double(batches->itemsPerBatch());
      progress.items = batches->itemWord();
    }
    if (goal != INT64_MAX) {
      progress.goal = goal;
      progress.secondsLeft =
          double(goal - record.step) / progress.stepsPerSecond;
    }
    if (options.until.seconds > 0)
      progress.secondsLeft =
          std::min(progress.secondsLeft.value_or(options.until.seconds),
                   std::max(0.0, options.until.seconds - seconds));
    progressLine.show(progress, seconds);
  }

  /// The exit code for a condition of --stop-if that holds, 0 for none. Nothing
  /// is saved: a state that has gone wrong is none to go on from.
  int endIfAsked() {
    for (size_t i = 0; i < stopColumns.size(); ++i) {
      const StopCondition &condition = options.stopConditions[i];
      if (!condition.holdsFor(valueOf(stopColumns[i])))
        continue;
      progressLine.finish();
      std::printf("stopped    after step %s: '%s' is %s, --stop-if='%s'\n",
                  std::to_string(record.step).c_str(), condition.name.c_str(),
                  values[stopColumns[i] + 1].c_str(), condition.text.c_str());
      std::fflush(stdout);
      noteWhatIsSaved();
      return exitStopped;
    }
    return exitOk;
  }

  int stopIfOverflowed() {
    std::string overflowed;
    runtime::Error error;
    if (!overflows.look(executor, record.step, overflowed, error))
      return endFailed(error.message);
    if (overflowed.empty())
      return exitOk;
    overflows.print();
    return endFailed("in step " + std::to_string(record.step) +
                         " elements of '" + overflowed +
                         "' were infinite in f16, which ends at 65504; keep it "
                         "in f32 with --precision-policy, or compile with "
                         "--precision=bf16",
                     exitStopped);
  }

  /// Saves to the checkpoints, else to the file of --save; false with `failure`
  /// filled in. The metrics come first: a checkpoint says where they were.
  bool save() {
    TraceFile::Activity saving = doing("save");
    auto start = std::chrono::steady_clock::now();
    runtime::Error error;
    // Without --metrics the place stays where an earlier run left it.
    if (metrics) {
      if (!metrics->write(/*durable=*/checkpoints != nullptr, failure))
        return false;
      record.metricsBytes = metrics->bytes();
    }
    bool isSaved =
        settings.current(executor, record.settings, error) &&
        (checkpoints ? checkpoints->save(executor, record, error)
                     : runtime::saveState(executor, options.save, error));
    if (!isSaved) {
      failure = error.message;
      return false;
    }
    saved = record.step;
    if (checkpoints && options.keep > 0)
      checkpoints->keepNewest(size_t(options.keep),
                              record.best ? std::optional(record.best->step)
                                          : std::nullopt);
    lastSave = std::chrono::steady_clock::now();
    saves.push_back(secondsSince(start));
    return true;
  }

  int end() {
    progressLine.finish();
    if (!stepSeconds.empty()) {
      double seconds = secondsSince(started);
      printSummary(executor, stepSeconds);
      if (readers)
        std::printf("data       steps waited %.2f %% of the time for batches\n",
                    100 * readers->waitedSeconds() / seconds);
    }
    if (record.best && !options.best.name.empty())
      std::printf("best       step %s: %s %s, '%s'\n",
                  std::to_string(record.best->step).c_str(),
                  options.best.name.c_str(), record.best->value.c_str(),
                  checkpoints->pathOf(record.best->step).c_str());
    std::string message;
    runtime::Error error;
    if (!overflows.look(executor, record.step, message, error))
      return endFailed(error.message);
    overflows.print();
    if (metrics && !metrics->write(/*durable=*/false, message))
      return fail(message);
    reportTrace();
    if (checkpoints && saved != record.step && !save())
      return endFailed(failure);
    if (auto start = std::chrono::steady_clock::now(); !options.save.empty()) {
      if (!runtime::saveState(executor, options.save, error))
        return endFailed(error.message);
      saves.push_back(secondsSince(start));
    }
    reportSaving();
    if (isOver && stoppedBy != 0) {
      std::printf("stopped    by %s after step %s, which is saved%s\n",
                  stoppedBy == SIGINT ? "SIGINT" : "SIGTERM",
                  std::to_string(record.step).c_str(),
                  checkpoints ? "; --resume goes on from there" : "");
      return exitInterrupted;
    }
    if (!options.outputs.empty())
      return saveOutputs(executor, options.outputs);
    return exitOk;
  }

  /// What saving has cost so far.
  void reportSaving() {
    if (saves.empty())
      return;
    double sum = 0;
    for (double each : saves)
      sum += each;
    std::ranges::sort(saves);
    std::printf("saving     %s time%s, median %.3f ms, %.2f %% of the time\n",
                std::to_string(saves.size()).c_str(),
                saves.size() == 1 ? "" : "s", saves[saves.size() / 2] * 1e3,
                100 * sum / secondsSince(started));
  }

  void reportTrace() const {
    if (!trace)
      return;
    if (tracedSteps == 0)
      std::fprintf(
          stderr, "note: '%s' has no step: the run made none of the steps %s\n",
          options.trace.c_str(), traced.text().c_str());
    else
      std::printf("trace      %s step%s in '%s'\n",
                  std::to_string(tracedSteps).c_str(),
                  tracedSteps == 1 ? "" : "s", options.trace.c_str());
    if (trace->leftOut() > 0)
      std::fprintf(stderr,
                   "note: the trace lacks %s spans at the ends of steps, for "
                   "which there was no memory\n",
                   std::to_string(trace->leftOut()).c_str());
  }

  /// Ends a run that failed, with what is left of it.
  int endFailed(const std::string &message, int code = exitUserError) {
    progressLine.finish();
    fail(message);
    noteWhatIsSaved();
    return code;
  }

  void noteWhatIsSaved() const {
    std::string rest = std::to_string(record.step);
    if (goal != INT64_MAX)
      rest += " of " + std::to_string(goal);
    rest += " steps are complete; ";
    if (checkpoints)
      rest += "'" + checkpoints->pathOf(saved) +
              "' holds the state after step " + std::to_string(saved);
    else if (saved > 0)
      rest += "'" + options.save + "' holds the state after step " +
              std::to_string(saved);
    else if (options.save.empty())
      rest += "no state was saved, because --save is not given";
    else
      rest +=
          "this run saved no state, '" + options.save + "' is as it was before";
    std::fprintf(stderr, "note: %s\n", rest.c_str());
  }

  runtime::Executor &executor;
  const RunOptions &options;
  runtime::Processes *const processes = executor.processes(); // or null
  runtime::RunRecord record;
  runtime::Settings settings;
  std::unique_ptr<runtime::CheckpointFolder> checkpoints;
  std::unique_ptr<Batches> batches;
  std::unique_ptr<BatchReaders> readers;
  std::unique_ptr<MetricsFile> metrics;
  std::unique_ptr<Evaluation> evaluation;
  std::unique_ptr<NormWatch> norms;
  std::unique_ptr<TraceFile> trace;
  runtime::StepTrace spans; // of the last step that was traced
  StepRange traced;
  bool isTraced = false; // the step that is being made
  int64_t tracedSteps = 0;
  OverflowWatch overflows;
  std::vector<size_t> columns; // tensors whose values metrics hold
  std::chrono::steady_clock::time_point started, lastSave, stepBegan;
  bool isAhead = false;       // whether the device may work on a step beyond
  std::string whyNotPrepared; // that step; empty if it was
  bool isOver = false;        // before the goal
  int stoppedBy = 0;          // a signal; 0 if the time is over
  int64_t goal = 0;           // the step to end after
  int64_t ran = 0;            // steps of this run
  int64_t saved = 0; // the last step that was saved; 0 for none or the start
  std::vector<double> stepSeconds;
  std::vector<double> saves;        // seconds of each
  std::string failure;              // of save()
  std::vector<std::string> values;  // of the last step: its number and columns
  std::optional<size_t> lossColumn; // the one that is smoothed
  std::vector<size_t> stopColumns;  // of the conditions of --stop-if
  SmoothedValue smoothed;
  // What a launcher passes on is no terminal, though it may look like one.
  ProgressLine progressLine{/*mayOverwrite=*/processes == nullptr};
};

} // namespace

int tool::train(runtime::Executor &executor, const RunOptions &options) {
  return TrainingRun(executor, options).run();
}
