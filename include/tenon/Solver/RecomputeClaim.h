//===- RecomputeClaim.h - What the bound of a plan says, in words ---------===//
//
// The one place that says how near a recomputation plan is to the least that is
// proved: the compiler prints it of the plan it made, `tenon verify` of the
// plan in a file.
//
// The bound is proved of every plan that runs the nodes of one problem, for the
// first time in the order of their ids and as often as it likes, and has no
// more bytes live at once than the budget. So a plan of cost 130 and bound 127,
// whose nodes cost 100 if each runs once, could save at most 3: 2.31 % of the
// whole, or 10.00 % of the 30 that it takes in addition.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_RECOMPUTECLAIM_H
#define TENON_SOLVER_RECOMPUTECLAIM_H

#include <cstdint>
#include <string>

namespace tenon::solver {

struct RecomputeClaim {
  int64_t once = 0;  // cost of each node run once
  int64_t cost = 0;  // of the plan, at least `once`
  int64_t bound = 0; // no plan costs less

  /// What another plan could save at most, in percent of the cost.
  double percentOfWhole() const;
  /// The same in percent of what the plan costs beyond `once`; 0 if that is
  /// nothing.
  double percentOfExtra() const;
};

/// "at most 2.31 % of the predicted time and 10.00 % of the extra could be
/// saved with these kernels, first run in this order"
std::string describe(const RecomputeClaim &claim);

} // namespace tenon::solver

#endif // TENON_SOLVER_RECOMPUTECLAIM_H
