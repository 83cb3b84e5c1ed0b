//===- OrderingDeferral.h - operations that wait until they are needed ----===//
//
// Some operations only ever add to what is live: in no order are they the last
// reader of an operand, since another reader comes after them, and they need no
// workspace. A forward operation whose operands are saved for the way back is
// one. Such an operation can wait until just before the first of the others
// that depends on it: until then there is less, and once that one runs, as much
// as before. So an order is told by the others alone, each preceded by what it
// needs of those that wait. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_ORDERINGDEFERRAL_H
#define TENON_LIB_SOLVER_ORDERINGDEFERRAL_H

#include "OrderingGraph.h"

namespace tenon::solver {

/// Up to `mostExact` operations, all that can wait do. In larger problems some
/// do not, since what has to be known of them grows with the square: those that
/// would need more than `mostNeeded` others that wait, and those whose
/// operands' readers are not seen to come later along a path through one of the
/// `mostHubs` operations that are looked at.
struct DeferralLimits {
  size_t mostExact = 4'000;
  size_t mostHubs = 1024;
  size_t mostNeeded = 64;
};

struct OrderingDeferral {
  std::vector<char> waits; ///< per operation
  /// Of those that do not wait: who comes first, and what waits for it, in id
  /// order. Both along paths through operations that wait.
  Ranges before, needs;
  Ranges after; ///< `before` turned round

  explicit OrderingDeferral(const OrderingGraph &graph,
                            const DeferralLimits &limits = {});
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_ORDERINGDEFERRAL_H
