//===- ExpandElementLoops.cpp - Loops where element regions hold loops ----===//
//
// Reductions, maps, windows, scatters and sorts whose region is more than a
// straight line and branches become loops over elements. All tensors are one
// row of elements there, and places are computed as i64. The order is the
// interpreter's, and a region is run on no other elements than it would be
// there: what it holds need not end on others. No training step spends its time
// here, so the obvious loop will do.
//
//===----------------------------------------------------------------------===//

#include "ElementCode.h"
#include "ElementRows.h"

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <functional>
#include <limits>
#include <numeric>

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDELEMENTLOOPSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::importer::elements;
using namespace tenon::stablehlo;

namespace {

//===----------------------------------------------------------------------===//
// Maps and reductions
//===----------------------------------------------------------------------===//

SmallVector<Value> expand(CodeBuilder &builder, MapOp op) {
  RankedTensorType type = op.getType();
  int64_t count = type.getNumElements();
  SmallVector<Value> inputs = rows(builder, op.getInputs());
  return buildCountedLoop(builder, count, zeros(builder, type.clone({count})),
                          [&](Value at, ValueRange results) {
                            SmallVector<Value> values =
                                computed(builder, op.getComputation(),
                                         elementsAt(builder, inputs, at));
                            return updatedAt(builder, results, at, values);
                          });
}

/// The dimensions that are reduced go last, so that the terms of a result lie
/// side by side.
SmallVector<Value> expand(CodeBuilder &builder, ReduceOp op) {
  ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape();
  auto isReduced = [&](int64_t dim) {
    return llvm::is_contained(op.getDimensions(), dim);
  };
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(isReduced(a), a) < std::pair(isReduced(b), b);
  });
  SmallVector<int64_t> ordered;
  int64_t terms = 1;
  for (int64_t dim : order) {
    ordered.push_back(shape[dim]);
    terms *= isReduced(dim) ? shape[dim] : 1;
  }
  SmallVector<Value> inputs, starts;
  for (auto [input, init, result] :
       llvm::zip_equal(op.getInputs(), op.getInitValues(), op.getResults())) {
    inputs.push_back(
        row(builder, TransposeOp::create(builder, typeOf(input).clone(ordered),
                                         input, order)));
    starts.push_back(repeated(builder, init, typeOf(result)));
  }
  return buildCountedLoop(
      builder, typeOf(op.getResult(0)).getNumElements(), starts,
      [&](Value round, ValueRange results) {
        Value to = wide(builder, round), first = times(builder, to, terms);
        SmallVector<Value> sums = buildCountedLoop(
            builder, terms, elementsAt(builder, results, to),
            [&](Value term, ValueRange running) {
              Value at = AddOp::create(builder, first, wide(builder, term));
              SmallVector<Value> arguments(running);
              llvm::append_range(arguments, elementsAt(builder, inputs, at));
              return computed(builder, op.getBody(), arguments);
            });
        return updatedAt(builder, results, to, sums);
      });
}

//===----------------------------------------------------------------------===//
// Places that are data
//===----------------------------------------------------------------------===//

/// An index as an i64. Whatever is far outside of every tensor stays outside,
/// but so near that a place in a window can be added.
Value asNumber(CodeBuilder &builder, Value index) {
  constexpr int64_t farOutside = int64_t(1) << 32;
  Type element = typeOf(index).getElementType();
  if (element.isUnsignedInteger(64))
    index = MinimumOp::create(
        builder, index,
        converted(builder, number(builder, farOutside), element));
  index = converted(builder, index, builder.getI64Type());
  return ClampOp::create(builder, index.getType(), number(builder, -farOutside),
                         index, number(builder, farOutside));
}

