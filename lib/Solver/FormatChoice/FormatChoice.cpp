//===- FormatChoice.cpp - the cheapest formats as a minimum cut -----------===//
//
// A vertex asks of a variable and a level whether the variable is at least
// there; on the sink's side of a cut it is. What a level costs is an arc
// between its own question and the next one's, what a border costs an arc
// between the questions of two variables, and unlimited arcs keep the answers
// of a variable consistent. The flow along a border's arc is its amount in the
// certificate.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/FormatChoice.h"

#include "MinimumCut/FlowNetwork.h"

using namespace tenon::solver;

/// A forbidden border says: if the wide variable is at least at `from`, the
/// narrow one is at least at `below`. Starting from the lowest levels, what
/// follows holds in every choice. Returns which variable would have to be above
/// its highest level, if one would.
static std::optional<std::string> whyNoChoice(const FormatProblem &problem) {
  std::vector<std::vector<const FormatProblem::Border *>> follows(
      problem.variables.size());
  for (const FormatProblem::Border &border : problem.borders)
    if (!border.cost)
      follows[border.wide].push_back(&border);
  std::vector<int32_t> least, open;
  for (const FormatProblem::Variable &variable : problem.variables) {
    open.push_back(static_cast<int32_t>(least.size()));
    least.push_back(variable.least);
  }
  while (!open.empty()) {
    const int32_t wide = open.back();
    open.pop_back();
    for (const FormatProblem::Border *border : follows[wide]) {
      int32_t &level = least[border->narrow];
      if (least[wide] < border->from || level >= border->below)
        continue;
      if (border->below > problem.variables[border->narrow].most())
        return "variable " + std::to_string(border->narrow) +
               " would have to be at level " + std::to_string(border->below) +
               ", since variable " + std::to_string(wide) +
               " is at least at level " + std::to_string(least[wide]);
      level = border->below;
      open.push_back(border->narrow);
    }
  }
  return std::nullopt;
}

FormatSolution tenon::solver::solveFormats(const FormatProblem &problem) {
  FormatSolution solution;
  if (auto reason = whyNoChoice(problem)) {
    solution.message = *reason;
    return solution;
  }
  // Of a variable, the vertex that asks whether it is above its least level.
  std::vector<int32_t> firstVertex;
  int32_t vertices = FlowNetwork::sink + 1;
  for (const FormatProblem::Variable &variable : problem.variables) {
    firstVertex.push_back(vertices);
    vertices += variable.most() - variable.least;
  }
  // Where the answer is known, the sink says yes and the source no.
  auto vertex = [&](int32_t id, int32_t level) {
    const FormatProblem::Variable &variable = problem.variables[id];
    if (level <= variable.least)
      return FlowNetwork::sink;
    if (level > variable.most())
      return FlowNetwork::source;
    return firstVertex[id] + level - variable.least - 1;
  };

  FlowNetwork network;
  network.reset(vertices);
  std::vector<int64_t> capacities;
  auto addArc = [&](int32_t from, int32_t to, int64_t capacity) {
    capacities.push_back(capacity);
    return network.addArc(from, to);
  };
  // A border that can never be paid has no arc.
  std::vector<std::optional<int32_t>> arcs;
  for (const FormatProblem::Border &border : problem.borders) {
    const int32_t from = vertex(border.narrow, border.below);
    const int32_t to = vertex(border.wide, border.from);
    std::optional<int32_t> &arc = arcs.emplace_back();
    if (from != FlowNetwork::sink && to != FlowNetwork::source && from != to)
      arc =
          addArc(from, to,
                 border.cost ? problem.priced(border) : FlowNetwork::unlimited);
  }
  const auto count = static_cast<int32_t>(problem.variables.size());
  for (int32_t id = 0; id < count; ++id) {
    const FormatProblem::Variable &variable = problem.variables[id];
    for (int32_t level = variable.least; level <= variable.most(); ++level) {
      const int32_t here = vertex(id, level), next = vertex(id, level + 1);
      addArc(next, here, problem.priced(variable.at(level)));
      if (here != FlowNetwork::sink && next != FlowNetwork::source)
        addArc(here, next, FlowNetwork::unlimited);
    }
  }
  network.build();
  for (size_t arc = 0; arc < capacities.size(); ++arc)
    network.setCapacity(static_cast<int32_t>(arc), capacities[arc]);

  solution.valid = true;
  solution.bound = network.maximize();
  for (int32_t id = 0; id < count; ++id) {
    const FormatProblem::Variable &variable = problem.variables[id];
    int32_t level = variable.least;
    while (level < variable.most() &&
           network.reachesSink(vertex(id, level + 1)))
      ++level;
    solution.levels.push_back(level);
    solution.bytes += variable.at(level).bytes;
  }
  for (const FormatProblem::Border &border : problem.borders)
    if (solution.levels[border.wide] >= border.from &&
        solution.levels[border.narrow] < border.below)
      solution.bytes += border.bytes;
  solution.cost = solution.bound - problem.price * solution.bytes;
  for (std::optional<int32_t> arc : arcs)
    solution.amounts.push_back(arc ? network.flow(*arc) : 0);
  return solution;
}

/// Bisects prices between one that is accepted and one that is not until they
/// are neighbours, and returns the one that is.
static int64_t
bisectPrice(FormatProblem problem, int64_t accepted, int64_t refused,
            const std::function<bool(const FormatSolution &)> &accepts) {
  while (std::abs(accepted - refused) > 1) {
    problem.price =
        std::midpoint(std::min(accepted, refused), std::max(accepted, refused));
    const FormatSolution solution = solveFormats(problem);
    (solution.valid && accepts(solution) ? accepted : refused) = problem.price;
  }
  return accepted;
}

int64_t tenon::solver::highestPrice(FormatProblem problem, int64_t mostCost,
                                    int64_t mostPrice) {
  return bisectPrice(std::move(problem), 0, mostPrice + 1,
                     [&](const FormatSolution &solution) {
                       return solution.cost <= mostCost;
                     });
}

int64_t tenon::solver::lowestPrice(
    FormatProblem problem,
    const std::function<bool(const FormatSolution &)> &isEnough,
    int64_t mostPrice) {
  return bisectPrice(std::move(problem), mostPrice, -1, isEnough);
}
