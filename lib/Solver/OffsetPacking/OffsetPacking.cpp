//===- OffsetPacking.cpp - solve an offset packing problem ----------------===//
//
// The order of events. The model is split where no body crosses; each component
// is dived, then searched, until it stays within the goal, which is the
// capacity or, for the smallest arena, the bound of the whole problem. Each
// step is a file of its own; the idea is in OffsetPacking.h.
//
// For the smallest arena the search aims at the bound first, since most
// problems reach it, and then goes up: steps that double until a plan is found,
// then halving the distance to the largest capacity that failed.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OffsetPacking.h"

#include "OffsetPackingDive.h"
#include "OffsetPackingModel.h"
#include "OffsetPackingPairs.h"
#include "OffsetPackingPortfolio.h"

#include <algorithm>

namespace tenon::solver {

using namespace packing;

namespace {

/// Orders of the first dives. Lifetimes of training steps nest, which the long
/// and the large ones first respect.
constexpr std::string_view diveOrders[] = {"AL",  "TS", "TAL", "SL",
                                           "TLA", "EL", "CO",  "bL"};
/// Larger components are dived only: the search visits all waiting bodies at
/// each node, and its lists grow with the square.
constexpr size_t mostBodiesToSearch = 3000;
constexpr size_t mostBodiesToDivePlainly = 1000;
/// Dives of one component, and bodies that they place together.
constexpr size_t mostDives = 24;
constexpr size_t mostDivedBodies = 1'500'000;
constexpr size_t mostBodiesToFirstFit = 5000;
constexpr size_t mostBodiesToPair = 500;
/// Without a limit from the caller: so many visits of a waiting body in all.
/// Whether a capacity suffices is worth more than a slightly smaller arena.
constexpr int64_t defaultVisits = 600'000'000;
constexpr int64_t defaultVisitsToCapacity = 1'200'000'000;

class ComponentSolver {
public:
  ComponentSolver(const Model &model, int64_t goal, bool toCapacity,
                  int64_t &nodes)
      : model(model), goal(goal), toCapacity(toCapacity), nodes(nodes),
        keys(model), bound(model.bound()) {}

  void run();

  Bases best;
  int64_t arena = 0;
  /// Every plan of the component needs so much: max-live or searched.
  int64_t lowerBound() const { return bound; }
  int64_t searchedNodes = 0;

private:
  bool offer(Bases bases);
  bool done() const { return !best.empty() && arena <= goal; }
  bool diveRepeatedly();
  SearchOutcome attempt(int64_t capacity, int64_t budget);
  void minimise();

