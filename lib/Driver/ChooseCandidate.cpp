//===- ChooseCandidate.cpp - The search of a compilation ------------------===//
//
// See ChooseCandidate.h.
//
//===----------------------------------------------------------------------===//

#include "ChooseCandidate.h"

#include "NoPlan.h"
#include "RunStages.h"

#include "tenon/Dialect/Step/Step.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

SearchOptions driver::searchOptions(const StageRun &run) {
  SearchOptions options{/*parallel=*/run.options.threads != 1,
                        run.options.verifyForms, /*hostLink=*/std::nullopt};
  if (const target::Target &machine = run.resolved.machine;
      run.resolved.offload)
    options.hostLink = {machine.hostLink, machine.overheads.launch};
  return options;
}

CandidateStream &driver::candidatesOf(Program &program, const StageRun &run) {
  if (!program.candidates)
    program.candidates = std::make_shared<CandidateStream>(
        kernelScratchFor(run.resolved), run.resolved.machine,
        program.module->clone());
  return *program.candidates;
}

BudgetSearch &driver::searchOf(Program &program, const StageRun &run) {
  if (!program.search)
    program.search = std::make_shared<BudgetSearch>(candidatesOf(program, run),
                                                    searchOptions(run));
  return *program.search;
}

/// Where loops compute values again, the quickest step without a budget is the
/// measure.
static void recordEverything(ModuleOp module, int64_t bytes,
                             int64_t nanoseconds) {
  Builder builder(module.getContext());
  auto named = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  module->setAttr(
      step::keepingEverythingAttrName,
      builder.getDictionaryAttr(
          {named("bytes", bytes), named("nanoseconds", nanoseconds)}));
}

/// Lists the candidates by what was predicted of them.
static llvm::json::Array reportOf(const CandidateStream &candidates) {
  llvm::json::Array list;
  for (const Candidate &candidate : candidates.formed())
    list.push_back(llvm::json::Object{
        {"loop_bytes_saved", candidate.predicted.savedBytes},
        {"loop_nanoseconds_more", candidate.predicted.nanoseconds}});
  return list;
}

ExitCode driver::chooseCandidate(Program &program, StageRun &run,
                                 PlannedStep &chosen) {
  CandidateStream &candidates = candidatesOf(program, run);
  BudgetSearch &search = searchOf(program, run);
  const PlannedStep *everything = search.keepEverything();
  if (!everything)
    return exitInternal;
  int64_t &budget = *run.resolved.memoryBudget;
  if (budget == smallestBudget) {
    const PlannedStep *least = search.smallest();
    if (!least)
      return candidates.failure() != exitOk ? candidates.failure()
                                            : exitInternal;
    budget = least->bytes;
  }
  std::optional<PlannedStep> found = search.within(budget);
  if (candidates.failure() != exitOk)
    return candidates.failure();
  if (!found) {
    const PlannedStep *least = search.smallest();
    return least ? fail(exitNoPlan,
                        whyNoPlan(budget, boundOf(candidates, *everything),
                                  *least))
                 : exitInternal;
  }
  chosen = std::move(*found);
  if (candidates.formed().size() > 1) {
    run.details["candidates"] = reportOf(candidates);
    run.details["candidate"] = int64_t(chosen.candidate);
  }
  program.module = candidates.take(chosen.candidate);
  // What a text says is of all candidates.
  if (!(*program.module)->hasAttr(step::keepingEverythingAttrName))
    recordEverything(*program.module, everything->bytes,
                     chosen.baseNanoseconds);
  // It has lost a candidate.
  program.search.reset();
  return exitOk;
}