/// Where the update at `from` goes, see the operation's specification.
Place targetOf(CodeBuilder &builder, ScatterOp op, ArrayRef<Value> from,
               Value indices) {
  auto numbers = op.getScatterDimensionNumbers();
  RankedTensorType indicesType = typeOf(op.getScatterIndices());
  int64_t vectorDim = numbers.getIndexVectorDim();
  Place batch, window;
  for (auto [dim, coordinate] : llvm::enumerate(from))
    (llvm::is_contained(numbers.getUpdateWindowDims(), int64_t(dim)) ? window
                                                                     : batch)
        .push_back(coordinate);
  Value zero = number(builder, 0);
  Place to(typeOf(op.getInputs()[0]).getRank(), zero);
  for (auto [i, dim] : llvm::enumerate(numbers.getScatterDimsToOperandDims())) {
    Place place(batch);
    if (vectorDim < indicesType.getRank())
      place.insert(place.begin() + vectorDim, number(builder, int64_t(i)));
    Value at = numberOf(builder, place, indicesType.getShape());
    to[dim] = asNumber(builder, sliceAt(builder, indices, 0, at));
  }
  for (auto [dim, indicesDim] :
       llvm::zip_equal(numbers.getInputBatchingDims(),
                       numbers.getScatterIndicesBatchingDims()))
    to[dim] = batch[indicesDim > vectorDim ? indicesDim - 1 : indicesDim];
  auto coordinate = window.begin();
  for (auto [dim, value] : llvm::enumerate(to))
    if (!llvm::is_contained(numbers.getInsertedWindowDims(), int64_t(dim)) &&
        !llvm::is_contained(numbers.getInputBatchingDims(), int64_t(dim)))
      value = AddOp::create(builder, value, *coordinate++);
  return to;
}

/// Updates in row-major order; one that falls outside is left out.
SmallVector<Value> expand(CodeBuilder &builder, ScatterOp op) {
  RankedTensorType type = typeOf(op.getInputs()[0]);
  RankedTensorType updatesType = typeOf(op.getUpdates()[0]);
  Value indices = row(builder, op.getScatterIndices());
  SmallVector<Value> updates = rows(builder, op.getUpdates()), starts;
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    starts.push_back(converted(builder, row(builder, input),
                               typeOf(result).getElementType()));
  int64_t rounds = type.getNumElements() ? updatesType.getNumElements() : 0;
  return buildCountedLoop(
      builder, rounds, starts, [&](Value round, ValueRange results) {
        Value from = wide(builder, round);
        Place target =
            targetOf(builder, op,
                     placeOf(builder, from, updatesType.getShape()), indices);
        Value isInside = always(builder);
        for (auto [coordinate, extent] :
             llvm::zip_equal(target, type.getShape()))
          isInside = AndOp::create(builder, isInside,
                                   isWithin(builder, coordinate, extent));
        Value to = numberOf(builder, target, type.getShape());
        SmallVector<Value> old = elementsAt(builder, results, to);
        return updatedAt(
            builder, results, to, whereTrue(builder, isInside, old, [&] {
              SmallVector<Value> arguments(old);
              llvm::append_range(arguments, elementsAt(builder, updates, from));
              return computed(builder, op.getUpdateComputation(), arguments);
            }));
      });
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Element by element moves down to its place, as long as it comes before its
/// neighbour.
SmallVector<Value> expand(CodeBuilder &builder, SortOp op) {
  RankedTensorType type = typeOf(op.getInputs()[0]);
  int64_t rank = type.getRank(), dim = op.getDimension();
  dim += dim < 0 ? rank : 0;
  int64_t length = type.getDimSize(dim);
  // Lanes lie side by side: the dimension changes places with the last one.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[dim], order[rank - 1]);
  SmallVector<int64_t> ordered(type.getShape());
  std::swap(ordered[dim], ordered[rank - 1]);
  auto exchanged = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    return TransposeOp::create(builder, typeOf(value).clone(shape), value,
                               order);
  };
  auto isFirst = [&](Value at) -> Value {
    Value extent = number(builder, length);
    return isBelow(builder, RemainderOp::create(builder, at, extent), 1);
  };
  SmallVector<Value> starts;
  for (Value input : op.getInputs())
    starts.push_back(row(builder, exchanged(input, ordered)));
  auto insert = [&](Value round, ValueRange lanes) {
    Value at = wide(builder, round);
    SmallVector<Value> carried{at, NotOp::create(builder, isFirst(at))};
    llvm::append_range(carried, lanes);
    carried = buildLoop(
        builder, carried, [](ValueRange carried) { return carried[1]; },
        [&](ValueRange carried) {
          Value at = carried[0], below = plus(builder, at, -1);
          ValueRange lanes = carried.drop_front(2);
          SmallVector<Value> upper = elementsAt(builder, lanes, at);
          SmallVector<Value> lower = elementsAt(builder, lanes, below);
          SmallVector<Value> arguments;
          for (auto [a, b] : llvm::zip_equal(upper, lower))
            arguments.append({a, b});
          Value comesFirst =
              computed(builder, op.getComparator(), arguments)[0];
          SmallVector<Value> atUpper, atLower;
          for (auto [a, b] : llvm::zip_equal(upper, lower)) {
            atUpper.push_back(SelectOp::create(builder, comesFirst, b, a));
            atLower.push_back(SelectOp::create(builder, comesFirst, a, b));
          }
          SmallVector<Value> next{
              below, AndOp::create(builder, comesFirst,
                                   NotOp::create(builder, isFirst(below)))};
          llvm::append_range(
              next, updatedAt(builder, updatedAt(builder, lanes, at, atUpper),
                              below, atLower));
          return next;
        });
    return SmallVector<Value>(ArrayRef(carried).drop_front(2));
  };
  SmallVector<Value> sorted =
      buildCountedLoop(builder, type.getNumElements(), starts, insert);
  for (Value &value : sorted)
    value = exchanged(
        ReshapeOp::create(builder, typeOf(value).clone(ordered), value),
        type.getShape());
  return sorted;
}

