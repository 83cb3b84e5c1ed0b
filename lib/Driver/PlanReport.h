//===- PlanReport.h - What is said of plans under a budget ---------------===//
//
// Figures and lists of PlanUnderBudget's plans for people and for the report.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_PLANREPORT_H
#define TENON_LIB_DRIVER_PLANREPORT_H

#include "PlanUnderBudget.h"

#include "tenon/Solver/RecomputeClaim.h"

#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// What is proved of a plan.
solver::RecomputeClaim claimOf(const PlanFigures &plan);

/// A line per point, with the knee marked: where saving bytes gets dear.
void printFrontier(llvm::ArrayRef<FrontierPoint> points,
                   llvm::raw_ostream &out);

/// What the recomputation problem of a planned step leaves out, a line each
/// with its reason, and what share of the bytes that is.
void printExclusions(mlir::func::FuncOp planned, llvm::raw_ostream &out);
/// Bytes of values that nothing may compute again, and of all values.
std::pair<int64_t, int64_t> excludedBytes(mlir::func::FuncOp planned);
/// The same lines for the report.
llvm::json::Array exclusionsJSON(mlir::func::FuncOp planned);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_PLANREPORT_H
