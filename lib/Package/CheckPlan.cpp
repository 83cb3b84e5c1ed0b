//===- CheckPlan.cpp - Is the plan in a file true? -----------------------===//
//
// See CheckPlan.h; the program itself is followed in SymbolicRun.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Package/CheckPlan.h"

#include "SymbolicRun.h"

#include "tenon/Solver/OffsetPacking.h"
#include "tenon/Solver/RecomputeChoice.h"
#include "tenon/Solver/RecomputeClaim.h"
#include "tenon/Support/Bytes.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::package;

static std::string percent(double part, double whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%",
                whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

/// Buffers of the temporaries with the windows their values live in: a value
/// takes its place while the operation that writes it still reads.
static solver::OffsetPackingProblem packingOf(const Index &index,
                                              uint32_t temporaries,
                                              std::vector<int64_t> &offsets) {
  const Plan &plan = *index.plan;
  std::map<uint32_t, std::vector<Lifetime>> lifetimes;
  for (const PlannedValue &value : plan.values)
    if (plan.buffers[value.buffer].segment == temporaries)
      lifetimes[value.buffer].insert(lifetimes[value.buffer].end(),
                                     value.lifetimes.begin(),
                                     value.lifetimes.end());
  solver::OffsetPackingProblem problem;
  for (auto &[number, list] : lifetimes) {
    std::ranges::sort(list, {}, &Lifetime::begin);
    solver::OffsetPackingProblem::Buffer buffer;
    buffer.alignment = 64;
    buffer.size =
        (std::max<int64_t>(1, int64_t(plan.buffers[number].bytes)) + 63) / 64 *
        64;
    for (const Lifetime &lifetime : list) {
      int64_t begin = std::max<int64_t>(0, lifetime.begin - 1);
      if (!buffer.windows.empty() && begin <= buffer.windows.back().end)
        buffer.windows.back().end =
            std::max(buffer.windows.back().end, lifetime.end);
      else
        buffer.windows.push_back({begin, lifetime.end});
    }
    problem.buffers.push_back(std::move(buffer));
    offsets.push_back(int64_t(plan.buffers[number].offset));
  }
  return problem;
}

/// The moment with the most live bytes, and these.
static std::pair<int64_t, int64_t>
fullestMoment(const solver::OffsetPackingProblem &problem) {
  std::map<int64_t, int64_t> changes;
  for (const solver::OffsetPackingProblem::Buffer &buffer : problem.buffers)
    for (const solver::Window &window : buffer.windows) {
      changes[window.begin] += buffer.size;
      changes[window.end] -= buffer.size;
    }
  int64_t live = 0, most = 0, moment = 0;
  for (auto [time, change] : changes)
    if ((live += change) > most) {
      most = live;
      moment = time;
    }
  return {moment, most};
}

/// Empty, or what is false; adds a line on what is true.
static std::string checkPacking(const Index &index, ProvedClaims &proved) {
  auto segment = std::ranges::find(index.segments, SegmentKind::temporaries,
                                   &Segment::kind);
  if (segment == index.segments.end())
    return "";
  solver::OffsetPackingSolution solution;
  solver::OffsetPackingProblem problem = packingOf(
      index, uint32_t(segment - index.segments.begin()), solution.offsets);
  solution.status = solver::OffsetPackingStatus::Solved;
  solution.arena = int64_t(segment->bytes);
  auto [moment, most] = fullestMoment(problem);
  solution.certificate.bound = int64_t(index.plan->temporariesBound);
  solution.certificate.time = moment;
  if (solution.certificate.bound > most)
    solution.certificate.proof =
        solver::OffsetPackingCertificate::Proof::Search;
  if (auto wrong = solver::checkOffsetPacking(problem, solution))
    return "placing the temporaries: " + *wrong;
  std::string bound = printBytes(solution.certificate.bound);
  proved.push_back(
      "packing        " + std::to_string(problem.buffers.size()) +
      " buffers do not overlap; temporaries " + printBytes(solution.arena) +
      (solution.arena == solution.certificate.bound
           ? " = lower bound (" +
                 std::string(solution.certificate.bound > most
                                 ? "by a search that is not repeated here)"
                                 : "proved smallest for this order)")
           : ", lower bound " + bound + ", gap " +
                 percent(double(solution.arena - solution.certificate.bound),
                         double(solution.certificate.bound))));
  return "";
}

static std::string checkBudget(const Index &index, ProvedClaims &proved) {
  uint64_t bytes = 0;
  for (const Segment &segment : index.segments)
    bytes += segment.bytes;
  uint64_t budget = index.plan->memoryBudget;
  if (budget && bytes > budget)
    return "the segments take " + std::to_string(bytes) +
           " bytes, the budget is " + std::to_string(budget);
  proved.push_back("memory         " + printBytes(int64_t(bytes)) +
                   (budget
                        ? " of " + printBytes(int64_t(budget)) + ", the budget"
                        : " in all segments, no budget"));
  return "";
}

/// A node that an instruction runs; one instruction may run several.
struct NodeRun {
  int32_t node = 0;
  bool recomputed = false;
  int64_t time = 0;
};

static std::vector<NodeRun> nodeRuns(const Plan &plan) {
  std::vector<NodeRun> runs;
  for (const PlannedOperation &operation : plan.operations) {
    for (int32_t node : operation.joinedNodes)
      runs.push_back({node, true, operation.begin});
    if (operation.node >= 0)
      runs.push_back({operation.node, operation.recomputed, operation.begin});
  }
  return runs;
}

/// What runs of the nodes that have instructions, in the program's order. A
/// part of a kernel has its own only when it runs again.
static std::string checkOrder(const Plan &plan,
                              const std::vector<int32_t> &order) {
  std::set<int32_t> withInstructions, ownFirst, ran;
  std::vector<int32_t> program, planned;
  std::vector<NodeRun> runs = nodeRuns(plan);
  for (const NodeRun &run : runs)
    if (!run.recomputed)
      ownFirst.insert(run.node);
  for (const NodeRun &run : runs) {
    withInstructions.insert(run.node);
    if (program.empty() || program.back() != run.node) {
      program.push_back(run.node);
      bool isFirst = ran.insert(run.node).second;
      if (ownFirst.contains(run.node) && run.recomputed == isFirst)
        return "node " + std::to_string(run.node) + " at time " +
               std::to_string(run.time) + " is " +
               (run.recomputed ? "marked as a recomputation, but runs "
                                 "for the first time"
                               : "not marked as a recomputation");
    }
  }
  ran.clear();
  for (int32_t node : order) {
    bool isFirst = ran.insert(node).second;
    bool inAnother = !ownFirst.contains(node) && isFirst;
    if (!isFirst && !withInstructions.contains(node))
      return "the program never runs node " + std::to_string(node) +
             ", which the recomputation plan repeats";
    if (withInstructions.contains(node) && !inAnother &&
        (planned.empty() || planned.back() != node))
      planned.push_back(node);
  }
  auto [there, wanted] = std::ranges::mismatch(program, planned);
  if (there == program.end() && wanted == planned.end())
    return "";
  auto text = [](auto at, const std::vector<int32_t> &list) {
    return at == list.end() ? std::string("nothing")
                            : "node " + std::to_string(*at);
  };
  return "the program runs " + text(there, program) +
         " where the recomputation plan has " + text(wanted, planned);
}

static std::string checkRecomputation(const Index &index,
                                      ProvedClaims &proved) {
  const Plan &plan = *index.plan;
  if (plan.recomputationProblem.empty() && plan.memoryBudget == 0)
    return "";
  solver::RecomputeProblem problem;
  solver::RecomputeSolution solution;
  if (auto error =
          solver::parseRecomputeProblem(plan.recomputationProblem, problem))
    return "the recomputation problem: " + *error;
  if (auto error =
          solver::parseRecomputeSolution(plan.recomputationSolution, solution))
    return "the recomputation plan: " + *error;
  if (solution.status != solver::RecomputeStatus::Solved)
    return "there is no recomputation plan";
  if (auto wrong = solver::checkRecompute(problem, solution))
    return "recomputation: " + *wrong;
  if (std::string wrong = checkOrder(plan, solution.order); !wrong.empty())
    return wrong;
  int64_t base = problem.baseCost();
  proved.push_back(
      "recomputation  " +
      std::to_string(solution.order.size() - problem.nodes.size()) + " of " +
      std::to_string(solution.order.size()) + " runs repeat one; " +
      percent(double(solution.cost - base), double(base)) +
      " more predicted time, " +
      solver::describe({base, solution.cost, solution.bound}) + " (proved)");
  proved.push_back(
      "not checked    whether the predicted times are right, and whether the "
      "recomputation problem in the file needs what the program needs and "
      "offers all that the program could compute again");
  return "";
}

std::variant<ProvedClaims, FalseClaim>
package::checkPlan(const format::Index &index) {
  ProvedClaims proved;
  SymbolicRun run(index);
  if (std::string wrong = run.run(); !wrong.empty())
    return FalseClaim{wrong};
  proved.push_back("program        " + std::to_string(run.instructions()) +
                   " instructions read what the plan says; " +
                   std::to_string(run.tensors()) +
                   " tensors end where users find them");
  for (auto check : {checkPacking, checkBudget, checkRecomputation})
    if (std::string wrong = check(index, proved); !wrong.empty())
      return FalseClaim{wrong};
  return proved;
}
