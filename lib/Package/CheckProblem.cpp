//===- CheckProblem.cpp - Is a recomputation problem that of a program? --===//
//
// See CheckProblem.h. Runs of nodes are collected from the program; then each
// field of the problem is held against them.
//
//===----------------------------------------------------------------------===//

#include "CheckProblem.h"

#include "NeededBytes.h"

#include "tenon/Format/PinnedMemory.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::package;
using solver::RecomputeProblem;

namespace {

/// One run of a node: instructions that follow each other. Of a node with
/// several, the last may have joined the kernel of the node behind it:
///
///     library  node 23              goes on in the next
///     kernel   node 24, joined 23   has begun with what the one before read
///
struct Run {
  int32_t node = 0;
  bool recomputed = false;
  std::vector<int32_t> joined; // nodes that it computes before its own
  bool goesOn = false;
  std::set<int32_t> begun; // what the first of the joined has read before
  ProgramOrder::Numbers instructions;
  std::set<int32_t> reads, writes; // values of the plan
  int64_t nanoseconds = 0;
};

using Row = RecomputeProblem::Loop::Row;

/// What a node of the problem is in the program.
enum class NodeKind {
  instruction, // runs by itself
  part,        // of the node before it that is an instruction
  marker       // takes no time and makes nothing
};

class ProblemCheck {
public:
  ProblemCheck(const Index &index, const ProgramOrder &program,
               const RecomputeProblem &problem)
      : index(index), plan(program.plan), program(program),
        problem(problem.inAnyWay()), needed(index, program) {}

  std::string check() {
    collectRuns();
    for (auto step : {&ProblemCheck::checkChoices, &ProblemCheck::checkMakers,
                      &ProblemCheck::checkTransfers, &ProblemCheck::checkNodes,
                      &ProblemCheck::checkEdges, &ProblemCheck::checkBytes,
                      &ProblemCheck::checkCosts, &ProblemCheck::checkPinned,
                      &ProblemCheck::checkWorkspaces})
      if (std::string wrong = (this->*step)(); !wrong.empty())
        return wrong;
    return "";
  }

private:
  void collectRuns();
  void begin(const PlannedOperation &operation);
  void collect(Run &run, size_t number);
  void addHandovers(const Handovers &handovers, Run *run);
  std::string checkChoices();
  std::string checkMakers();
  std::string checkTransfers();
  std::string checkTransfer(size_t number, std::vector<int32_t> &savedBy);
  std::string checkNodes();
  std::string checkEdges();
  std::string checkBytes();
  std::string checkCosts();
  std::string checkPinned();
  bool meetsRanks(size_t number) const;
  std::string checkWorkspaces();
  int64_t bytesWhile(const Run &run, const std::set<int32_t> &touched);
  void addOfSiblings(int32_t part,
                     const std::vector<std::set<int32_t>> &touched,
                     std::set<int32_t> &there) const;

  int32_t nodeCount() const { return int32_t(problem.nodes.size()); }
  /// Whether the operation of the problem saves or loads a value.
  bool isTransfer(int32_t operation) const {
    return operation >= nodeCount() && operation < problem.operationCount();
  }
  int32_t numberOf(int32_t value) const {
    return plan.values[value].problemValue;
  }
  bool isTemporary(int32_t value) const {
    uint32_t buffer = plan.values[value].buffer;
    return hasTemporaries(index, index.segments[plan.buffers[buffer].segment]);
  }
  bool has(const std::set<int32_t> &values, int32_t number) const {
    return std::ranges::any_of(
        values, [&](int32_t value) { return numberOf(value) == number; });
  }
  /// The nodes before `end` whose results the run computes on the way.
  bool computes(const Run &run, int32_t producer, size_t end) const {
    auto last = run.joined.begin() + int64_t(end);
    return std::find(run.joined.begin(), last, producer) != last;
  }
  const Run &firstRunOf(int32_t node) const {
    return runs[*std::ranges::find_if(
        runsOf[node], [&](size_t run) { return !runs[run].recomputed; })];
  }
  bool isRead(int32_t value) const { return readers[value] > 0; }
  /// What ways to run the node's rounds add to it; one that adds nothing where
  /// it is no loop.
  const std::vector<Row> &waysOf(int32_t node) const {
    static const std::vector<Row> noLoop(1);
    auto loop =
        std::ranges::find(problem.loops, node, &RecomputeProblem::Loop::node);
    return loop == problem.loops.end() ? noLoop : loop->rows;
  }
  static std::string node(int32_t number) {
    return "node " + std::to_string(number) + " of the recomputation problem";
  }
  static std::string value(int32_t number) {
    return "value " + std::to_string(number) + " of the recomputation problem";
  }

