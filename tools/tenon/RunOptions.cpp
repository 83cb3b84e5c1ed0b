//===- RunOptions.cpp - Options of tenon run ------------------------------===//
//
// The options of a run, their help, and which do not go together.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/RunOptions.h"
#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/ResultNamesOption.h"
#include "tools/tenon/SettingOptions.h"
#include "tools/tenon/SubnormalsOption.h"

using namespace tenon;
using namespace tenon::tool;

void tool::takeRunOptions(ArgumentParser &parser, RunOptions &options) {
  parser.text("state", options.state, "F.safetensors",
              "start values of all state");
  parser.flag("zero-state", options.zeroState,
              "start with zeros in all state that no file gives");
  parser.text("inputs", options.inputs, "F.safetensors",
              "values of any arguments, state or batch");
  options.batches.take(parser);
  parser.custom("steps", "N", "how many steps this run makes (1)",
                [&](std::string_view given) -> std::string {
                  options.steps = parseNumber(given).value_or(0);
                  return *options.steps < 1 ? "expected a number from 1 on"
                                            : "";
                });
  parser.text(
      "metrics", options.metrics, "FILE|DIR/",
      "write every scalar result of every step: CSV, .jsonl or TensorBoard's");
  parser.custom("norms-every", "N",
                "add norms of parameters, and of what every Nth step changes, "
                "to --metrics",
                [&](std::string_view given) -> std::string {
                  options.norms.every = parseNumber(given).value_or(0);
                  return options.norms.every < 1 ? "expected a number from 1 on"
                                                 : "";
                });
  auto takeSteps = [](StepRange &into) {
    return [&into](std::string_view given) -> std::string {
      auto steps = parseStepRange(given);
      into = steps.value_or(StepRange());
      return steps ? "" : expectedStepRange;
    };
  };
  parser.custom("norms-steps", "FIRST..LAST", "add the norms of these steps",
                takeSteps(options.norms.steps));
  parser.text("trace", options.trace, "FILE.json",
              "write what threads do in some steps, and when, for Perfetto");
  parser.custom(
      "trace-steps", "FIRST..LAST",
      "these steps, counted as --until does (the second to the fourth "
      "of the run)",
      takeSteps(options.traceSteps));
  parser.custom("stop-if", "CONDITIONS",
                "end with exit code 6 if a result is so, such as 'loss > 10 or "
                "loss not finite'",
                [&](std::string_view given) -> std::string {
                  std::string wrong;
                  auto conditions = parseStopConditions(given, wrong);
                  if (conditions)
                    options.stopConditions = *conditions;
                  return wrong;
                });
  parser.flag("stop-on-overflow", options.stopOnOverflow,
              "end when elements of an f16 tensor are infinite, with exit code "
              "6");
  parser.text(
      "save", options.save, "F.safetensors",
      "write the state at the end; F.safetensors.index.json: a file per "
      "process");
  parser.custom("save-every", "N|TIME",
                "save every N steps, or each TIME such as 10min, to "
                "--checkpoints, else to --save",
                [&](std::string_view given) -> std::string {
                  auto period = parsePeriod(given);
                  options.saveEvery = period.value_or(Period());
                  return period ? "" : expectedPeriod;
                });
  parser.text("checkpoints", options.checkpoints, "FOLDER",
              "save all that a run needs to go on, in a folder per save");
  parser.custom("keep", "K", "keep the K newest checkpoints (all)",
                [&](std::string_view given) -> std::string {
                  options.keep = parseNumber(given).value_or(0);
                  return options.keep < 1 ? "expected a number from 1 on" : "";
                });
  parser.flag("resume", options.resume,
              "go on from the newest checkpoint, if there is one");
  parser.custom("until", "STEP|TIME",
                "end after this step, counted over all resumed runs, or after "
                "this time",
                [&](std::string_view given) -> std::string {
                  auto period = parsePeriod(given);
                  options.until = period.value_or(Period());
                  return period ? "" : expectedPeriod;
                });
  parser.text("entry", options.entry, "NAME",
              "run this entry point once, such as predict, not the step");
  parser.custom("eval-every", "N",
                "evaluate the state after every N steps on --eval-batches",
                [&](std::string_view given) -> std::string {
                  options.evalEvery = parseNumber(given).value_or(0);
                  return options.evalEvery < 1 ? "expected a number from 1 on"
                                               : "";
                });
  parser.custom("eval-batches", "PATH",
                "what --batches takes, for the inputs of the entry point",
                [&](std::string_view given) -> std::string {
                  options.evaluation.takePath(given);
                  return options.evaluation.path.empty()
                             ? "expected a file or a folder"
                             : "";
                });
  parser.text("eval-entry", options.evaluation.entryPoint, "NAME",
              "the entry point that evaluates (eval)");
  parser.custom("keep-best", "RESULT",
                "keep the checkpoint with the least mean, such as eval.loss "
                "(RESULT:max: greatest)",
                [&](std::string_view given) -> std::string {
                  options.best = BestRule::parse(given);
                  return options.best.name.empty() ? "expected a result" : "";
                });
  takeSettings(parser, options.settings);
  parser.text("outputs", options.outputs, "F.safetensors",
              "write the last step's results");
  parser.number("threads", options.threads, "N", "threads (all processors)");
  parser.flag("prefault", options.prefault,
              "take all memory before the first step");
  parser.flag("check-memory", options.checkMemory,
              "run operations alone in poisoned memory, slowly, and check what "
              "they write");
  parser.text("roles", options.module.rolesFile, "FILE",
              "for a module: JSON that says what each argument is");
  takeResultNames(parser, options.module.resultNames, "for a module: ");
  parser.text("function", options.module.function, "NAME",
              "for a module: which of its functions is the step (main)");
  takeSubnormals(parser, options.module.subnormals, "for a module: ");
}

