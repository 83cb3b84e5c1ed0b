//===- TabulateLoops.cpp - Plan the bodies of loops, inside out ----------===//
//
// What a round needs beside what it carries can be made less by computing
// values again within the round. Each body is a recomputation problem of its
// own; its frontier becomes the table from which the problem of the enclosing
// block chooses a row. Inner loops come first, so that theirs are there.
//
// The rows are some of the ways to run a body. What is proved of all of them
// stands beside the table: where no plan within B bytes takes less than t, a
// way to run the body takes at least t or needs more than B. From one budget to
// the next that makes floors, which the bound of the enclosing block uses:
//
//     plans within   take at least        floors: bytes   time
//        3 KiB          12 ns                         0   12 ns
//        4 KiB          10 ns             3 KiB + 1 byte   10 ns
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

/// The most bytes that a node needs at once, however loops in it run: no plan
/// needs less.
int64_t largestWorkingSet(const solver::RecomputeProblem &problem) {
  const solver::RecomputeProblem anyWay = problem.inAnyWay();
  std::vector<int64_t> bytes;
  for (const solver::RecomputeProblem::Node &node : anyWay.nodes)
    bytes.push_back(node.workspace);
  for (int32_t value = 0; value < anyWay.valueCount(); ++value)
    bytes[anyWay.producer(value)] += anyWay.bytes(value);
  for (auto [value, consumer] : anyWay.edges)
    bytes[consumer] += anyWay.bytes(value);
  for (const solver::RecomputeProblem::Loop &loop : anyWay.loops)
    bytes[loop.node] +=
        std::ranges::min(loop.rows, {},
                         &solver::RecomputeProblem::Loop::Row::bytes)
            .bytes;
  return bytes.empty() ? 0 : *llvm::max_element(bytes);
}

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
  const int64_t bytes = body.bytesInside();
  const int64_t nanoseconds = nanosecondsOf(loop);
  const int64_t trips = tripCount(loop).value_or(1);
  // The rest of the loop, its condition for one, needs what it needs.
  auto bytesOf = [&](int64_t peak) {
    return std::max<int64_t>(0, bytes - (everything.peak - peak));
  };
  auto nanosecondsFor = [&](int64_t cost) {
    return nanoseconds + trips * (cost - everything.cost);
  };
  std::vector<LoopRow> table;
  for (const solver::RecomputeSolution &plan : llvm::reverse(plans)) {
    LoopRow row;
    row.bytes = bytesOf(plan.peak);
    row.nanoseconds = nanosecondsFor(plan.cost);
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
  const int64_t least = largestWorkingSet(body.problem());
  if (least >= everything.peak)
    return; // nothing can make it need less
  std::vector<LoopFloor> floors;
  if (table.size() < 2) {
    floors.push_back({bytesOf(least), nanosecondsFor(everything.cost)});
  } else {
    int64_t below = least;
    for (const solver::RecomputeSolution &plan : plans) {
      const LoopFloor floor{bytesOf(below), nanosecondsFor(plan.bound)};
      below = plan.budget + 1;
      // One that takes as long for more bytes says nothing new.
      if (floors.empty() || floor.nanoseconds < floors.back().nanoseconds)
        floors.push_back(floor);
    }
  }
  writeLoopTable(loop, table, floors);
  remark::analysis(loop.getLoc(), remark::RemarkOpts::name("Rows").category(
                                      "memory-tabulate-loops"))
      << remark::metric("Rows", int64_t(table.size()))
      << remark::metric("Bytes", table.front().bytes)
      << remark::metric("LeastBytes", table.back().bytes);
}

} // namespace