  const Index &index;
  const Plan &plan;
  const ProgramOrder &program;
  const RecomputeProblem problem; // of which bounds are proved
  NeededBytes needed;

  std::vector<Run> runs;         // in the program's order
  std::vector<size_t> transfers; // instructions that save or load values
  std::vector<std::vector<size_t>> runsOf;  // per node: those of its own
  std::vector<std::vector<size_t>> joinsOf; // and those that it has joined
  std::set<int32_t> leaving; // values that are read when all nodes have run
  std::vector<NodeKind> kinds;
  std::vector<int32_t> wholes;     // the node with whose run each runs first
  std::vector<int32_t> readers;    // of values, how many
  std::vector<int32_t> lastReader; // of values, or -1
};

/// What takes over the place of another reads it and makes what is there then.
void ProblemCheck::addHandovers(const Handovers &handovers, Run *run) {
  for (size_t i = 0; i + 1 < handovers.size(); i += 2) {
    if (run) {
      run->reads.insert(handovers[i]);
      run->writes.insert(handovers[i + 1]);
    } else {
      leaving.insert(handovers[i]);
    }
  }
}

void ProblemCheck::collect(Run &run, size_t number) {
  run.instructions.push_back(number);
  for (size_t i = number; i < program.entries[number].end; ++i) {
    const PlannedOperation &operation = plan.operations[i];
    for (int32_t value : operation.reads)
      if (value >= 0)
        run.reads.insert(value);
    for (int32_t value : operation.writes)
      if (value >= 0)
        run.writes.insert(value);
    addHandovers(operation.handovers, &run);
    for (const Handovers &handovers : operation.regionEnds)
      addHandovers(handovers, &run);
  }
  // A library call or kernel takes a nanosecond at least.
  const PlannedOperation &operation = plan.operations[number];
  run.nanoseconds += std::max<int64_t>(operation.nanoseconds, 1);
}

void ProblemCheck::begin(const PlannedOperation &operation) {
  Run run;
  run.node = operation.node;
  run.recomputed = operation.recomputed;
  run.joined = operation.joinedNodes;
  if (!runs.empty() && runs.back().recomputed && !run.joined.empty() &&
      run.joined.front() == runs.back().node) {
    runs.back().goesOn = true;
    run.begun = runs.back().reads;
  }
  runs.push_back(std::move(run));
}

void ProblemCheck::collectRuns() {
  bool goesOn = false; // whether the last run may
  for (size_t number : program.top) {
    const PlannedOperation &operation = plan.operations[number];
    if (operation.node < 0) {
      for (int32_t value : operation.reads)
        if (value >= 0)
          leaving.insert(value);
      addHandovers(operation.handovers, nullptr);
      continue;
    }
    leaving.clear();
    if (isTransfer(operation.node)) {
      transfers.push_back(number);
      goesOn = false;
      continue;
    }
    if (!std::exchange(goesOn, true) || runs.back().node != operation.node ||
        runs.back().recomputed != operation.recomputed ||
        !runs.back().joined.empty() || !operation.joinedNodes.empty())
      begin(operation);
    collect(runs.back(), number);
  }
  addHandovers(plan.end, nullptr);
  runsOf.resize(problem.nodes.size());
  joinsOf.resize(problem.nodes.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].node < nodeCount())
      runsOf[runs[i].node].push_back(i);
    for (int32_t joined : runs[i].joined)
      if (joined >= 0 && joined < nodeCount())
        joinsOf[joined].push_back(i);
  }
  readers.assign(problem.valueCount(), 0);
  lastReader.assign(problem.valueCount(), -1);
  for (auto [value, consumer] : problem.edges) {
    ++readers[value];
    lastReader[value] = std::max(lastReader[value], consumer);
  }
}