void tool::describeRuns(ArgumentParser &parser) {
  parser.notes(
      "--batches=PATH or steps:PATH has whole batches: in one file the first "
      "dimension of every tensor counts the\nsteps, in a folder every file is "
      "a "
      "step. samples:PATH has samples, which the first dimension counts and\n"
      "batches are cut from. Files are .safetensors, .npz and .npy, those of a "
      "folder in natural order (batch2\ncomes before batch10). With --tokens "
      "they are lists of tokens, cut into windows: 'input', 'target' (one "
      "token\nlater) and 'window' (both). Names are those of the arguments, or "
      "--map says which is which. After the last\nbatch the run starts again "
      "with the first. Before the first step all files are checked.\n\n"
      "A checkpoint holds state, step, position in the batches and in "
      "--metrics, and settings. The same command\nwith --resume goes on from "
      "the newest one, with the same bits. SIGTERM and SIGINT end the run "
      "after the\nstep with a checkpoint and exit code 5; a second signal ends "
      "it at once.\n\n"
      "A SCHEDULE is one of constant, linear:steps=N,end=V, "
      "cosine:steps=N,end=V, exponential:steps=N,rate=R,\neach also as "
      "warmup_linear:warmup=N,... and so on, which rises from start=V (0) "
      "first, or\npiecewise:0=V,100=V. It begins at value=V, or at the value "
      "of --set or --inputs; steps counts the\nwarmup.\n\n"
      "A step that was compiled with --precision=f16 counts the infinite "
      "elements of f16 tensors that may\noverflow; the run prints what it "
      "counted. --stop-on-overflow ends it with exit code 6 before that step\n"
      "is saved, and names tensor and step.\n\n"
      "--trace shows the threads of the step, kernels and library calls by "
      "their source, and waits, as JSON for\nPerfetto. The norms of "
      "--norms-every are columns of --metrics: parameter_norm and update_norm "
      "of all\nparameters, and of each, such as update_norm.params.w. Both "
      "leave the state as it is.\n\n"
      "An entry point is what tenon compile --entry added to the file. "
      "--eval-every runs one over all of\n--eval-batches and prints the mean "
      "of "
      "each scalar result, weighted by the rows of the batches. It reads the\n"
      "state and changes none. --keep-best saves a checkpoint whenever the "
      "mean "
      "is better than before, and\n--keep spares it. --entry=NAME takes the "
      "inputs of NAME from --inputs and writes its results to --outputs.\n\n"
      "If a step fails, the run ends with exit code 1. The file of --save then "
      "still holds what was saved last,\nand the message says from which step "
      "that is.\n");
  parser.examples(
      "tenon run step.tenon --state=init.safetensors --batches=data/ "
      "--steps=200 --save=final.safetensors\n"
      "tenon run step.tenon --zero-state --batches=samples:points.npz "
      "--shuffle=1 --epochs=10 --metrics=loss.csv\n"
      "tenon run step.tenon --state=init.safetensors --batches=data/ "
      "--until=8h --checkpoints=saved --resume\n");
}

std::string tool::whyContradictory(const RunOptions &options) {
  const bool saves = options.saves();
  if ((options.saveEvery.steps > 0 || options.saveEvery.seconds > 0) && !saves)
    return "--save-every needs a place, give --checkpoints or --save";
  if (options.checkpoints.empty() && (options.resume || options.keep > 0))
    return std::string(options.resume ? "--resume" : "--keep") +
           " needs the folder of the checkpoints, give --checkpoints";
  if (options.evalEvery > 0 && options.evaluation.path.empty())
    return "--eval-every needs what to evaluate, give --eval-batches";
  if (options.evalEvery == 0 &&
      (!options.evaluation.path.empty() || !options.best.name.empty()))
    return std::string(options.best.name.empty() ? "--eval-batches"
                                                 : "--keep-best") +
           " needs --eval-every";
  if (options.trace.empty() && !options.traceSteps.isEmpty())
    return "--trace-steps needs a file, give --trace";
  if (!options.trace.empty() && options.checkMemory)
    return "--trace shows how a step runs, which is not how --check-memory "
           "runs it; leave one of them out";
  if (options.norms.isWanted() && options.metrics.empty())
    return "--norms-every and --norms-steps write to the lines of --metrics, "
           "give it, too";
  if (!options.best.name.empty() && options.checkpoints.empty())
    return "--keep-best needs the folder of the checkpoints, give "
           "--checkpoints";
  bool trains = saves || options.steps || !options.batches.path.empty() ||
                !options.metrics.empty() || options.evalEvery > 0 ||
                options.until.steps > 0 || options.until.seconds > 0 ||
                !options.settings.empty() || !options.stopConditions.empty() ||
                options.stopOnOverflow || !options.trace.empty();
  if (!options.entry.empty() && trains)
    return "--entry runs an entry point once and takes --state, --zero-state, "
           "--inputs and --outputs, no options of training";
  return options.batches.whyContradictory();
}