/// The results of an owner as rows or in their shapes; none if there is no loop
/// for it.
SmallVector<Value> expandOwner(CodeBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<MapOp, ReduceOp, ScatterOp, SortOp>(
          [&](auto owner) { return expand(builder, owner); })
      .Case<ReduceWindowOp, SelectAndScatterOp>(
          [&](auto owner) { return elements::expand(builder, owner); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether the regions of `op` hold more than a straight line and branches.
bool needsLoop(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        bool isFine =
            inner == op || (isa<IfOp, CaseOp>(inner) ? hasSingleElements(inner)
                                                     : isOnElements(inner));
        return isFine ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Rounds are counted in 32 bits.
bool isCountable(Operation *op) {
  constexpr uint64_t most = std::numeric_limits<int32_t>::max();
  auto isCountable = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           uint64_t(tensor.getNumElements()) <= most;
  };
  uint64_t terms = 1; // a window may be larger than all that it lies over
  if (auto windows = dyn_cast<ReduceWindowOp>(op))
    for (int64_t size : windows.getWindowDimensions())
      terms = llvm::SaturatingMultiply(terms, uint64_t(size));
  return terms <= most && llvm::all_of(op->getOperandTypes(), isCountable) &&
         llvm::all_of(op->getResultTypes(), isCountable);
}

struct ExpandElementLoops
    : public tenon::importer::impl::ExpandElementLoopsPassBase<
          ExpandElementLoops> {
  void runOnOperation() override {
    int64_t expanded = 0;
    // The outermost first: what was in a region may be an owner itself.
    while (int64_t count = expandOutermost())
      expanded += count;
    if (expanded)
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("expanded")
                         .category("import-expand-element-loops")
                         .function(getOperation().getSymName()))
          << remark::add("{0} operations became loops over elements", expanded);
  }

private:
  int64_t expandOutermost() {
    SmallVector<Operation *> owners;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!hasElementRegions(op))
        return WalkResult::advance();
      if (isCountable(op) && needsLoop(op))
        owners.push_back(op);
      return WalkResult::skip();
    });
    int64_t count = 0;
    for (Operation *op : owners) {
      CodeBuilder builder(op->getLoc(), op);
      SmallVector<Value> results = expandOwner(builder, op);
      if (results.empty())
        continue;
      for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
        if (value.getType() != result.getType())
          value = ReshapeOp::create(builder, result.getType(), value);
        result.replaceAllUsesWith(value);
      }
      op->erase();
      ++count;
    }
    return count;
  }
};

} // namespace