  const Model &model;
  int64_t goal;
  bool toCapacity;
  int64_t &nodes;
  SortKeys keys;
  int64_t bound;
  std::unique_ptr<Portfolio> portfolio;
};

bool ComponentSolver::offer(Bases bases) {
  int64_t candidate = arenaOf(model, bases);
  if (best.empty() || candidate < arena) {
    best = std::move(bases);
    arena = candidate;
  }
  return done();
}

SearchOutcome ComponentSolver::attempt(int64_t capacity, int64_t budget) {
  budget = std::min(budget, nodes);
  int64_t left = budget;
  Bases bases;
  SearchOutcome outcome =
      model.canBeDropped ? portfolio->run(capacity, toCapacity, left, bases)
                         : searchPairs(model, capacity, left, bases);
  nodes -= budget - left;
  searchedNodes += budget - left;
  if (outcome == SearchOutcome::Found)
    offer(std::move(bases));
  if (outcome == SearchOutcome::Exhausted)
    bound = std::max(bound, capacity + 1);
  return outcome;
}

/// Dives in one order after the other. Bodies that end above the goal go first
/// in the next dive: they were placed when only high ground was left.
bool ComponentSolver::diveRepeatedly() {
  size_t count = model.bodies.size();
  // The search dives as well, with look-ahead; small models go there directly.
  size_t dives =
      count <= mostBodiesToSearch
          ? 1
          : std::clamp<size_t>(mostDivedBodies / count, 1, mostDives);
  bool plainly = !model.onlyBoxes || count <= mostBodiesToDivePlainly;
  std::vector<int32_t> late(count, 0);
  for (size_t i = 0; i < dives; ++i) {
    // In the first round every other order is taken as it is.
    bool learnt = i >= std::size(diveOrders) || i % 2 == 1;
    std::vector<int32_t> order = keys.sorted(
        diveOrders[i % std::size(diveOrders)],
        learnt ? std::span<const int32_t>(late) : std::span<const int32_t>());
    Bases bases = plainly ? dive(model, order) : diveOnPlateaus(model, order);
    for (size_t body = 0; body < count; ++body)
      late[body] += bases[body] + model.bodies[body].height > goal;
    if (offer(std::move(bases)))
      return true;
  }
  return false;
}

void ComponentSolver::run() {
  size_t count = model.bodies.size();
  if (model.canBeDropped) {
    if (diveRepeatedly())
      return;
    if (count > mostBodiesToSearch)
      return;
    portfolio = std::make_unique<Portfolio>(model, keys, arena);
  } else {
    // A dive does not look below fixed bodies; a first fit does.
    bool anyFixed = std::any_of(model.bodies.begin(), model.bodies.end(),
                                [](const Body &body) { return body.fixed; });
    for (std::string_view letters : diveOrders) {
      std::vector<int32_t> order = keys.sorted(letters);
      if (!anyFixed && offer(dive(model, order)))
        return;
      if ((anyFixed || count <= mostBodiesToFirstFit) &&
          offer(firstFit(model, order)))
        return;
    }
    if (count > mostBodiesToPair)
      return;
  }
  minimise();
}

void ComponentSolver::minimise() {
  int64_t budget = nodes;
  SearchOutcome outcome = attempt(goal, toCapacity ? budget : budget / 4);
  if (toCapacity || outcome == SearchOutcome::Found)
    return;
  // Go up from the goal, then halve.
  int64_t failed = goal;
  int64_t step = std::max<int64_t>((arena - goal) / 32, 1);
  while (failed < arena - 1 && nodes > 0) {
    bool proved = bound > failed;
    int64_t capacity = std::min(failed + step, arena - 1);
    outcome = attempt(capacity, budget / (proved ? 4 : 16));
    if (outcome == SearchOutcome::Found) {
      step = std::max<int64_t>((arena - failed) / 2, 1);
      continue;
    }
    failed = capacity;
    step = std::max<int64_t>(std::min(2 * step, (arena - failed) / 2), 1);
  }
  // What is left goes into plans just below the best one.
  while (nodes > 0 && bound < arena)
    if (attempt(arena - 1, nodes) != SearchOutcome::Found)
      break;
}

/// Sections at which no body is live on both sides: first sections of
/// components.
std::vector<int32_t> findCuts(const Model &model) {
  std::vector<int32_t> crossing(model.numSections + 1, 0);
  for (const Body &body : model.bodies) {
    if (body.firstSlot == body.endSlot)
      continue;
    int32_t begin = model.numSections, end = 0;
    for (const Slot &slot : model.slotsOf(body)) {
      begin = std::min(begin, slot.begin);
      end = std::max(end, slot.end);
    }
    ++crossing[begin + 1];
    --crossing[end];
  }
  std::vector<int32_t> cuts;
  int32_t sum = 0;
  for (int32_t s = 1; s < model.numSections; ++s)
    if ((sum += crossing[s]) == 0)
      cuts.push_back(s);
  return cuts;
}

/// The bodies of each component, those without slots left out.
std::vector<std::vector<int32_t>> splitBodies(const Model &model) {
  std::vector<int32_t> cuts = findCuts(model);
  std::vector<std::vector<int32_t>> parts(cuts.size() + 1);
  for (size_t i = 0; i < model.bodies.size(); ++i) {
    const Body &body = model.bodies[i];
    if (body.firstSlot == body.endSlot)
      continue;
    size_t part = std::upper_bound(cuts.begin(), cuts.end(),
                                   model.slots[body.firstSlot].begin) -
                  cuts.begin();
    parts[part].push_back(static_cast<int32_t>(i));
  }
  return parts;
}

Model extract(const Model &model, const std::vector<int32_t> &bodies) {
  Model part;
  part.granule = model.granule;
  part.bodies.reserve(bodies.size());
  int32_t first = model.numSections, last = 0;
  for (int32_t index : bodies) {
    Body body = model.bodies[index];
    int32_t firstSlot = static_cast<int32_t>(part.slots.size());
    for (const Slot &slot : model.slotsOf(body)) {
      first = std::min(first, slot.begin);
      last = std::max(last, slot.end);
      part.slots.push_back(slot);
    }
    body.firstSlot = firstSlot;
    body.endSlot = static_cast<int32_t>(part.slots.size());
    part.bodies.push_back(body);
  }
  for (Slot &slot : part.slots) {
    slot.begin -= first;
    slot.end -= first;
  }
  part.numSections = last - first;
  classify(part);
  return part;
}

} // namespace

int64_t leastArena(const OffsetPackingProblem &problem) {
  Model model;
  return buildModel(problem, model) ? 0 : model.bound();
}

OffsetPackingSolution solveOffsetPacking(const OffsetPackingProblem &problem,
                                         const OffsetPackingOptions &options) {
  OffsetPackingSolution solution;
  OffsetPackingCertificate &certificate = solution.certificate;
  Model model;
  if (auto error = buildModel(problem, model)) {
    solution.status = error->status;
    solution.message = error->message;
    if (error->status == OffsetPackingStatus::Infeasible) {
      certificate.bound = std::numeric_limits<int64_t>::max();
      certificate.proof = OffsetPackingCertificate::Proof::Search;
    }
    return solution;
  }
  certificate.bound = model.bound();
  certificate.time = model.peakTime;
  if (model.bound() > model.maxLive)
    certificate.proof = OffsetPackingCertificate::Proof::Search;
  if (problem.capacity && model.bound() > *problem.capacity) {
    solution.status = OffsetPackingStatus::Infeasible;
    solution.message = "capacity " + std::to_string(*problem.capacity) +
                       " is below the bound " + std::to_string(model.bound());
    return solution;
  }

  int64_t goal = problem.capacity.value_or(model.bound());
  Bases bases(model.bodies.size(), 0);
  for (size_t i = 0; i < model.bodies.size(); ++i)
    if (const Body &body = model.bodies[i]; body.firstSlot == body.endSlot) {
      bases[i] = body.fixed ? body.fixedBase : body.alignUp(0);
      solution.arena = std::max(solution.arena, bases[i] + body.height);
    }
  int64_t granted = options.nodes;
  if (granted == OffsetPackingOptions::automatic)
    granted = (problem.capacity ? defaultVisitsToCapacity : defaultVisits) /
              std::max<int64_t>(1, static_cast<int64_t>(model.bodies.size()));
  int64_t nodes = std::max<int64_t>(granted, 0);
  for (const std::vector<int32_t> &bodies : splitBodies(model)) {
    if (bodies.empty())
      continue;
    bool whole = bodies.size() == model.bodies.size();
    Model extracted;
    if (!whole)
      extracted = extract(model, bodies);
    const Model &part = whole ? model : extracted;
    ComponentSolver solver(part, std::max(goal, solution.arena),
                           problem.capacity.has_value(), nodes);
    solver.run();
    for (size_t i = 0; i < bodies.size(); ++i)
      bases[bodies[i]] = solver.best[i];
    solution.arena = std::max(solution.arena, solver.arena);
    if (solver.lowerBound() > certificate.bound) {
      certificate.bound = solver.lowerBound();
      certificate.proof = OffsetPackingCertificate::Proof::Search;
      certificate.nodes = solver.searchedNodes;
    }
  }
  solution.nodesUsed = granted - nodes;
  if (problem.capacity && certificate.bound > *problem.capacity) {
    solution.status = OffsetPackingStatus::Infeasible;
    solution.arena = 0;
    solution.message = "no plan within capacity " +
                       std::to_string(*problem.capacity) +
                       ": the search is exhausted";
    return solution;
  }
  solution.status = problem.capacity && solution.arena > *problem.capacity
                        ? OffsetPackingStatus::Undecided
                        : OffsetPackingStatus::Solved;
  solution.offsets.resize(problem.buffers.size());
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    solution.offsets[i] = bases[model.bodyOfBuffer[i]] + model.shiftOfBuffer[i];
  return solution;
}

} // namespace tenon::solver