std::string ProblemCheck::checkChoices() {
  if (!problem.aliases.empty())
    return "the recomputation problem has views of values, which no program "
           "has";
  // Whatever waits does so in the host's memory, and gets there at one rate:
  // each transfer takes its bytes over that, rounded, and at least 1 ns.
  double least = 0, most = std::numeric_limits<double>::infinity();
  for (const RecomputeProblem::Variant &variant : problem.variants) {
    const RecomputeProblem::Variant &first = problem.variants.front();
    if (variant.bytes != 0)
      return value(variant.value) + " waits as a copy of " +
             std::to_string(variant.bytes) +
             " bytes there, but in the host's memory it takes none of these";
    if (variant.saveCost != first.saveCost ||
        variant.loadCost != first.saveCost)
      return "starting a transfer of " + value(variant.value) + " takes " +
             std::to_string(variant.saveCost) + " ns and " +
             std::to_string(variant.loadCost) + " ns there, another one " +
             std::to_string(first.saveCost) + " ns";
    const auto bytes = double(problem.bytes(variant.value)),
               time = double(variant.transfer);
    least = std::max(least, bytes / (time + 0.5));
    if (variant.transfer > 1)
      most = std::min(most, bytes / (time - 0.5));
    if (variant.transfer < 1 || least > most * (1 + 1e-9))
      return "a transfer of " + value(variant.value) + " takes " +
             std::to_string(variant.transfer) +
             " ns there, which is another rate than that of others";
  }
  return "";
}

/// What saves and loads a value in the program.
std::string ProblemCheck::checkTransfer(size_t number,
                                        std::vector<int32_t> &savedBy) {
  const PlannedOperation &operation = plan.operations[number];
  const Instruction &instruction = *program.entries[number].instruction;
  const int32_t index = (operation.node - nodeCount()) / 2;
  const RecomputeProblem::Variant &variant = problem.variants[size_t(index)];
  const bool isLoad = operation.node == problem.loadOf(size_t(index));
  const std::string what = std::string(isLoad ? "the load" : "the save") +
                           " of variant " + std::to_string(index) +
                           " of the recomputation problem";
  if (instruction.kind != InstructionKind::invoke ||
      this->index.callees[instruction.callee].kind != CalleeKind::copy ||
      operation.reads.size() != 2 || operation.writes.size() != 2 ||
      operation.reads[0] < 0 || operation.writes[1] < 0)
    return what + " is no copy in the program";
  const int32_t from = operation.reads[0], to = operation.writes[1];
  auto isOnHost = [&](int32_t value) {
    const Slice &buffer = plan.buffers[plan.values[value].buffer];
    return isPinned(this->index, this->index.segments[buffer.segment]);
  };
  if (isOnHost(from) != isLoad || isOnHost(to) == isLoad)
    return what + " does not move it " + (isLoad ? "from" : "to") +
           " the host's memory in the program";
  const int32_t its = isLoad ? numberOf(to) : numberOf(from);
  if (its != variant.value)
    return what + " is one of " + value(variant.value) +
           ", but the program moves " +
           (its < 0 ? "what is none of its values" : value(its));
  if (isLoad ? savedBy[from] != index : numberOf(to) != -1)
    return what + (isLoad ? " reads what no save of it has made"
                          : " makes a value of the problem in the program");
  if (plan.values[from].bytes != plan.values[to].bytes)
    return what + " moves " + std::to_string(plan.values[from].bytes) +
           " bytes into " + std::to_string(plan.values[to].bytes);
  if (isLoad != operation.recomputed || isLoad != plan.values[to].recomputed)
    return what + (isLoad ? " is not marked as a recomputation"
                          : " is marked as a recomputation");
  if (!isLoad)
    savedBy[to] = index;
  const int64_t cost = isLoad ? variant.loadCost : variant.saveCost;
  if (cost > operation.nanoseconds)
    return what + " takes " + std::to_string(cost) +
           " ns there, but its instruction is predicted to take " +
           std::to_string(operation.nanoseconds) + " ns";
  return "";
}

