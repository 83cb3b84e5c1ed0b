//===- RecomputeProblem.cpp - the ways to run the loops of a problem ------===//
//
// A plan chooses from the rows of a loop, a bound has to hold for every way to
// run it. Where there is one, nothing is left to choose and the loop's numbers
// are those of its nodes.
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
      result.loops.push_back(
          {loop.forward, loop.backward, loop.residual, rows, {}});
      continue;
    }
    const Loop::Row &row = rows.front();
    const auto nodes = static_cast<int32_t>(result.nodes.size());
    (loop.residual < nodes
         ? result.nodes[loop.residual].bytes
         : result.extraOutputs[loop.residual - nodes].bytes) +=
        row.residualBytes;
    result.nodes[loop.forward].cost += row.forwardCost;
    result.nodes[loop.forward].workspace += row.forwardPeak;
    result.nodes[loop.backward].cost += row.backwardCost;
    result.nodes[loop.backward].workspace += row.backwardPeak;
  }
  return result;
}

RecomputeProblem RecomputeProblem::inAnyWay() const {
  return inWays(*this, /*areListed=*/false);
}

RecomputeProblem RecomputeProblem::inListedWays() const {
  return inWays(*this, /*areListed=*/true);
}
