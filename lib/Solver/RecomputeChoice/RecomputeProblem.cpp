//===- RecomputeProblem.cpp - the ways to run the loops of a problem ------===//
//
// A plan chooses from the rows of a loop, a bound has to hold for every way to
// run it. Where there is one, nothing is left to choose and the loop's numbers
// are those of its node.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/RecomputeChoice.h"

using namespace tenon::solver;

static RecomputeProblem inWays(const RecomputeProblem &problem,
                               bool areListed) {
  using Loop = RecomputeProblem::Loop;
  RecomputeProblem result = problem;
  result.loops.clear();
  for (const Loop &loop : problem.loops) {
    const std::vector<Loop::Row> &rows =
        areListed || loop.floors.empty() ? loop.rows : loop.floors;
    if (rows.size() != 1) {
      result.loops.push_back({loop.node, rows, {}});
      continue;
    }
    result.nodes[loop.node].cost += rows.front().cost;
    result.nodes[loop.node].workspace += rows.front().bytes;
  }
  return result;
}

RecomputeProblem RecomputeProblem::inAnyWay() const {
  return inWays(*this, /*areListed=*/false);
}

RecomputeProblem RecomputeProblem::inListedWays() const {
  return inWays(*this, /*areListed=*/true);
}
