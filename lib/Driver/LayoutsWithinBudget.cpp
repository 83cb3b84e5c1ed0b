//===- LayoutsWithinBudget.cpp - Layouts whose plans fit ------------------===//
//
// See LayoutsWithinBudget.h.
//
//===----------------------------------------------------------------------===//

#include "LayoutsWithinBudget.h"

#include "ChooseCandidate.h"

#include "tenon/Cost/StepSplit.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

/// A plan of one rank's step.
struct RankPlan {
  int64_t bytes = 0;
  double seconds = 0; // predicted, with what ranks exchange
  bool keepsEverything = false;
};

/// Layouts for one limit, and what became of them.
struct Trial {
  Program program; // cut, and grouped ahead
  DecidedLayouts decided;
  llvm::json::Object details;
  std::optional<RankPlan> plan; // within the budget, if one was found

  const solver::ShardingSolution &solution() const {
    return decided.choice->solution;
  }
};

class LayoutSearch {
public:
  LayoutSearch(const Program &whole, const StageRun &run, DecideWithin decide,
               CutProgram cut)
      : whole(whole), run(run), budget(*run.resolved.memoryBudget),
        group(findForm(run.walk, "group")), decide(decide), cut(cut) {}

  ExitCode search() {
    // Without the stage nothing is planned, as for GPUs that are only
    // predicted.
    if (!group)
      return attempt(budget);
    if (ExitCode code = attempt(std::nullopt); code != exitOk)
      return code;
    if (best().plan && best().plan->keepsEverything)
      return exitOk;
    for (int64_t limit :
         {budget, budget / 8 * 7, budget / 4 * 3, budget / 2, fewestBytes}) {
      if (limit < budget && best().plan)
        break;
      if (ExitCode code = attempt(limit); code != exitOk)
        return code;
    }
    return exitOk;
  }

  /// The quickest of those with a plan; the last of those without.
  Trial &best() { return *chosen; }
  llvm::json::Array takeReport() { return std::move(report); }

private:
  /// A limit that no layouts keep, so those with the fewest bytes are chosen.
  static constexpr int64_t fewestBytes = 1;

  ExitCode attempt(std::optional<int64_t> limit) {
    auto trial = std::make_unique<Trial>();
    StageRun trialRun = run;
    trial->program.module = whole.module.get().clone();
    std::optional<sharding::ByteLimit> within;
    // Behind the budget itself there are further limits.
    if (limit)
      within = {*limit, /*searchesLonger=*/*limit == budget};
    if (ExitCode code =
            decide(trial->program, trialRun, within, trial->decided);
        code != exitOk)
      return code;
    const std::vector<int> &strategies = trial->solution().strategies;
    if (llvm::is_contained(tried, strategies))
      return exitOk;
    tried.push_back(strategies);
    const int64_t estimated = trial->solution().peak;
    if (ExitCode code = cut(trial->program, trialRun, trial->decided);
        code != exitOk)
      return code;
    trial->details = std::move(trialRun.details);
    if (group)
      if (ExitCode code = plan(*trial); code != exitOk)
        return code;
    llvm::json::Object line{{"estimated_bytes", estimated}};
    if (limit)
      line["limit"] = *limit;
    if (trial->plan) {
      line["bytes"] = trial->plan->bytes;
      line["seconds"] = trial->plan->seconds;
    }
    report.push_back(std::move(line));
    if (!chosen || !chosen->plan ||
        (trial->plan && trial->plan->seconds < chosen->plan->seconds))
      chosen = std::move(trial);
    return exitOk;
  }

  ExitCode plan(Trial &trial) {
    StageRun trialRun = run;
    trial.program.ahead = std::make_shared<GroupedAhead>();
    Program &grouped = trial.program.ahead->program;
    grouped.module = std::move(trial.program.module);
    trial.program.module = grouped.module->clone();
    if (ExitCode code = group->run(grouped, trialRun); code != exitOk)
      return code;
    trial.program.ahead->details = std::move(trialRun.details);
    const PlannedStep *found = searchOf(grouped, trialRun).glance(budget);
    if (ExitCode code = grouped.candidates->failure(); code != exitOk)
      return code;
    if (found)
      trial.plan = {
          found->bytes,
          cost::splitStep(found->main(), run.resolved.machine).seconds(),
          found->nanoseconds == found->onceNanoseconds};
    return exitOk;
  }

  const Program &whole;
  const StageRun &run;
  const int64_t budget;
  const Stage *group;
  DecideWithin decide;
  CutProgram cut;
  std::vector<std::vector<int>> tried; // strategies
  std::unique_ptr<Trial> chosen;
  llvm::json::Array report;
};

} // namespace

ExitCode driver::chooseWithinBudget(Program &program, StageRun &run,
                                    DecideWithin decide, CutProgram cut,
                                    DecidedLayouts &decided) {
  LayoutSearch layouts(program, run, decide, cut);
  if (ExitCode code = layouts.search(); code != exitOk)
    return code;
  Trial &best = layouts.best();
  program = std::move(best.program);
  decided = std::move(best.decided);
  run.details = std::move(best.details);
  run.details["limits"] = layouts.takeReport();
  return exitOk;
}
