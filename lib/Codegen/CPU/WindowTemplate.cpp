//===- WindowTemplate.cpp - reduce_window and select_and_scatter ----------===//
//
// Which windows a part has, and along which dimension the lanes run; the code
// for a window is in Loops/WindowPoints.h. Only what is not covered by small
// windows written out place by place, or has no dimension for the lanes, counts
// as the fallback.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Codegen/Loops/WindowPoints.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

/// A space with one dimension walked by lanes: the last one if it may be, and
/// the others as units; where that leaves enough units, one is a row of places.
struct LaneSpace {
  SmallVector<int64_t> outer;
  std::optional<int64_t> row;
  int64_t lanes = 1;

  LaneSpace(ArrayRef<int64_t> shape, bool lastMayBeLanes)
      : outer(shape.begin(), shape.end()) {
    if (lastMayBeLanes && !outer.empty())
      lanes = outer.pop_back_val();
    if (!outer.empty() && units() >= maximumParts * outer.back())
      row = outer.pop_back_val();
  }
  int64_t units() const { return elementCount(outer); }

  void forEach(KernelBuilder &k,
               llvm::function_ref<void(const Indices &)> body) const {
    if (lanes == 1)
      k.algebra.lanes = 1;
    k.forUnits(units(), [&](const IndexExpression &unit) {
      Indices indices = k.algebra.delinearize(unit, outer);
      if (!row)
        return forLanes(k, indices, body);
      k.forRange(*row, [&](const IndexExpression &place) {
        indices.push_back(place);
        forLanes(k, indices, body);
        indices.pop_back();
      });
    });
  }

private:
  void forLanes(KernelBuilder &k, Indices indices,
                llvm::function_ref<void(const Indices &)> body) const {
    auto atLane = [&](const IndexExpression &lane) {
      indices.push_back(lane);
      body(indices);
      indices.pop_back();
    };
    if (lanes == 1)
      return atLane(0);
    k.forLanes(lanes, atLane);
  }
};

/// The windows if they tile, else the dimensions they do not move along.
LaneSpace spaceOf(const SelectWindows &select) {
  if (select.tile())
    return LaneSpace(select.sourceShape, select.lastIsFree());
  SmallVector<int64_t> free;
  for (size_t dim : select.freeDims)
    free.push_back(select.shape[dim]);
  return LaneSpace(free, select.lastIsFree());
}

/// The windows, or everything but a running dimension.
LaneSpace spaceOf(stablehlo::ReduceWindowOp op) {
  SmallVector<int64_t> shape = llvm::to_vector(shapeOf(op.getResult(0)));
  auto running = WindowSums::runningDim(op);
  if (!running)
    return LaneSpace(shape, true);
  bool isLast = running->dim + 1 == shape.size();
  shape.erase(shape.begin() + running->dim);
  return LaneSpace(shape, !isLast);
}

//===----------------------------------------------------------------------===//
// The templates
//===----------------------------------------------------------------------===//

Demand demandOfReduceWindow(const KernelSource &source) {
  return {spaceOf(cast<stablehlo::ReduceWindowOp>(source.root)).units(), 0};
}

void emitReduceWindow(KernelBuilder &k, unsigned) {
  auto op = cast<stablehlo::ReduceWindowOp>(k.source.root);
  auto running = WindowSums::runningDim(op);
  const size_t rank = shapeOf(op.getResult(0)).size() - (running ? 1 : 0);
  WindowSums sums(k, op);
  spaceOf(op).forEach(k, [&](Indices indices) {
    indices.truncate(rank);
    if (running)
      sums.emitRunning(*running, indices);
    else
      sums.emitPoint(indices);
  });
}

Demand demandOfSelectAndScatter(const KernelSource &source) {
  auto op = cast<stablehlo::SelectAndScatterOp>(source.root);
  return {spaceOf(SelectWindows(op)).units(), 0};
}

void emitSelectAndScatter(KernelBuilder &k, unsigned) {
  WindowPicks picks(k, cast<stablehlo::SelectAndScatterOp>(k.source.root));
  spaceOf(picks).forEach(k, [&](Indices indices) {
    if (picks.tile())
      return picks.emitWindow(indices);
    indices.truncate(picks.freeDims.size());
    picks.emitAll(indices);
  });
}

} // namespace

extern const Template reduceWindowTemplate, selectAndScatterTemplate;
const Template reduceWindowTemplate = {.accepts =
                                           acceptsOp<stablehlo::ReduceWindowOp>,
                                       .demand = demandOfReduceWindow,
                                       .emit = emitReduceWindow};
const Template selectAndScatterTemplate = {
    .accepts = acceptsOp<stablehlo::SelectAndScatterOp>,
    .demand = demandOfSelectAndScatter,
    .emit = emitSelectAndScatter};

} // namespace tenon::codegen