std::string ProblemCheck::checkTransfers() {
  std::vector<int32_t> savedBy(plan.values.size(), -1); // a variant
  for (size_t number : transfers)
    if (std::string wrong = checkTransfer(number, savedBy); !wrong.empty())
      return wrong;
  return "";
}

/// Values of the problem are made where the problem says.
std::string ProblemCheck::checkMakers() {
  for (const Run &run : runs) {
    for (int32_t listed : run.joined)
      if (listed < 0 || listed >= nodeCount())
        return "the program runs node " + std::to_string(listed) +
               ", which the recomputation problem does not have";
    if (run.node >= nodeCount())
      return "the program runs node " + std::to_string(run.node) +
             ", which the recomputation problem does not have";
  }
  wholes.assign(problem.nodes.size(), -1);
  int32_t last = -1; // that has a first run of its own
  for (int32_t node = 0; node < nodeCount(); ++node) {
    bool isFirst = std::ranges::any_of(
        runsOf[node], [&](size_t run) { return !runs[run].recomputed; });
    if (isFirst)
      last = node;
    wholes[node] = last;
  }
  std::vector<char> made(plan.values.size(), 0);
  for (const Run &run : runs)
    for (int32_t written : run.writes) {
      int32_t number = numberOf(written);
      made[written] = 1;
      if (number < -1 || number >= problem.valueCount())
        return "the plan has a value " + std::to_string(number) +
               " of the recomputation problem, which has " +
               std::to_string(problem.valueCount());
      if (number < 0)
        continue;
      int32_t producer = problem.producer(number);
      if (producer != run.node &&
          (run.recomputed || wholes[producer] != run.node))
        return value(number) + " is made by node " + std::to_string(producer) +
               ", but the program makes it with node " +
               std::to_string(run.node);
    }
  // A load makes any value; which one is held against its variant.
  for (size_t number : transfers)
    for (int32_t written : plan.operations[number].writes)
      if (written >= 0 && numberOf(written) < problem.valueCount())
        made[written] = 1;
  for (size_t i = 0; i < plan.values.size(); ++i)
    if (!made[i] && numberOf(int32_t(i)) != -1)
      return value(numberOf(int32_t(i))) + " is made by no node in the program";
  return "";
}

std::string ProblemCheck::checkNodes() {
  kinds.assign(problem.nodes.size(), NodeKind::instruction);
  std::vector<char> makes(problem.nodes.size(), 0);
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    makes[problem.producer(value)] |=
        isRead(value) || problem.bytes(value) != 0;
  for (int32_t number = 0; number < nodeCount(); ++number) {
    if (wholes[number] == number)
      continue;
    const RecomputeProblem::Node &entry = problem.nodes[number];
    bool writtenByWhole = false;
    for (size_t run :
         wholes[number] < 0 ? std::vector<size_t>() : runsOf[wholes[number]])
      for (int32_t written : runs[run].writes)
        writtenByWhole |= numberOf(written) >= 0 &&
                          problem.producer(numberOf(written)) == number;
    bool isMarker = !makes[number] && entry.cost == 0 && entry.workspace <= 0;
    if (writtenByWhole)
      kinds[number] = NodeKind::part;
    else if (isMarker && number == nodeCount() - 1)
      kinds[number] = NodeKind::marker;
    else
      return node(number) + " is no instruction of the program";
  }
  return "";
}

