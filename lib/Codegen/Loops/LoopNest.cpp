//===- LoopNest.cpp - Loops under construction ----------------------------===//
//
// See LoopNest.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/LoopNest.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

using namespace mlir;

namespace tenon::codegen {

LoopNest::LoopNest(Block *entry, Location loc, const Instructions &instructions)
    : builder(entry->getTerminator()), loc(loc), levels(builder, entry),
      algebra(builder, loc, levels),
      points(builder, loc, levels, algebra, instructions),
      instructions(instructions) {
  algebra.lanes = instructions.lanes;
  multiplicity.push_back(1);
  runs.emplace_back(entry, 1);
}

void LoopNest::enter(Block *block, double trips, bool barrier) {
  levels.push(block, barrier);
  multiplicity.push_back(multiplicity.back() * trips);
  runs.emplace_back(block, multiplicity.back());
  if (block->mightHaveTerminator())
    builder.setInsertionPoint(block->getTerminator());
  else
    builder.setInsertionPointToEnd(block);
}

void LoopNest::leave(Operation *op) {
  levels.pop();
  multiplicity.pop_back();
  algebra.levelPopped();
  points.levelPopped();
  builder.setInsertionPointAfter(op);
}

LoopNest::Values LoopNest::forLoop(Value low, Value high, int64_t step,
                                   IndexRange range, int64_t multiple,
                                   bool isLane, ValueRange carried,
                                   CarryingBody body, double trips) {
  Value by = constantIndex(step);
  auto loop = scf::ForOp::create(builder, loc, low, high, by, carried);
  if (trips == 0)
    trips = double(range.high - range.low + step) / step;
  enter(loop.getBody(), trips);
  unsigned level = levels.current();
  Value variable = loop.getInductionVar();
  IndexExpression index =
      isLane ? algebra.laneVariable(variable, range, level, multiple)
             : algebra.uniform(variable, range, level, multiple);
  Values results = body(index, loop.getRegionIterArgs());
  if (!carried.empty()) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, loc, results);
  }
  leave(loop);
  return Values(loop.getResults());
}

/// A body that carries nothing.
static auto carryingNothing(LoopNest::Body body) {
  return [body](const IndexExpression &index, ValueRange) {
    body(index);
    return LoopNest::Values();
  };
}

void LoopNest::forLoop(Value low, Value high, int64_t step, IndexRange range,
                       int64_t multiple, bool isLane, Body body, double trips) {
  forLoop(low, high, step, range, multiple, isLane, {}, carryingNothing(body),
          trips);
}

LoopNest::Values LoopNest::forRange(int64_t count, ValueRange carried,
                                    CarryingBody body) {
  if (count == 1)
    return body(0, carried);
  return forLoop(constantIndex(0), constantIndex(count), 1, {0, count - 1}, 1,
                 false, carried, body);
}

void LoopNest::forRange(int64_t count, Body body) {
  forRange(count, {}, carryingNothing(body));
}

LoopNest::Values LoopNest::forSpace(
    ArrayRef<int64_t> shape, ValueRange carried,
    llvm::function_ref<Values(const Indices &, ValueRange)> body) {
  Indices indices;
  std::function<Values(size_t, ValueRange)> nest =
      [&](size_t dim, ValueRange values) -> Values {
    if (dim == shape.size())
      return body(indices, values);
    return forRange(shape[dim], values,
                    [&](const IndexExpression &index, ValueRange inner) {
                      indices.push_back(index);
                      Values results = nest(dim + 1, inner);
                      indices.pop_back();
                      return results;
                    });
  };
  return nest(0, carried);
}

void LoopNest::forSpace(ArrayRef<int64_t> shape,
                        llvm::function_ref<void(const Indices &)> body) {
  forSpace(shape, {}, [&](const Indices &indices, ValueRange) {
    body(indices);
    return Values();
  });
}

void LoopNest::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto conditional =
      scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  enter(conditional.thenBlock(), 1, /*barrier=*/true);
  body();
  leave(conditional);
}

LoopNest::Values LoopNest::ifThen(Value condition, ValueRange otherwise,
                                  llvm::function_ref<Values()> body) {
  auto conditional =
      scf::IfOp::create(builder, loc, otherwise.getTypes(), condition,
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  enter(conditional.thenBlock(), 1, /*barrier=*/true);
  Values results = body();
  builder.setInsertionPointToEnd(conditional.thenBlock());
  scf::YieldOp::create(builder, loc, results);
  builder.setInsertionPointToEnd(conditional.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise);
  leave(conditional);
  return Values(conditional.getResults());
}

void LoopNest::where(const PointEmitter::Guard &guard,
                     llvm::function_ref<void()> body) {
  auto masked = [&] {
    Value outer = points.mask;
    unsigned outerLevel = points.maskLevel;
    if (guard.lanes) {
      points.mask = outer ? Value(create<arith::AndIOp>(outer, guard.lanes))
                          : guard.lanes;
      points.maskLevel = levels.current();
    }
    body();
    points.mask = outer;
    points.maskLevel = outerLevel;
  };
  if (guard.never)
    return;
  if (guard.uniform)
    ifThen(guard.uniform, masked);
  else
    masked();
}

} // namespace tenon::codegen
