//===- PlanReport.h - What is said of plans under a budget ---------------===//
//
// Figures and lists of the search's plans for people and for the report.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_PLANREPORT_H
#define TENON_LIB_DRIVER_PLANREPORT_H

#include "BudgetSearch.h"
#include "RegroupCopies.h"

#include "tenon/Solver/RecomputeClaim.h"

#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// What a plan within a budget is measured by.
struct PlanBase {
  int64_t bytes = 0;       // of the plan that keeps everything
  int64_t nanoseconds = 0; // of the quickest plan without a budget
};

/// Fills in the report of a plan within `budget`, in which values may wait in
/// the host's memory if it `mayOffload`; returns what it says to people.
std::string reportPlan(const PlannedStep &plan, int64_t budget,
                       const PlanBase &base, const Regrouping &regrouped,
                       bool mayOffload, llvm::json::Object &details);

/// A line per point, with the knee marked: where saving bytes gets dear.
void printFrontier(llvm::ArrayRef<FrontierPoint> points,
                   llvm::raw_ostream &out);

/// What the recomputation problem of a planned step leaves out, a line each
/// with its reason, and what share of the bytes that is.
void printExclusions(mlir::func::FuncOp planned, llvm::raw_ostream &out);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_PLANREPORT_H
