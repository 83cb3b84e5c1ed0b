//===- Movement.cpp - Operations that move elements -----------------------===//
//
// What operations that move elements of a local tensor make of what it holds.
//
//===----------------------------------------------------------------------===//

#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

void PartitionChecker::visitMovement(Operation *op) {
  if (isa<stablehlo::OptimizationBarrierOp>(op)) {
    for (auto [from, to] : llvm::zip_equal(op->getOperands(), op->getResults()))
      if (auto stored = known.find(from); stored != known.end()) {
        Holdings copy = stored->second;
        known[to] = std::move(copy);
      }
    return;
  }
  if (!isView(op) && !isa<stablehlo::DynamicSliceOp, stablehlo::PadOp>(op))
    return;
  // What is added must be outside of the tensor that the holding is of.
  if (isa<stablehlo::PadOp>(op)) {
    Value from = op->getOperand(0);
    for (Value view : viewsOf(Holdings(known.lookup(from))))
      for (const Holding &held : holdingsOn(from, view))
        if (auto result = moved(op, held))
          add(op->getResult(0), std::move(*result));
    return;
  }
  addMoved(op, [&](const Holding &held) { return moved(op, held); });
}

void PartitionChecker::addMoved(
    Operation *op,
    llvm::function_ref<std::optional<Holding>(const Holding &)> move) {
  Value from = op->getOperand(0), to = op->getResult(0);
  for (const Holding &held : Holdings(known.lookup(from))) {
    if (auto result = move(held)) {
      add(to, std::move(*result));
      continue;
    }
    if (isa<stablehlo::ReshapeOp>(op)) {
      reshapeInOrder(op, held.whole);
      continue;
    }
    // Half of three heads is no piece of a tensor with a dimension of heads,
    // but one of its view with all features in one.
    SmallVector<Value> views = viewsOf(held);
    for (Value view : llvm::drop_begin(views))
      for (const Holding &seen : holdingsOn(from, view))
        if (auto result = move(seen))
          addIfNew(to, std::move(*result));
  }
}

std::optional<Holding> PartitionChecker::moved(Operation *op,
                                               const Holding &held) {
  Value from = op->getOperand(0), to = op->getResult(0);
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
    return transposed(held, transpose.getPermutation());
  if (isa<stablehlo::ReshapeOp>(op))
    return reshaped(held, shapeOf(to));
  if (auto repeat = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return broadcast(held, repeat.getBroadcastDimensions(), shapeOf(to));
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    SmallVector<PerDevice> starts;
    for (int64_t start : slice.getStartIndices())
      starts.push_back(PerDevice(devices, start));
    return sliced(held, starts, shapeOf(to), slice.getStrides());
  }
  if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op)) {
    SmallVector<PerDevice> starts;
    for (auto [dim, index] : llvm::enumerate(slice.getStartIndices())) {
      auto number = scalarOf(index);
      if (!number)
        return std::nullopt;
      starts.push_back(*number);
      for (int64_t &at : starts.back())
        at = std::clamp<int64_t>(at, 0, shapeOf(from)[dim] - shapeOf(to)[dim]);
    }
    SmallVector<int64_t> ones(starts.size(), 1);
    return sliced(held, starts, shapeOf(to), ones);
  }
  if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
    if (llvm::any_of(pad.getInteriorPadding(),
                     [](int64_t at) { return at != 0; }))
      return std::nullopt;
    return padded(held, shapeOf(held.whole), pad.getEdgePaddingLow(),
                  pad.getEdgePaddingHigh(), devices);
  }
  return std::nullopt;
}

void PartitionChecker::reshapeInOrder(Operation *op, Value from) {
  for (Value view : viewsOf({anything(from, {}, {}, devices)}))
    for (Operation *user : view.getUsers()) {
      if (!isa<stablehlo::ReshapeOp>(user))
        continue;
      int64_t count = elementCount(shapeOf(view));
      for (const Holding &held : holdingsOn(op->getOperand(0), view)) {
        if (held.missing)
          continue;
        auto row = ofReshaped(held, {}, shapeOf(view), {count});
        auto local =
            row ? reshaped(*row, shapeOf(op->getResult(0))) : std::nullopt;
        auto result = local ? ofReshaped(*local, user->getResult(0), {count},
                                         shapeOf(user->getResult(0)))
                            : std::nullopt;
        if (result)
          add(op->getResult(0), std::move(*result));
      }
    }
}
