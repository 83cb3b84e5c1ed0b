//===- CheckPlan.cpp - Is the plan in a file true? -----------------------===//
//
// See CheckPlan.h; the program itself is followed in SymbolicRun.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Package/CheckPlan.h"

#include "CheckProblem.h"
#include "NeededBytes.h"
#include "SymbolicRun.h"

#include "tenon/Format/PinnedMemory.h"
#include "tenon/Libraries/Reducer.h"
#include "tenon/Libraries/Stored.h"
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

/// Buffers of a segment of temporaries with the windows their values live in: a
/// value takes its place while the operation that writes it still reads.
static solver::OffsetPackingProblem
packingOf(const Plan &plan, uint32_t segment, std::vector<int64_t> &offsets) {
  std::map<uint32_t, std::vector<Lifetime>> lifetimes;
  for (const PlannedValue &value : plan.values)
    if (plan.buffers[value.buffer].segment == segment)
      lifetimes[value.buffer].insert(lifetimes[value.buffer].end(),
                                     value.lifetimes.begin(),
                                     value.lifetimes.end());
  solver::OffsetPackingProblem problem;
  for (auto &[number, list] : lifetimes) {
    std::ranges::sort(list, {}, &Lifetime::begin);
    solver::OffsetPackingProblem::Buffer buffer;
    buffer.alignment = 64;
    buffer.size = placedBytes(plan.buffers[number].bytes);
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

/// Whether the summaries that `tenon inspect` prints, of this kind, say this.
static std::string checkSummary(const EntryPoint &entry,
                                const std::string &kind,
                                const std::string &text) {
  for (const Certificate &certificate : entry.certificates)
    if (certificate.kind == kind && certificate.text != text)
      return "the summary of " + kind + " says '" + certificate.text +
             "', the plan says '" + text + "'";
  return "";
}

/// Whether values of a segment of temporaries that share bytes never live at
/// once; `problem` and `arena` are what was swept.
static std::string sweep(const Index &index, const ProgramOrder &program,
                         uint32_t segment, int64_t bound,
                         solver::OffsetPackingProblem &problem,
                         int64_t &arena) {
  solver::OffsetPackingSolution solution;
  problem = packingOf(program.plan, segment, solution.offsets);
  arena = arenaOf(index, segment, program.entry);
  solution.status = solver::OffsetPackingStatus::Solved;
  solution.arena = arena;
  solution.certificate.bound = bound;
  // What is live by the plan proves nothing: the program says what it needs.
  solution.certificate.proof = solver::OffsetPackingCertificate::Proof::Search;
  return solver::checkOffsetPacking(problem, solution).value_or("");
}

/// Of what waits in memory of a GPU's host, which no bound is claimed of.
static std::string checkPinnedPacking(const Index &index,
                                      const ProgramOrder &program,
                                      uint32_t segment, ProvedClaims &proved) {
  solver::OffsetPackingProblem problem;
  int64_t arena = 0;
  if (std::string wrong =
          sweep(index, program, segment, /*bound=*/0, problem, arena);
      !wrong.empty())
    return "placing what waits on the host: " + wrong;
  if (problem.buffers.empty())
    return ""; // of another entry point
  proved.push_back("waiting        " + std::to_string(problem.buffers.size()) +
                   " buffers do not overlap; pinned memory of the host " +
                   printBytes(arena));
  return "";
}

/// Of the temporaries in the device's memory.
static std::string checkOwnPacking(const Index &index,
                                   const ProgramOrder &program,
                                   uint32_t segment, ProvedClaims &proved) {
  auto claimed = int64_t(program.plan.temporariesBound);
  solver::OffsetPackingProblem problem;
  int64_t arena = 0;
  if (std::string wrong =
          sweep(index, program, segment, claimed, problem, arena);
      !wrong.empty())
    return "placing the temporaries: " + wrong;
  if (std::string wrong =
          checkSummary(program.entry, "offset-packing",
                       "arena " + std::to_string(arena) + " bytes, bound " +
                           std::to_string(claimed) + " bytes");
      !wrong.empty())
    return wrong;
  int64_t needed = NeededBytes(index, program).most(program.top, {});
  int64_t bound = std::min(claimed, needed);
  proved.push_back(
      "packing        " + std::to_string(problem.buffers.size()) +
      " buffers do not overlap; temporaries " + printBytes(arena) +
      (arena == bound ? " = lower bound (proved smallest for this order)"
                      : ", lower bound " + printBytes(bound) + ", gap " +
                            percent(double(arena - bound), double(bound))) +
      (claimed > bound ? "; by a search that is not repeated here, none goes "
                         "below " +
                             printBytes(claimed)
                       : ""));
  return "";
}

/// Empty, or what is false; adds lines on what is true.
static std::string checkPacking(const Index &index, const ProgramOrder &program,
                                ProvedClaims &proved) {
  for (uint32_t i = 0; i < index.segments.size(); ++i) {
    if (index.segments[i].kind != SegmentKind::temporaries)
      continue;
    auto check = isPinned(index, index.segments[i]) ? checkPinnedPacking
                                                    : checkOwnPacking;
    if (std::string wrong = check(index, program, i, proved); !wrong.empty())
      return wrong;
  }
  return "";
}

/// Segments end with the last of what users and the programs find in them: what
/// is larger leaves less for the temporaries, so that bounds are higher.
static std::string checkSegments(const Index &index) {
  std::vector<uint64_t> ends(index.segments.size(), 0);
  auto reach = [&](const Slice &slice) {
    ends[slice.segment] = std::max(ends[slice.segment],
                                   slice.offset + (slice.bytes + 63) / 64 * 64);
  };
  for (const Storage &storage : index.storages)
    reach(storage.place);
  for (const EntryPoint &entry : index.entryPoints)
    for (int32_t value : entry.plan->initial) {
      const PlannedValue &described = entry.plan->values[value];
      Slice slice = entry.plan->buffers[described.buffer];
      slice.bytes = described.bytes;
      reach(slice);
    }
  for (size_t i = 0; i < ends.size(); ++i)
    if (const Segment &segment = index.segments[i];
        segment.kind != SegmentKind::temporaries && segment.bytes > ends[i])
      return "segment " + std::string(name(segment.kind)) + " takes " +
             std::to_string(segment.bytes) + " bytes, what lies there " +
             std::to_string(ends[i]);
  return "";
}

static std::string checkBudget(const Index &index, const ProgramOrder &program,
                               ProvedClaims &proved) {
  if (std::string wrong = checkSegments(index); !wrong.empty())
    return wrong;
  uint64_t bytes = 0;
  for (const Segment &segment : index.segments)
    if (!isPinned(index, segment))
      bytes += segment.bytes;
  uint64_t budget = program.plan.memoryBudget;
  if (budget && bytes > budget)
    return "the segments take " + std::to_string(bytes) +
           " bytes, the budget is " + std::to_string(budget);
  proved.push_back("memory         " + printBytes(int64_t(bytes)) +
                   (budget
                        ? " of " + printBytes(int64_t(budget)) + ", the budget"
                        : " in all segments of the device, no budget"));
  return "";
}

/// What the budget leaves for the temporaries: all other segments of the device
/// are there whatever is computed again.
static int64_t liveLimit(const Index &index, uint64_t budget) {
  auto bytes = int64_t(budget);
  for (const Segment &segment : index.segments)
    if (segment.kind != SegmentKind::temporaries)
      bytes -= int64_t(segment.bytes);
  return bytes;
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

/// What runs of the nodes that have instructions, in the program's order, with
/// saves and loads, whose numbers come behind those of the nodes. A part of a
/// kernel has its own only when it runs again.
static std::string checkOrder(const Plan &plan, int32_t nodes,
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
      if (run.node >= nodes)
        continue;
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
    if (node >= nodes) {
      if (planned.empty() || planned.back() != node)
        planned.push_back(node);
      continue;
    }
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
  auto text = [nodes](auto at, const std::vector<int32_t> &list) {
    if (at == list.end())
      return std::string("nothing");
    if (*at < nodes)
      return "node " + std::to_string(*at);
    return ((*at - nodes) % 2 ? "the load of variant "
                              : "the save of variant ") +
           std::to_string((*at - nodes) / 2);
  };
  return "the program runs " + text(there, program) +
         " where the recomputation plan has " + text(wanted, planned);
}

/// What a plan has move to the host's memory and back in each step.
struct Transfers {
  size_t count = 0; // both ways
  size_t values = 0;
  int64_t savedBytes = 0, loadedBytes = 0;
};

static Transfers transfersOf(const solver::RecomputeProblem &problem,
                             const std::vector<int32_t> &order) {
  const auto nodes = int32_t(problem.nodes.size());
  Transfers transfers;
  std::set<int32_t> values;
  for (int32_t operation : order)
    if (operation >= nodes) {
      const int32_t value =
          problem.variants[size_t(operation - nodes) / 2].value;
      ++transfers.count;
      values.insert(value);
      ((operation - nodes) % 2 ? transfers.loadedBytes
                               : transfers.savedBytes) += problem.bytes(value);
    }
  transfers.values = values.size();
  return transfers;
}

static std::string checkRecomputation(const Index &index,
                                      const ProgramOrder &program,
                                      ProvedClaims &proved) {
  const Plan &plan = program.plan;
  if (plan.memoryBudget == 0)
    return plan.recomputationProblem.empty()
               ? ""
               : "there is a recomputation plan, but no budget";
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
  // The fewer live bytes a bound allows for, the higher it is. The problem may
  // count more bytes than the temporaries take where the plan fits the budget.
  // What other entry points add came after the bound, which holds for less.
  bool isAlone = std::ranges::none_of(index.entryPoints, [](const auto &other) {
    return Index::isExtra(other.name);
  });
  if (int64_t limit =
          std::max(liveLimit(index, plan.memoryBudget), solution.peak);
      isAlone ? solution.budget != limit : solution.budget < limit)
    return "the bound on the time is for " + std::to_string(solution.budget) +
           " live bytes, but the budget leaves " + std::to_string(limit);
  const auto nodes = int32_t(problem.nodes.size());
  if (std::string wrong = checkOrder(plan, nodes, solution.order);
      !wrong.empty())
    return wrong;
  if (std::string wrong = whyNotOfProgram(index, program, problem);
      !wrong.empty())
    return wrong;
  int64_t base = problem.baseCost();
  if (std::string wrong = checkSummary(
          program.entry, "recomputation",
          "predicted " + std::to_string(solution.cost) + " ns, bound " +
              std::to_string(solution.bound) + " ns, recomputing nothing " +
              std::to_string(base) + " ns");
      !wrong.empty())
    return wrong;
  const Transfers transfers = transfersOf(problem, solution.order);
  const size_t runs = solution.order.size() - transfers.count;
  proved.push_back(
      "recomputation  " + std::to_string(runs - problem.nodes.size()) + " of " +
      std::to_string(runs) + " runs repeat one; " +
      percent(double(solution.cost - base), double(base)) +
      " more predicted time, " +
      solver::describe({base, solution.cost, solution.bound}) + " (proved)");
  if (transfers.count > 0)
    proved.push_back("offload        " + std::to_string(transfers.values) +
                     " values wait in the host's memory; " +
                     printBytes(transfers.savedBytes) + " move there and " +
                     printBytes(transfers.loadedBytes) +
                     " back in each step, none late by the predicted times");
  proved.push_back(
      std::string(
          "not checked    the file does not show whether the predicted times "
          "are right, whether parts of kernels and rounds of loops could be "
          "computed again with less than the problem says, or whether more "
          "could be computed again ") +
      (problem.variants.empty() ? "" : "or wait in the host's memory ") +
      "than it offers");
  return "";
}

/// What libraries are asked for is a call that there is, sums in f32 included.
static std::string checkLibraryCalls(const Index &index) {
  for (const Callee &callee : index.callees) {
    std::string wrong;
    if (callee.kind == CalleeKind::collective) {
      auto description =
          libraries::restoreCollective(callee, index.ranks(), wrong);
      auto reducer = libraries::reducerNamed(callee.library);
      if (description)
        wrong = reducer ? libraries::whyInvalid(*description, *reducer)
                        : "it is combined by '" + callee.library + "'";
      if (!wrong.empty())
        return "the collective '" + callee.description + "': " + wrong;
    }
    if (callee.kind != CalleeKind::library)
      continue;
    if (!libraries::restore(callee, wrong))
      return "the library call '" + callee.description + "': " + wrong;
  }
  return "";
}

/// Entry points beside the step read the state, and the batch and results of
/// the step stay as they are, too.
static std::string checkWrites(const Index &index, const ProgramOrder &program,
                               ProvedClaims &proved) {
  const std::string &name = program.entry.name;
  if (!Index::isExtra(name))
    return "";
  auto isOwn = [&](const Slice &slice) {
    SegmentKind kind = index.segments[slice.segment].kind;
    return kind == SegmentKind::temporaries ||
           (kind == SegmentKind::results &&
            std::ranges::any_of(program.entry.results, [&](uint32_t result) {
              return contains(index.storages[result].place, slice);
            }));
  };
  for (size_t number = 0; number < program.entries.size(); ++number) {
    const Instruction &instruction = *program.entries[number].instruction;
    if (instruction.kind != InstructionKind::invoke)
      continue;
    const Callee &callee = index.callees[instruction.callee];
    // Of a library call only the plan says what it writes.
    auto mayWrite = [&](size_t i) {
      return program.plan.operations[number].writes[i] >= 0 ||
             (callee.kind != CalleeKind::library &&
              std::ranges::find(callee.reads, int64_t(i)) ==
                  callee.reads.end());
    };
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      if (const Slice &slice = instruction.operands[i];
          slice.bytes > 0 && mayWrite(i) && !isOwn(slice))
        return "the program '" + name + "' writes the " +
               std::string(format::name(index.segments[slice.segment].kind)) +
               " outside of its own results and temporaries";
  }
  proved.push_back("state          '" + name + "' writes none");
  return "";
}

std::variant<ProvedClaims, FalseClaim>
package::checkPlans(const format::Index &index) {
  ProvedClaims proved;
  if (std::string wrong = checkLibraryCalls(index); !wrong.empty())
    return FalseClaim{wrong};
  for (const EntryPoint &entry : index.entryPoints)
    if (!entry.plan)
      return FalseClaim{"the program '" + entry.name + "' has no plan"};
  for (const EntryPoint &entry : index.entryPoints) {
    SymbolicRun run(index, entry);
    if (std::string wrong = run.run(); !wrong.empty())
      return FalseClaim{wrong};
    proved.push_back("program        " + std::to_string(run.instructions()) +
                     " instructions read what the plan says; " +
                     std::to_string(run.tensors()) +
                     " tensors end where users find them");
    // The problem is larger than the file, so its proof is not in there.
    for (const Certificate &certificate : entry.certificates)
      if (certificate.kind == "layouts")
        proved.push_back("layouts        the file says: " + certificate.text +
                         "; checked when it was made, not again here");
    ProgramOrder program(entry);
    for (auto check :
         {checkWrites, checkPacking, checkBudget, checkRecomputation})
      if (std::string wrong = check(index, program, proved); !wrong.empty())
        return FalseClaim{wrong};
  }
  return proved;
}
