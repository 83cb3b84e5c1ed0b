//===- OffsetPacking.cpp - solve an offset packing problem ----------------===//
//
// The order of events: build the model, compute the bound, try cheap plans,
// search what they leave open. Each step is a file of its own; see
// OffsetPacking.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OffsetPacking.h"

#include "OffsetPackingDive.h"
#include "OffsetPackingModel.h"

namespace tenon::solver {

using namespace packing;

OffsetPackingSolution solveOffsetPacking(const OffsetPackingProblem &problem,
                                         const OffsetPackingOptions &options) {
  OffsetPackingSolution solution;
  Model model;
  if (auto error = buildModel(problem, model)) {
    solution.status = error->status;
    solution.message = error->message;
    return solution;
  }
  solution.certificate.bound = model.bound();
  solution.certificate.time = model.peakTime;
  if (model.bound() > model.maxLive)
    solution.certificate.proof = OffsetPackingCertificate::Proof::Search;
  if (problem.capacity && model.bound() > *problem.capacity) {
    solution.status = OffsetPackingStatus::Infeasible;
    return solution;
  }
  int64_t target = problem.capacity.value_or(model.bound());
  SortKeys keys(model);
  Bases best;
  int64_t arena = 0;
  for (const char *letters :
       {"AL", "TS", "TAL", "SL", "TLA", "EL", "CO", "EB"}) {
    Bases bases = dive(model, keys.sorted(letters));
    if (int64_t candidate = arenaOf(model, bases);
        best.empty() || candidate < arena) {
      best = std::move(bases);
      arena = candidate;
    }
    if (arena <= target)
      break;
  }
  solution.offsets.resize(problem.buffers.size());
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    solution.offsets[i] = best[model.bodyOfBuffer[i]] + model.shiftOfBuffer[i];
  solution.arena = arena;
  solution.status = problem.capacity && arena > *problem.capacity
                        ? OffsetPackingStatus::Undecided
                        : OffsetPackingStatus::Solved;
  return solution;
}

} // namespace tenon::solver