std::string ProblemCheck::checkEdges() {
  for (auto [read, consumer] : problem.edges) {
    const int32_t producer = problem.producer(read);
    bool found = true;
    for (size_t run : runsOf[consumer])
      found &= runs[run].goesOn || has(runs[run].reads, read) ||
               computes(runs[run], producer, runs[run].joined.size());
    for (size_t run : joinsOf[consumer]) {
      const std::vector<int32_t> &joined = runs[run].joined;
      found &= has(runs[run].reads, read) ||
               (joined.front() == consumer && has(runs[run].begun, read)) ||
               computes(runs[run], producer,
                        size_t(std::ranges::find(joined, consumer) -
                               joined.begin()));
    }
    if (kinds[consumer] == NodeKind::part) {
      // The first time, it runs in its whole.
      bool fromSibling = kinds[producer] == NodeKind::part &&
                         wholes[producer] == wholes[consumer];
      for (size_t run : runsOf[wholes[consumer]])
        if (!runs[run].recomputed)
          found &= fromSibling || has(runs[run].reads, read) ||
                   computes(runs[run], producer, runs[run].joined.size());
    } else if (kinds[consumer] == NodeKind::marker) {
      found = has(leaving, read);
    }
    if (!found)
      return "node " + std::to_string(consumer) + " reads value " +
             std::to_string(read) +
             " in the recomputation problem, but not in the program";
  }
  return "";
}

std::string ProblemCheck::checkBytes() {
  std::vector<int64_t> most(problem.valueCount(), -1);
  for (size_t i = 0; i < plan.values.size(); ++i)
    if (int32_t number = numberOf(int32_t(i)); number >= 0) {
      int64_t bytes =
          isTemporary(int32_t(i)) ? placedBytes(plan.values[i].bytes) : 0;
      most[number] = most[number] < 0 ? bytes : std::min(most[number], bytes);
    }
  for (int32_t number = 0; number < problem.valueCount(); ++number)
    if (isRead(number) &&
        problem.bytes(number) > std::max<int64_t>(most[number], 0))
      return value(number) + " takes " + std::to_string(problem.bytes(number)) +
             " bytes there, but at most " +
             std::to_string(std::max<int64_t>(most[number], 0)) +
             " bytes of the temporaries";
  return "";
}

/// Predicted times follow from nothing in the file, but it has each of them
/// twice.
std::string ProblemCheck::checkCosts() {
  // By node that is an instruction, with its parts.
  std::vector<int64_t> together(problem.nodes.size(), 0);
  for (int32_t number = 0; number < nodeCount(); ++number) {
    int64_t cost = problem.nodes[number].cost +
                   std::ranges::min(waysOf(number), {}, &Row::cost).cost;
    if (kinds[number] != NodeKind::marker)
      together[wholes[number]] += cost;
    for (size_t run : runsOf[number])
      if (runs[run].recomputed && runs[run].joined.empty() &&
          !runs[run].goesOn && cost > runs[run].nanoseconds)
        return node(number) + " takes " + std::to_string(cost) +
               " ns there, but its instructions are predicted to take " +
               std::to_string(runs[run].nanoseconds) + " ns";
  }
  for (const Run &run : runs)
    if (!run.recomputed && run.joined.empty() &&
        together[run.node] > run.nanoseconds)
      return node(run.node) + " takes " + std::to_string(together[run.node]) +
             " ns there, but its instructions are predicted to take " +
             std::to_string(run.nanoseconds) + " ns";
  return "";
}

/// Whether an instruction, or one of its blocks', is a collective: ranks do not
/// meet in it again.
bool ProblemCheck::meetsRanks(size_t number) const {
  for (size_t i = number; i < program.entries[number].end; ++i) {
    const Instruction &instruction = *program.entries[i].instruction;
    if (instruction.kind == InstructionKind::invoke &&
        index.callees[instruction.callee].kind == CalleeKind::collective)
      return true;
  }
  return false;
}

