//===- StepSplit.h - Where the time of a planned step goes ----------------===//
//
// A step of one of several ranks, in scheduled form: what it computes, and what
// of the time in which ranks exchange is exposed, since the rank waits, or
// hidden, since the rank computes beside. Collectives that others run beside
// (`step.beside`) follow one another in a queue of their own:
//
//   walk    c1 starts | 30 us of kernels | wait for c1 | ...
//   queue   ------------ 50 us of c1 ----------------
//
// has 30 us hidden and 20 us exposed, if the link's transfers leave the
// processors alone. Of others, whose hidden share is smaller, the rest is
// exposed at once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_STEPSPLIT_H
#define TENON_COST_STEPSPLIT_H

#include "tenon/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::cost {

struct StepSplit {
  double compute = 0, exposed = 0, hidden = 0; // seconds

  double seconds() const { return compute + exposed; }
};

/// Of branches the one that takes longest counts, of loops each round, one if
/// their number is not known.
StepSplit splitStep(mlir::func::FuncOp main, const target::Target &machine);

} // namespace tenon::cost

#endif // TENON_COST_STEPSPLIT_H
