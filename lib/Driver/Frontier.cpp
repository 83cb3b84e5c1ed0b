//===- Frontier.cpp - What memory costs a step ----------------------------===//
//
// Plans within a row of budgets.
//
//===----------------------------------------------------------------------===//

#include "ChooseCandidate.h"
#include "NoPlan.h"
#include "PlanReport.h"
#include "RunStages.h"

#include "tenon/Support/Bytes.h"

using namespace tenon;
using namespace tenon::driver;

ExitCode driver::planFrontier(const CompileOptions &options, int64_t count,
                              llvm::raw_ostream &out) {
  Compilation compilation(options);
  compilation.run.forBudgets = true;
  if (ExitCode code = compilation.runTo("group"); code != exitOk)
    return code;
  CandidateStream &candidates =
      candidatesOf(compilation.program, compilation.run);
  BudgetSearch &search = searchOf(compilation.program, compilation.run);
  std::vector<FrontierPoint> points = search.frontier(count);
  if (points.empty())
    return candidates.failure() ? candidates.failure() : exitInternal;
  printFrontier(points, out);
  const PlannedStep *everything = search.keepEverything();
  int64_t bound = boundOf(candidates, *everything).bytes;
  int64_t least = search.smallest()->bytes;
  out << "smallest budget " << least << " bytes (" << printBytes(least)
      << "), with these kernels every plan needs " << printBytes(bound)
      << " (proved)\n";
  printExclusions(everything->main(), out);
  return exitOk;
}