std::string ProblemCheck::checkPinned() {
  std::vector<char> takesMemory(problem.nodes.size(), 0);
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    takesMemory[problem.producer(value)] |=
        isRead(value) && problem.bytes(value) > 0;
  for (int32_t number = 0; number < nodeCount(); ++number) {
    if (!problem.runsOnce(number) || !takesMemory[number])
      continue;
    bool mayNot = false;
    for (size_t run : runsOf[number]) {
      mayNot |= std::ranges::any_of(runs[run].instructions,
                                    [&](size_t i) { return meetsRanks(i); });
      bool isFlow = std::ranges::any_of(runs[run].instructions, [&](size_t i) {
        return !program.entries[i].blocks.empty();
      });
      mayNot |=
          isFlow && std::ranges::any_of(runs[run].writes, [&](int32_t written) {
            return numberOf(written) >= 0 &&
                   (!isTemporary(written) || leaving.contains(written));
          });
    }
    if (!mayNot)
      return node(number) +
             " must run once there, but its instructions may run again";
  }
  return "";
}

/// What the instructions of a run need at the fullest moment, if the node is
/// what touches these values of the problem.
int64_t ProblemCheck::bytesWhile(const Run &run,
                                 const std::set<int32_t> &touched) {
  std::set<int32_t> after, without;
  for (int32_t value : run.writes)
    if (numberOf(value) >= 0)
      after.insert(value);
  // Nodes that it computes on the way read more, and what they make is never
  // there.
  if (!run.joined.empty())
    for (int32_t value : run.reads)
      if (numberOf(value) >= 0 && !touched.contains(numberOf(value)))
        without.insert(value);
  int64_t bytes = needed.most(run.instructions, after, without);
  for (int32_t value : touched)
    if (computes(run, problem.producer(value), run.joined.size()))
      bytes += problem.bytes(value);
  return bytes;
}

/// What is there anyway while a part runs in its whole: what parts behind it
/// read, and what parts before it made for later.
void ProblemCheck::addOfSiblings(int32_t part,
                                 const std::vector<std::set<int32_t>> &touched,
                                 std::set<int32_t> &there) const {
  auto isSibling = [&](int32_t node) {
    return node >= 0 && node < nodeCount() && kinds[node] == NodeKind::part &&
           wholes[node] == wholes[part];
  };
  for (int32_t later = part + 1; isSibling(later); ++later)
    for (int32_t value : touched[later])
      if (problem.producer(value) < part)
        there.insert(value);
  for (int32_t earlier = part - 1; isSibling(earlier); --earlier)
    for (int32_t value : touched[earlier])
      if (problem.producer(value) == earlier && lastReader[value] > part)
        there.insert(value);
}

std::string ProblemCheck::checkWorkspaces() {
  std::vector<std::set<int32_t>> touched(problem.nodes.size());
  for (auto [read, consumer] : problem.edges)
    touched[consumer].insert(read);
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    touched[problem.producer(value)].insert(value);
  for (int32_t number = 0; number < nodeCount(); ++number) {
    if (kinds[number] == NodeKind::marker)
      continue;
    const Run &run = firstRunOf(wholes[number]);
    std::set<int32_t> values = touched[number];
    if (kinds[number] == NodeKind::part)
      addOfSiblings(number, touched, values);
    int64_t bytes = problem.nodes[number].workspace;
    for (int32_t value : values)
      bytes += problem.bytes(value);
    // Of the ways to run rounds that take no longer than the program's, one
    // needs no more.
    std::optional<int64_t> inside;
    for (const Row &way : waysOf(number))
      if (problem.nodes[number].cost + way.cost <= run.nanoseconds ||
          !run.joined.empty())
        inside = std::min(way.bytes, inside.value_or(way.bytes));
    bytes += inside.value_or(0);
    int64_t there = bytesWhile(run, touched[run.node]);
    if (bytes > there)
      return node(number) + " needs " + std::to_string(bytes) +
             " bytes there while it runs, but its instructions need " +
             std::to_string(there);
  }
  return "";
}

} // namespace

std::string package::whyNotOfProgram(const Index &index,
                                     const ProgramOrder &program,
                                     const RecomputeProblem &problem) {
  return ProblemCheck(index, program, problem).check();
}
