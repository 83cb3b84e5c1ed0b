//===- Candidates.cpp - Ways to write one step ----------------------------===//
//
// See Candidates.h. What changes loops says what it saves, so a step is grouped
// only where that is more than before.
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "AnnotateForBudget.h"

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// What the passes that change loops left on @main.
static Attribute noteOf(ModuleOp module, StringRef name) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return main ? main->getAttr(name) : Attribute();
}

CandidateStream::CandidateStream(KernelScratch scratch,
                                 const target::Target &machine,
                                 OwningOpRef<ModuleOp> grouped,
                                 OwningOpRef<ModuleOp> from, Group how)
    : scratch(std::move(scratch)), machine(machine) {
  add(std::move(grouped), fusion::LoopChoice(), std::nullopt);
  if (!from || !noteOf(*candidates.front().module, step::loopSavingsAttrName))
    return;
  step = std::move(from);
  group = std::move(how);
}

/// What is not predicted from others is by its own loops.
void CandidateStream::add(OwningOpRef<ModuleOp> grouped,
                          ArrayRef<fusion::LoopChoice> choices,
                          std::optional<LoopFigures> predicted) {
  annotateForBudget(*grouped, scratch, machine);
  if (!predicted) {
    loopRows.push_back(loopRowsOf(*grouped, choices.front()));
    predicted = loopRows.back().sum() - loopRows.front().sum();
  }
  candidates.push_back({std::move(grouped), *predicted});
}

OwningOpRef<ModuleOp>
CandidateStream::changed(const fusion::FusionOptions &loops) {
  OwningOpRef<ModuleOp> module = step->clone();
  code = group(*module, loops, Part::loops);
  return code == exitOk ? std::move(module) : nullptr;
}

bool CandidateStream::finish(OwningOpRef<ModuleOp> module,
                             const fusion::FusionOptions &loops,
                             std::optional<LoopFigures> predicted) {
  code = group(*module, loops, Part::groups);
  if (code != exitOk)
    return false;
  add(std::move(module), loops.loopChoices, predicted);
  return true;
}

/// At higher levels, where the loops then stack less.
bool CandidateStream::formLevels() {
  levels = {0};
  Attribute savings =
      noteOf(*candidates.front().module, step::loopSavingsAttrName);
  bool any = false;
  for (int64_t next = 1; next <= fusion::mostLoopLevel; ++next) {
    fusion::FusionOptions loops;
    loops.loopChoices = {{/*level=*/next}};
    OwningOpRef<ModuleOp> module = changed(loops);
    if (!module)
      return false;
    Attribute saved = noteOf(*module, step::loopSavingsAttrName);
    if (saved == savings)
      continue;
    savings = saved;
    if (!finish(std::move(module), loops))
      return false;
    levels.resize(1);
    levels.push_back(next);
    any = true;
  }
  return any;
}

/// With the pairs of the lowest and the highest level cut into segments; deeper
/// ones are for the least memory, as the highest level is.
bool CandidateStream::formSegments() {
  for (; level < levels.size(); ++level, depth = 1) {
    fusion::FusionOptions loops;
    loops.loopChoices = {{levels[level], depth}};
    OwningOpRef<ModuleOp> module = changed(loops);
    if (!module)
      return false;
    if (!noteOf(*module, step::segmentSavingsAttrName))
      continue;
    const bool goesDeeper = level + 1 == levels.size() &&
                            depth < fusion::mostSegmentDepth &&
                            noteOf(*module, step::segmentsCanNestAttrName);
    if (!finish(std::move(module), loops))
      return false;
    if (goesDeeper) {
      ++depth;
    } else {
      ++level;
      depth = 1;
    }
    return true;
  }
  return false;
}

bool CandidateStream::formMore() {
  if (!mayFormMore() || code != exitOk)
    return false;
  bool any = levels.empty() && formLevels();
  if (!any && code == exitOk)
    any = formSegments();
  formedAll = !any;
  return any;
}

bool CandidateStream::formMixture(LoopFigures wanted) {
  constexpr size_t mostTried = 2;
  if (!step || code != exitOk)
    return false;
  size_t tried = 0;
  for (const LoopMix &mix : mixesOf(loopRows)) {
    if (mix.predicted.savedBytes < wanted.savedBytes)
      continue;
    if (mix.predicted.nanoseconds >= wanted.nanoseconds || tried++ == mostTried)
      return false;
    if (llvm::is_contained(mixed, mix.choices))
      continue;
    mixed.push_back(mix.choices);
    fusion::FusionOptions loops;
    loops.loopChoices = mix.choices;
    OwningOpRef<ModuleOp> module = changed(loops);
    return module && finish(std::move(module), loops, mix.predicted);
  }
  return false;
}
