//===- RunOptions.h - Options of tenon run --------------------------------===//
//
// What a run is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUNOPTIONS_H
#define TENON_TOOLS_TENON_RUNOPTIONS_H

#include "tools/tenon/BatchOptions.h"
#include "tools/tenon/Evaluation.h"
#include "tools/tenon/Modules.h"
#include "tools/tenon/NormWatch.h"
#include "tools/tenon/Period.h"
#include "tools/tenon/StepRange.h"
#include "tools/tenon/StopCondition.h"

#include "tenon/Runtime/Settings.h"

namespace tenon::tool {

struct RunOptions {
  std::string file, state, inputs, metrics, save, outputs;
  BatchOptions batches;
  ModuleOptions module;
  std::optional<int64_t> steps; // of this run; 1 if nothing says when to end
  int64_t threads = 0;
  Period saveEvery; // none for only at the end
  Period until;     // none for --steps alone
  std::string checkpoints;
  int64_t keep = 0; // 0 for all
  bool resume = false;
  runtime::SettingValues settings;
  std::vector<StopCondition> stopConditions;
  NormOptions norms;
  std::string trace;    // the file; empty for none
  StepRange traceSteps; // none for three near the start
  std::string entry;    // to run in place of the step; empty for the step
  BatchOptions evaluation{.entryPoint = "eval"};
  int64_t evalEvery = 0; // steps; 0 for never
  BestRule best;
  bool checkMemory = false, zeroState = false, prefault = false;
  bool stopOnOverflow = false;

  /// Whether there is a place to save to.
  bool saves() const { return !checkpoints.empty() || !save.empty(); }
};

/// Adds the options, but for those of the device.
void takeRunOptions(ArgumentParser &parser, RunOptions &options);

/// What help says behind the options.
void describeRuns(ArgumentParser &parser);

/// What is wrong with options that are right one by one; empty for nothing.
std::string whyContradictory(const RunOptions &options);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_RUNOPTIONS_H
