//===- TabulateLoops.cpp - Plan the bodies of loops, inside out ----------===//
//
// What a round needs beside what it carries can be made less by computing
// values again within the round. Each body is a recomputation problem of its
// own; its frontier becomes the table from which the problem of the enclosing
// block chooses a row. Inner loops come first, so that theirs are there.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "LoopTable.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/RecomputeModel.h"

#include "mlir/IR/Remarks.h"

namespace tenon::memory {
#define GEN_PASS_DEF_TABULATELOOPSPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// A row has to need less than the one before by this part of the first.
constexpr int64_t leastShare = 100;

struct TabulateLoops
    : public memory::impl::TabulateLoopsPassBase<TabulateLoops> {
  using TabulateLoopsPassBase::TabulateLoopsPassBase;

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    SmallVector<stablehlo::WhileOp> loops;
    getOperation().walk(
        [&](stablehlo::WhileOp loop) { loops.push_back(loop); });
    for (stablehlo::WhileOp loop : loops) {
      // A table that came with the text is not of this body.
      loop->removeAttr(step::loopRowsAttrName);
      tabulate(loop);
    }
  }

private:
  void tabulate(stablehlo::WhileOp loop);
};

void TabulateLoops::tabulate(stablehlo::WhileOp loop) {
  RecomputeModel body(loop.getBody().front());
  std::vector<solver::RecomputeSolution> plans; // by rising peak
  solver::RecomputeOptions effort;
  effort.moves = moves;
  solver::solveRecomputeFrontier(
      body.problem(), rows, effort,
      [&](const solver::RecomputeSolution &plan) { plans.push_back(plan); });
  if (plans.empty())
    return;
  const solver::RecomputeSolution &everything = plans.back();
  int64_t bytes = body.bytesInside();
  int64_t nanoseconds = nanosecondsOf(loop);
  int64_t trips = tripCount(loop).value_or(1);
  std::vector<LoopRow> table;
  for (const solver::RecomputeSolution &plan : llvm::reverse(plans)) {
    LoopRow row;
    // The rest of the loop, its condition for one, needs what it needs.
    row.bytes = bytes - (everything.peak - plan.peak);
    row.nanoseconds = nanoseconds + trips * (plan.cost - everything.cost);
    if (!table.empty() &&
        table.back().bytes - row.bytes < everything.peak / leastShare)
      continue;
    if (!table.empty() ||
        llvm::any_of(plan.rows, [](int32_t inner) { return inner != 0; })) {
      row.order.assign(plan.order.begin(), plan.order.end());
      row.rows.assign(plan.rows.begin(), plan.rows.end());
    }
    table.push_back(std::move(row));
  }
  if (table.size() < 2)
    return;
  writeLoopRows(loop, table);
  remark::analysis(loop.getLoc(), remark::RemarkOpts::name("Rows").category(
                                      "memory-tabulate-loops"))
      << remark::metric("Rows", int64_t(table.size()))
      << remark::metric("Bytes", table.front().bytes)
      << remark::metric("LeastBytes", table.back().bytes);
}

} // namespace
